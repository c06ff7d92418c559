"""extract: the candidate pairs of one date, from the shop's DuckDB, opened read-only.

In: the source. Out: `candidates.parquet` (records.CANDIDATES), names cleaned, ids in the statement's order; and
`catalogue.parquet` and `categories.parquet` (records.CATALOGUE, CATEGORIES).
"""

import datetime as dt
from pathlib import Path

import duckdb
import polars as pl

from tasks.errors import SourceError, UsageError
from tasks.prompt import clean_name
from tasks.records import CANDIDATES, CATALOGUE, CATEGORIES, conform
from tasks.runs import Run
from tasks.settings import HOME

STATEMENT = HOME / "sql" / "extract_candidates.sql"
DATES = HOME / "sql" / "list_dates.sql"
DATES_BETWEEN = HOME / "sql" / "list_dates_between.sql"
ITEMS = HOME / "sql" / "list_items.sql"
SCATES = HOME / "sql" / "list_categories.sql"


def extract_candidates(run: Run) -> int:
    """Read the date's candidates and leave them in the run folder; returns how many there are.

    Raises:
        SourceError: the source can't be opened, a table or column is missing, or the date has no candidates.
    """
    candidates = clean_candidates(read_candidates(run.settings.source, run.ds))
    run.write("candidates", candidates)
    run.write("catalogue", read_catalogue(run.settings.source))
    run.write("categories", read_categories(run.settings.source))
    return candidates.height


def read_candidates(source: str, ds: dt.date) -> pl.DataFrame:
    """What `sql/extract_candidates.sql` returns for a date, as the contract says."""
    with open_source(source) as connection:
        try:
            rows: pl.DataFrame = connection.sql(STATEMENT.read_text(encoding="utf-8"), params={"ds": ds}).pl()
            if rows.is_empty():
                raise SourceError(*_no_candidates(connection, source, f"on {ds}", "--ds"))
        except duckdb.Error as error:
            raise _not_as_agreed(source, STATEMENT, error) from error
    missing = set(CANDIDATES.names()) - {"candidate_id"} - set(rows.columns)
    if missing:
        raise SourceError(
            f"{STATEMENT.name} does not return {', '.join(sorted(missing))}", "return every column of its contract"
        )
    return rows


def read_catalogue(source: str) -> pl.DataFrame:
    """The clean names of everything the shop sells (records.CATALOGUE), as `sql/list_items.sql` lists it."""
    return pl.DataFrame({"item_name": _read_names(source, ITEMS)}, schema=CATALOGUE)


def read_categories(source: str) -> pl.DataFrame:
    """The shop's small categories (records.CATEGORIES), as `sql/list_categories.sql` lists them."""
    return pl.DataFrame({"scate": _read_names(source, SCATES)}, schema=CATEGORIES)


def _read_names(source: str, statement: Path) -> list[str]:
    """What a statement of one column lists: clean, each once, in order."""
    with open_source(source) as connection:
        try:
            rows = connection.execute(statement.read_text(encoding="utf-8")).fetchall()
        except duckdb.Error as error:
            raise _not_as_agreed(source, statement, error) from error
    return sorted({clean_name(name) for (name,) in rows} - {""})


def read_dates(source: str, start: dt.date, end: dt.date) -> list[dt.date]:
    """The dates from `start` to `end` that have recommendations, in order.

    Raises:
        SourceError: the source can't be opened, or a table or column is missing.
        UsageError: none of the dates has any.
    """
    with open_source(source) as connection:
        try:
            values = {"first_date": start, "last_date": end}
            rows = connection.execute(DATES_BETWEEN.read_text(encoding="utf-8"), values).fetchall()
            if not rows:
                raise UsageError(*_no_candidates(connection, source, f"from {start} to {end}", "--start and --end"))
        except duckdb.Error as error:
            raise _not_as_agreed(source, DATES_BETWEEN, error) from error
    return [ds for (ds,) in rows]


def clean_candidates(rows: pl.DataFrame) -> pl.DataFrame:
    """Candidates with clean names and a number each; the basket keeps its order and loses empty names."""
    columns = ("recommended_item", "recommended_scate", "reason_item", "reason_scate")
    rows = rows.with_columns(pl.col(*columns).cast(pl.String), pl.col("basket").cast(pl.List(pl.String)))
    # a name stands in many rows: each is cleaned once
    names = pl.concat([*(rows[column] for column in columns), rows["basket"].explode()]).drop_nulls().unique()
    cleaned = pl.Series([clean_name(name) for name in names], dtype=pl.String)

    def clean(name: pl.Expr) -> pl.Expr:
        return name.replace_strict(names, cleaned, default="", return_dtype=pl.String)

    basket = pl.col("basket").fill_null([]).list.eval(clean(pl.element()).replace("", None).drop_nulls())
    return rows.with_columns(clean(pl.col(*columns)), basket).with_row_index("candidate_id").pipe(conform, CANDIDATES)


def open_source(source: str) -> duckdb.DuckDBPyConnection:
    """A connection that has the source attached, read-only, as `source`.

    Raises:
        SourceError: the file is missing, or no DuckDB database.
    """
    is_path = ":" not in source
    if is_path and not Path(source).is_file():
        raise SourceError(
            f"the source {source} does not exist", "give --source the shop's DuckDB file or an ATTACH string"
        )
    quoted = source.replace("'", "''")
    connection = duckdb.connect()
    try:
        connection.execute(f"ATTACH '{quoted}' AS source (READ_ONLY)")
    except duckdb.Error as error:
        connection.close()
        raise SourceError(
            f"{source} can't be opened as a DuckDB database: {_first_line(error)}",
            "give --source a DuckDB file that no other process has open for writing",
        ) from error
    return connection


def _not_as_agreed(source: str, statement: Path, error: Exception) -> SourceError:
    return SourceError(
        f"{source} does not hold what is asked for: {_first_line(error)}",
        f"the tables items, baskets and recommendations are described in {STATEMENT.name}; "
        f"edit {statement.name} if the shop's tables look different",
    )


def _no_candidates(connection: duckdb.DuckDBPyConnection, source: str, when: str, option: str) -> tuple[str, str]:
    first, last = connection.execute(DATES.read_text(encoding="utf-8")).fetchone() or (None, None)
    held = f"it holds {first} to {last}" if first else "it holds no recommendations at all"
    return f"{source} has no candidates {when}: {held}", f"choose one of its dates with {option}"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
