"""screen: the cheap rules that spare a pair the model. The first rule that rejects decides.

In: `candidates.parquet`, `categories.parquet`, the rules file. Out: `screened.parquet` (records.SCREENED), one row a
pair that a rule turned away; `rule_hits.parquet` (records.RULE_HITS), all that the rules saw; and `rules.json`, the
rules as they were applied.
"""

import logging

import polars as pl

from tasks.rules.account import Applied
from tasks.rules.file import load_rules, unknown_categories
from tasks.rules.match import find_hits, turned_away
from tasks.runs import Run
from tasks.settings import Settings

logger = logging.getLogger("sayu")


def screen_candidates(run: Run) -> int:
    """Leave the pairs that a rule turns away in the run folder; returns how many there are.

    Raises:
        RulesError: the rules file holds a mistake, or was taken away since the run began.
    """
    path = run.settings.rules
    rules = load_rules(path)
    unknown = unknown_categories(path, run.read("categories")["scate"].to_list())
    for category in unknown:
        logger.warning("%-9s %s", "screen", category.said(str(path)))
    hits = find_hits(run.read("candidates"), rules, run.settings.screen_sample)
    screened = turned_away(hits)
    run.write("rule_hits", hits)
    run.write("screened", screened)
    run.write_json("rules", Applied.of(rules, path, unknown).model_dump(mode="json"))
    return screened.height


def screen_pairs(candidates: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """The pairs of a date that its rules turn away (records.SCREENED)."""
    return turned_away(find_hits(candidates, load_rules(settings.rules), settings.screen_sample))


def pairs_left(candidates: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """The candidates that no rule turns away, in their order."""
    return candidates.join(screen_pairs(candidates, settings), on="candidate_id", how="anti", maintain_order="left")
