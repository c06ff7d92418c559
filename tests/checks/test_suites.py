"""The outcome suite: what each expectation catches, and that one which raised counts as critical."""

from typing import Any

import polars as pl
import pytest

from checks.gate import Severity, Verdict, judge
from checks.suites import _check, check_outcomes

OUTCOMES = ["published", "skipped", "rejected", "failed"]


def day(**changes: Any) -> pl.DataFrame:
    columns: dict[str, Any] = {
        "candidate_id": list(range(20)),
        "outcome": ["published"] * 15 + ["skipped"] * 4 + ["rejected"],
        "text": ["맛있어요."] * 15 + [None] * 4 + ["맛있다."],
        "valid_json": [True] * 15 + [None] * 4 + [True],
    }
    return pl.DataFrame(columns | changes)


def failed(frame: pl.DataFrame, candidates: int = 20) -> list[str]:
    return [c.description for c in check_outcomes(frame, candidates, OUTCOMES, 0.05) if not c.passed]


def test_a_good_day_passes_every_check() -> None:
    checks = check_outcomes(day(), 20, OUTCOMES, 0.05)
    assert len(checks) == 8
    assert judge(checks).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("changes", "candidates", "broken"),
    [
        ({}, 21, ["outcomes add up to the candidates"]),
        ({"outcome": ["published"] * 15 + ["skipped"] * 4 + [None]}, 20, ["every candidate has an outcome"]),
        ({"outcome": ["published"] * 15 + ["skipped"] * 4 + ["lost"]}, 20, ["outcomes are known ones"]),
        ({"candidate_id": [*range(19), 18]}, 20, ["no candidate has two outcomes"]),
        ({"text": [None] * 15 + [None] * 5}, 20, ["what is published has a text"]),
        ({"outcome": ["published"] * 15 + ["skipped"] * 3 + ["failed"] * 2}, 20, ["at most 5% of the pairs failed"]),
        ({"outcome": ["skipped"] * 20}, 20, ["at least one reason is published"]),
        (
            {"valid_json": [True] * 13 + [False] * 2 + [None] * 4 + [True]},
            20,
            ["at least 90% of the written answers are valid JSON"],
        ),
    ],
)
def test_each_check_catches_what_it_is_there_for(changes: dict[str, Any], candidates: int, broken: list[str]) -> None:
    assert failed(day(**changes), candidates) == broken


def test_a_day_on_which_nothing_was_written_says_nothing_about_json() -> None:
    nothing = {"outcome": ["skipped"] * 20, "text": pl.Series([None] * 20, dtype=pl.String),
               "valid_json": pl.Series([None] * 20, dtype=pl.Boolean)}  # fmt: skip
    assert failed(day(**nothing)) == ["at least one reason is published"]


class Raised:
    """What Great Expectations gives for an expectation that raised."""

    success = False
    result: dict[str, Any] = {}  # noqa: RUF012
    exception_info = {"column.max": {"raised_exception": True, "exception_message": "no such column"}}  # noqa: RUF012

    class expectation_config:
        type = "expect_column_max_to_be_between"
        description = "a warning"
        severity = "warning"


def test_an_expectation_that_raised_is_critical_whatever_it_says() -> None:
    check = _check(Raised)
    assert (check.passed, check.severity, check.observed) == (False, Severity.CRITICAL, "no such column")
