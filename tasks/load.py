"""load: a date's passed reasons into the serving file; and back out of it.

A publication replaces its date whole, in a copy of the serving file that is then renamed over it. A reader that has the
file open keeps reading the old day and never keeps a writer out; on opening again it sees the new one.
"""

import datetime as dt
import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl
from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict

from checks.gate import Gate, Verdict
from tasks.errors import PublicationError, StoreError
from tasks.files import replacing
from tasks.records import Outcome
from tasks.runs import Run
from tasks.settings import HOME

# Another date's publication takes seconds; a lock held for minutes is held by something that hangs.
LOCK_SECONDS = 300


class Publication(BaseModel):
    """One publication of a date, as the serving file records it."""

    model_config = ConfigDict(frozen=True)
    publication_id: int
    ds: dt.date
    run_key: str
    content_hash: str
    reason_count: int
    gate: str
    approved_by: str | None
    approval_reason: str | None
    published_at: dt.datetime
    withdrawn_at: dt.datetime | None


class Kept(NamedTuple):
    """A publication that still has its reasons.

    `kept`: it is its date's live one or the one before it, which a rollback brings back, or is not old yet.
    """

    publication_id: int
    ds: dt.date
    run_key: str
    reason_count: int
    kept: bool


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody's word that a held-back date is to be published after all."""

    who: str
    reason: str


def load_date(run: Run, approval: Approval | None = None) -> Publication | None:
    """Publish the date if the gate lets it or somebody approves it; None if the gate holds it back.

    Publishing what is live already changes nothing and gives the live publication.

    Raises:
        StoreError: the serving file can't be written.
    """
    gate = Gate.model_validate(run.read_json("checks"))
    if gate.verdict is Verdict.HELD_BACK and approval is None:
        return None
    reasons = published_reasons(run)
    content_hash = _digest(reasons)
    live = live_publication(run.settings.serving_file, run.ds)
    if live and (live.run_key, live.content_hash) == (run.key, content_hash):
        return live
    values = {
        "ds": run.ds,
        "run_key": run.key,
        "content_hash": content_hash,
        "reason_count": reasons.height,
        "gate": gate.verdict.value,
        "approved_by": approval and approval.who,
        "approval_reason": approval and approval.reason,
        "published_at": dt.datetime.now(dt.UTC),
    }
    with _new_serving_file(run.settings.serving_file) as connection:
        (publication_id,) = _execute(connection, "insert_publication", values).fetchone() or (0,)
        connection.register("new_reasons", reasons.to_arrow())
        _execute(connection, "insert_reasons", {"publication_id": publication_id})
        connection.unregister("new_reasons")
    return live_publication(run.settings.serving_file, run.ds)


def published_reasons(run: Run) -> pl.DataFrame:
    """The rows that the run has for the serving table, with the model and the prompt they come from."""
    return (
        run.read("outcomes")
        .filter(pl.col("outcome") == Outcome.PUBLISHED)
        .with_columns(model=pl.lit(run.model), prompt=pl.lit(run.prompt))
        .select("recommended_item_id", "reason_item_id", "text", "p_skip", "model", "prompt", "generated_at")
    )


def roll_back(serving_file: Path, ds: dt.date) -> tuple[Publication, Publication | None]:
    """Withdraw a date's live publication; gives it and the one that is live now, if there is one.

    Raises:
        PublicationError: the date has no live publication.
    """
    live = live_publication(serving_file, ds)
    if live is None:
        raise PublicationError(f"nothing is published for {ds}", "see `sayu show --ds D` for what a date has")
    with _new_serving_file(serving_file) as connection:
        values = {"publication_id": live.publication_id, "withdrawn_at": dt.datetime.now(dt.UTC)}
        _execute(connection, "withdraw_publication", values)
    return live, live_publication(serving_file, ds)


def live_publication(serving_file: Path, ds: dt.date) -> Publication | None:
    """The publication that readers of a date see; None if there is none.

    Raises:
        PublicationError: the serving file is no DuckDB file of sayu's.
    """
    rows = _read(serving_file, "find_live_publication", {"ds": ds})
    return Publication(**rows[0]) if rows else None


def list_publications(serving_file: Path, oldest: dt.datetime) -> list[Kept]:
    """The publications that still have their reasons, the oldest first.

    Raises:
        PublicationError: the serving file is no DuckDB file of sayu's.
    """
    return [Kept(**row) for row in _read(serving_file, "list_publications", {"oldest": oldest})]


def drop_publications(serving_file: Path, oldest: dt.datetime) -> None:
    """Drop the reasons of the publications that `list_publications` would not keep, in a smaller serving file.

    That they were made stays on record, as withdrawn: a publication without its reasons must not become live.

    Raises:
        StoreError, PublicationError: the serving file can't be written or read. It stays as it was.
    """
    with _new_serving_file(serving_file, smaller=True) as connection:
        publications = map(Kept._make, _execute(connection, "list_publications", {"oldest": oldest}).fetchall())
        old = {"publication_ids": [publication.publication_id for publication in publications if not publication.kept]}
        _execute(connection, "expire_publications", old | {"withdrawn_at": dt.datetime.now(dt.UTC)})
        _execute(connection, "delete_reasons", old)


@contextmanager
def _new_serving_file(serving_file: Path, smaller: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """A transaction on a copy of the serving file, which takes its place when the block ends well.

    `smaller`: without the room that deleted rows leave, which else the next rows take.
    """
    lock = FileLock(serving_file.with_name(f".{serving_file.name}.lock"))
    try:
        serving_file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=LOCK_SECONDS)
    except Timeout as error:
        raise StoreError(f"{serving_file} is locked by another publication", "wait for it, then run again") from error
    except OSError as error:
        raise StoreError(
            f"{serving_file} can't be written: {error.strerror}", "give --serving a place you may write to"
        ) from error
    try:
        with replacing(serving_file) as beside:
            if serving_file.exists():
                shutil.copyfile(serving_file, beside)
            with duckdb.connect(str(beside)) as connection:
                connection.execute("SET TimeZone = 'UTC'")
                connection.begin()
                for statement in ("create_publications", "create_published_reasons", "create_reasons"):
                    _execute(connection, statement)
                yield connection
                connection.commit()
                # closing would do it too, and keep silent where the disk is full: without the rows that are in the log
                connection.execute("CHECKPOINT")
            if smaller:
                _shrink(beside)
    except duckdb.Error as error:
        raise (_unwritten if "Could not write" in str(error) else _unreadable)(serving_file, error) from error
    finally:
        lock.release()


def _read(serving_file: Path, statement: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a statement; none where there is no serving file."""
    if not serving_file.exists():
        return []
    try:
        with duckdb.connect(str(serving_file), read_only=True) as connection:
            rows: list[dict[str, Any]] = connection.sql(_statement(statement), params=values).pl().to_dicts()
            return rows
    except duckdb.Error as error:
        raise _unreadable(serving_file, error) from error


def _shrink(file: Path) -> None:
    """Write a DuckDB file anew, without the room that deleted rows leave: DuckDB keeps it for the next ones."""
    with replacing(file) as beside, duckdb.connect() as connection:
        connection.execute(f"ATTACH '{_quoted(file)}' AS old (READ_ONLY)")
        connection.execute(f"ATTACH '{_quoted(beside)}' AS new")
        connection.execute("COPY FROM DATABASE old TO new")
        connection.execute("CHECKPOINT new")  # see above
        connection.execute("DETACH new")


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _execute(
    connection: duckdb.DuckDBPyConnection, statement: str, values: dict[str, Any] | None = None
) -> duckdb.DuckDBPyConnection:
    return connection.execute(_statement(statement), values)


def _statement(name: str) -> str:
    return (HOME / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def _digest(reasons: pl.DataFrame) -> str:
    """Over everything that readers see of a publication, except when it was made."""
    rows = reasons.drop("generated_at").sort("recommended_item_id", "reason_item_id")
    return hashlib.blake2b(rows.write_json().encode(), digest_size=16).hexdigest()


def _unwritten(serving_file: Path, error: Exception) -> StoreError:
    why = str(error).splitlines()[0].rpartition(": ")[2]
    return StoreError(f"{serving_file} can't be written: {why}", "make room on its disk for twice the file")


def _unreadable(serving_file: Path, error: Exception) -> PublicationError:
    return PublicationError(
        f"{serving_file} can't be used as a serving file: {str(error).splitlines()[0]}",
        "give --serving another path, or move the file away: sayu makes a new one",
    )
