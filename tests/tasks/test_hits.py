"""What was found, counted: every pair once, by age and by outcome."""

import datetime as dt
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tasks.hits import FOUND, count_hits

NOW = dt.datetime(2026, 11, 28, 12, tzinfo=dt.UTC)
SCHEMA: dict[str, Any] = {"hit": pl.String, "stored_as": pl.String, "stored_at": pl.Datetime("us", "UTC")}
outcomes = st.sampled_from(["published", "skipped", "rejected"])
times = st.integers(-60, 60 * 24 * 60).map(lambda minutes: NOW - dt.timedelta(minutes=minutes))
found = st.tuples(st.just(FOUND), outcomes, times)
others = st.tuples(st.sampled_from(["decided", "expired", "ignored", "never"]), st.none() | outcomes, st.none() | times)


@given(st.lists(found | others, max_size=30))
def test_every_pair_is_counted_once(rows: list[tuple[str, str | None, dt.datetime | None]]) -> None:
    hits = count_hits(pl.DataFrame(rows, schema=SCHEMA, orient="row"), NOW, "prompt", None)
    assert hits.looked_up == len(rows)
    assert hits.found == sum(hit == FOUND for hit, _, _ in rows)
    for outcome in ("published", "skipped", "rejected"):
        assert sum(getattr(row, outcome) for row in hits.rows) == sum(said == outcome for _, said, _ in rows)
    assert len({row.name for row in hits.rows}) == len(hits.rows) == 8


def test_a_result_from_a_clock_that_is_ahead_is_of_today() -> None:
    row = (FOUND, "skipped", NOW + dt.timedelta(days=2))
    hits = count_hits(pl.DataFrame([row], schema=SCHEMA, orient="row"), NOW, "pair", NOW)
    assert [(row.name, row.skipped) for row in hits.seen] == [("found_today", 1)]
    assert (hits.key, hits.fresh_since) == ("pair", NOW)
