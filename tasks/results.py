"""The result store: what the model has answered, kept under a content key. Reuse is resume.

`STORE/results/decisions` and `STORE/results/texts` hold Parquet files, one a finished chunk and stage, written beside
and renamed, read as one view. Many writers need no lock. The newest row of a key counts; rows older than the TTL
count as not there. A file that can't be read is set aside in `STORE/results/damaged`, and what it held is computed
anew. `STORE/results/attempts` holds every answer of pairs that were asked for a text more than once; they are counted,
never reused.
"""

import datetime as dt
import hashlib
import logging
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import duckdb
import polars as pl

from tasks.errors import StoreError
from tasks.files import write_parquet
from tasks.prompt import Prompt
from tasks.records import ATTEMPTS, DECISIONS, TEXTS, conform
from tasks.settings import HOME

logger = logging.getLogger("sayu")

Kind = Literal["decisions", "texts", "attempts"]
SCHEMAS = {"decisions": DECISIONS, "texts": TEXTS, "attempts": ATTEMPTS}
_FIND = {"decisions": "find_results", "texts": "find_results", "attempts": "find_attempts"}
# What makes a row of each kind one of its own.
IDENTITY = {"decisions": ["key"], "texts": ["key"], "attempts": ["key", "attempt"]}


def result_key(payload: str, prompt: Prompt, model_fingerprint: str) -> str:
    """The key of a result: 32 hex digits over the pair as the model reads it, the prompt version, and the model.

    The threshold is no part of it: p_skip is stored raw, so a new threshold finds the old decisions.
    """
    content = "\x00".join((payload, prompt.digest, model_fingerprint))
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def write_results(store: Path, kind: Kind, name: str, rows: pl.DataFrame) -> None:
    """Store the finished results of one chunk. The same chunk asked twice writes the same file: no harm done."""
    write_parquet(rows, _folder(store, kind) / f"{name}.parquet")


def read_results(store: Path, kind: Kind, name: str) -> pl.DataFrame:
    """The results that `write_results` stored under this name; no rows where nothing was stored or it is damaged."""
    rows = _read_or_set_aside(store, kind, _folder(store, kind) / f"{name}.parquet")
    return SCHEMAS[kind].to_frame() if rows is None else rows


def find_results(store: Path, kind: Kind, keys: pl.Series, oldest: dt.datetime) -> pl.DataFrame:
    """The newest stored result of each key that is not older than `oldest`; keys without one are left out.

    Of attempts each one's newest result.

    Raises:
        StoreError: the store can't be read, though each of its files can.
    """
    wanted = pl.DataFrame({"key": keys.unique()}).to_arrow()
    while files := list_results(store, kind):
        try:
            with duckdb.connect() as connection:
                connection.execute("SET TimeZone = 'UTC'")
                connection.register("wanted", wanted)
                values = {"files": [str(file) for file in files], "oldest": oldest}
                found: pl.DataFrame = connection.sql(_statement(_FIND[kind]), params=values).pl()
                return found.pipe(_as_now, kind)
        except duckdb.Error as error:
            if not _mended(store, kind, files):
                raise StoreError(
                    f"the result store {_folder(store, kind)} can't be read: {str(error).splitlines()[0]}",
                    "see that the machine has room in memory and that the files may be read, then run again",
                ) from error
    return SCHEMAS[kind].to_frame()


def list_results(store: Path, kind: Kind) -> list[Path]:
    """The files of the result store, by name."""
    return sorted(_folder(store, kind).glob("*.parquet"))


def newest_results(files: Sequence[Path]) -> dict[Path, dt.datetime]:
    """When the newest result of each file was finished; files that are gone, empty or damaged are left out."""
    if not files:
        return {}
    try:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            found = connection.sql(_statement("find_newest_results"), params={"files": [str(file) for file in files]})
            return {Path(name): newest for name, newest in found.pl().iter_rows() if newest is not None}
    except duckdb.Error:  # of one file; which one, only a look at each tells
        halves = [files[: len(files) // 2], files[len(files) // 2 :]] if len(files) > 1 else []
        return {file: newest for half in halves for file, newest in newest_results(half).items()}


def merge_results(store: Path, kind: Kind, files: Sequence[Path], oldest: dt.datetime) -> None:
    """Store the results of many files in one more file, after which the many may be removed.

    Of each key the newest result counts; those older than `oldest` are left out. Until the files are removed, a key is
    found twice, which does no harm.

    Raises:
        StoreError: a file can't be read, or the store can't be written. Nothing is lost.
    """
    frames = [rows for file in files if (rows := _read_or_set_aside(store, kind, file)) is not None]
    rows = pl.concat([SCHEMAS[kind].to_frame(), *frames]).filter(pl.col("finished_at") >= oldest)
    if not rows.is_empty():
        newest = rows.sort("finished_at").unique(IDENTITY[kind], keep="last", maintain_order=True)
        write_results(store, kind, f"merged-{uuid.uuid4().hex[:12]}", newest)


def _mended(store: Path, kind: Kind, files: Sequence[Path]) -> bool:
    """Whether a reading that failed is worth another: a file is gone by now, or was damaged and is set aside."""
    if not all(file.exists() for file in files):  # no need to read them all
        return True
    gone = [file for file in files if _read_or_set_aside(store, kind, file) is None]
    return len(gone) > 0


def _read_or_set_aside(store: Path, kind: Kind, file: Path) -> pl.DataFrame | None:
    """The rows of a file; None where there is none or it is damaged: then it lies among the damaged ones now."""
    try:
        return pl.read_parquet(file).pipe(_as_now, kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{file} can't be read: {error.strerror}", "let the user that runs sayu read it") from error
    except pl.exceptions.PolarsError as error:
        _set_aside(file, store / "results" / "damaged" / f"{kind}-{file.name}", str(error).splitlines()[0])
        return None


def _set_aside(file: Path, aside: Path, reason: str) -> None:
    try:
        aside.parent.mkdir(parents=True, exist_ok=True)
        file.rename(aside)
        aside.touch()  # its age counts from now: somebody may want to look at it
    except FileNotFoundError:  # somebody else was faster
        return
    except OSError as error:
        raise StoreError(f"{file} is damaged ({reason})", "move it away and run again: it is computed anew") from error
    logger.warning("%s is damaged (%s): set aside as %s, what it held is computed anew", file, reason, aside)


def _as_now(rows: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """Rows with today's columns: a text from before texts were asked for again is a first answer nobody looked at."""
    if kind == "texts":
        rows = pl.concat([rows, pl.DataFrame(schema={"attempt": pl.Int64, "passed": pl.Boolean})], how="diagonal")
        rows = rows.with_columns(pl.col("attempt").fill_null(1))
    return rows.pipe(conform, SCHEMAS[kind])


def _statement(name: str) -> str:
    return (HOME / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def _folder(store: Path, kind: Kind) -> Path:
    return store / "results" / kind
