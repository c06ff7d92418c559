"""The demo source: thirty days of a shop that looks like a shop, and is the same every time."""

from datetime import date
from pathlib import Path

import duckdb
import pytest

from demo.build_source import SCHEMAS, build_source
from demo.catalogue import load_shop

ROWS = {table: f"SELECT * FROM {table} ORDER BY ALL" for table in SCHEMAS}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_source(tmp_path_factory.mktemp("source") / "source.duckdb")


def ask(source: Path, question: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(source), read_only=True) as connection:
        return connection.sql(question).fetchall()


def test_the_tables_are_those_of_the_source_contract(source: Path) -> None:
    columns = ask(
        source,
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY ALL",
    )
    assert columns == [
        ("baskets", "basket_id", "VARCHAR"),
        ("baskets", "ds", "DATE"),
        ("baskets", "item_id", "BIGINT"),
        ("baskets", "position", "INTEGER"),
        ("items", "item_id", "BIGINT"),
        ("items", "item_name", "VARCHAR"),
        ("items", "scate", "VARCHAR"),
        ("recommendations", "basket_id", "VARCHAR"),
        ("recommendations", "ds", "DATE"),
        ("recommendations", "reason_item_id", "BIGINT"),
        ("recommendations", "recommended_item_id", "BIGINT"),
        ("recommendations", "score", "DOUBLE"),
    ]


def test_thirty_dates_of_about_four_hundred_pairs_end_on_the_last_date(source: Path) -> None:
    days = ask(
        source,
        """
        SELECT ds, count(DISTINCT (recommended_item_id, reason_item_id))
        FROM recommendations GROUP BY ds ORDER BY ds
        """,
    )
    assert len(days) == 30
    assert days[-1][0] == date(2026, 11, 28)
    assert all(380 <= int(str(pairs)) <= 420 for _, pairs in days)


def test_a_little_more_than_half_of_the_pairs_is_joined_by_a_dish(source: Path) -> None:
    shop = load_shop()
    for (day,) in ask(source, "SELECT DISTINCT ds FROM recommendations"):
        pairs = ask(
            source,
            f"SELECT DISTINCT recommended_item_id, reason_item_id FROM recommendations WHERE ds = '{day}'",
        )
        joined = sum(bool(shop.dishes_of(int(str(one)), int(str(other)))) for one, other in pairs)
        assert 0.5 <= joined / len(pairs) <= 0.65


def test_pairs_come_back_on_other_dates(source: Path) -> None:
    """What makes stored results worth having: most of a day's pairs were recommended before."""
    (known,) = ask(
        source,
        """
        SELECT avg((earlier > 0)::INT) FROM (
            SELECT ds, count(*) OVER (
                PARTITION BY recommended_item_id, reason_item_id ORDER BY ds
                RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 1 DAY PRECEDING
            ) AS earlier
            FROM (SELECT DISTINCT ds, recommended_item_id, reason_item_id FROM recommendations)
        ) WHERE ds = '2026-11-28'
        """,
    )
    assert 0.7 <= float(str(known[0])) <= 1.0


def test_baskets_hold_three_to_eight_items_the_reason_among_them_the_recommended_not(source: Path) -> None:
    sizes = ask(source, "SELECT DISTINCT count(*) FROM baskets GROUP BY ds, basket_id ORDER BY 1")
    assert sizes == [(3,), (4,), (5,), (6,), (7,), (8,)]
    held = "SELECT 1 FROM baskets AS b WHERE b.ds = r.ds AND b.basket_id = r.basket_id AND b.item_id = r."
    assert ask(source, f"FROM recommendations AS r WHERE NOT EXISTS ({held}reason_item_id)") == []
    assert ask(source, f"FROM recommendations AS r WHERE EXISTS ({held}recommended_item_id)") == []


def test_some_pairs_are_recommended_to_two_baskets_on_one_date(source: Path) -> None:
    """Extraction has to choose between them."""
    repeated = ask(
        source,
        """
        SELECT ds FROM recommendations GROUP BY ds, recommended_item_id, reason_item_id HAVING count(*) > 1
        """,
    )
    assert len({day for (day,) in repeated}) == 30


def test_every_id_is_an_item_of_the_shop(source: Path) -> None:
    for column in ("recommended_item_id", "reason_item_id"):
        assert ask(source, f"FROM recommendations WHERE {column} NOT IN (SELECT item_id FROM items)") == []
    assert ask(source, "FROM baskets WHERE item_id NOT IN (SELECT item_id FROM items)") == []


def test_two_builds_have_the_same_content(source: Path, tmp_path: Path) -> None:
    again = build_source(tmp_path / "again.duckdb")
    for question in ROWS.values():
        assert ask(source, question) == ask(again, question)


def test_an_interrupted_build_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "source.duckdb"
    target.write_bytes(b"what was there before")
    # a schema of a table that has no rows: the build breaks after its first tables are written
    monkeypatch.setitem(SCHEMAS, "missing", {})
    with pytest.raises(KeyError):
        build_source(target)
    assert target.read_bytes() == b"what was there before"
    assert [path.name for path in tmp_path.iterdir()] == ["source.duckdb"]
