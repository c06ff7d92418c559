"""Which stored results still count: as long as what they say allows, and never longer than asked for."""

import datetime as dt
from typing import Any

import polars as pl
import pytest

from tasks.expiry import ANY_AGE_DAYS, Oldest, at_any_age
from tasks.settings import Settings

NOW = dt.datetime(2026, 11, 28, 12, tzinfo=dt.UTC)
TIMES: dict[str, Any] = {"result_ttl_days": 20, "skipped_ttl_days": 30, "rejected_ttl_days": 10}


def counting(oldest: Oldest, kind: str, said: str, *values: object) -> list[int]:
    """The ages in days, of 5, 15, 25 and 35, at which a row that says this value still counts."""
    rows = pl.DataFrame([(age, value, NOW - dt.timedelta(days=age)) for value in values for age in (5, 15, 25, 35)],
                        schema=["age", said, "finished_at"], orient="row")  # fmt: skip
    return rows.filter(oldest.counts(kind))["age"].to_list()


def test_skips_texts_that_passed_and_texts_that_failed_have_each_their_own_time() -> None:
    oldest = Oldest.at(NOW, Settings(**TIMES))
    assert counting(oldest, "decisions", "p_skip", 0.5) == [5, 15, 25]
    assert counting(oldest, "texts", "passed", True) == [5, 15]
    assert counting(oldest, "texts", "passed", False) == [5]


def test_a_text_that_nobody_has_judged_counts_as_one_that_passed() -> None:
    rows = pl.DataFrame({"passed": [None], "finished_at": [NOW - dt.timedelta(days=15)]},
                        schema_overrides={"passed": pl.Boolean})  # fmt: skip
    assert rows.filter(Oldest.at(NOW, Settings(**TIMES)).counts("texts")).height == 1


@pytest.mark.parametrize(("rejected", "ages"), [(10, [5, 15]), (40, [5, 15, 25, 35])])
def test_a_decision_to_write_counts_as_long_as_a_text_may(rejected: int, ages: list[int]) -> None:
    oldest = Oldest.at(NOW, Settings(**TIMES | {"rejected_ttl_days": rejected}))
    assert counting(oldest, "decisions", "p_skip", 0.49) == ages


def test_the_threshold_tells_a_skip_from_a_decision_to_write() -> None:
    assert counting(Oldest.at(NOW, Settings(**TIMES, threshold=0.8)), "decisions", "p_skip", 0.5) == [5, 15]


def test_nothing_from_before_a_moment_counts_whatever_it_says() -> None:
    oldest = Oldest.at(NOW, Settings(**TIMES)).but_from(NOW - dt.timedelta(days=7))
    assert counting(oldest, "decisions", "p_skip", 0.1, 0.9) == [5, 5]
    assert oldest.first == NOW - dt.timedelta(days=7)


def test_all_times_are_those_of_a_text_unless_they_are_said() -> None:
    month, week = (NOW - dt.timedelta(days=days) for days in (30, 7))
    assert Oldest.at(NOW, Settings()) == (0.5, month, month, month)
    assert Oldest.at(NOW, Settings(result_ttl_days=7)) == (0.5, week, week, week)


def test_at_any_age_everything_counts() -> None:
    settings = at_any_age(Settings(**TIMES, fresh=True, fresh_since=NOW))
    assert Oldest.at(NOW, settings).first == NOW - dt.timedelta(days=ANY_AGE_DAYS)
    assert (settings.fresh, settings.fresh_since) == (False, None)
