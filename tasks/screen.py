"""screen: the cheap rules that spare a pair the model. The first rule that matches decides.

In: `candidates.parquet`. Out: `screened.parquet` (records.SCREENED), one row a pair that a rule turned away.
"""

from dataclasses import dataclass

import polars as pl

from tasks.records import SCREENED, conform
from tasks.runs import Run


@dataclass(frozen=True, slots=True)
class Rule:
    """A pair for which `matches` holds is turned away; `evidence` is the text that shows why."""

    name: str
    matches: pl.Expr
    evidence: pl.Expr


RULES = (
    Rule(
        "missing_id",
        pl.any_horizontal(pl.col("recommended_item_id").is_null(), pl.col("reason_item_id").is_null()),
        pl.format("{} / {}", pl.col("recommended_item"), pl.col("reason_item")),
    ),
    Rule(
        "empty_name",
        pl.any_horizontal(pl.col("recommended_item") == "", pl.col("reason_item") == ""),
        pl.format(
            "{} / {}",
            pl.col("recommended_item_id").cast(pl.String).fill_null("?"),
            pl.col("reason_item_id").cast(pl.String).fill_null("?"),
        ),
    ),
    Rule(
        "same_item",
        (pl.col("recommended_item_id") == pl.col("reason_item_id"))
        | (pl.col("recommended_item") == pl.col("reason_item")),
        pl.col("recommended_item"),
    ),
)


def screen_candidates(run: Run, rules: tuple[Rule, ...] = RULES) -> int:
    """Leave the pairs that a rule turns away in the run folder; returns how many there are."""
    screened = apply_rules(run.read("candidates"), rules)
    run.write("screened", screened)
    return screened.height


def apply_rules(candidates: pl.DataFrame, rules: tuple[Rule, ...]) -> pl.DataFrame:
    """One row a pair that a rule turns away, with the first such rule's name and evidence."""
    rule = pl.coalesce(*(pl.when(rule.matches).then(pl.lit(rule.name)) for rule in rules))
    evidence = pl.coalesce(*(pl.when(rule.matches).then(rule.evidence) for rule in rules))
    return (
        candidates.select("candidate_id", rule=rule, evidence=evidence)
        .filter(pl.col("rule").is_not_null())
        .pipe(conform, SCREENED)
    )
