"""Which pairs are left out, and what it takes to know."""

import polars as pl

from tasks.rank import leave_out

# three reason items of each of two recommended items
SCORES = {(1, 7): 0.2, (1, 8): 0.9, (1, 9): 0.5, (2, 7): 0.6, (2, 8): 0.1, (2, 9): 0.8}


def scored(scores: dict[tuple[int, int], float] = SCORES, stored: tuple[tuple[int, int], ...] = ()) -> pl.DataFrame:
    rows = [(place, *pair, pair in stored, score) for place, (pair, score) in enumerate(scores.items())]
    names = ["candidate_id", "recommended_item_id", "reason_item_id", "stored", "rank_score"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.col("candidate_id").cast(pl.UInt32))


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


def test_ties_go_to_the_smaller_ids_whatever_the_order_of_the_rows() -> None:
    tied = scored(dict.fromkeys(SCORES, 0.5))
    expected = {(1, 8), (1, 9), (2, 7), (2, 8), (2, 9)}
    assert left_out(tied, per_date=1).keys() == left_out(tied.reverse(), per_date=1).keys() == expected


def test_a_date_without_pairs_leaves_nothing_out() -> None:
    assert left_out(scored().clear(), per_item=1, per_date=1) == {}
