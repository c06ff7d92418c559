"""The result store: what the model has answered, kept under a content key. Reuse is resume.

`STORE/results/decisions` and `STORE/results/texts` hold Parquet files, one a finished chunk and stage, written beside
and renamed, read as one view. Many writers need no lock. The newest row of a key counts; rows older than the TTL
count as not there.
"""

import datetime as dt
import hashlib
from pathlib import Path
from typing import Literal

import duckdb
import polars as pl

from tasks.errors import StoreError
from tasks.files import write_parquet
from tasks.prompt import Prompt
from tasks.records import DECISIONS, TEXTS, conform
from tasks.settings import HOME

Kind = Literal["decisions", "texts"]
SCHEMAS = {"decisions": DECISIONS, "texts": TEXTS}


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
    """The results that `write_results` stored under this name; no rows where nothing was stored."""
    path = _folder(store, kind) / f"{name}.parquet"
    return pl.read_parquet(path) if path.exists() else SCHEMAS[kind].to_frame()


def find_results(store: Path, kind: Kind, keys: pl.Series, oldest: dt.datetime) -> pl.DataFrame:
    """The newest stored result of each key that is not older than `oldest`; keys without one are left out.

    Raises:
        StoreError: a file of the store is damaged.
    """
    folder = _folder(store, kind)
    if not any(folder.glob("*.parquet")):
        return SCHEMAS[kind].to_frame()
    statement = (HOME / "sql" / "find_results.sql").read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("wanted", pl.DataFrame({"key": keys.unique()}).to_arrow())
        try:
            found: pl.DataFrame = connection.sql(
                statement, params={"files": f"{folder}/*.parquet", "oldest": oldest}
            ).pl()
        except duckdb.Error as error:
            raise StoreError(
                f"the result store {folder} has a file that can't be read: {str(error).splitlines()[0]}",
                "move that file away and run again: what it held is computed anew",
            ) from error
    return found.pipe(conform, SCHEMAS[kind])


def _folder(store: Path, kind: Kind) -> Path:
    return store / "results" / kind
