"""The sources that measuring is done on: as many pairs as asked for, and recommended items as often as asked for."""

from pathlib import Path

import duckdb
import pytest

from benchmarks.source import build_large_source


def count_pairs(source: Path) -> tuple[int, float]:
    """How many distinct pairs there are, and how many of them a recommended item has on average."""
    statement = (
        "SELECT count(DISTINCT (recommended_item_id, reason_item_id)),"
        " count(*) / count(DISTINCT recommended_item_id) FROM recommendations"
    )
    with duckdb.connect(str(source), read_only=True) as connection:
        pairs, per_item = connection.sql(statement).fetchall()[0]
    return int(pairs), float(per_item)


def test_hardly_any_pairs_share_a_recommended_item_unless_asked_for(tmp_path: Path) -> None:
    pairs, per_item = count_pairs(build_large_source(tmp_path / "source.duckdb", 256))
    assert pairs == 256
    assert per_item < 1.2


def test_pairs_share_recommended_items_as_often_as_asked_for(tmp_path: Path) -> None:
    pairs, per_item = count_pairs(build_large_source(tmp_path / "source.duckdb", 256, reasons_per_item=8))
    assert pairs == 256
    assert per_item == pytest.approx(8, rel=0.1)


def test_more_recommended_items_than_there_are_means_all_of_them(tmp_path: Path) -> None:
    pairs, per_item = count_pairs(build_large_source(tmp_path / "source.duckdb", 3000, reasons_per_item=1))
    assert pairs == 3000
    assert per_item < 2
