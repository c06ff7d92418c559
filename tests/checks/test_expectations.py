"""Expectations, run in Great Expectations: the own ones judge as they say, and one that raises is critical."""

from typing import Any

import polars as pl
import pytest

from checks.gate import Check, Severity, Verdict, judge
from checks.validation import expectation, validate


def outcome_of(kind: Any, frame: pl.DataFrame, **limits: Any) -> Check:
    asked = expectation(kind, "it", Severity.WARNING, ("it holds", "맞음"), **limits)
    (check,) = validate("one", frame, [asked]).checks
    return check


def column(name: str, *values: float | None) -> pl.DataFrame:
    return pl.DataFrame({name: values}, schema={name: pl.Float64})


@pytest.mark.parametrize(
    ("kind", "frame", "limits", "passed"),
    [
        (
            "ExpectSkipRateToMatchReference",
            column("skipped", 1, 0, 0, None),
            {"min_value": 0.3, "max_value": 0.4},
            True,
        ),
        (
            "ExpectSkipRateToMatchReference",
            column("skipped", 1, 1, 0, None),
            {"min_value": 0.3, "max_value": 0.4},
            False,
        ),
        ("ExpectPSkipToMatchReference", column("p_skip_below_cut", 1, 0), {"min_value": 0.4, "max_value": 0.6}, True),
        ("ExpectPSkipToMatchReference", column("p_skip_below_cut", 0, 0), {"min_value": 0.4, "max_value": 0.6}, False),
        ("ExpectFewMissingCategories", column("category_missing", 0, 0, 1), {"max_value": 0.4}, True),
        ("ExpectFewMissingCategories", column("category_missing", 0, 1, 1), {"max_value": 0.4}, False),
        ("ExpectVolumeNearTrailingMedian", column("any", 1, 2, 3), {"min_value": 2, "max_value": 4}, True),
        ("ExpectVolumeNearTrailingMedian", column("any", 1), {"min_value": 2, "max_value": 4}, False),
        ("ExpectDateNotInTheFuture", column("days_ahead", 0), {"max_value": 0}, True),
        ("ExpectDateNotInTheFuture", column("days_ahead", 1), {"max_value": 0}, False),
    ],
)
def test_our_own_expectations_judge_as_they_say(
    kind: str, frame: pl.DataFrame, limits: dict[str, float], passed: bool
) -> None:
    from checks import expectations

    check = outcome_of(getattr(expectations, kind), frame, **limits)
    assert (check.passed, check.severity) == (passed, Severity.WARNING)


def test_every_expectation_of_our_own_says_plainly_what_it_expects() -> None:
    from checks import expectations

    own = [kind for kind in vars(expectations).values() if getattr(kind, "__module__", "") == expectations.__name__]
    assert len(own) == 8
    assert all(len(kind.__doc__ or "") > 40 for kind in own)


def test_an_expectation_that_raises_is_critical_whatever_it_says() -> None:
    from checks.expectations import ExpectSkipRateToMatchReference

    check = outcome_of(ExpectSkipRateToMatchReference, column("another", 1), min_value=0, max_value=1)
    assert (check.passed, check.severity) == (False, Severity.CRITICAL)
    assert "skipped" in check.observed
    assert judge([check]).verdict is Verdict.HELD_BACK


def test_one_that_raises_on_what_it_finds_is_critical_too() -> None:
    from checks.expectations import ExpectSkipRateToMatchReference

    words = pl.DataFrame({"skipped": ["yes", "no"]})
    check = outcome_of(ExpectSkipRateToMatchReference, words, min_value=0, max_value=1)
    assert (check.passed, check.severity) == (False, Severity.CRITICAL)


def test_the_checks_keep_their_order_when_one_raises() -> None:
    from checks.expectations import ExpectShareToStayWithin

    asked = [
        expectation(ExpectShareToStayWithin, name, Severity.WARNING, ("", ""), column=name, max_value=1)
        for name in ("there", "missing", "here")
    ]
    checks = validate("three", pl.DataFrame({"there": [1.0], "here": [0.0]}), asked).checks
    assert [(check.name, check.passed) for check in checks] == [("there", True), ("missing", False), ("here", True)]
