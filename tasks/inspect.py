"""inspect: is a date worth the GPU's time? The input suite over its candidates, against the trailing published dates.

In: `candidates.parquet`, `rule_hits.parquet`, the history. Out: `input.json`, the checks and whether the candidates
were accepted. A date that is not accepted is set aside: its candidates get their outcome without the model, and the
gate holds it back.
"""

import polars as pl

from checks.gate import Check, Verdict, judge
from checks.input_suite import LargestRule
from checks.suites import validate_input
from tasks.data_docs import add_to_data_docs
from tasks.history import volumes
from tasks.records import PLAN, RANKED_OUT, REUSED
from tasks.rules.account import read_applied
from tasks.rules.file import MISSING_ID
from tasks.runs import Run


def inspect_candidates(run: Run) -> bool:
    """Check the date's candidates and leave what was seen; returns whether the model may be asked about them."""
    settings = run.settings
    trailing = volumes(run, settings.reference_dates)
    validation = validate_input(run.read("candidates"), run.ds, trailing, find_largest_rule(run))
    accepted = judge(validation.checks).verdict is not Verdict.HELD_BACK or settings.accept_input
    checks = [check.model_dump(mode="json") for check in validation.checks]
    run.write_json("input", {"accepted": accepted, "checks": checks})
    add_to_data_docs(run, validation)
    return accepted


def find_largest_rule(run: Run) -> LargestRule | None:
    """The rule that turns most of the date's pairs away; None where no rule does."""
    turned_away = run.read("rule_hits").filter(pl.col("effect") != "warn", pl.col("rule") != MISSING_ID)
    counts = turned_away.group_by("rule").len().sort(["len", "rule"], descending=True).rows()
    if not counts:
        return None
    rule, pairs = counts[0]
    applied = read_applied(run)
    line = next(each.line for each in applied.rules if each.rule == rule)
    return LargestRule(f"`{rule}` ({applied.path}, line {line})", pairs, run.settings.max_rule_share)


def set_aside(run: Run) -> None:
    """Leave what the stages up to the model leave, with nothing to ask."""
    for name, schema in (("reused", REUSED), ("ranked_out", RANKED_OUT), ("plan", PLAN)):
        run.write(name, schema.to_frame())


def read_input_checks(run: Run) -> tuple[bool, list[Check]]:
    """Whether the candidates were accepted, and the checks behind it."""
    seen = run.read_json("input")
    return seen["accepted"], [Check.model_validate(check) for check in seen["checks"]]
