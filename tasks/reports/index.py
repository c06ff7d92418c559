"""index: every date's latest run against its checks, and which publication readers see.

In: the manifests and `checks.json` of the finished runs, the serving file's list of publications. Out:
`STORE/index.html`, self-contained, each date linked to its report. Each run writes it anew; no rows are read.
"""

import calendar
import datetime as dt
from itertools import groupby
from pathlib import Path

import duckdb
import polars as pl
from filelock import FileLock
from pydantic import BaseModel, ConfigDict, ValidationError

from checks.gate import Check, Gate
from tasks.files import replacing
from tasks.reports.html import render
from tasks.reports.summary import Summary
from tasks.runs import Run
from tasks.settings import HOME, Settings


class Finished(BaseModel):
    """A date's latest finished run. `checks` maps a check's name to its place among them and to the check."""

    model_config = ConfigDict(frozen=True)
    summary: Summary
    checks: dict[str, tuple[int, Check]]
    report: str  # relative to the store
    live: tuple[str, int] | None  # run key and number of the publication that readers of this date see

    @property
    def is_live(self) -> bool:
        """Whether readers see what this run made."""
        return self.live is not None and self.live[0] == self.summary.run_key

    @property
    def kind(self) -> str:
        """What became of the date, as Summary.kind says it, or "withdrawn" where readers don't see it any more."""
        return "withdrawn" if self.summary.publication_id is not None and not self.is_live else self.summary.kind


class Month(BaseModel):
    """A month that has runs: all its days from the first run to the last one, newest first; None: no run."""

    model_config = ConfigDict(frozen=True)
    name: str  # 2026-11
    weeks: list[list[dt.date | None]]  # Monday to Sunday; None: a day of another month
    days: dict[dt.date, Finished | None]
    published: int
    held_back: int
    missing: int  # days without a finished run
    columns: list[str]  # the names of the month's checks, those that failed most often first


def write_index(settings: Settings) -> Path:
    """Write the index of all dates; returns its path."""
    path = settings.store / "index.html"
    # Two dates that end at once: the one that writes last must have read last, too.
    with FileLock(settings.store / "locks" / "index.lock"):
        page = render("index.html.j2", settings.language, months=months(finished_runs(settings)))
        with replacing(path) as beside:
            beside.write_text(page, encoding="utf-8")
    return path


def finished_runs(settings: Settings) -> dict[dt.date, Finished]:
    """The latest finished run of every date in the store, by date. One that can't be read counts as not finished."""
    live = live_publications(settings.serving_file)
    manifests = sorted((settings.store / "runs").glob("ds=*/*/manifest.json"), key=lambda path: path.stat().st_mtime)
    finished = {}
    for manifest in manifests:
        try:
            summary = Summary.model_validate_json(manifest.read_text(encoding="utf-8"))
            gate = Gate.model_validate_json((manifest.parent / "checks.json").read_text(encoding="utf-8"))
        except (OSError, ValidationError):
            continue
        date = dt.date.fromisoformat(summary.ds)
        finished[date] = Finished(
            summary=summary,
            checks={check.name: (place, check) for place, check in enumerate(gate.checks)},
            report=(manifest.parent / "report.html").relative_to(settings.store).as_posix(),
            live=live.get(date),
        )
    return dict(sorted(finished.items()))


def live_publications(serving_file: Path) -> dict[dt.date, tuple[str, int]]:
    """Run key and number of each date's live publication; none where there is no serving file that can be read."""
    if not serving_file.exists():
        return {}
    statement = (HOME / "sql" / "list_live_publications.sql").read_text(encoding="utf-8")
    try:
        with duckdb.connect(str(serving_file), read_only=True) as connection:
            return {ds: (key, number) for ds, key, number in connection.execute(statement).fetchall()}
    except duckdb.Error:
        return {}


def skip_rates(run: Run, now: Summary, dates: int) -> pl.DataFrame:
    """The skip rates of the last dates up to the run's own, oldest first, as charts.skip_history takes them."""
    before = [day for date, day in finished_runs(run.settings).items() if date < run.ds][-dates:]
    days = [(day.summary, day.is_live) for day in before] + [(now, now.publication_id is not None)]
    rows = [
        (day.ds, day.skip_rate, day.drift and day.drift.low, day.drift and day.drift.high, live)
        for day, live in days
        if day.skip_rate is not None
    ]
    schema = {"ds": pl.String, "rate": pl.Float64, "low": pl.Float64, "high": pl.Float64, "live": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def months(finished: dict[dt.date, Finished]) -> list[Month]:
    """The months that have runs, newest first."""
    return [_month(name, list(days)) for name, days in groupby(sorted(finished.items(), reverse=True), _name)]


def _name(day: tuple[dt.date, Finished]) -> str:
    return day[0].isoformat()[:7]


def _month(name: str, runs: list[tuple[dt.date, Finished]]) -> Month:
    last, first = runs[0][0], runs[-1][0]
    found = dict(runs)
    between = [last - dt.timedelta(days=days) for days in range((last - first).days + 1)]
    columns = dict.fromkeys(check for _, run in runs for check in run.checks)
    weeks = calendar.Calendar().monthdatescalendar(last.year, last.month)
    return Month(
        name=name,
        weeks=[[date if date.month == last.month else None for date in week] for week in weeks],
        days={date: found.get(date) for date in between},
        published=sum(run.kind.startswith("published") for _, run in runs),
        held_back=sum(run.kind == "held_back" for _, run in runs),
        missing=len(between) - len(runs),
        columns=sorted(columns, key=lambda name: -_failures(name, runs)),
    )


def _failures(name: str, runs: list[tuple[dt.date, Finished]]) -> int:
    return sum(name in run.checks and not run.checks[name][1].passed for _, run in runs)
