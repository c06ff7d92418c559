"""journal: a chunk's answers from the moment they come until the chunk is finished, a line each, in the run folder.

What a kill costs is therefore what the engine was writing at that moment, however large a chunk is. At a chunk's end
its lines go to the result store as one file; whoever takes up a chunk, or a date, after a crash first stores what lies
here.
"""

import datetime as dt
import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
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
    lines: list[str] = []  # here as well, for a worker that was given up and is not dead: its file is gone

    def keep(rows: Rows) -> None:
        lines.append(json.dumps(rows, default=str) + "\n")
        with writing(path):
            file.write(lines[-1].encode())

    with _open(path) as file:
        try:
            yield keep
        finally:
            _store(run.settings.store, name, lines)
            path.unlink(missing_ok=True)


def store_unfinished(run: Run, name: str) -> bool:
    """Store what workers that are gone have left of a chunk; returns whether there was anything."""
    left = list(_folder(run).glob(f"{name}.*.jsonl"))
    for path in left:
        _take_over(run.settings.store, path)
    return len(left) > 0


def store_all_unfinished(store: Path, ds: dt.date) -> None:
    """Store what all runs of a date have left."""
    for folder in runs_of(store, ds).glob("*/journal"):
        for path in folder.glob("*.jsonl"):
            _take_over(store, path)
        with suppress(OSError):  # a worker that was given up is there after all
            folder.rmdir()


def _take_over(store: Path, path: Path) -> None:
    """Store a journal's rows; the file goes last, so that a kill in between loses nothing."""
    with suppress(FileNotFoundError):  # its worker is not gone, and has just stored them
        _store(store, path.name.partition(".")[0], path.read_text(encoding="utf-8", errors="replace").splitlines())
        path.unlink()


def _store(store: Path, name: str, lines: Iterable[str]) -> None:
    """Add a journal's rows to the chunk's results; a last line that was cut off is left out."""
    rows: dict[Kind, list[list[Any]]] = defaultdict(list)
    with suppress(ValueError):
        for line in lines:
            for kind, row in json.loads(line).items():
                rows[kind].append(row)
    for kind in sorted(rows, reverse=True):  # texts first: what is decided and to be written has its text
        add_results(store, kind, name, _frame(kind, rows[kind]))


def _frame(kind: Kind, rows: list[list[Any]]) -> pl.DataFrame:
    schema = SCHEMAS[kind]
    with_text = pl.Schema({name: pl.String if column == UTC_TIME else column for name, column in schema.items()})
    time = pl.col("finished_at").str.to_datetime(time_unit="us", time_zone="UTC")
    return pl.DataFrame(rows, schema=with_text, orient="row").with_columns(time)


def _open(path: Path) -> FileIO:
    with writing(path):
        path.parent.mkdir(exist_ok=True)
        return path.open("wb", buffering=0)


def _folder(run: Run) -> Path:
    return run.folder / "journal"
