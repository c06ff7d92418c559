"""journal: a chunk's answers from the moment they come until the chunk is finished, a line each, in the run folder.

What a kill costs is therefore what the engine was writing at that moment, however large a chunk is. At a chunk's end
its lines go to the result store as one file; whoever takes up a chunk, or a date, after a crash first stores what lies
here.
"""

import datetime as dt
import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from tasks.files import writing
from tasks.records import UTC_TIME
from tasks.results import SCHEMAS, Kind, add_results
from tasks.runs import Run, runs_of

Row = tuple[object, ...]  # of the kind's schema, in its order
Rows = Mapping[Kind, Row]


@contextmanager
def open_journal(run: Run, name: str) -> Iterator[Callable[[Rows], None]]:
    """A function that keeps an answer's rows, all or none; at the end of the block, however it ends, they are stored.

    Args:
        run: The run.
        name: The name of the chunk's results.

    Raises:
        StoreError: the run folder or the store can't be written.
    """
    path = _folder(run) / f"{name}.{uuid.uuid4().hex[:8]}.jsonl"  # of this worker alone, whoever else has the chunk
    with writing(path):
        path.parent.mkdir(exist_ok=True)
        file = path.open("w", encoding="utf-8", buffering=1)

    def keep(rows: Rows) -> None:
        with writing(path):
            file.write(json.dumps(rows, default=str) + "\n")

    try:
        yield keep
    finally:
        with writing(path):
            file.close()
        _store(run.settings.store, path)


def store_unfinished(run: Run, name: str) -> bool:
    """Store what workers that are gone have left of a chunk; returns whether there was anything."""
    left = list(_folder(run).glob(f"{name}.*.jsonl"))
    for path in left:
        _store(run.settings.store, path)
    return len(left) > 0


def store_all_unfinished(store: Path, ds: dt.date) -> None:
    """Store what all runs of a date have left; no worker may be at one."""
    for folder in runs_of(store, ds).glob("*/journal"):
        for path in folder.glob("*.jsonl"):
            _store(store, path)
        with suppress(OSError):  # one that was given up is there after all
            folder.rmdir()


def _store(store: Path, path: Path) -> None:
    """Move a journal's rows to the result store; the file goes last, so that a kill in between loses nothing."""
    rows = defaultdict(list)
    for line in _lines(path):
        for kind, row in line.items():
            rows[kind].append(row)
    name = path.name.partition(".")[0]
    for kind in sorted(rows, reverse=True):  # texts first: what is decided and to be written has its text
        add_results(store, kind, name, _frame(kind, rows[kind]))
    with suppress(FileNotFoundError):  # another worker was at it
        path.unlink()


def _lines(path: Path) -> Iterator[dict[Kind, list[Any]]]:
    """The whole lines; the last one may have been cut off."""
    with suppress(FileNotFoundError, ValueError), path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _frame(kind: Kind, rows: list[list[Any]]) -> pl.DataFrame:
    schema = SCHEMAS[kind]
    with_text = pl.Schema({name: pl.String if column == UTC_TIME else column for name, column in schema.items()})
    time = pl.col("finished_at").str.to_datetime(time_unit="us", time_zone="UTC")
    return pl.DataFrame(rows, schema=with_text, orient="row").with_columns(time)


def _folder(run: Run) -> Path:
    return run.folder / "journal"
