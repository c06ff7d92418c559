"""Which pairs are left out, and what it takes to know."""

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from demo.build_source import write_source
from tasks.preview import Work, count_work
from tasks.rank import leave_out
from tasks.reports.words import meaning
from tasks.runs import Run, describe_run
from tests.integration.stages import all_stages
from tests.shop import DS, ITEMS, good_answer, make_run, prepare, record

# three reason items of each of two recommended items
SCORES = {(1, 7): 0.2, (1, 8): 0.9, (1, 9): 0.5, (2, 7): 0.6, (2, 8): 0.1, (2, 9): 0.8}


def scored(scores: dict[tuple[int, int], float] = SCORES, stored: tuple[tuple[int, int], ...] = ()) -> pl.DataFrame:
    rows = [(place, *pair, pair in stored, score) for place, (pair, score) in enumerate(scores.items())]
    names = ["candidate_id", "recommended_item_id", "reason_item_id", "stored", "rank_score"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return frame.with_columns(pl.col("candidate_id").cast(pl.UInt32), score=pl.lit(None, pl.Float64))


def left_out(
    pairs: pl.DataFrame, per_item: int | None = None, per_date: int | None = None
) -> dict[tuple[int, int], str]:
    out = leave_out(pairs, per_item, per_date).join(pairs, on="candidate_id")
    rows = out.select("recommended_item_id", "reason_item_id", "limit", "rank", "of").iter_rows()
    return {(item, reason): f"{limit}: {rank} of {of}" for item, reason, limit, rank, of in rows}


def test_the_best_pairs_of_each_item_are_kept() -> None:
    assert left_out(scored(), per_item=2) == {(1, 7): "rank_per_item: 3 of 3", (2, 8): "rank_per_item: 3 of 3"}


def test_the_best_pairs_of_the_date_are_kept_of_those_that_the_items_keep() -> None:
    assert left_out(scored(), per_item=2, per_date=3) == {
        (1, 7): "rank_per_item: 3 of 3",
        (1, 9): "rank_per_date: 4 of 4",
        (2, 8): "rank_per_item: 3 of 3",
    }
    assert left_out(scored(), per_date=5) == {(2, 8): "rank_per_date: 6 of 6"}


def test_no_limit_and_a_limit_that_is_not_reached_leave_nothing_out() -> None:
    assert left_out(scored()) == left_out(scored(), per_item=3, per_date=6) == {}


def test_a_stored_text_is_not_left_out_for_the_sake_of_a_call() -> None:
    assert left_out(scored(stored=((1, 7),)), per_item=1).keys() == {(1, 8), (1, 9), (2, 7), (2, 8)}
    assert left_out(scored(stored=((1, 7), (2, 8))), per_date=3).keys() == {(1, 9), (2, 7), (2, 9)}


def test_stored_texts_take_places_too() -> None:
    out = left_out(scored(stored=((1, 7), (1, 9))), per_item=1)
    assert out[(1, 7)] == "rank_per_item: 2 of 3"  # its score is the lower of the two
    assert out[(1, 8)] == "rank_per_item: 3 of 3"


def test_ties_go_by_the_recommenders_score() -> None:
    tied = scored({(1, 7): 0.5, (1, 8): 0.5, (1, 9): 0.5}).with_columns(score=pl.Series([None, 0.1, 0.3]))
    assert left_out(tied, per_item=1).keys() == {(1, 7), (1, 8)}
    assert left_out(tied, per_item=2).keys() == {(1, 7)}


def test_further_ties_go_to_the_smaller_ids_whatever_the_order_of_the_rows() -> None:
    tied = scored(dict.fromkeys(SCORES, 0.5))
    expected = {(1, 8), (1, 9), (2, 7), (2, 8), (2, 9)}
    assert left_out(tied, per_date=1).keys() == left_out(tied.reverse(), per_date=1).keys() == expected


def test_a_date_without_pairs_leaves_nothing_out() -> None:
    assert left_out(scored().clear(), per_item=1, per_date=1) == {}


# Recommended 1 with three reason items and 4 with two; on the day before, 1 stood with 3 and 4 with 2.
CHOICES = [(1, 2, 0.9), (1, 3, 0.5), (1, 4, 0.7), (4, 2, 0.1), (4, 3, 0.8)]
PAST = [[1, 3], [1, 3, 2], [4, 2], [4, 2], [6], [6, 5]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    before = DS - dt.timedelta(days=1)
    baskets = [(before, f"p{number}", item, item) for number, items in enumerate(PAST) for item in items]
    baskets += [(DS, "b1", item, place) for place, item in enumerate([2, 3, 4])]
    source = write_source(tmp_path / "s.duckdb", ITEMS, baskets, [(DS, "b1", *pair) for pair in CHOICES])
    run = make_run(tmp_path, source)
    prepare(run)
    record(run, good_answer)
    return run


def ranked(run: Run, **settings: object) -> Run:
    return describe_run(DS, run.settings.model_copy(update={"rank_by": "lift"} | settings))


def outcomes(run: Run) -> dict[tuple[int, int], tuple[str, str | None, str | None]]:
    rows = run.read("outcomes").select("recommended_item_id", "reason_item_id", "outcome", "detail", "evidence")
    return {(item, reason): tuple(said) for item, reason, *said in rows.iter_rows()}


def test_what_is_left_out_says_so_and_costs_no_call(run: Run) -> None:
    run = ranked(run, rank_per_item=1)
    summary = all_stages(run)[3]
    rows = outcomes(run)
    assert {pair for pair, (outcome, *_) in rows.items() if outcome == "ranked_out"} == {(1, 2), (1, 4), (4, 3)}
    assert rows[(4, 3)] == ("ranked_out", "rank_per_item", "2 / 2, 0.6")
    assert (summary.model_calls, summary.outcomes["ranked_out"]) == (2, 3)
    assert summary.ranking == {"by": "lift", "per_item": 1, "per_date": None, "days": 28, "model": None}
    page = (run.folder / "rows" / "ranked_out.html").read_text(encoding="utf-8")
    assert "rank_per_item" in page
    assert meaning("rank_per_item", "en") in page
    assert "ranked by lift" in (run.folder / "report.html").read_text(encoding="utf-8")


def test_without_a_limit_every_pair_is_kept(run: Run) -> None:
    summary = all_stages(ranked(run))[3]
    assert summary.outcomes["ranked_out"] == 0
    assert summary.ranking is None


def test_a_date_that_is_run_again_asks_nothing_new(run: Run) -> None:
    record(run, lambda row: (0.9 if row["reason_item"] == "두부(찌개용)" else 0.1, good_answer(row)[1]))
    first = all_stages(ranked(run, rank_per_item=1))[3]
    assert first.outcomes["skipped"] == 1  # which keeps its place
    again = all_stages(ranked(run, rank_per_item=1))[3]
    assert (again.model_calls, again.outcomes) == (0, first.outcomes)


def test_what_other_runs_have_written_takes_the_places(run: Run) -> None:
    all_stages(ranked(run, rank_per_date=5))  # which is all of them
    summary = all_stages(ranked(run, rank_per_item=1))[3]
    assert (summary.model_calls, summary.outcomes["published"], summary.outcomes["ranked_out"]) == (0, 2, 3)


def test_a_pair_that_reaches_the_model_gets_the_same_text_either_way(run: Run, tmp_path: Path) -> None:
    everything = ranked(run, store=tmp_path / "all")
    some = ranked(run, store=tmp_path / "some", rank_per_item=1)
    all_stages(everything), all_stages(some)
    columns = ("recommended_item_id", "reason_item_id", "outcome", "text")
    kept = some.read("outcomes").filter(pl.col("outcome") != "ranked_out").select(columns)
    assert kept.height == 2
    assert kept.join(everything.read("outcomes").select(columns), on=columns, how="anti").is_empty()


def test_a_preview_says_how_many_are_left_out(run: Run) -> None:
    for limits in ({"rank_per_item": 1}, {"rank_per_item": 2, "rank_per_date": 3}, {"rank_per_date": 2}):
        some = ranked(run, store=run.settings.store / str(limits), **limits)
        foreseen = count_work([DS], some.settings)[DS]
        summary = all_stages(some)[3]
        assert foreseen == Work(5, 0, summary.model_calls, summary.outcomes["ranked_out"])
        again = count_work([DS], some.settings)[DS]
        assert (again.ranked_out, again.model_calls) == (summary.outcomes["ranked_out"], 0)
