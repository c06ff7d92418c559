"""What a backfill says that it is going to do, against what the runs then do."""

import datetime as dt
import json
from pathlib import Path

import pytest

from demo.build_source import write_source
from tasks.backfill import Only, fresh_range
from tasks.preview import Pace, PlannedDate, Preview, Work, count_work, estimate, measure_pace, preview_backfill
from tasks.report import Summary
from tasks.runs import describe_run, runs_of
from tasks.settings import Settings
from tests.integration.stages import all_stages
from tests.shop import DS, ITEMS, PAIRS, good_answer, make_run, prepare, record

DATES = FIRST, SECOND, THIRD = [DS - dt.timedelta(days=days) for days in (4, 1, 0)]  # two days without candidates
SAME_ITEM = (3, 3, 0.4)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Three dates of one basket: two pairs; these and two more; these, one more, and one that a rule turns away."""
    pairs = {FIRST: PAIRS[:2], SECOND: PAIRS[:4], THIRD: [*PAIRS, SAME_ITEM]}
    baskets = [(ds, "b1", item, place) for ds in DATES for place, item in enumerate([2, 3, 4])]
    source = write_source(
        tmp_path / "s.duckdb", ITEMS, baskets, [(ds, "b1", *pair) for ds in DATES for pair in pairs[ds]]
    )
    run = make_run(tmp_path, source, store=tmp_path / "elsewhere")
    prepare(run)
    record(run, good_answer)
    return run.settings.model_copy(update={"store": tmp_path / "store"})


def run_date(ds: dt.date, settings: Settings) -> Summary:
    return all_stages(describe_run(ds, settings))[3]


def preview(settings: Settings, only: Only = "missing") -> Preview:
    return preview_backfill(FIRST, THIRD, only, settings)


def test_what_one_date_asks_the_later_ones_find_stored(settings: Settings) -> None:
    assert count_work(DATES, settings) == {FIRST: Work(2, 0, 2), SECOND: Work(4, 2, 2), THIRD: Work(6, 4, 1)}
    assert count_work([SECOND], settings) == {SECOND: Work(4, 0, 4)}


def test_what_was_foreseen_is_what_comes(settings: Settings) -> None:
    for planned in preview(settings).to_run:
        summary = run_date(planned.ds, settings)
        came = (summary.candidates, summary.reused, summary.model_calls)
        assert (planned.candidates, planned.reused, planned.model_calls) == came


def test_what_is_stored_is_not_asked_again(settings: Settings) -> None:
    run_date(SECOND, settings)
    assert count_work(DATES, settings) == {FIRST: Work(2, 2, 0), SECOND: Work(4, 4, 0), THIRD: Work(6, 4, 1)}
    expired = settings.model_copy(update={"result_ttl_days": 1e-9})
    assert count_work([SECOND], expired) == {SECOND: Work(4, 0, 4)}


def test_by_pair_a_date_finds_what_another_basket_asked(settings: Settings) -> None:
    """The same pairs in a basket of their own each date."""
    baskets = [(ds, "b1", item, place) for ds, more in zip(DATES, (1, 5, 6), strict=True)
               for place, item in enumerate([2, 3, 4, more])]  # fmt: skip
    pairs = [(ds, "b1", *pair) for ds in DATES for pair in PAIRS[:3]]
    write_source(Path(settings.source), ITEMS, baskets, pairs)
    assert count_work(DATES, settings) == dict.fromkeys(DATES, Work(3, 0, 3))
    by_pair = settings.model_copy(update={"reuse_key": "pair"})
    assert count_work(DATES, by_pair) == {FIRST: Work(3, 0, 3), SECOND: Work(3, 3, 0), THIRD: Work(3, 3, 0)}


def test_each_outcome_expires_in_its_own_time(settings: Settings) -> None:
    run_date(THIRD, settings)  # five pairs of six, of them one skip
    assert count_work([THIRD], settings.model_copy(update={"skipped_ttl_days": 1e-9})) == {THIRD: Work(6, 4, 1)}
    no_skips = {"result_ttl_days": 1e-9, "skipped_ttl_days": 30}
    assert count_work([THIRD], settings.model_copy(update=no_skips)) == {THIRD: Work(6, 1, 4)}


def test_a_fresh_range_asks_everything_once(settings: Settings) -> None:
    for ds in DATES:
        run_date(ds, settings)
    fresh = settings.model_copy(update={"fresh": True})
    shown = preview(fresh, "all")
    assert [date.model_calls for date in shown.to_run] == [2, 2, 1]
    together = fresh_range(FIRST, THIRD, fresh)
    for planned in shown.to_run:
        summary = run_date(planned.ds, together)
        assert (planned.reused, planned.model_calls) == (summary.reused, summary.model_calls)


def test_a_raised_threshold_asks_for_the_texts_that_are_not_there(settings: Settings) -> None:
    run_date(THIRD, settings)
    assert count_work([THIRD], settings.model_copy(update={"threshold": 0.95})) == {THIRD: Work(6, 4, 1)}


def test_an_order_that_asks_twice_is_counted_as_if_every_pair_were_written(settings: Settings) -> None:
    chunked = settings.model_copy(update={"order": "chunked"})
    assert count_work([FIRST], chunked) == {FIRST: Work(2, 0, 4)}
    assert run_date(FIRST, chunked).model_calls == 4
    assert count_work([THIRD], chunked) == {THIRD: Work(6, 2, 6)}
    assert run_date(THIRD, chunked).model_calls == 5  # the detergent was skipped


def test_a_preview_writes_nothing(settings: Settings) -> None:
    preview(settings, "all")
    assert not settings.store.exists()


def test_every_date_of_the_range_is_there_and_those_without_candidates_are_not_run(settings: Settings) -> None:
    shown = preview(settings, "all")
    assert [date.ds for date in shown.dates] == [FIRST + dt.timedelta(days=days) for days in range(5)]
    assert [date.state for date in shown.dates] == ["missing", "no candidates", "no candidates", "missing", "missing"]
    assert [date.ds for date in shown.to_run] == DATES
    assert all(date.candidates is None for date in shown.dates if not date.run)
    assert shown.model_calls == 5


def test_only_the_wanted_dates_are_run(settings: Settings) -> None:
    run_date(FIRST, settings)  # published
    describe_run(SECOND, settings).folder.mkdir(parents=True)  # begun, and never ended
    run_date(THIRD, settings)
    (manifest,) = runs_of(settings.store, THIRD).glob("*/manifest.json")
    held_back = json.loads(manifest.read_text(encoding="utf-8")) | {"verdict": "held back", "publication_id": None}
    manifest.write_text(json.dumps(held_back), encoding="utf-8")
    wanted: dict[Only, list[dt.date]] = {"missing": [SECOND], "failed": [SECOND, THIRD], "all": DATES}
    for only, dates in wanted.items():
        shown = preview(settings, only)
        assert [date.ds for date in shown.to_run] == dates
        states = {date.ds: date.state for date in shown.dates}
        assert [states[ds] for ds in DATES] == ["published", "failed", "held back"]


def test_nothing_is_known_of_the_time_where_nothing_was_run(settings: Settings) -> None:
    assert measure_pace(settings) == Pace(None, None)
    shown = preview(settings)
    assert shown.seconds is None
    assert shown.said.endswith("3 of 5 dates to run, 5 model calls, time unknown")


def test_the_time_is_told_from_past_runs(settings: Settings) -> None:
    run_date(FIRST, settings)
    (manifest,) = runs_of(settings.store, FIRST).glob("*/manifest.json")
    times = {"extract": 1.0, "decide and generate": 6.0, "check": 1.5, "report": 0.5}
    manifest.with_name("timings.json").write_text(json.dumps(times), encoding="utf-8")
    assert measure_pace(settings) == Pace(call=3.0, rest=3.0)
    shown = preview(settings)
    assert [date.seconds for date in shown.to_run] == [9.0, 6.0]
    assert shown.seconds == 15.0
    assert shown.said.endswith("time about 0:00:15")
    assert measure_pace(settings.model_copy(update={"engine": "transformers"})) == Pace(None, None)


@pytest.mark.parametrize(
    ("calls", "pace", "seconds"),
    [
        (100, Pace(0.5, 3.0), 53.0),
        (0, Pace(0.5, 3.0), 3.0),
        (0, Pace(None, 3.0), 3.0),  # only runs that asked nothing: enough for one more of them
        (100, Pace(None, 3.0), None),
        (0, Pace(None, None), None),
    ],
)
def test_an_estimate_is_the_calls_and_the_rest(calls: int, pace: Pace, seconds: float | None) -> None:
    assert estimate(Work(100, 0, calls), pace) == seconds


def test_the_time_of_all_dates_is_not_known_where_that_of_one_is_not() -> None:
    dates = [
        PlannedDate(ds=ds, state="missing", run=True, seconds=s) for ds, s in zip(DATES, (1.0, None, 2.0), strict=True)
    ]
    assert Preview(start=FIRST, end=THIRD, only="all", dates=tuple(dates)).seconds is None
    assert Preview(start=FIRST, end=THIRD, only="all", dates=(dates[0], dates[2])).seconds == 3.0
    assert Preview(start=FIRST, end=THIRD, only="all", dates=()).seconds == 0.0
