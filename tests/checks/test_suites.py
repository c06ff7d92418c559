"""The suites over a date: what each check catches, and which of them hold the date back."""

import datetime as dt
from typing import Any

import polars as pl
import pytest

from checks.drift import Drift
from checks.gate import Check, Severity, Verdict, judge
from checks.suites import validate_input, validate_outcomes

OUTCOMES = ["published", "skipped", "rejected", "failed"]
TEXT = "쌈배추와 청경채로 따뜻한 샤브샤브 어떠세요?"
TODAY = dt.date(2026, 11, 28)


def day(**changes: Any) -> pl.DataFrame:
    """Twenty outcomes: 15 published, 4 skipped, 1 rejected."""
    columns: dict[str, Any] = {
        "candidate_id": list(range(20)),
        "outcome": ["published"] * 15 + ["skipped"] * 4 + ["rejected"],
        "detail": [None] * 19 + ["speech.not_haeyo"],
        "p_skip": [0.1] * 15 + [0.9] * 4 + [0.2],
        "text": [TEXT] * 15 + [None] * 4 + ["쌈배추와 청경채로 샤브샤브를 만든다."],
        "valid_json": [True] * 15 + [None] * 4 + [True],
    }
    return pl.DataFrame(columns | changes, schema_overrides={"text": pl.String, "valid_json": pl.Boolean})


def large_day(**changes: Any) -> pl.DataFrame:
    """A hundred times that day; its rejected texts take turns at what is wrong with them."""
    many = pl.concat([day(**changes)] * 100).with_columns(candidate_id=pl.int_range(pl.len()))
    codes = ["speech.not_haeyo", "text.too_long", "names.reason_missing, text.too_long"]
    nth = pl.col("candidate_id") // 20 % 3
    code = nth.replace_strict(range(3), codes)
    return many.with_columns(detail=pl.when(pl.col("outcome") == "rejected").then(code))


def outcome_checks(frame: pl.DataFrame, candidates: int = 20, **more: Any) -> dict[str, Check]:
    return {check.name: check for check in validate_outcomes(frame, candidates, OUTCOMES, 0.05, **more).checks}


def failed(checks: dict[str, Check]) -> list[str]:
    return [name for name, check in checks.items() if not check.passed]


def test_a_good_day_passes_every_check() -> None:
    checks = outcome_checks(day())
    assert failed(checks) == []
    assert judge([*checks.values()]).verdict is Verdict.PASSED
    assert failed(outcome_checks(large_day(), 2000)) == []


def test_each_check_says_what_must_hold_and_what_was_seen_in_two_languages() -> None:
    for check in [*outcome_checks(large_day(), 2000).values(), *input_checks(pairs()).values()]:
        assert check.description and check.observed and check.description_ko and check.observed_ko
        assert check.description != check.description_ko
    assert outcome_checks(day())["valid_json"].observed == "100.00%"


@pytest.mark.parametrize(
    ("changes", "candidates", "broken"),
    [
        ({}, 21, ["counts_add_up"]),
        ({"outcome": ["published"] * 15 + ["skipped"] * 4 + [None]}, 20, ["outcome_present"]),
        ({"outcome": ["published"] * 15 + ["skipped"] * 4 + ["lost"]}, 20, ["outcome_known"]),
        ({"candidate_id": [*range(19), 18]}, 20, ["outcome_single"]),
        ({"p_skip": [0.1] * 19 + [1.2]}, 20, ["p_skip_valid"]),
        ({"text": [None] * 20}, 20, ["published_has_text"]),
        ({"outcome": ["published"] * 13 + ["skipped"] * 2 + ["failed"] * 5}, 20, ["failed_share"]),
    ],
)
def test_what_breaks_the_sums_holds_the_date_back(changes: dict[str, Any], candidates: int, broken: list[str]) -> None:
    checks = outcome_checks(day(**changes), candidates)
    assert failed(checks) == broken
    assert judge([*checks.values()]).verdict is Verdict.HELD_BACK


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({"outcome": ["skipped"] * 20}, ["published_any"]),
        ({"valid_json": [True] * 13 + [False] * 2 + [None] * 4 + [True]}, ["valid_json"]),
        ({"outcome": ["published"] * 8 + ["rejected"] * 12}, ["rejected_share"]),
    ],
)
def test_what_lowers_the_quality_warns(changes: dict[str, Any], broken: list[str]) -> None:
    checks = outcome_checks(day(**changes))
    assert failed(checks) == broken
    assert judge([*checks.values()]).verdict is Verdict.WARNED


def test_a_rule_that_rejects_too_many_texts_warns_by_its_own_name() -> None:
    many = large_day(outcome=["published"] * 13 + ["rejected"] * 2 + ["skipped"] * 4 + ["rejected"])
    checks = outcome_checks(many, 2000)
    assert failed(checks) == ["text.too_long", "speech.not_haeyo"]
    assert checks["text.too_long"].observed == "12.38%"
    assert checks["names.reason_missing"].observed == "6.19%"


def test_a_few_bad_texts_of_a_small_day_warn_of_nothing() -> None:
    bad = ["published"] * 12 + ["rejected"] * 3 + ["skipped"] * 4 + ["rejected"]
    three = [None] * 12 + ["content.price"] * 3 + [None] * 5
    assert failed(outcome_checks(day(outcome=bad, detail=three))) == []
    four = [None] * 12 + ["content.price"] * 3 + [None] * 4 + ["content.price"]
    assert failed(outcome_checks(day(outcome=bad, detail=four))) == ["content.price"]


@pytest.mark.parametrize("text", ["좋아요.", TEXT * 2])
def test_texts_of_another_length_than_reasons_have_warn(text: str) -> None:
    checks = outcome_checks(large_day(text=[text] * 15 + [None] * 5), 2000)
    assert failed(checks) == ["text_lengths"]


def test_lengths_are_counted_as_a_reader_counts_them() -> None:
    family = "두부랑 된장으로 찌개 끓여요 👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦"
    assert len(family) > 40
    checks = outcome_checks(large_day(text=[family] * 15 + [None] * 5), 2000)
    assert checks["text_lengths"].observed == "5%: 20, 50%: 20, 95%: 20"


def test_a_model_that_says_the_same_of_every_pair_warns() -> None:
    assert failed(outcome_checks(large_day(p_skip=[0.31] * 20), 2000)) == ["p_skip_spread"]


def test_a_day_on_which_nothing_was_written_says_nothing_about_texts() -> None:
    checks = outcome_checks(day(outcome=["skipped"] * 20, text=[None] * 20, valid_json=[None] * 20))
    assert failed(checks) == ["published_any"]
    assert not {"valid_json", "rejected_share", "text.too_long", "text_lengths"} & checks.keys()


def drift(low: float | None, high: float | None, cut: float | None = None) -> Drift:
    sentence = "skip rate 20 % against 38 ± 4 % over 14 dates"
    return Drift(
        status="steady", low=low, high=high, dates=14, cut=cut, sentence=sentence, sentence_ko="건너뛴 비율 20%"
    )


def test_a_drifted_skip_rate_holds_the_date_back_in_one_line() -> None:
    checks = outcome_checks(day(), skip_rate=drift(0.34, 0.42))
    assert failed(checks) == ["skip_rate"]
    gate = judge([*checks.values()])
    assert gate.verdict is Verdict.HELD_BACK
    assert gate.reasons == ("skip rate 20 % against 38 ± 4 % over 14 dates",)
    assert checks["skip_rate"].observed_ko == "건너뛴 비율 20%"
    assert failed(outcome_checks(day(), skip_rate=drift(0.18, 0.24))) == []


def test_a_drifted_p_skip_warns() -> None:
    """Sixteen of twenty pairs lie below 0.5."""
    checks = outcome_checks(day(), p_skip=drift(0.3, 0.6, cut=0.5))
    assert failed(checks) == ["p_skip"]
    assert judge([*checks.values()]).verdict is Verdict.WARNED
    assert failed(outcome_checks(day(), p_skip=drift(0.7, 0.9, cut=0.5))) == []
    assert failed(outcome_checks(day(), p_skip=drift(0.0, 0.1, cut=0.1))) == []  # what lies at the cut is not below it


def test_without_a_band_nothing_drifts() -> None:
    assert failed(outcome_checks(day(), skip_rate=drift(None, None), p_skip=drift(None, None))) == []


def pairs(count: int = 400, **changes: Any) -> pl.DataFrame:
    columns = {
        "recommended_item_id": range(count),
        "reason_item_id": [i % 7 for i in range(count)],
        "recommended_item": ["두부"] * count,
        "reason_item": ["된장"] * count,
        "recommended_scate": ["두부"] * count,
    }
    return pl.DataFrame(columns | changes)


VOLUMES = pl.DataFrame({"candidates": [390, 400, 410, 405, 4000], "missing_share": [0.0, 0.02, 0.05, 0.04, 0.9]})


def input_checks(frame: pl.DataFrame, volumes: pl.DataFrame = VOLUMES, ds: dt.date = TODAY) -> dict[str, Check]:
    return {check.name: check for check in validate_input(frame, ds, volumes, today=TODAY).checks}


def test_good_candidates_pass() -> None:
    assert failed(input_checks(pairs())) == []
    assert [check.name for check in validate_input(pairs(), TODAY, VOLUMES).checks] == [*input_checks(pairs())]


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({"recommended_item_id": [None] * 100 + [*range(100, 400)]}, ["recommended_item_id_present", "pairs_unique"]),
        ({"reason_item_id": [None] * 100 + [i % 7 for i in range(100, 400)]}, ["reason_item_id_present"]),
        ({"recommended_item_id": [7, *range(1, 400)]}, ["pairs_unique"]),
        ({"recommended_item": [" "] * 100 + ["두부"] * 300}, ["names_readable", "names_complete"]),
    ],
)
def test_broken_candidates_are_held_back_before_the_model(changes: dict[str, Any], broken: list[str]) -> None:
    checks = input_checks(pairs(**changes))
    assert failed(checks) == broken
    assert judge([*checks.values()]).verdict is Verdict.HELD_BACK


def test_ten_times_the_usual_volume_is_held_back_before_it_costs_days() -> None:
    checks = input_checks(pairs(4_200))
    assert failed(checks) == ["volume_bearable", "volume_usual"]
    assert judge([*checks.values()]).verdict is Verdict.HELD_BACK
    assert "4,200 pairs against a median of 405 over 5 dates" in judge([*checks.values()]).reasons[0]


@pytest.mark.parametrize(
    ("frame", "broken"),
    [
        (pairs(12), ["volume_usual"]),
        (pairs(900), ["volume_usual"]),
        (pairs(reason_item=[None] * 10 + ["된장"] * 390), ["names_complete"]),
        (pairs(recommended_scate=[""] * 30 + [None] * 40 + ["두부"] * 330), ["categories_present"]),
    ],
)
def test_unusual_candidates_warn(frame: pl.DataFrame, broken: list[str]) -> None:
    checks = input_checks(frame)
    assert failed(checks) == broken
    assert judge([*checks.values()]).verdict is Verdict.WARNED


def test_a_date_that_has_not_begun_in_seoul_warns() -> None:
    checks = input_checks(pairs(), ds=TODAY + dt.timedelta(days=2))
    assert failed(checks) == ["date_begun"]
    assert checks["date_begun"].observed == "in 2 days"


def test_without_a_history_the_volume_passes_and_says_so() -> None:
    no_categories = pairs(12, recommended_scate=[""] * 12)
    checks = input_checks(no_categories, VOLUMES.head(2))
    assert failed(checks) == []
    assert checks["volume_usual"].observed == "12 pairs, no reference yet"
    assert checks["categories_present"].observed == "100.0%, no reference yet"


def test_checks_have_the_same_names_and_descriptions_on_every_date() -> None:
    def said(checks: dict[str, Check]) -> list[tuple[str, str, str]]:
        return [(check.name, check.description, check.description_ko) for check in checks.values()]

    assert said(input_checks(pairs())) == said(input_checks(pairs(12), VOLUMES.clear(), TODAY + dt.timedelta(days=1)))
    one, other = drift(0.1, 0.3), drift(None, None)
    assert said(outcome_checks(day(), skip_rate=one)) == said(outcome_checks(large_day().head(9), 20, skip_rate=other))


def test_severities_are_those_of_the_failed_expectation() -> None:
    assert outcome_checks(day())["failed_share"].severity is Severity.CRITICAL
    assert outcome_checks(day())["valid_json"].severity is Severity.WARNING
