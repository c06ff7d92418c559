"""hits: what the result store held for a date's pairs, by its age and by what it said."""

import datetime as dt

import polars as pl
from pydantic import BaseModel, ConfigDict

from tasks.settings import ReuseKey

# Whole days of age at most, and what a find of that age is called; a season's dishes are younger than the last one.
BANDS = ((0, "found_today"), (7, "found_week"), (30, "found_month"), (None, "found_older"))
# What is there for a pair: all of it; a decision to write, and no text that counts; nothing that counts any more;
# nothing that counts from `fresh` on; nothing at all.
FOUND, DECIDED, EXPIRED, IGNORED, NEVER = "found", "decided", "expired", "ignored", "never"


class Hit(BaseModel):
    """How many pairs found the same; `published`, `skipped` and `rejected` are those of which an outcome is stored."""

    model_config = ConfigDict(frozen=True)
    name: str
    pairs: int
    published: int  # texts that passed their checks, or that nobody has looked at
    skipped: int
    rejected: int


class Hits(BaseModel):
    """What a date's pairs found in the result store. The rows' pairs add up to the pairs that were looked up."""

    model_config = ConfigDict(frozen=True)
    key: ReuseKey
    fresh_since: dt.datetime | None  # what was stored before is ignored
    rows: tuple[Hit, ...]

    @property
    def looked_up(self) -> int:
        """How many pairs were looked up."""
        return sum(row.pairs for row in self.rows)

    @property
    def found(self) -> int:
        """How many of them need nothing from the model."""
        return sum(row.pairs for row in self.rows if row.name.startswith(FOUND))

    @property
    def seen(self) -> tuple[Hit, ...]:
        """The rows that have pairs."""
        return tuple(row for row in self.rows if row.pairs)


def count_hits(stored: pl.DataFrame, now: dt.datetime, key: ReuseKey, fresh_since: dt.datetime | None) -> Hits:
    """Count rows of `hit`, `stored_as` (an outcome, or null) and `stored_at`; ages are those at `now`."""
    days = (pl.lit(now) - pl.col("stored_at")).dt.total_days()
    band = pl.coalesce(*(pl.when(days <= most).then(pl.lit(name)) for most, name in BANDS[:-1]), pl.lit(BANDS[-1][1]))
    name = pl.when(pl.col("hit") == FOUND).then(band).otherwise("hit")
    counted = stored.select(name=name, stored_as="stored_as").group_by("name", "stored_as").len()
    numbers = {(name, outcome): pairs for name, outcome, pairs in counted.iter_rows()}
    names = [*(name for _, name in BANDS), DECIDED, EXPIRED, IGNORED, NEVER]
    return Hits(key=key, fresh_since=fresh_since, rows=tuple(_hit(name, numbers) for name in names))


def _hit(name: str, numbers: dict[tuple[str, str | None], int]) -> Hit:
    outcomes = {outcome: numbers.get((name, outcome), 0) for outcome in ("published", "skipped", "rejected")}
    return Hit(name=name, pairs=sum(outcomes.values()) + numbers.get((name, None), 0), **outcomes)
