"""tables: what a backfill is going to do and what it did, a row a date, for the console and the Prefect UI.

Dates without candidates that follow one another share one row: a range may reach far beyond what the shop has.
"""

import datetime as dt
import logging
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tasks.backfill import Backfilled, DoneDate
from tasks.preview import PlannedDate, Preview
from tasks.report import plain_text

logger = logging.getLogger("sayu")

COLOURS = {"published": "green", "held back": "yellow", "failed": "red", "busy": "red"}
Rows = list[dict[str, str]]
Date = TypeVar("Date", PlannedDate, DoneDate)


def planned_rows(preview: Preview) -> Rows:
    """What a backfill is going to do."""
    return [
        {
            "date": span,
            "state": date.state,
            "run": "yes" if date.run else "no",
            "candidates": _number(date.candidates),
            "reused": _number(date.reused),
            "model-calls": _number(date.model_calls),
            "ranked-out": _number(date.ranked_out or None),
            "about": "" if date.seconds is None else _time(date.seconds),
        }
        for span, date in _spans(preview.dates)
    ]


def done_rows(done: Backfilled, in_browser: bool = False) -> Rows:
    """What became of each date; its report as a link for a browser, or as a path."""
    return [
        {
            "date": span,
            "state": date.state,
            "run": "yes" if date.ran else "no",
            "candidates": _number(date.candidates),
            "published": _number(date.published),
            "model-calls": _number(date.model_calls),
            "took": "" if date.seconds is None else _time(date.seconds),
            "report": f"[report](<{date.link}>)" if in_browser and date.link else date.report,
            "why": plain_text(date.detail) if in_browser else date.detail,  # Prefect takes cells for Markdown
        }
        for span, date in _spans(done.dates)
    ]


def log_plan(preview: Preview) -> None:
    """Say what a backfill is going to do, date by date."""
    columns = ("date", "state", "candidates", "reused", "model-calls", "about")
    for row in planned_rows(preview):
        if row["run"] == "yes":
            said = (row[column] or "unknown" for column in columns)
            logger.info("%-9s %s %s: %s candidates, %s reused, %s model calls, time %s", "plan", *said)
    logger.info("%-9s %s", "plan", preview.said)


def print_plan(preview: Preview, as_json: bool) -> None:
    """Print what a backfill would do to standard output, for people or as JSON."""
    _print(preview, planned_rows(preview), as_json)


def print_done(done: Backfilled, as_json: bool) -> None:
    """Print what became of each date to standard output, for people or as JSON."""
    _print(done, done_rows(done), as_json)


def _print(what: Preview | Backfilled, rows: Rows, as_json: bool) -> None:
    if as_json:
        click.echo(what.model_dump_json(indent=2))
        return
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    table = Table(*(name.replace("-", " ") for name in names), box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(row[name], COLOURS.get(row[name], "")) for name in names))
    console = Console(width=1000)  # paths stay whole, also in a narrow window
    console.print(table, Text(what.said), sep="\n")


def _spans(dates: Sequence[Date]) -> Iterator[tuple[str, Date]]:
    """Each date with its name; those without candidates that follow one another as one."""
    for _, group in groupby(dates, lambda date: None if date.state == "no candidates" else date.ds):
        same = list(group)
        yield str(same[0].ds) if len(same) == 1 else f"{same[0].ds} to {same[-1].ds}", same[0]


def _number(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _time(seconds: float) -> str:
    return str(dt.timedelta(seconds=round(seconds)))
