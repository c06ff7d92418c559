"""preview: what a backfill is going to do: which dates are run, with how many model calls, in about what time.

Reads the source, the result store and past manifests; writes nothing, and needs no engine.
"""

import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import polars as pl
from pydantic import BaseModel, ConfigDict, computed_field

from tasks.backfill import RUN, Only, State, fresh_range, read_range, state_of
from tasks.errors import SayuError
from tasks.extract import clean_candidates, read_candidates
from tasks.model import model_fingerprint
from tasks.reports.index import Finished, finished_runs
from tasks.reuse import add_keys, add_stored, is_finished
from tasks.runs import describe_run
from tasks.screen import pairs_left
from tasks.settings import Settings

ASKING = "decide and generate"  # the stage in which a run waits for the engine, or for several of them


class Work(NamedTuple):
    """What a date takes: its pairs, how many of them are in the store by then, calls to the model, pairs left out."""

    candidates: int
    reused: int
    model_calls: int
    ranked_out: int = 0


class Pace(NamedTuple):
    """Seconds in past runs: for a model call while the engine was asked, and for all the rest. None: not known."""

    call: float | None
    rest: float | None


class PlannedDate(BaseModel):
    """A date as it is, and, where it is going to be run, what that takes. None: not known."""

    model_config = ConfigDict(frozen=True)
    ds: dt.date
    state: State
    run: bool
    candidates: int | None = None
    reused: int | None = None
    model_calls: int | None = None
    ranked_out: int | None = None
    seconds: float | None = None


class Preview(BaseModel):
    """What a backfill is going to do."""

    model_config = ConfigDict(frozen=True)
    start: dt.date
    end: dt.date
    only: Only
    dates: tuple[PlannedDate, ...]

    @property
    def to_run(self) -> list[PlannedDate]:
        """The dates that are going to be run, in order."""
        return [date for date in self.dates if date.run]

    @computed_field  # type: ignore[prop-decorator]  # which is how pydantic wants it
    @property
    def model_calls(self) -> int:
        """Of all dates together."""
        return sum(date.model_calls or 0 for date in self.to_run)

    @computed_field  # type: ignore[prop-decorator]  # which is how pydantic wants it
    @property
    def seconds(self) -> float | None:
        """Of all dates together; None where that of one is not known."""
        seconds = [date.seconds for date in self.to_run]
        return None if None in seconds else round(sum(second or 0.0 for second in seconds), 1)

    @property
    def said(self) -> str:
        """All of it in one line."""
        about = "unknown" if self.seconds is None else f"about {dt.timedelta(seconds=round(self.seconds))}"
        run = f"{len(self.to_run)} of {len(self.dates)} dates to run"
        return f"{self.start} to {self.end}, {self.only}: {run}, {self.model_calls:,} model calls, time {about}"


def preview_backfill(start: dt.date, end: dt.date, only: Only, settings: Settings) -> Preview:
    """Look at every date from `start` to `end`, and count what those that are to be run would take.

    Raises:
        UsageError: `end` is before `start`, or no date has candidates.
        SourceError, PublicationError: the source or the serving file can't be read.
    """
    dates, with_candidates = read_range(start, end, settings)
    settings = fresh_range(start, end, settings)
    states = {ds: state_of(ds, settings) for ds in dates}
    to_run = [ds for ds in dates if ds in with_candidates and states[ds] in RUN[only]]
    work, pace = count_work(to_run, settings), measure_pace(settings)
    planned = []
    for ds, state in states.items():
        absent = ds not in with_candidates and state in RUN["missing"]
        counted = work[ds]._asdict() | {"seconds": estimate(work[ds], pace)} if ds in work else {}
        planned.append(PlannedDate(ds=ds, state="no candidates" if absent else state, run=ds in to_run, **counted))
    return Preview(start=start, end=end, only=only, dates=tuple(planned))


def count_work(dates: Sequence[dt.date], settings: Settings) -> dict[dt.date, Work]:
    """What each date takes if they are run in this order: what one asks, the later ones find stored.

    A pair takes one model call; in other orders than `fused` it may take a second one for its text, and is counted as
    if it did. A date that can't be read is left out: its run says why.

    Nothing is ranked here, which takes baskets and vectors. How many pairs there are no places for is known without;
    which pairs have them is not: stored texts do, and calls are counted as if pairs to ask took all the others.
    """
    read = {ds: pairs for ds in dates if (pairs := _keys(ds, settings)) is not None}
    if not read:
        return {}
    keyed = pl.concat([keys for _, keys in read.values()])
    stored = add_stored(keyed.unique("key").select("key"), describe_run(dates[0], settings))
    kept = keyed.join(stored, on="key", how="left", maintain_order="left").pipe(_places, settings)
    asked = kept.filter(~is_finished(settings.threshold)).unique("key", keep="first", maintain_order=True)
    twice = pl.col("p_skip").is_null() & (settings.order != "fused")
    calls = dict(asked.group_by("ds").agg(calls=pl.len() + twice.sum()).iter_rows())
    found = dict(kept.join(asked, on=["ds", "key"], how="anti").group_by("ds").len().iter_rows())
    left = dict(kept.group_by("ds").len().iter_rows())
    return {
        ds: Work(count, found.get(ds, 0), calls.get(ds, 0), keys.height - left.get(ds, 0))
        for ds, (count, keys) in read.items()
    }


def _places(pairs: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """As many of each item's pairs, and of each date's, as there are places: stored texts first, skips last."""
    finished = is_finished(settings.threshold)
    written = finished & (pl.col("p_skip") < settings.threshold)
    pairs = pairs.sort("ds", ~written.fill_null(False), finished.fill_null(False), maintain_order=True)
    for limit, group in ((settings.rank_per_item, ["ds", "recommended_item_id"]), (settings.rank_per_date, ["ds"])):
        if limit is not None:
            pairs = pairs.filter(pl.int_range(pl.len()).over(group) < limit)
    return pairs


def measure_pace(settings: Settings) -> Pace:
    """The medians of the store's past runs: with the same engine and model, or else with the same engine."""
    runs = [run for run in finished_runs(settings).values() if run.summary.engine == settings.engine]
    model = model_fingerprint(settings)
    runs = [run for run in runs if run.summary.model == model] or runs
    times = [(run.summary.model_calls, _seconds(settings.store, run)) for run in runs]
    calls = [seconds.get(ASKING, 0.0) / model_calls for model_calls, seconds in times if model_calls]
    rests = [sum(seconds.values()) - seconds.get(ASKING, 0.0) for _, seconds in times]
    return Pace(median(calls) if calls else None, median(rests) if rests else None)


def estimate(work: Work, pace: Pace) -> float | None:
    """About how many seconds a date takes; None where no past run tells."""
    if pace.rest is None or (work.model_calls and pace.call is None):
        return None
    return round(pace.rest + work.model_calls * (pace.call or 0.0), 1)


def _seconds(store: Path, run: Finished) -> dict[str, float]:
    """Seconds per stage. The report's own are not in the manifest, which is written in it."""
    timings = (store / run.report).with_name("timings.json")
    return json.loads(timings.read_text(encoding="utf-8")) if timings.exists() else run.summary.seconds


def _keys(ds: dt.date, settings: Settings) -> tuple[int, pl.DataFrame] | None:
    """A date's number of candidates, and of those that no rule turns away `ds`, `key` and `recommended_item_id`.

    None: it can't be read.
    """
    try:
        candidates = clean_candidates(read_candidates(settings.source, ds))
    except SayuError:
        return None
    left = pairs_left(candidates, settings)
    keys = add_keys(left, describe_run(ds, settings)).select("candidate_id", "key", ds=pl.lit(ds))
    return candidates.height, keys.join(left.select("candidate_id", "recommended_item_id"), on="candidate_id")
