"""Pairs that need no model, and the rule that says so."""

import logging
from pathlib import Path

import pytest

from tasks.errors import RulesError
from tasks.extract import extract_candidates
from tasks.rules.account import read_applied
from tasks.screen import screen_candidates, screen_pairs
from tests.shop import make_run, make_source, rows_of

ITEMS = [(1, "두부", "두부"), (2, " 두부", None), (3, "", None), (4, None, None), (5, "된장", "장류"), (6, "12", None)]
PAIRS = [(1, 1, 0.9), (1, 2, 0.8), (3, 5, 0.7), (5, 4, 0.6), (3, 3, 0.5), (1, 5, 0.4), (6, 1, 0.3)]


def test_the_first_rule_that_rejects_is_the_reason(tmp_path: Path) -> None:
    source = make_source(tmp_path / "s.duckdb", items=ITEMS, pairs=PAIRS, basket=[1])
    run = make_run(tmp_path, source, screen_sample=0)
    extract_candidates(run)
    assert screen_candidates(run) == 6
    found = run.read("candidates").join(run.read("screened"), on="candidate_id", how="left")
    assert rows_of(found, "recommended_item_id", "reason_item_id", "rule") == [
        (1, 1, "same_item"),
        (1, 2, "same_item"),
        (1, 5, None),
        (3, 3, "no_name"),
        (3, 5, "no_name"),
        (5, 4, "no_name"),
        (6, 1, "no_name"),
    ]
    assert run.read("rule_hits").drop("effect").equals(run.read("screened"))
    assert screen_pairs(run.read("candidates"), run.settings).equals(run.read("screened"))


def test_without_rules_only_what_has_no_id_is_turned_away(tmp_path: Path) -> None:
    pairs = [(None, 5, 0.9), (1, 5, 0.8), (3, 3, 0.7)]
    source = make_source(tmp_path / "s.duckdb", items=ITEMS, pairs=pairs, basket=[1])  # type: ignore[arg-type]
    run = make_run(tmp_path, source, rules="")
    extract_candidates(run)
    screen_candidates(run)
    assert run.read("screened")["rule"].to_list() == ["missing_id"]


def test_what_is_let_through_and_what_only_warns_goes_on(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(
        '[groups.miso]\nids = [5]\n[[rule]]\nid = "same"\nkind = "same_item"\n'
        '[[rule]]\nid = "miso"\nkind = "blocked"\nitems = "miso"\neffect = "warn"\n',
        encoding="utf-8",
    )
    source = make_source(tmp_path / "s.duckdb", items=ITEMS, pairs=[(1, 1, 0.9), (1, 5, 0.8)], basket=[1])
    run = make_run(tmp_path, source, rules=rules, screen_sample=1)
    extract_candidates(run)
    assert screen_candidates(run) == 0
    assert rows_of(run.read("rule_hits"), "rule", "effect") == [("same", "let_through"), ("miso", "warn")]


def test_a_category_that_the_shop_has_not_is_said_and_the_date_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[groups.soap]\ncategories = ["세제"]\n', encoding="utf-8")
    run = make_run(tmp_path, make_source(tmp_path / "s.duckdb", items=ITEMS, pairs=PAIRS, basket=[1]), rules=rules)
    extract_candidates(run)
    with caplog.at_level(logging.WARNING, "sayu"):
        assert screen_candidates(run) == 0
    assert f"{rules}, line 2: the shop has no category 세제 (group `soap`)" in caplog.text
    assert [unknown.category for unknown in read_applied(run).unknown] == ["세제"]


def test_a_mistake_in_the_rules_is_said_before_anything_is_started(tmp_path: Path, source: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[groups.a]\nnames = '('\n", encoding="utf-8")
    with pytest.raises(RulesError, match="line 2"):
        make_run(tmp_path, source, rules=rules)
