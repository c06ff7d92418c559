"""A run: one date, what was asked for, and the folder where its stages leave their files.

Between stages travels a `Run`, never a frame or a connection. The run key is a hash of what was asked for, so the
same request lands in the same folder. `manifest.json` is written last: a folder without one is a run that did not end.
A run that is made again keeps the old one until its outcomes are overwritten: what stops earlier changes nothing.
"""

import datetime as dt
import errno
import hashlib
import json
import os
import zoneinfo
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from tasks.embedding import describe_ranking
from tasks.errors import BusyError, PromptError, StoreError, UsageError
from tasks.expiry import Oldest
from tasks.files import write_json, write_parquet
from tasks.model import model_fingerprint
from tasks.prompt import load_prompt
from tasks.rules.file import load_rules
from tasks.settings import Settings

# Who runs a command again after a crash does it the same day.
GIVEN_UP = dt.timedelta(days=1)
SHOP_TIME = zoneinfo.ZoneInfo("Asia/Seoul")


class Run(BaseModel):
    """What every stage is told."""

    model_config = ConfigDict(frozen=True)
    ds: dt.date
    key: str
    settings: Settings
    model: str  # the model's fingerprint
    prompt: str  # the prompt's name, such as reason/v1
    started_at: dt.datetime
    met_before: bool = False  # whether the same request has ended before: then its answers are most likely stored

    @property
    def folder(self) -> Path:
        """Where this run's files lie."""
        return runs_of(self.settings.store, self.ds) / self.key

    @property
    def fresh_since(self) -> dt.datetime | None:
        """What was stored before this moment is ignored; a run's own results never are."""
        since = self.settings.fresh_since or (self.started_at if self.settings.fresh else None)
        return since and min(since, self.started_at)

    @property
    def oldest_result(self) -> Oldest:
        """Stored results from before these moments are written anew."""
        oldest = Oldest.at(self.started_at, self.settings)
        return oldest.but_from(self.fresh_since) if self.fresh_since else oldest

    def read(self, name: str) -> pl.DataFrame:
        """The frame that an earlier stage left as `name.parquet`."""
        return pl.read_parquet(self.folder / f"{name}.parquet")

    def write(self, name: str, frame: pl.DataFrame, row_group_size: int | None = None) -> None:
        """Leave a frame for later stages as `name.parquet`."""
        write_parquet(frame, self.folder / f"{name}.parquet", row_group_size)

    def read_json(self, name: str) -> Any:
        """The value that an earlier stage left as `name.json`."""
        return json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))

    def write_json(self, name: str, value: Any) -> None:
        """Leave a value for later stages as `name.json`."""
        write_json(value, self.folder / f"{name}.json")

    def add_seconds(self, stage: str, seconds: float) -> None:
        """Record how long a stage took, on top of what it took before in this run."""
        times = self.seconds()
        self.write_json("timings", times | {stage: round(times.get(stage, 0.0) + seconds, 3)})

    def seconds(self) -> dict[str, float]:
        """Seconds per stage so far, in the order in which the stages ran."""
        return self.read_json("timings") if (self.folder / "timings.json").exists() else {}


def runs_of(store: Path, ds: dt.date) -> Path:
    """The folder of all runs of a date."""
    return store / "runs" / f"ds={ds}"


def yesterday() -> dt.date:
    """The last whole day in the shop's time zone."""
    return dt.datetime.now(SHOP_TIME).date() - dt.timedelta(days=1)


def parse_date(text: str) -> dt.date:
    """A date written as 2026-11-28.

    Raises:
        UsageError: it is no such date.
    """
    try:
        return dt.date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no date", "write it as YYYY-MM-DD, such as 2026-11-28") from error


def describe_run(ds: dt.date, settings: Settings) -> Run:
    """The run that this request stands for.

    Raises:
        ModelError, PromptError, RulesError: the model folder, the prompt or the rules file can't be read, or there is
            nothing to rank by.
    """
    prompt = load_prompt(settings.prompt)
    if settings.attempt_feedback and not prompt.feedback:
        raise PromptError(
            f"the prompt in {settings.prompt} has no words for why a text failed, and attempt_feedback asks for them",
            "write feedback.toml in that folder, as prompts/reason/v1 has it, or leave attempt_feedback off",
        )
    model = model_fingerprint(settings)
    asked: list[Any] = [str(ds), str(settings.source), model, prompt.digest, settings.threshold]
    if settings.rules:
        asked += [load_rules(settings.rules).digest, settings.screen_sample]
    if settings.reuse_key != "prompt":
        asked.append(settings.reuse_key)
    if ranking := describe_ranking(settings):
        asked.append(ranking)
    key = hashlib.blake2b(json.dumps(asked).encode(), digest_size=6).hexdigest()
    started_at = dt.datetime.now(dt.UTC)
    return Run(ds=ds, key=key, settings=settings, model=model, prompt=prompt.name, started_at=started_at)


@contextmanager
def open_run(ds: dt.date, settings: Settings) -> Iterator[Run]:
    """Hold the date for one run; the operating system frees it when a process dies.

    Raises:
        BusyError: another run works on this date.
        StoreError: the store can't be written.
    """
    run = describe_run(ds, settings)
    with hold_date(settings.store, ds):
        try:
            run.folder.mkdir(parents=True, exist_ok=True)
            run = run.model_copy(update={"met_before": (run.folder / "manifest.json").exists()})
            run = run.model_copy(update={"settings": fresh_together([run])})
            for stale in ("timings.json", "engine.json", "reuse.json", "predicted.json"):
                (run.folder / stale).unlink(missing_ok=True)
            for failure in (run.folder / "failures").glob("*.parquet"):
                failure.unlink()
        except OSError as error:
            raise _unwritable(settings.store, error) from error
        run.write_json("request", run.model_dump(mode="json"))
        yield run


def fresh_together(runs: Sequence[Run]) -> Settings:
    """The settings of these runs, with one moment for all of them from which on results count, if they are `fresh`.

    Where one of them was begun fresh before and did not end, they go on from there: what was asked since then is not
    asked again. After a day nobody goes on, but begins anew.
    """
    settings = runs[0].settings
    if not settings.fresh or settings.fresh_since:
        return settings
    begun = [since for run in runs if (since := _unfinished_since(run))]
    return settings.model_copy(update={"fresh_since": min([runs[0].started_at, *begun])})


def _unfinished_since(run: Run) -> dt.datetime | None:
    """Since when results count for the fresh run that this one goes on with; None where there is none."""
    request, manifest = run.folder / "request.json", run.folder / "manifest.json"
    try:
        if manifest.exists() and manifest.stat().st_mtime_ns >= request.stat().st_mtime_ns:
            return None
        before = Run.model_validate_json(request.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        return None
    recent = run.started_at - before.started_at < GIVEN_UP
    return before.fresh_since if before.settings.fresh and recent else None


def last_manifest(store: Path, ds: dt.date) -> Path:
    """The manifest of the run of a date that ended last.

    Raises:
        StoreError: no run of this date has ended.
    """
    manifests = sorted(runs_of(store, ds).glob("*/manifest.json"), key=lambda path: path.stat().st_mtime)
    if not manifests:
        raise StoreError(f"no finished run of {ds} in {store}", f"run `sayu daily --ds {ds}` first")
    return manifests[-1]


def last_finished_run(settings: Settings, ds: dt.date) -> Run:
    """The run of a date that ended last, as it was asked for, in this store and for this serving file.

    Raises:
        StoreError: no run of this date has ended.
    """
    request = last_manifest(settings.store, ds).with_name("request.json")
    run = Run.model_validate_json(request.read_text(encoding="utf-8"))
    here = {"store": settings.store, "serving": settings.serving}
    return run.model_copy(update={"settings": run.settings.model_copy(update=here)})


@contextmanager
def hold_date(store: Path, ds: dt.date) -> Iterator[None]:
    """Keep every other run off a date."""
    path = store / "locks" / f"ds={ds}.lock"
    check_store(store)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise BusyError(
            f"another run is working on {ds}", "wait until it has ended, then run again: its results are reused"
        ) from error
    except OSError as error:
        raise _unwritable(store, error) from error
    try:
        yield
    finally:
        lock.release()


def check_store(store: Path) -> None:
    """Make the store's folder, and see that it can be written.

    Raises:
        StoreError: it can't.
    """
    try:
        store.mkdir(parents=True, exist_ok=True)
        if not os.access(store, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unwritable(store, error) from error


def _unwritable(store: Path, error: OSError) -> StoreError:
    return StoreError(
        f"the store {store} can't be written: {error.strerror or error}",
        "give --store a folder that you may write to",
    )
