"""A date that is not worth the GPU's time is set aside before the model, with every candidate accounted for."""

from pathlib import Path
from typing import Any

import pytest

from checks.gate import Verdict
from tasks.check import check_date
from tasks.extract import extract_candidates
from tasks.inspect import inspect_candidates, set_aside
from tasks.screen import screen_candidates
from tests.shop import make_run, make_source

NAMELESS = [(1, "두부", "두부"), (2, None, None), (3, "", None), (4, "된장", "장류")]
PAIRS = [(1, 4, 0.9), (1, 2, 0.8), (1, 3, 0.7), (2, 4, 0.6)]


def test_an_ordinary_date_is_accepted_without_a_history(tmp_path: Path, source: Path) -> None:
    run = make_run(tmp_path, source)
    extract_candidates(run)
    screen_candidates(run)
    assert inspect_candidates(run)
    seen = {check["name"]: check["observed"] for check in run.read_json("input")["checks"]}
    assert "no reference yet" in seen["volume_usual"]


def test_a_broken_export_is_held_back_and_nothing_is_lost(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_source(tmp_path / "s.duckdb", items=NAMELESS, pairs=PAIRS, basket=[4]))
    extract_candidates(run)
    screen_candidates(run)
    assert not inspect_candidates(run)
    set_aside(run)
    gate = check_date(run)
    assert gate.verdict is Verdict.HELD_BACK
    assert "lack a name" in gate.reasons[0]
    outcomes = run.read("outcomes")
    assert outcomes["outcome"].to_list().count("screened") == 3
    assert outcomes.filter(outcome="failed")["detail"].to_list() == ["held back before the model was asked"]


def test_somebody_may_accept_it_all_the_same(tmp_path: Path) -> None:
    source = make_source(tmp_path / "s.duckdb", items=NAMELESS, pairs=PAIRS, basket=[4])
    run = make_run(tmp_path, source, accept_input=True)
    extract_candidates(run)
    screen_candidates(run)
    assert inspect_candidates(run)


FOOD = """
[groups.food]
categories_like = '두부|장류|채소'
[[rule]]
id = "no_food"
kind = "blocked"
items = "food"
effect = "reject"
"""


@pytest.mark.parametrize(
    ("rules", "options", "accepted"),
    [
        (FOOD, {}, False),
        (FOOD, {"screen_sample": 1.0}, False),  # a sample that goes on makes no rule right
        (FOOD, {"max_rule_share": 1.0}, True),
        (FOOD, {"accept_input": True}, True),
        (FOOD.replace("reject", "warn"), {}, True),
        (FOOD.replace("두부|장류|채소", "두부$"), {}, True),  # two of five
    ],
)
def test_a_rule_that_takes_more_than_half_of_a_date_holds_it_back_before_the_model(
    tmp_path: Path, source: Path, rules: str, options: dict[str, Any], accepted: bool
) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(rules, encoding="utf-8")
    run = make_run(tmp_path, source, rules=path, **options)
    extract_candidates(run)
    screen_candidates(run)
    assert inspect_candidates(run) == accepted
    (check,) = (check for check in run.read_json("input")["checks"] if check["name"] == "rules_bearable")
    assert check["passed"] == (accepted and not options.get("accept_input"))
    if not check["passed"]:
        assert check["severity"] == "critical"
        assert check["observed"] == f"`no_food` ({path}, line 4): 5 / 5 (100.0%)"
