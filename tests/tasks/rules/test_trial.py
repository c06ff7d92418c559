"""What another rules file would have done to past dates, by run folders or by the source."""

import datetime as dt
import shutil
from pathlib import Path

import duckdb
import pytest

from tasks.errors import RulesError, UsageError
from tasks.rules.trial import Changed, try_rules
from tests.days import whole_day
from tests.shop import DS, RULES, make_run, make_source

# turns away 된장 with 두부 in both directions, and what is 세제; lets the same item on both sides pass
NEW = """
[groups.miso]
names = "된장"
[groups.soap]
categories = ["세제", "비누"]
[[rule]]
id = "miso"
kind = "blocked"
items = "miso"
[[rule]]
id = "soap"
kind = "blocked"
items = "soap"
effect = "warn"
"""
PAIRS = [(1, 2, 0.9), (3, 4, 0.8), (4, 3, 0.7), (5, 2, 0.6), (6, 4, 0.5), (2, 2, 0.4)]


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new.toml"
    path.write_text(NEW, encoding="utf-8")
    return path


@pytest.fixture
def pairs_source(tmp_path: Path) -> Path:
    return make_source(tmp_path / "pairs.duckdb", pairs=PAIRS)


EXPECTED = [
    Changed(ds=DS, rule="same_item", now=1, no_longer=1),
    Changed(ds=DS, rule="miso", then=3, newly=3, decided=3, written=3),
    Changed(ds=DS, rule="soap", then=1),
]


def test_each_rule_now_and_then_with_what_the_model_had_said(tmp_path: Path, new: Path, pairs_source: Path) -> None:
    run = make_run(tmp_path, pairs_source)
    whole_day(run)
    tried = try_rules(new, DS, DS, run.settings)
    assert [*tried.rules] == EXPECTED
    assert tried.dates == {DS: 6}
    examples = {(example.change, example.recommended_item, example.reason_item) for example in tried.examples}
    assert examples == {
        ("no_longer", "청경채(봉)", "청경채(봉)"),
        ("newly", "두부(찌개용)", "된장(500g)"),
        ("newly", "된장(500g)", "두부(찌개용)"),
        ("newly", "우유(1L)", "된장(500g)"),
    }
    assert {example.evidence for example in tried.examples if example.change == "newly"} == {"된장"}
    assert {round(example.p_skip or 0, 6) for example in tried.examples if example.change == "newly"} == {0.1}
    assert [unknown.category for unknown in tried.unknown_categories] == ["비누"]
    assert tried.held_back == []


@pytest.mark.parametrize("gone", ["candidates.parquet", "source", "nothing"])
def test_pruned_frames_and_a_source_that_is_gone_cost_nothing(
    tmp_path: Path, new: Path, pairs_source: Path, gone: str
) -> None:
    run = make_run(tmp_path, pairs_source)
    whole_day(run)
    (run.folder / gone).unlink(missing_ok=True)
    if gone == "source":
        pairs_source.unlink()
    assert [*try_rules(new, DS, DS, run.settings).rules] == EXPECTED


def test_a_date_that_was_never_run_is_read_from_the_source(tmp_path: Path, new: Path, pairs_source: Path) -> None:
    settings = make_run(tmp_path, pairs_source).settings
    tried = try_rules(new, DS - dt.timedelta(days=3), DS, settings)
    assert [*tried.dates] == [DS]
    assert [(rule.newly, rule.decided) for rule in tried.rules] == [(0, 0), (3, 0), (0, 0)]
    assert not (tmp_path / "store" / "runs").exists()


def test_several_dates_stand_side_by_side(tmp_path: Path, new: Path, pairs_source: Path) -> None:
    with duckdb.connect(str(pairs_source)) as connection:
        for table in ("baskets", "recommendations"):
            connection.execute(f"INSERT INTO {table} BY NAME SELECT * REPLACE (ds + 1 AS ds) FROM {table}")
    settings = make_run(tmp_path, pairs_source).settings
    tried = try_rules(new, DS, DS + dt.timedelta(days=1), settings)
    assert [(rule.ds, rule.rule, rule.newly) for rule in tried.rules if rule.newly] == [
        (DS, "miso", 3), (DS + dt.timedelta(days=1), "miso", 3)
    ]  # fmt: skip


def test_a_rule_that_would_take_most_of_a_date_is_said(tmp_path: Path, new: Path, pairs_source: Path) -> None:
    new.write_text(NEW.replace('"된장"', '"된장|배추"'), encoding="utf-8")
    tried = try_rules(new, DS, DS, make_run(tmp_path, pairs_source).settings)
    assert tried.held_back == [f"{DS}: `miso` would turn away 4 of 6 pairs"]


def test_the_same_file_changes_nothing(tmp_path: Path, pairs_source: Path) -> None:
    copy = Path(shutil.copy(RULES, tmp_path / "copy.toml"))
    tried = try_rules(copy, DS, DS, make_run(tmp_path, pairs_source).settings)
    assert [*tried.rules] == [Changed(ds=DS, rule="same_item", now=1, then=1)]
    assert tried.examples == ()


def test_a_mistake_or_a_range_without_candidates_says_so(tmp_path: Path, new: Path, pairs_source: Path) -> None:
    settings = make_run(tmp_path, pairs_source).settings
    with pytest.raises(UsageError, match="no candidates"):
        try_rules(new, DS.replace(day=1), DS.replace(day=2), settings)
    new.write_text("[[rule]]\n", encoding="utf-8")
    with pytest.raises(RulesError, match="line 1"):
        try_rules(new, DS, DS, settings)
