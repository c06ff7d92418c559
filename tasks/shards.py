"""Shards: the plan's chunks shared out among workers, and what workers leave for one another in the run folder.

All workers see one file system, with the store at the same path. In `shards/` of the run folder lie, while the engine
is asked, a lock a chunk, a sign of life a shard, and what each shard's engine did; at the end that is added up in
`engine.json`, and the folder goes.

The same shard may be run by two workers, or by one that was given up and is not dead: a chunk is locked while it is
worked on, and whoever gets it next finds its results stored, or its answers in the journal.
"""

import datetime as dt
import json
import logging
import math
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import polars as pl
from filelock import FileLock, Timeout

from tasks.attempts import unfinished_texts
from tasks.chunks import chunk_name, pairs_to_write, read_chunk, read_stored
from tasks.errors import StoreError
from tasks.files import write_json
from tasks.runs import Run, runs_of

logger = logging.getLogger("sayu")

# So that chunks overlap in the engine, and to load it is worth while.
FEWEST_CHUNKS = 4
MOST_SHARDS = 100  # a Prefect server tells of 200 runs at a time, and a shard that crashes becomes several
# A chunk takes seconds. Whoever holds one for so long hangs, and to work on it twice does no harm.
LOCK_SECONDS = 600
SECONDS_BETWEEN_SIGNS = 5


class Shard(NamedTuple):
    """Some chunks of a plan that follow each other: the first and the last of them."""

    first: int
    last: int

    @property
    def chunks(self) -> range:
        """The numbers of its chunks."""
        return range(self.first, self.last + 1)


def cut_shards(run: Run) -> list[Shard]:
    """The plan's chunks in as few shards as `shard_pairs` allows, each about as large as the others."""
    chunks = run.read("plan").group_by("chunk", maintain_order=True).len()
    pairs = int(chunks["len"].sum())
    wanted = math.ceil(pairs / run.settings.shard_pairs)
    number = max(1, min(wanted, chunks.height // FEWEST_CHUNKS, MOST_SHARDS))
    before = chunks["len"].cum_sum() - chunks["len"]
    cut = chunks.group_by(shard=before * number // max(pairs, 1), maintain_order=True).agg(
        first=pl.col("chunk").min(), last=pl.col("chunk").max()
    )
    return [Shard(first, last) for _, first, last in cut.iter_rows()]


def unfinished(run: Run, shard: Shard) -> Shard | None:
    """What is left of a shard that came to an early end: from its first unfinished chunk to its last; None if nothing.

    A pair with an error of this run is finished: it failed.
    """
    left = [chunk for chunk in shard.chunks if not _is_finished(run, chunk)]
    return Shard(left[0], left[-1]) if left else None


def _is_finished(run: Run, chunk: int) -> bool:
    rows = read_chunk(run, chunk)
    name = chunk_name(run, rows)
    failures = [run.folder / "failures" / f"{stage}-{chunk:05d}.parquet" for stage in ("decide", "generate")]
    failed = [pl.read_parquet(file)["key"] for file in failures if file.exists()]
    left = rows.filter(~pl.col("key").is_in(pl.concat([rows["key"].clear(), *failed]).implode()))
    decisions = read_stored(run, "decisions", name)
    undecided = left.filter(pl.col("ask") == "decide").join(decisions, on="key", how="anti")
    to_write = pairs_to_write(left, decisions, run.settings.threshold)
    texts = read_stored(run, "texts", name)
    again = unfinished_texts(texts, read_stored(run, "attempts", name), run.settings.attempts)
    answered = undecided.is_empty() and to_write.join(texts, on="key", how="anti").is_empty()
    return answered and (to_write.join(again, on="key", how="semi").is_empty() or budget_is_spent(run))


def send_request(run: Run) -> None:
    """Leave the request for workers in other working directories: with whole paths."""
    settings = run.settings.with_whole_paths()
    run.write_json("request", run.model_copy(update={"settings": settings}).model_dump(mode="json"))


def find_request(ds: dt.date, run_key: str, store: Path) -> Run:
    """The run as it was asked for.

    Raises:
        StoreError: there is no such run in this store, or its plan has been pruned.
    """
    request = runs_of(store, ds) / run_key / "request.json"
    if not (request.exists() and request.with_name("plan.parquet").exists()):
        raise StoreError(
            f"there is no planned run {run_key} of {ds} in {store.resolve()}",
            "let every worker see the same store, at the same path; a date of long ago is run anew with `sayu daily`",
        )
    run = Run.model_validate_json(request.read_text(encoding="utf-8"))
    return run.model_copy(update={"settings": run.settings.model_copy(update={"store": store})})


@contextmanager
def alone(run: Run, chunk: int) -> Iterator[None]:
    """Have a chunk to oneself, here and on all workers."""
    lock = FileLock(_folder(run) / f"chunk-{chunk:05d}.lock")
    try:
        lock.acquire(timeout=LOCK_SECONDS)
    except Timeout:
        logger.warning("%-9s chunk %d is held by a worker that hangs: going on without it", "shard", chunk)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def signs_of_life(run: Run, name: str) -> Iterator[None]:
    """Show that this shard is being worked on: a file is touched every few seconds, by a thread of its own."""
    done = threading.Event()

    def touch() -> None:
        while not done.wait(SECONDS_BETWEEN_SIGNS):
            with suppress(OSError):  # a network's file system may be away for a moment
                sign.touch()

    sign = _folder(run) / f"{name}.alive"
    sign.touch()
    thread = threading.Thread(target=touch, name="signs-of-life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def last_sign(run: Run, name: str) -> int | None:
    """When a shard showed last that it lives, by the clock of the file system; None if never."""
    try:
        return (_folder(run) / f"{name}.alive").stat().st_mtime_ns
    except OSError:
        return None


def leave_account(run: Run, name: str, account: Mapping[str, float | int | None]) -> None:
    """Leave what a shard's engine did; `busy_seconds` and `preemptions` are added up over the shards."""
    write_json(dict(account), _folder(run) / f"{name}.json")


def budget_is_spent(run: Run) -> bool:
    """Whether the engine has been at work for longer than `engine_budget_minutes`, by what its shards have left so far.

    A shard at work renews its account every few seconds (see tasks.progress).
    """
    budget = run.settings.engine_budget_minutes
    if budget is None:
        return False
    files = (run.folder / "shards").glob("*.json")
    seconds = [float(json.loads(file.read_text(encoding="utf-8"))["busy_seconds"]) for file in files]
    return sum(seconds) > budget * 60


@contextmanager
def accounts_of_shards(run: Run) -> Iterator[None]:
    """While the block runs shards leave their accounts; at its end they are one, in `engine.json`."""
    shutil.rmtree(_folder(run), ignore_errors=True)
    try:
        yield
    finally:
        files = sorted(_folder(run).glob("*.json"))
        accounts = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        if accounts:
            summed = {name: round(sum(one[name] for one in accounts), 3) for name in ("busy_seconds", "preemptions")}
            run.write_json("engine", accounts[-1] | summed)
        shutil.rmtree(run.folder / "shards", ignore_errors=True)


def _folder(run: Run) -> Path:
    folder = run.folder / "shards"
    folder.mkdir(exist_ok=True)
    return folder
