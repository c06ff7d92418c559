"""old: what a store no longer needs, found by age. Nothing is touched here; `prune` does that.

Kept whatever its age: what readers see and what a rollback brings back, with the run folders that it came from (the
dates that drift is measured against are among them), and the last finished run of each date that has another reason
to stay. Of the run folders behind what is published only what is read later stays: the report with its rows, the
outcomes, the statistics and what was asked for and seen. The frames that its stages left for one another go.
"""

import datetime as dt
import json
import re
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR

from pydantic import ValidationError

from checks.gate import Gate, Verdict
from tasks.errors import PublicationError
from tasks.expiry import Oldest
from tasks.files import TEMPORARY
from tasks.load import Kept
from tasks.results import Kind, list_results, valid_share
from tasks.runs import SHOP_TIME, runs_of
from tasks.settings import Settings

# A run counts a result's age from its own start: what it found then it must find until its end.
RUN_DAYS = 1
# No writer takes so long over one file: what is older was left behind by a killed one.
WRITING = dt.timedelta(days=1)
# A run at work reads its chunks by name; what is older than any shard's work is only looked up by key.
SETTLED = dt.timedelta(hours=6)
# Merged files are about this large: few enough to open, small enough to be put together in memory. Those with half the
# size and more of results that still count stay as they are, so that no result is written again and again.
MERGED_BYTES = 32 * 2**20

# What a run's stages leave for one another, and a run of the same request makes anew. Not `cache.parquet`: the report
# links to it, and it has a row a chunk, not a row a pair.
FRAMES = ("candidates.parquet", "catalogue.parquet", "categories.parquet", "rule_hits.parquet", "screened.parquet",
          "reused.parquet", "ranked_out.parquet", "plan.parquet", "failures")  # fmt: skip
# Folders of a store that others look after: what `sayu ui` runs, and what is known of engines.
OTHERS = ("ui", "engines")

DATE = re.compile(r"(?:ds=)?(\d{4}-\d{2}-\d{2})")


@dataclass(frozen=True)
class Limits:
    """The moments, in seconds since 1970, before which things are old; of results by their outcome."""

    runs: float
    results: Oldest
    settled: float
    writing: float

    @classmethod
    def at(cls, now: dt.datetime, settings: Settings) -> "Limits":
        """The limits as they are at a moment."""
        return cls(
            runs=(now - dt.timedelta(days=settings.keep_days)).timestamp(),
            results=Oldest.at(now - dt.timedelta(days=RUN_DAYS), settings),
            settled=(now - SETTLED).timestamp(),
            writing=(now - WRITING).timestamp(),
        )


@dataclass(frozen=True)
class Old:
    """A file or folder that may go: its date, if it has one, its bytes, and when it was last changed (s since 1970)."""

    kind: str
    path: Path
    ds: dt.date | None
    bytes: int
    changed: float


def measure(kind: str, path: Path, ds: dt.date | None = None) -> Old:
    """A file or folder as it is now: bytes of its files, and when the last of them was changed."""
    stats = []
    for file in [path, *path.rglob("*")] if path.is_dir() else [path]:
        with suppress(FileNotFoundError):  # files come and go meanwhile
            stats.append(file.stat())
    files = [stat for stat in stats if not S_ISDIR(stat.st_mode)] or stats
    changed = max((stat.st_mtime for stat in files), default=0.0)
    return Old(kind=kind, path=path, ds=ds, bytes=sum(stat.st_size for stat in files), changed=changed)


def old_runs(settings: Settings, limits: Limits, publications: Iterable[Kept]) -> Iterator[Old]:
    """The run folders that are old and that nothing needs; and, of those that what is published came from, the frames.

    The frames stay while the gate holds one of the date's runs back: `approve` reads the plan.

    Raises:
        PublicationError: the serving file is not there, though one of the runs was published.
    """
    published = {runs_of(settings.store, kept.ds) / kept.run_key for kept in publications if kept.kept}
    for folder in sorted((settings.store / "runs").glob("ds=*")):
        runs = [measure("run folders", path, date_of(folder)) for path in sorted(folder.iterdir()) if path.is_dir()]
        needed = {run.path for run in runs if run.changed >= limits.runs or run.path in published}
        if needed:
            manifests = sorted(folder.glob("*/manifest.json"), key=lambda path: path.stat().st_mtime)
            needed |= {manifest.parent for manifest in manifests[-1:]}
        keeps_frames = any(_may_be_approved(path) for path in needed)
        for run in runs:
            if run.path not in needed:
                _check_serving(settings.serving_file, run.path / "manifest.json")
                yield run
            elif run.path in published and run.changed < limits.runs and not keeps_frames:
                frames = [run.path / name for name in FRAMES]
                yield from (measure("old frames", frame, run.ds) for frame in frames if frame.exists())


def old_results(store: Path, kind: Kind, limits: Limits, busy: Set[dt.date]) -> tuple[list[Old], list[list[Old]]]:
    """Result files that hold nothing but expired results; and small ones, in groups that can become one file each."""
    files = [measure(f"expired {kind}", path, date_of(path)) for path in list_results(store, kind)]
    settled = [file for file in files if file.changed < limits.settled and file.ds not in busy]
    expired, small = [], []
    for file in settled:
        valid = valid_share(kind, file.path, limits.results)
        if valid == 0:
            expired.append(file)
        elif file.bytes * (1 if valid is None else valid) < MERGED_BYTES / 2:
            small.append(file)
    return expired, _groups(small)


def old_remains(settings: Settings, limits: Limits) -> Iterator[Old]:
    """Damaged result files, vectors, Data Docs, locks of dates without runs, what killed writers left."""
    store = settings.store
    damaged, vectors = (store / "results" / "damaged").glob("*"), (store / "vectors").glob("*")
    # An embedding model that is still in use has had vectors added to: new names come every week.
    for kind, path in [*(("damaged result files", path) for path in damaged), *(("vectors", path) for path in vectors)]:
        if (file := measure(kind, path)).changed < limits.runs:
            yield file
    # A run that adds to the pages takes the old ones away; here they go when no run wants pages any more.
    docs = measure("Data Docs", settings.data_docs_folder)
    if docs.path.exists() and docs.changed < limits.runs:
        yield docs
    first = dt.datetime.fromtimestamp(limits.runs, SHOP_TIME).date()
    for path in (store / "locks").glob("ds=*.lock"):
        ds = date_of(path)
        if ds is not None and ds < first and not any(runs_of(store, ds).glob("*")):
            yield measure("locks", path, ds)
    for path in sorted({*store.rglob(".*.tmp*"), *settings.serving_file.parent.glob(".*.tmp*")}):
        if not TEMPORARY.fullmatch(path.name) or any(store / name in path.parents for name in OTHERS):
            continue
        if (file := measure("left-over files", path)).changed < limits.writing:
            yield file


def date_of(path: Path) -> dt.date | None:
    """The date that a file or folder is named after."""
    found = DATE.match(path.name)
    try:
        return dt.date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def _groups(files: Iterable[Old]) -> list[list[Old]]:
    groups: list[list[Old]] = []
    room = 0
    for file in files:
        room -= file.bytes
        if not groups or room < 0:
            groups.append([])
            room = MERGED_BYTES - file.bytes
        groups[-1].append(file)
    return [group for group in groups if len(group) > 1]


def _may_be_approved(folder: Path) -> bool:
    """Whether the gate held a run back, or whether that can't be told."""
    try:
        gate = Gate.model_validate_json((folder / "checks.json").read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return True
    return gate.verdict is Verdict.HELD_BACK


def _check_serving(serving_file: Path, manifest: Path) -> None:
    """Without the serving file nothing looks live: no reason to remove what was published into another one."""
    if serving_file.exists() or not manifest.exists():
        return
    if json.loads(manifest.read_text(encoding="utf-8")).get("publication_id") is not None:
        raise PublicationError(
            f"the serving file {serving_file} does not exist, and {manifest.parent} was published",
            "give --serving the file that it was published into",
        )
