"""What each rule did to a date: the pairs it saw, the calls it saved, and what the model said of those that went on.

A rule that is wrong shows in its sample: pairs that it would turn away and that the model writes.
"""

import math
from pathlib import Path
from typing import Self

import polars as pl
from pydantic import BaseModel, ConfigDict

from tasks.rules.file import MISSING_ID, Unknown, rule_lines
from tasks.rules.schema import Rules
from tasks.runs import Run

BEYOND_CHANCE = 0.05  # a coin would say "write" as often in fewer than one sample in twenty: from 5 of 5, 15 of 20 on


class AppliedRule(BaseModel):
    """One rule as it was applied; `line` is where it stands in its file."""

    model_config = ConfigDict(frozen=True)
    rule: str
    effect: str
    why: str = ""
    line: int | None = None


class Applied(BaseModel):
    """The rules of a run, in their order, and the categories that they name in vain: `rules.json`."""

    model_config = ConfigDict(frozen=True)
    path: str | None
    rules: tuple[AppliedRule, ...]
    unknown: tuple[Unknown, ...] = ()

    @classmethod
    def of(cls, rules: Rules, path: Path | None, unknown: list[Unknown]) -> Self:
        """What was applied, from the file."""
        lines = rule_lines(path) if path else {}
        applied = [AppliedRule(rule=MISSING_ID, effect="reject")]
        for rule in rules.rule:
            applied.append(AppliedRule(rule=rule.id, effect=rule.effect, why=rule.why, line=lines.get(rule.id)))
        return cls(path=str(path) if path else None, rules=tuple(applied), unknown=tuple(unknown))


class RuleCount(BaseModel):
    """A rule and a date. Pairs it turned away are model calls saved; `sample` pairs went on all the same.

    `sample` are the pairs let through, of a rule that warns all it saw; `decided` of them got a decision, and of those
    the model wrote `write_share` (None where none was decided).
    """

    model_config = ConfigDict(frozen=True)
    rule: str
    effect: str
    hits: int
    calls_saved: int
    sample: int
    decided: int
    write_share: float | None
    why: str = ""

    @property
    def says_write(self) -> bool:
        """Whether the model writes most of what this rule turns away, beyond chance."""
        written = round((self.write_share or 0) * self.decided)
        as_often = sum(math.comb(self.decided, count) for count in range(written, self.decided + 1))
        return self.effect == "reject" and as_often <= BEYOND_CHANCE * 2**self.decided


def count_rules(run: Run, outcomes: pl.DataFrame) -> tuple[RuleCount, ...]:
    """Every rule of a date in the order of its file, from the run folder and the date's outcomes."""
    if not (run.folder / "rule_hits.parquet").exists():  # a run from before there were rules
        return ()
    written = pl.col("p_skip") < run.settings.threshold
    went_on = pl.col("effect") != "reject"
    seen = run.read("rule_hits").join(outcomes.select("candidate_id", "p_skip"), on="candidate_id", how="left")
    counted = seen.group_by("rule").agg(
        hits=pl.len(),
        calls_saved=(~went_on).sum(),
        sample=went_on.sum(),
        decided=(went_on & pl.col("p_skip").is_not_null()).sum(),
        write_share=written.filter(went_on).mean(),
    )
    counts = {row["rule"]: row for row in counted.to_dicts()}
    nothing = {"hits": 0, "calls_saved": 0, "sample": 0, "decided": 0, "write_share": None}
    return tuple(
        RuleCount(**nothing | counts.get(rule.rule, {}) | {"rule": rule.rule, "effect": rule.effect, "why": rule.why})
        for rule in read_applied(run).rules
        if rule.rule != MISSING_ID or MISSING_ID in counts
    )


def read_applied(run: Run) -> Applied:
    """The rules as the run applied them."""
    if not (run.folder / "rules.json").exists():  # a run from before there were rules
        return Applied(path=None, rules=())
    return Applied.model_validate(run.read_json("rules"))
