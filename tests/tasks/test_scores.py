"""What pairs are ranked by: a shop of hand-made vectors whose past baskets say what goes together."""

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from demo.build_source import write_source
from tasks.baskets import Baskets, read_baskets
from tasks.embedding import Vectors
from tasks.errors import SourceError
from tasks.scores import score_by_baskets, score_by_lift, score_by_names
from tests.shop import DS

# The first number is what a name is about, the others its own: two kinds of milk, of cereal, of cabbage, of soap.
KINDS = {"우유": 0, "시리얼": 1, "배추": 2, "비누": 3}
ITEMS = [
    (1, "우유 1L"),
    (2, "우유 500ml"),
    (3, "시리얼 콘"),
    (4, "시리얼 쌀"),
    (5, "배추 한 통"),
    (6, "배추 반 통"),
    (7, "비누"),
]
NEW_MILK = (101, "우유 신제품")
# Milk stands with cereal, cabbage with soap; 우유 1L has never met 시리얼 쌀 itself.
CONTENTS = [[1, 3], [2, 3], [2, 4], [5, 7], [6, 7], [5, 7], [1, 3], [2, 4]]


def embed(names: Sequence[str]) -> Vectors:
    rows = np.zeros((len(names), 5), dtype=np.float32)
    for row, name in zip(rows, names, strict=True):
        row[KINDS[name.split()[0]]] = 1.0
        row[4] = sum(name.encode()) % 7 / 20
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def pairs(*items: tuple[tuple[int, str], tuple[int, str]]) -> pl.DataFrame:
    rows = [(one[0], other[0], one[1], other[1]) for one, other in items]
    names = ["recommended_item_id", "reason_item_id", "recommended_item", "reason_item"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.fixture
def source(tmp_path: Path) -> str:
    """The baskets stood on the day before, twice; on the day itself everything stood together."""
    yesterday, long_ago = DS - dt.timedelta(days=1), DS - dt.timedelta(days=40)
    baskets: list[tuple[object, ...]] = [
        (yesterday, f"b{number}", item, place)
        for number, contents in enumerate(CONTENTS * 2)
        for place, item in enumerate([*contents, contents[0]])  # which stands in it twice
    ]
    baskets += [(ds, "all", item, item) for ds in (DS, long_ago) for item, _ in ITEMS]
    items = [(item, f" {name}\u200b", None) for item, name in ITEMS]
    return str(write_source(tmp_path / "s.duckdb", items, baskets, []))


@pytest.fixture
def baskets(source: str) -> Baskets:
    return read_baskets(source, DS, days=28)


def test_only_the_baskets_of_the_days_before_count_and_an_item_once_a_basket(baskets: Baskets, source: str) -> None:
    assert baskets.contents.shape == (16, 7)
    assert baskets.names == [name for _, name in ITEMS]
    assert baskets.contents.sum(axis=0).tolist() == [4, 6, 6, 4, 4, 2, 6]
    assert read_baskets(source, DS, days=40).contents.shape == (17, 7)
    assert read_baskets(source, DS - dt.timedelta(days=1), days=28).contents.shape == (0, 0)


def test_how_often_items_met_and_how_often_they_would_by_chance(baskets: Baskets) -> None:
    counted, by_chance = baskets.together([1, 3, 1, 1, 999], [3, 1, 4, 999, 1])
    assert counted.tolist() == [4, 4, 0, 0, 0]
    assert by_chance.tolist() == [4 * 6 / 16, 4 * 6 / 16, 4 * 4 / 16, 0, 0]


def test_lift_knows_only_who_met(baskets: Baskets) -> None:
    met, not_met, new = score_by_lift(pairs((ITEMS[0], ITEMS[2]), (ITEMS[0], ITEMS[3]), (NEW_MILK, ITEMS[2])), baskets)
    assert met == (4 + 1) / (1.5 + 1)
    assert not_met == 1 / (1 + 1)
    assert new == 1


def test_what_met_most_comes_first(baskets: Baskets) -> None:
    often, never = score_by_baskets(pairs((ITEMS[0], ITEMS[2]), (ITEMS[0], ITEMS[4])), baskets)
    assert often > 4 > 0.1 > abs(never)


def test_of_pairs_that_have_not_met_those_that_go_with_the_same_third_come_first(baskets: Baskets) -> None:
    alike, apart = score_by_baskets(pairs((ITEMS[0], ITEMS[3]), (ITEMS[0], ITEMS[6])), baskets)
    assert baskets.together([1], [4])[0] == 0
    assert alike > 0.1 > abs(apart)


def test_fewer_axes_are_the_strongest_of_more(baskets: Baskets) -> None:
    everything = [(one, other) for one, _ in ITEMS for other, _ in ITEMS]
    ones, others = zip(*everything, strict=True)
    whole, partial = (baskets.expected(ones, others, axes) for axes in (3, 2))
    strengths, directions = baskets._axes(3)
    two = np.argsort(-np.abs(strengths))[:2]
    sizes = np.sqrt([4, 6, 6, 4, 4, 2, 6])
    rows = directions[:, two] * sizes[:, None]
    assert partial == pytest.approx(((rows * strengths[two]) @ rows.T).ravel())
    assert whole != pytest.approx(partial)


def test_an_item_that_stood_in_no_basket_has_nothing_to_be_ranked_by(baskets: Baskets) -> None:
    assert score_by_baskets(pairs((NEW_MILK, ITEMS[2])), baskets).tolist() == [0]
    assert score_by_baskets(pairs((NEW_MILK, ITEMS[2])), read_baskets_of_nothing()).tolist() == [0]


@pytest.mark.parametrize("met", [[], [(0, 1)], [(0, 1), (2, 3)]])
def test_baskets_in_which_hardly_anything_meets_rank_as_well(met: list[tuple[int, int]]) -> None:
    table = np.eye(40, dtype=np.float32)
    for one, other in met:
        table[one, other] = 1
    hardly = Baskets(np.arange(40), [f"상품 {number}" for number in range(40)], sparse.csc_array(table))
    first, *others = score_by_baskets(pairs(*(((0, ""), (other, "")) for other in range(1, 40))), hardly)
    assert np.isfinite(others).all()
    assert first > max(others) if met else first == 0


def read_baskets_of_nothing() -> Baskets:
    return Baskets(np.empty(0, np.int64), [], sparse.csc_array((0, 0), dtype=np.float32))


def test_names_alone_are_near_where_they_are_of_one_kind() -> None:
    near, far = score_by_names(pairs((ITEMS[0], ITEMS[1]), (ITEMS[0], ITEMS[4])), embed)
    assert 1 >= near > 0 > far


def test_a_score_depends_on_the_pair_alone_whichever_way_round(baskets: Baskets) -> None:
    some = [(ITEMS[0], ITEMS[3]), (NEW_MILK, ITEMS[2]), (ITEMS[4], ITEMS[6])]
    together = score_by_baskets(pairs(*some), baskets)
    assert together == pytest.approx(score_by_baskets(pairs(*((b, a) for a, b in some)), baskets))
    assert together == pytest.approx([score_by_baskets(pairs(pair), baskets)[0] for pair in some])


def test_a_source_without_baskets_is_named(tmp_path: Path, source: str) -> None:
    import duckdb

    with duckdb.connect(source) as connection:
        connection.execute("ALTER TABLE baskets RENAME COLUMN item_id TO product")
    with pytest.raises(SourceError, match=r"past baskets.*--rank-by embedding"):
        read_baskets(source, DS, days=28)
