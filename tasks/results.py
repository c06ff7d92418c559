"""The result store: what the model has answered, kept under a content key. Reuse is resume.

`STORE/results/decisions` and `STORE/results/texts` hold Parquet files, one a finished chunk and stage, written beside
and renamed, read as one view; answers of a chunk that is not finished are in its journal (tasks.journal). Many writers
need no lock. The newest row of a key counts; rows that are too old (see tasks.expiry) count as not there. A file that
can't be read is set aside in `STORE/results/damaged`, and what it held is computed anew. `STORE/results/attempts` holds
every answer of pairs that were asked for a text more than once; they are counted, never reused.
"""

import datetime as dt
import hashlib
import json
import logging
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import duckdb
import polars as pl

from tasks.errors import StoreError
from tasks.expiry import Oldest
from tasks.files import write_parquet
from tasks.prompt import Prompt
from tasks.records import ATTEMPTS, DECISIONS, TEXTS, conform
from tasks.settings import HOME, ReuseKey

logger = logging.getLogger("sayu")

EVER = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

Kind = Literal["decisions", "texts", "attempts"]
SCHEMAS = {"decisions": DECISIONS, "texts": TEXTS, "attempts": ATTEMPTS}
# What makes a row of each kind one of its own.
IDENTITY = {"decisions": ["key"], "texts": ["key"], "attempts": ["key", "attempt"]}


def result_key(payload: str, prompt: Prompt, model_fingerprint: str, reuse_key: ReuseKey = "prompt") -> str:
    """The key of a result: 32 hex digits over the pair as the model reads it, the prompt version, and the model.

    By `pair` the basket in the payload does not matter; such a key never is one by `prompt`. The threshold is no part
    of it: p_skip is stored raw, so a new threshold finds the old decisions.
    """
    if reuse_key == "pair":
        values = {name: value for name, value in json.loads(payload).items() if name != "basket"}
        payload = f"pair {json.dumps(values, ensure_ascii=False)}"
    content = "\x00".join((payload, prompt.digest, model_fingerprint))
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def write_results(store: Path, kind: Kind, name: str, rows: pl.DataFrame) -> None:
    """Store the finished results of one chunk. The same chunk asked twice writes the same file: no harm done."""
    write_parquet(rows, _folder(store, kind) / f"{name}.parquet")


def add_results(store: Path, kind: Kind, name: str, rows: pl.DataFrame) -> None:
    """Store results beside those that are stored under this name already; of a key (or attempt) these ones count."""
    if not rows.is_empty():
        before = read_results(store, kind, name).join(rows, on=IDENTITY[kind], how="anti", maintain_order="left")
        write_results(store, kind, name, pl.concat([before, rows]))


def read_results(store: Path, kind: Kind, name: str) -> pl.DataFrame:
    """The results that `write_results` stored under this name; no rows where nothing was stored or it is damaged."""
    rows = _read_or_set_aside(store, kind, _folder(store, kind) / f"{name}.parquet")
    return SCHEMAS[kind].to_frame() if rows is None else rows


def find_results(store: Path, kind: Kind, keys: pl.Series, oldest: Oldest | dt.datetime) -> pl.DataFrame:
    """The newest stored result of each key that is not older than `oldest`; keys without one are left out.

    Of attempts each one's newest result.

    Raises:
        StoreError: the store can't be read, though each of its files can.
    """
    limits = oldest if isinstance(oldest, Oldest) else Oldest.all_from(oldest)
    return newest_results(find_all(store, kind, keys, limits.first), kind, limits)


def newest_results(rows: pl.DataFrame, kind: Kind, oldest: Oldest) -> pl.DataFrame:
    """Of some results the newest of each key, without those that are too old."""
    return rows.filter(oldest.counts(kind)).sort("finished_at").unique(IDENTITY[kind], keep="last", maintain_order=True)


def find_all(
    store: Path, kind: Kind, keys: pl.Series, since: dt.datetime = EVER, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """Every result of the keys that was finished at `since` or later, also several of one key.

    Only these columns of its schema are read [default: all]: texts are long.

    Raises:
        StoreError: the store can't be read, though each of its files can.
    """
    wanted, names = pl.DataFrame({"key": keys.unique()}).to_arrow(), columns or SCHEMAS[kind].names()
    schema = pl.Schema({name: SCHEMAS[kind][name] for name in names})
    while files := list_results(store, kind):
        try:
            with duckdb.connect() as connection:
                connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")  # it writes to stdout
                connection.register("wanted", wanted)
                pattern = f"^({'|'.join(names)})$"  # a list of names would be an error where old files lack one
                values = {"files": [str(file) for file in files], "oldest": since, "columns": pattern}
                found: pl.DataFrame = connection.sql(_statement("find_results"), params=values).pl()
                return found.pipe(_as_now, kind).pipe(conform, schema)
        except (duckdb.Error, pl.exceptions.PolarsError) as error:  # unreadable, or of other columns or types
            if not _mended(store, kind, files):
                raise StoreError(
                    f"the result store {_folder(store, kind)} can't be read: {str(error).splitlines()[0]}",
                    "see that the machine has room in memory and that the files may be read, then run again",
                ) from error
    return schema.to_frame()


def list_results(store: Path, kind: Kind) -> list[Path]:
    """The files of the result store, by name."""
    return sorted(_folder(store, kind).glob("*.parquet"))


def valid_share(kind: Kind, file: Path, oldest: Oldest) -> float | None:
    """The share of a file's results that are not too old; None where the file is gone, empty or damaged."""
    try:
        rows = pl.scan_parquet(file)
        if kind == "texts" and "passed" not in rows.collect_schema().names():
            rows = rows.with_columns(passed=pl.lit(None, pl.Boolean))
        counts = rows.select(oldest.counts(kind).mean()).collect().item()
    except (OSError, pl.exceptions.PolarsError):
        return None
    return None if counts is None else float(counts)


def merge_results(store: Path, kind: Kind, files: Sequence[Path], oldest: Oldest) -> None:
    """Store the results of many files in one more file, after which the many may be removed.

    Of each key the newest result is kept, and the newest that says otherwise, which may count for longer; those that
    are too old are left out. Until the files are removed, a key is found twice, which does no harm.

    Raises:
        StoreError: a file can't be read, or the store can't be written. Nothing is lost.
    """
    frames = [rows for file in files if (rows := _read_or_set_aside(store, kind, file)) is not None]
    rows = pl.concat([SCHEMAS[kind].to_frame(), *frames]).filter(oldest.counts(kind))
    newest = (
        rows.with_columns(_no=oldest.says_no(kind)).sort("finished_at").unique([*IDENTITY[kind], "_no"], keep="last")
    )
    if not newest.is_empty():
        write_results(store, kind, f"merged-{uuid.uuid4().hex[:12]}", newest.drop("_no"))


def _mended(store: Path, kind: Kind, files: Sequence[Path]) -> bool:
    """Whether a reading that failed is worth another: a file is gone by now, or was damaged and is set aside."""
    if not all(file.exists() for file in files):  # no need to read them all
        return True
    gone = [file for file in files if _read_or_set_aside(store, kind, file) is None]
    return len(gone) > 0


def _read_or_set_aside(store: Path, kind: Kind, file: Path) -> pl.DataFrame | None:
    """The rows of a file; None where there is none or it is damaged: then it lies among the damaged ones now."""
    try:
        # polars opens a path twice, and in between another one may have taken its place: that would look like damage
        return pl.read_parquet(file.read_bytes()).pipe(_as_now, kind).pipe(conform, SCHEMAS[kind])
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
    return rows


def _statement(name: str) -> str:
    return (HOME / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def _folder(store: Path, kind: Kind) -> Path:
    return store / "results" / kind
