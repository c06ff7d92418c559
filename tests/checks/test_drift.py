"""Drift: a real jump is seen; chance, a small date, and a shifted input mix are not taken for one."""

import datetime as dt
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

from checks.drift import Drift, bin_of, p_skip_drift, skip_rate_drift

TODAY = dt.date(2026, 11, 28)
RATES = {"쌈채소": 0.1, "잎채소": 0.2, "두부": 0.3, "음료": 0.6, "세제": 0.97, "": 0.5}
MIX = [0.25, 0.25, 0.2, 0.15, 0.1, 0.05]
SPREAD = 0.12  # of the log-odds from date to date: two points of the skip rate or so


def day(random: np.random.Generator, pairs: int, **options: Any) -> pl.DataFrame:
    """The statistics of today."""
    return days(random, [TODAY], pairs, **options)


def history(random: np.random.Generator, dates: int = 14, pairs: int = 400, **options: Any) -> pl.DataFrame:
    """The statistics of the dates before today."""
    return days(random, [TODAY - dt.timedelta(days=back) for back in range(dates, 0, -1)], pairs, **options)


def days(
    random: np.random.Generator, dates: list[dt.date], pairs: int, *, mix: list[float] | None = None,
    spread: float = SPREAD, model: str = "m1", prompt: str = "reason/v1", **rates: float,
) -> pl.DataFrame:  # fmt: skip
    """Dates on which each category skips at its rate, give or take the date's own luck."""
    chosen = RATES | rates
    decided = random.multinomial(pairs, mix or MIX, size=len(dates))
    odds = np.array([rate / (1 - rate) for rate in chosen.values()]) * np.exp(random.normal(0, spread, (len(dates), 1)))
    skipped = random.binomial(decided, odds / (1 + odds))
    bins = np.concatenate([random.multinomial(part, [0.1] * 10) for part in (decided - skipped, skipped)], axis=-1)
    return pl.DataFrame(
        {
            "ds": [date for date in dates for _ in chosen],
            "scate": [*chosen] * len(dates),
            "decided": decided.ravel(),
            "skipped": skipped.ravel(),
            "bins": pl.Series(bins.reshape(-1, 20)).cast(pl.List(pl.Int64)),
            "model": [model] * decided.size,
            "prompt": [prompt] * decided.size,
        }
    )


def skip_rate(frame: pl.DataFrame) -> float:
    return int(frame["skipped"].sum()) / int(frame["decided"].sum())


def share_drifted(judge: Any, tries: int, pairs: int, today: dict[str, Any], **options: Any) -> float:
    random = np.random.default_rng(7)
    found = 0
    for _ in range(tries):
        reference = history(random, pairs=pairs, **options)
        found += judge(day(random, pairs, **options | today), reference).status == "drifted"
    return found / tries


UP = {"쌈채소": 0.6, "잎채소": 0.65}  # the skip rate from about 38 to about 61 %


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize("pairs", [60, 400, 135_000])
def test_a_steady_shop_is_hardly_ever_held_back(pairs: int) -> None:
    assert share_drifted(skip_rate_drift, 1000, pairs, {}) <= 0.02


@pytest.mark.parametrize("pairs", [400, 135_000])
def test_also_when_its_dates_differ_widely(pairs: int) -> None:
    assert share_drifted(skip_rate_drift, 300, pairs, {}, spread=0.4) <= 0.02


@pytest.mark.parametrize("pairs", [400, 135_000])
def test_a_jump_of_twenty_points_is_seen(pairs: int) -> None:
    assert share_drifted(skip_rate_drift, 200, pairs, UP) >= 0.95


def test_a_fall_is_seen_as_well(random: np.random.Generator) -> None:
    drift = skip_rate_drift(day(random, 400, 음료=0.1, 세제=0.2, 두부=0.02), history(random))
    assert drift.status == "drifted"
    assert drift.observed is not None and drift.low is not None and drift.observed < drift.low


def test_few_dates_need_a_clearer_jump(random: np.random.Generator) -> None:
    many, few = (skip_rate_drift(day(random, 400), history(random, dates)) for dates in (14, 5))
    assert width(few) > 1.3 * width(many)


def width(drift: Drift) -> float:
    assert drift.low is not None and drift.high is not None
    return drift.high - drift.low


def test_few_pairs_need_a_clearer_jump(random: np.random.Generator) -> None:
    reference = history(random, pairs=5000)
    large, small = (skip_rate_drift(day(random, pairs), reference) for pairs in (5000, 60))
    assert width(small) > 3 * width(large)


def test_twelve_pairs_are_never_drift(random: np.random.Generator) -> None:
    twelve = pl.DataFrame({"ds": [TODAY], "scate": ["쌈채소"], "decided": [12], "skipped": [12],
                           "bins": [[0] * 19 + [12]], "model": ["m1"], "prompt": ["reason/v1"]})  # fmt: skip
    drift = skip_rate_drift(twelve, history(random))
    assert (drift.status, drift.observed) == ("steady", 1.0)
    assert drift.sentence == "skip rate 100 %, too few pairs to judge (12)"
    assert p_skip_drift(twelve, history(random)).status == "steady"


HOUSEHOLD = [0.05, 0.05, 0.05, 0.05, 0.75, 0.05]


def test_a_shifted_mix_moves_what_is_expected_and_alarms_no_one(random: np.random.Generator) -> None:
    reference = history(random, pairs=2000)
    today = day(random, 2000, mix=HOUSEHOLD)
    assert skip_rate(today) > skip_rate(reference) + 0.4
    drift = skip_rate_drift(today, reference)
    assert drift.status == "steady"
    assert drift.expected == pytest.approx(skip_rate(today), abs=0.05)
    assert share_drifted(skip_rate_drift, 200, 2000, {"mix": HOUSEHOLD}) <= 0.01
    assert p_skip_drift(today, reference).status == "steady"


def test_a_jump_is_seen_through_a_shifted_mix_that_hides_it(random: np.random.Generator) -> None:
    today = day(random, 2000, mix=[0.4, 0.4, 0.15, 0.03, 0.01, 0.01], 쌈채소=0.3, 잎채소=0.4)
    reference = history(random, pairs=2000)
    assert skip_rate(today) == pytest.approx(skip_rate(reference), abs=0.05)
    assert skip_rate_drift(today, reference).status == "drifted"


def test_a_category_that_is_new_today_is_no_drift_of_its_own(random: np.random.Generator) -> None:
    reference = history(random).filter(pl.col("scate") != "세제")
    assert skip_rate_drift(day(random, 400), reference).status == "steady"


def test_a_category_that_was_hardly_ever_seen_is_not_taken_at_its_word(random: np.random.Generator) -> None:
    """Three of three pairs were skipped; now it is half the day, and skips like the rest."""
    reference = history(random, mix=[0.3, 0.3, 0.2, 0.1, 0.1, 0.0])
    seldom = reference.filter(pl.col("scate") == "").head(1).with_columns(decided=3, skipped=3)
    reference = pl.concat([reference.filter(pl.col("scate") != ""), seldom.cast(reference.schema)])
    today = day(random, 400, mix=[0.15, 0.15, 0.1, 0.05, 0.05, 0.5], **{"": 0.4})
    drift = skip_rate_drift(today, reference)
    assert drift.status == "steady"
    assert drift.expected is not None and drift.expected < 0.56  # 0.67 at its word


def test_a_small_move_of_a_large_date_is_not_worth_an_alarm(random: np.random.Generator) -> None:
    reference = history(random, pairs=135_000, spread=0.0)
    today = day(random, 135_000, spread=0.0, 쌈채소=0.16, 잎채소=0.26)
    assert skip_rate_drift(today, reference).status == "steady"
    assert skip_rate_drift(today, reference, smallest_move=0.01).status == "drifted"


def test_without_enough_dates_there_is_no_reference_yet(random: np.random.Generator) -> None:
    today = day(random, 400, **UP)
    drift = skip_rate_drift(today, history(random, dates=4))
    assert (drift.status, drift.low, drift.dates) == ("no reference yet", None, 4)
    assert drift.sentence.endswith("%, no reference yet (4 of 5 dates)")
    assert skip_rate_drift(today, history(random, dates=5)).status != "no reference yet"
    nothing = skip_rate_drift(today, today.clear())
    assert (nothing.status, nothing.dates) == ("no reference yet", 0)
    assert p_skip_drift(today, today.clear()).status == "no reference yet"


def test_a_date_that_decided_nothing_is_no_date_of_the_reference(random: np.random.Generator) -> None:
    reference = history(random, dates=5)
    idle = reference.filter(pl.col("ds") == TODAY - dt.timedelta(days=1)).with_columns(decided=0, skipped=0)
    rest = reference.filter(pl.col("ds") != TODAY - dt.timedelta(days=1))
    assert skip_rate_drift(day(random, 400), pl.concat([rest, idle.cast(rest.schema)])).dates == 4


def test_a_date_that_decides_nothing_is_not_judged(random: np.random.Generator) -> None:
    idle = day(random, 400).with_columns(decided=0, skipped=0)
    drift = skip_rate_drift(idle, history(random))
    assert (drift.status, drift.observed, drift.sentence) == ("steady", None, "no pair was decided")


def test_a_sentence_says_it_in_english_and_in_korean(random: np.random.Generator) -> None:
    drift = skip_rate_drift(day(random, 5000, **UP), history(random, pairs=5000))
    assert drift.observed and drift.expected and drift.high
    seen, expected, margin = (f"{100 * x:.0f}" for x in (drift.observed, drift.expected, drift.high - drift.expected))
    assert drift.sentence == f"skip rate {seen} % against {expected} ± {margin} % over 14 dates"
    assert drift.sentence_ko == f"건너뛴 비율 {seen}%, 직전 14일 기준 {expected} ± {margin}%"


def test_the_category_that_jumped_is_named_first(random: np.random.Generator) -> None:
    drift = skip_rate_drift(day(random, 2000, 두부=0.9), history(random, pairs=2000))
    assert drift.status == "drifted"
    first, second = drift.parts[:2]
    assert (first.kind, first.name) == ("category", "두부")
    assert first.observed == pytest.approx(0.9, abs=0.05)
    assert first.expected == pytest.approx(0.3, abs=0.05)
    assert first.share is not None and second.share is not None
    assert first.share > 0.7 > 5 * second.share


def test_another_model_or_prompt_is_named_with_the_reference_s(random: np.random.Generator) -> None:
    today = day(random, 2000, model="m2", prompt="reason/v2", **UP)
    versions = {part.kind: part for part in skip_rate_drift(today, history(random, pairs=2000)).parts[-2:]}
    assert versions["model"].name == "m2; reference: m1 (14 dates)"
    assert versions["prompt"].name == "reason/v2; reference: reason/v1 (14 dates)"
    assert versions["model"].share is None
    same = skip_rate_drift(day(random, 2000, **UP), history(random, pairs=2000))
    assert {part.kind for part in same.parts} == {"category"}


def test_the_order_of_the_rows_means_nothing(random: np.random.Generator) -> None:
    today, reference = day(random, 400, **UP), history(random)
    shuffled = skip_rate_drift(today.reverse(), reference.sample(fraction=1, shuffle=True, seed=3))
    assert shuffled == skip_rate_drift(today, reference)


def test_a_steady_p_skip_hardly_ever_alarms_though_it_is_looked_at_in_nineteen_places() -> None:
    assert share_drifted(partial(p_skip_drift, alpha=0.05, smallest_move=0.0), 200, 400, {}) <= 0.05
    assert share_drifted(p_skip_drift, 100, 20_000, {}) <= 0.01


def test_a_p_skip_that_moves_without_a_decision_changing_is_seen(random: np.random.Generator) -> None:
    """A model that has become unsure: everything it would write lies at 0.4 to 0.5 now."""
    today, reference = day(random, 2000), history(random, pairs=2000)
    unsure = today.with_columns(bins=pl.concat_list(pl.lit([0] * 8, dtype=pl.List(pl.Int64)),
                                pl.col("bins").list.head(10).list.sum(), pl.col("bins").list.slice(9)))  # fmt: skip
    assert unsure["bins"].list.len().to_list() == [20] * 6
    assert skip_rate_drift(unsure, reference).status == "steady"
    drift = p_skip_drift(unsure, reference)
    assert (drift.status, drift.cut) == ("drifted", 0.4)
    assert drift.sentence.startswith("pairs with p_skip below 0.40: 0 % against ")
    assert drift.sentence_ko.startswith("p_skip 0.40 미만 0%, 직전 14일 기준 ")


def test_a_p_skip_is_counted_in_the_bin_that_begins_at_or_below_it() -> None:
    frame = pl.DataFrame({"p_skip": [0.0, 0.049, 0.05, 0.15, 0.35, 0.7, 0.95, 1.0, None]})
    assert frame.select(bin_of(pl.col("p_skip"))).to_series().to_list() == [0, 0, 1, 3, 7, 14, 19, 19, None]
