"""backfill: a range of dates, the state that each is in, and what became of those that were run.

A date's state is what its last run left. `only` says which dates are run, in order: `missing` those that have no result
yet, so that the same command again does what is left; `failed` those whose last run failed or was held back; `all`
every date. A date without candidates is never run.
"""

import datetime as dt
import time
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError, computed_field

from tasks.errors import BusyError, SayuError, StoreError, UsageError
from tasks.extract import read_dates
from tasks.load import list_publications, live_publication
from tasks.records import Outcome
from tasks.reports.summary import Summary, latest_summary
from tasks.runs import describe_run, fresh_together, hold_date, last_manifest, runs_of
from tasks.settings import Settings

# Another run's checks, load and report take seconds. For more nobody waits: the other dates can go on.
BUSY_SECONDS = 10.0
LOOK_AGAIN_SECONDS = 0.5

Only = Literal["missing", "failed", "all"]
State = Literal["published", "held back", "withdrawn", "failed", "missing", "no candidates", "busy"]
# What somebody took back is put before readers again by `all` only.
RUN: dict[Only, tuple[State, ...]] = {
    "missing": ("missing", "failed"),
    "failed": ("failed", "held back"),
    "all": ("published", "held back", "withdrawn", "failed", "missing"),
}


class DoneDate(BaseModel):
    """What became of a date, or, where it was not run, what it is. `seconds` and `model_calls` are of this run."""

    model_config = ConfigDict(frozen=True)
    ds: dt.date
    state: State
    ran: bool = False
    candidates: int | None = None
    published: int | None = None
    model_calls: int | None = None
    seconds: float | None = None
    detail: str = ""  # why it failed or was held back
    report: str = ""  # the report's path
    link: str = ""  # the report's address


class Backfilled(BaseModel):
    """What became of a range of dates."""

    model_config = ConfigDict(frozen=True)
    start: dt.date
    end: dt.date
    only: Only
    dates: tuple[DoneDate, ...]

    @computed_field  # type: ignore[prop-decorator]  # which is how pydantic wants it
    @property
    def states(self) -> dict[str, int]:
        """How many dates are in each state."""
        states = [date.state for date in self.dates]
        return {state: states.count(state) for state in dict.fromkeys(states)}

    @property
    def complete(self) -> bool:
        """Whether no date failed or was left to another run."""
        return not any(date.state in ("failed", "busy") for date in self.dates)

    @property
    def said(self) -> str:
        """All of it in one line."""
        ran = sum(date.ran for date in self.dates)
        states = ", ".join(f"{count} {state}" for state, count in self.states.items())
        return f"{self.start} to {self.end}, {self.only}: {ran} of {len(self.dates)} dates run; {states}"


class Range(NamedTuple):
    """Every date from the first to the last one, and which of them have candidates."""

    dates: list[dt.date]
    with_candidates: set[dt.date]


def read_range(start: dt.date, end: dt.date, settings: Settings) -> Range:
    """The dates from `start` to `end`, both among them.

    Raises:
        UsageError: `end` is before `start`, or no date has candidates.
        SourceError: the source can't be read.
    """
    return Range(_dates(start, end), set(read_dates(settings.source, start, end)))


def fresh_range(start: dt.date, end: dt.date, settings: Settings) -> Settings:
    """The settings for all dates of a range: if they are `fresh`, what one asks the later ones find stored.

    A range that was begun fresh and stopped at one of its dates goes on (see runs.fresh_together).

    Raises:
        UsageError: `end` is before `start`.
    """
    return fresh_together([describe_run(ds, settings) for ds in _dates(start, end)]) if settings.fresh else settings


def state_of(ds: dt.date, settings: Settings) -> State:
    """What the last run of a date left, whatever it was asked for; "missing" where there was none.

    "failed": it did not end, or it published nothing though no check held it back.

    Raises:
        PublicationError: the serving file can't be read.
    """
    if not any(path.is_dir() for path in runs_of(settings.store, ds).glob("*")):
        return "missing"
    try:
        summary = latest_summary(settings, ds)
        if _begun_later(settings.store, ds):
            return "failed"
    except (StoreError, ValidationError):
        return "failed"
    if summary.kind == "held_back":
        return "held back"
    if live_publication(settings.serving_file, ds):
        return "published"
    # A serving file that has no record of the publication is another one: there the date is not published yet.
    recorded = {publication.ds for publication in list_publications(settings.serving_file, dt.datetime.now(dt.UTC))}
    return "withdrawn" if summary.publication_id is not None and ds in recorded else "failed"


def wait_until_free(store: Path, ds: dt.date) -> bool:
    """Wait a little for a date that another run works on; returns whether it is free.

    Raises:
        StoreError: the store can't be written.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            with hold_date(store, ds):
                return True
        except BusyError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_AGAIN_SECONDS)


def leave(ds: dt.date, state: State, settings: Settings) -> DoneDate:
    """A date that is not run: its state, and the report of its last run if there is one."""
    try:
        summary = latest_summary(settings, ds)
    except (StoreError, ValidationError):
        return DoneDate(ds=ds, state=state)
    return _described(ds, state, summary)


def ended(ds: dt.date, result: Summary | BaseException, seconds: float) -> DoneDate:
    """What became of a date's run, from what it returned or the error that ended it."""
    if isinstance(result, BusyError):
        return DoneDate(ds=ds, state="busy", detail=result.what)
    if isinstance(result, BaseException):
        said = str(result) if isinstance(result, SayuError) else f"{type(result).__name__}: {result}"
        return DoneDate(ds=ds, state="failed", ran=True, seconds=round(seconds, 1), detail=said)
    state: State = "held back" if result.publication_id is None else "published"
    now = {"ran": True, "seconds": round(seconds, 1), "model_calls": result.model_calls}
    return _described(ds, state, result).model_copy(update=now)


def _dates(start: dt.date, end: dt.date) -> list[dt.date]:
    if end < start:
        raise UsageError(f"the range ends on {end}, before it starts on {start}", "give --start the earlier date")
    return [start + dt.timedelta(days=days) for days in range((end - start).days + 1)]


def _described(ds: dt.date, state: State, summary: Summary) -> DoneDate:
    return DoneDate(
        ds=ds,
        state=state,
        candidates=summary.candidates,
        published=summary.outcomes[Outcome.PUBLISHED] if summary.publication_id is not None else 0,
        detail="; ".join(summary.reasons) if state == "held back" else "",
        report=summary.report,
        link=summary.link,
    )


def _begun_later(store: Path, ds: dt.date) -> bool:
    """Whether a run of the date that has not ended began after the last one that has."""
    ended_at = last_manifest(store, ds).stat().st_mtime
    requests = runs_of(store, ds).glob("*/request.json")
    unfinished = [request for request in requests if not request.with_name("manifest.json").exists()]
    return any(request.stat().st_mtime > ended_at for request in unfinished)
