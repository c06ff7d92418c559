"""prune: a store is kept small: what is old and not needed goes (see `old`), and small result files become few.

In: the store and the serving file. Out: less of them, and `index.html` anew. Dates that are being worked on are left
alone. A kill at any moment loses nothing that is to be kept; the next run does the rest.
"""

import datetime as dt
import shutil
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import get_args

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict

from tasks.errors import BusyError, StoreError
from tasks.expiry import Oldest
from tasks.load import Kept, drop_publications, list_publications
from tasks.old import Limits, Old, date_of, measure, old_remains, old_results, old_runs
from tasks.reports.index import write_index
from tasks.results import Kind, merge_results
from tasks.runs import hold_date
from tasks.settings import Settings

# A reader that listed the folder before a merged file was there has listed all of it by then. If it opens a file that
# is gone, it looks again.
LISTING_SECONDS = 2.0

Groups = dict[Kind, list[list[Old]]]


class Pruned(BaseModel):
    """What goes of one kind: how many, their bytes on disk, and how many files take their place."""

    model_config = ConfigDict(frozen=True)
    kind: str
    count: int
    bytes: int
    into: int = 0


class Upkeep(BaseModel):
    """What `prune_store` did, or would do. `busy`: dates that are being worked on and were left alone."""

    model_config = ConfigDict(frozen=True)
    dry_run: bool
    pruned: tuple[Pruned, ...]
    busy: tuple[dt.date, ...]


def prune_store(settings: Settings, dry_run: bool = False, now: dt.datetime | None = None) -> Upkeep:
    """Remove what is old and merge small result files; with `dry_run` only say what would go, and touch nothing.

    Raises:
        StoreError: the store can't be written.
        PublicationError: the serving file can't be read, or is not there although runs were published.
    """
    store, serving_file = settings.store, settings.serving_file
    limits = Limits.at(now or dt.datetime.now(dt.UTC), settings)
    busy = busy_dates(store)
    oldest = dt.datetime.fromtimestamp(limits.runs, dt.UTC)
    publications = list_publications(serving_file, oldest)
    dropped = [publication for publication in publications if not publication.kept]
    results = {kind: old_results(store, kind, limits, busy) for kind in get_args(Kind)}
    expired = chain.from_iterable(files for files, _ in results.values())
    old = [*old_runs(settings, limits, publications), *expired, *old_remains(settings, limits)]
    old = [item for item in old if item.ds not in busy]
    groups = {kind: groups for kind, (_, groups) in results.items()}
    rows = *_count(old), _count_publications(serving_file, publications), *_count_merged(groups)
    if not dry_run:
        busy |= remove(store, old)
        if dropped:
            drop_publications(serving_file, oldest)
        busy |= merge(store, groups, limits.results)
        if (store / "runs").exists():
            write_index(settings)
    return Upkeep(dry_run=dry_run, pruned=rows, busy=tuple(sorted(busy)))


def busy_dates(store: Path) -> set[dt.date]:
    """The dates that are being worked on."""
    busy = set()
    for path in (store / "locks").glob("ds=*.lock"):
        try:
            with FileLock(path, timeout=0):
                pass
        except Timeout:
            busy.add(date_of(path))
    return {ds for ds in busy if ds is not None}


def remove(store: Path, items: Iterable[Old]) -> set[dt.date]:
    """Remove what is still as it was found, each date held meanwhile; returns the dates that could not be held.

    Raises:
        StoreError: something can't be removed.
    """
    by_date = defaultdict(list)
    for item in items:
        by_date[item.ds].append(item)
    busy = set()
    for ds, of_date in by_date.items():
        try:
            with hold_date(store, ds) if ds else nullcontext():
                for item in of_date:
                    if item.path.exists() and measure(item.kind, item.path, ds) == item:
                        _remove(item.path)
        except BusyError:
            busy.add(ds)
    return {ds for ds in busy if ds is not None}


def merge(store: Path, groups: Groups, oldest: Oldest) -> set[dt.date]:
    """Put each group's results into one file, and only then remove the group; returns the dates that were busy.

    Raises:
        StoreError: the store can't be written. Every result is still there.
    """
    for kind, of_kind in groups.items():
        for group in of_kind:
            merge_results(store, kind, [item.path for item in group], oldest)
    merged = list(chain.from_iterable(chain.from_iterable(groups.values())))
    if merged:
        time.sleep(LISTING_SECONDS)
    return remove(store, merged)


def _remove(path: Path) -> None:
    try:
        if not path.is_dir():
            path.unlink()
            return
        # What makes a run a finished one goes first: a kill half-way leaves no run that looks whole.
        (path / "manifest.json").unlink(missing_ok=True)
        shutil.rmtree(path)
        with suppress(OSError):  # a date's folder that holds other runs
            path.parent.rmdir()
    except OSError as error:
        raise StoreError(
            f"{path} can't be removed: {error.strerror}", "let the user that runs sayu write there, then run again"
        ) from error


def _count(old: Sequence[Old]) -> list[Pruned]:
    kinds = ["run folders", "old frames", *(f"expired {kind}" for kind in get_args(Kind))]
    rows = []
    for kind in [*kinds, "damaged result files", "vectors", "Data Docs", "locks", "left-over files"]:
        sizes = [item.bytes for item in old if item.kind == kind]
        rows.append(Pruned(kind=kind, count=len(sizes), bytes=sum(sizes)))
    return rows


def _count_publications(serving_file: Path, publications: Sequence[Kept]) -> Pruned:
    """The publications that go; their bytes are their share of the serving file's, by reasons."""
    dropped = [publication.reason_count for publication in publications if not publication.kept]
    reasons = sum(publication.reason_count for publication in publications)
    size = serving_file.stat().st_size * sum(dropped) // reasons if reasons else 0
    return Pruned(kind="old publications", count=len(dropped), bytes=size)


def _count_merged(groups: Groups) -> list[Pruned]:
    rows = []
    for kind, of_kind in groups.items():
        sizes = [item.bytes for item in chain.from_iterable(of_kind)]
        rows.append(Pruned(kind=f"small files of {kind}", count=len(sizes), bytes=sum(sizes), into=len(of_kind)))
    return rows
