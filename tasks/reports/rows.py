"""The rows behind a report's numbers: for each outcome a page to read, and all of them as a zipped CSV file.

`rows/<outcome>.html` shows the rows by the reason that they have, some of each, the same ones every time;
`rows/<outcome>.zip` holds every row, for a spreadsheet.
"""

import zipfile
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict

from tasks.files import replacing
from tasks.records import Outcome
from tasks.reports.html import render
from tasks.reports.words import Language

# A page of 20 reasons with 200 rows each still opens at once; what is rarer is in the CSV file.
ROWS_A_REASON = 200
MOST_REASONS = 20

COLUMNS = (
    "candidate_id", "recommended_item_id", "recommended_item", "recommended_scate", "reason_item_id", "reason_item",
    "reason_scate", "basket", "score", "outcome", "detail", "evidence", "p_skip", "text", "answer", "reused",
    "generated_at",
)  # fmt: skip


class Group(BaseModel):
    """The rows that have a reason in common (a failed rule, an error), or all of an outcome that has no reasons."""

    model_config = ConfigDict(frozen=True)
    anchor: str
    reason: str | None
    pairs: int
    rows: list[dict[str, Any]]  # some of them, drawn at random


Groups = dict[str, list[Group]]


def group_rows(outcomes: pl.DataFrame) -> Groups:
    """The rows to show of each outcome, the most frequent reason first; a row stands under each of its reasons."""
    return {outcome.value: _group(outcomes.filter(pl.col("outcome") == outcome), outcome) for outcome in Outcome}


def write_rows(folder: Path, outcomes: pl.DataFrame, groups: Groups, ds: str, language: Language) -> None:
    """Write the page and the CSV file of every outcome that has rows, and take away those of one that has none."""
    for outcome, shown in groups.items():
        page, archive = folder / "rows" / f"{outcome}.html", folder / "rows" / f"{outcome}.zip"
        rows = outcomes.filter(pl.col("outcome") == outcome)
        if rows.is_empty():
            page.unlink(missing_ok=True)
            archive.unlink(missing_ok=True)
            continue
        with replacing(archive) as beside:
            _write_csv(rows, beside, f"{ds}-{outcome}.csv")
        with replacing(page) as beside:
            text = render("rows.html.j2", language, ds=ds, outcome=outcome, groups=_once(shown), pairs=rows.height)
            beside.write_text(text, encoding="utf-8")


def _group(rows: pl.DataFrame, outcome: Outcome) -> list[Group]:
    if rows.is_empty():
        return []
    rows = rows.sample(fraction=1, shuffle=True, seed=0)
    if outcome not in (Outcome.REJECTED, Outcome.FAILED, Outcome.SCREENED, Outcome.RANKED_OUT):
        return [Group(anchor="r0", reason=None, pairs=rows.height, rows=rows.head(ROWS_A_REASON).to_dicts())]
    # Only codes are joined by commas: an error's own commas are part of it.
    reasons = pl.col("detail").str.split(", ") if outcome is Outcome.REJECTED else pl.concat_list("detail")
    exploded = rows.with_columns(reason=reasons).explode("reason")
    counts = exploded.group_by("reason").agg(pairs=pl.len()).sort(["pairs", "reason"], descending=[True, False])
    return [
        Group(anchor=f"r{place}", reason=reason, pairs=pairs,
              rows=exploded.filter(pl.col("reason") == reason).head(ROWS_A_REASON).to_dicts())
        for place, (reason, pairs) in enumerate(counts.head(MOST_REASONS).iter_rows())
    ]  # fmt: skip


def _once(groups: list[Group]) -> list[Group]:
    """The groups with `first` in each row: whether it stands there for the first time, and so gets the row's anchor."""
    seen: set[int] = set()
    marked = []
    for group in groups:
        rows = [row | {"first": row["candidate_id"] not in seen} for row in group.rows]
        seen.update(row["candidate_id"] for row in rows)
        marked.append(group.model_copy(update={"rows": rows}))
    return marked


def _write_csv(rows: pl.DataFrame, path: Path, name: str) -> None:
    """UTF-8 with a byte order mark, which spreadsheets need for Korean.

    A text that a spreadsheet would take for a formula gets an apostrophe before it: names are anybody's.
    """
    text = pl.col(pl.String)
    formula = text.str.contains(r"^[=+\-@\t\r]")
    frame = (
        rows.select(COLUMNS)
        .with_columns(pl.col("basket").list.join(" | "))
        .with_columns(pl.when(~formula).then(text).otherwise(pl.lit("'") + text))
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive, archive.open(name, "w") as file:
        file.write(frame.write_csv(include_bom=True).encode())
