"""Pairs that need no model, and the rule that says so."""

from pathlib import Path

from tasks.extract import extract_candidates
from tasks.screen import RULES, apply_rules, screen_candidates
from tests.shop import make_run, make_source, rows_of

ITEMS = [(1, "두부", "두부"), (2, " 두부", "두부"), (3, "", None), (4, None, None), (5, "된장", "장류")]


def test_the_first_rule_that_matches_is_the_reason(tmp_path: Path) -> None:
    pairs = [(1, 1, 0.9), (1, 2, 0.8), (3, 5, 0.7), (5, 4, 0.6), (3, 3, 0.5), (1, 5, 0.4)]
    run = make_run(tmp_path, make_source(tmp_path / "s.duckdb", items=ITEMS, pairs=pairs, basket=[1]))
    extract_candidates(run)
    assert screen_candidates(run) == 5
    found = run.read("candidates").join(run.read("screened"), on="candidate_id", how="left")
    assert rows_of(found, "recommended_item_id", "reason_item_id", "rule") == [
        (1, 1, "same_item"),
        (1, 2, "same_item"),
        (1, 5, None),
        (3, 3, "empty_name"),
        (3, 5, "empty_name"),
        (5, 4, "empty_name"),
    ]


def test_a_pair_without_an_id_can_not_be_served(tmp_path: Path) -> None:
    pairs = [(None, 5, 0.9), (1, 5, 0.8)]
    run = make_run(tmp_path, make_source(tmp_path / "s.duckdb", items=ITEMS, pairs=pairs, basket=[1]))  # type: ignore[arg-type]
    extract_candidates(run)
    screened = apply_rules(run.read("candidates"), RULES)
    assert screened["rule"].to_list() == ["missing_id"]
