"""history: what the trailing published dates were like, for the checks that compare a date with them.

Each run leaves its `statistics.parquet` (records.STATISTICS). A date counts with the run whose reasons readers see now,
so dates that were held back or taken back don't. Dates are the last published ones before the run's own, whether or not
they follow one another.
"""

import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from checks.drift import BINS, bin_of
from tasks.errors import PublicationError
from tasks.records import STATISTICS, Outcome, conform
from tasks.runs import Run, runs_of
from tasks.settings import HOME

LIVE = HOME / "sql" / "list_live_publications.sql"
HISTORY = pl.Schema([("ds", pl.Date()), *STATISTICS.items(), ("model", pl.String()), ("prompt", pl.String())])


def count_statistics(outcomes: pl.DataFrame) -> pl.DataFrame:
    """A date's statistics (records.STATISTICS), one row a small category, from its outcomes (records.OUTCOMES)."""
    outcome, number = pl.col("outcome"), bin_of(pl.col("p_skip"))
    return (
        outcomes.group_by(scate=pl.col("recommended_scate").fill_null(""))
        .agg(
            candidates=pl.len(),
            decided=pl.col("p_skip").count(),
            skipped=(outcome == Outcome.SKIPPED).sum(),
            written=outcome.is_in([Outcome.PUBLISHED, Outcome.REJECTED]).sum(),
            rejected=(outcome == Outcome.REJECTED).sum(),
            failed=(outcome == Outcome.FAILED).sum(),
            bins=pl.concat_list([(number == step).sum() for step in range(BINS)]),
        )
        .sort("scate")
        .pipe(conform, STATISTICS)
    )


def published_statistics(run: Run, dates: int = 14) -> pl.DataFrame:
    """The statistics of the last published dates before the run's own, at most `dates` of them, oldest first.

    One row a date and small category: STATISTICS with `ds`, `model` and `prompt`. Dates whose run folder is gone are
    not among them; `model` and `prompt` are null where a run is being made again.

    Raises:
        PublicationError: the serving file is no DuckDB file of sayu's.
    """
    frames: list[pl.DataFrame] = []
    for ds, run_key in _live_runs(run.settings.serving_file):
        folder = runs_of(run.settings.store, ds) / run_key
        if ds < run.ds and (folder / "statistics.parquet").exists() and len(frames) < dates:
            made = _manifest(folder)
            versions = {name: pl.lit(made.get(name), pl.String) for name in ("model", "prompt")}
            frames.append(pl.read_parquet(folder / "statistics.parquet").with_columns(ds=pl.lit(ds), **versions))
    return pl.concat([HISTORY.to_frame(), *(frame.pipe(conform, HISTORY) for frame in reversed(frames))])


def volumes(run: Run, dates: int = 14) -> pl.DataFrame:
    """Of the same dates, one row each: `ds`, `candidates` (pairs) and `missing_share` (those without a category)."""
    missing = pl.col("candidates").filter(pl.col("scate") == "").sum()
    return (
        published_statistics(run, dates)
        .group_by("ds", maintain_order=True)
        .agg(pl.col("candidates").sum(), missing_share=missing / pl.col("candidates").sum())
    )


def _live_runs(serving_file: Path) -> list[tuple[Any, str]]:
    """Date and run key of every date's live publication, newest first."""
    if not serving_file.exists():
        return []
    try:
        with duckdb.connect(str(serving_file), read_only=True) as connection:
            rows = connection.sql(LIVE.read_text(encoding="utf-8")).fetchall()
    except duckdb.Error as error:
        raise PublicationError(
            f"{serving_file} can't be used as a serving file: {str(error).splitlines()[0]}",
            "give --serving another path, or move the file away: sayu makes a new one",
        ) from error
    return sorted(((ds, run_key) for ds, run_key, *_ in rows), reverse=True)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
