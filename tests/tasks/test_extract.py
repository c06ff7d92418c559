"""The shop's tables in, candidates out; and what each kind of bad source is told."""

from pathlib import Path

import duckdb
import pytest

from tasks.errors import SourceError
from tasks.extract import clean_candidates, extract_candidates, read_candidates
from tasks.runs import Run
from tests.shop import DS, make_run, make_source


def test_one_candidate_a_pair_with_the_reason_item_first_in_the_basket(run: Run) -> None:
    assert extract_candidates(run) == 5
    first = run.read("candidates").row(0, named=True)
    assert first == {
        "candidate_id": 0,
        "recommended_item_id": 1,
        "reason_item_id": 2,
        "recommended_item": "쌈배추(봉)",
        "recommended_scate": "쌈채소",
        "reason_item": "청경채(봉)",
        "reason_scate": "잎채소",
        "basket": ["청경채(봉)", "두부(찌개용)", "된장(500g)"],
        "score": 0.9,
    }


def test_of_a_pair_that_was_recommended_twice_the_best_scored_basket_counts(source: Path) -> None:
    with duckdb.connect(str(source)) as connection:
        connection.execute("INSERT INTO baskets VALUES (?, 'b2', 2, 0), (?, 'b2', 6, 1)", (DS, DS))
        connection.execute("INSERT INTO recommendations VALUES (?, 'b2', 1, 2, 0.95)", (DS,))
    rows = read_candidates(str(source), DS)
    pair = rows.filter(recommended_item_id=1, reason_item_id=2)
    assert pair["basket"].to_list() == [["청경채(봉)", "우유(1L)"]]


def test_an_item_that_is_listed_twice_makes_no_second_candidate(source: Path) -> None:
    with duckdb.connect(str(source)) as connection:
        connection.execute("INSERT INTO items VALUES (1, '쌈배추(특)', '쌈채소')")
    assert read_candidates(str(source), DS).height == 5


def test_a_missing_category_or_name_is_an_empty_text(tmp_path: Path) -> None:
    items = [(1, "  두부 ", None), (2, None, "채소")]
    source = make_source(tmp_path / "s.duckdb", items=items, pairs=[(1, 2, 0.5), (1, 9, 0.4)], basket=[2])
    rows = clean_candidates(read_candidates(str(source), DS)).to_dicts()
    assert [row["recommended_item"] for row in rows] == ["두부", "두부"]
    assert [row["recommended_scate"] for row in rows] == ["", ""]
    assert [row["reason_item"] for row in rows] == ["", ""]
    assert rows[0]["basket"] == []


def test_the_catalogue_is_everything_the_shop_sells(run: Run) -> None:
    extract_candidates(run)
    names = run.read("catalogue")["item_name"].to_list()
    assert names == sorted(["쌈배추(봉)", "청경채(봉)", "두부(찌개용)", "된장(500g)", "세탁세제(3L)", "우유(1L)"])


def test_the_source_is_not_written_to(run: Run, source: Path) -> None:
    before = source.read_bytes()
    extract_candidates(run)
    assert source.read_bytes() == before


def test_a_quote_in_the_path_is_only_a_quote(tmp_path: Path) -> None:
    folder = tmp_path / "shop's"
    folder.mkdir()
    assert read_candidates(str(make_source(folder / "s.duckdb")), DS).height == 5


def test_an_attach_string_is_taken_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="can't be opened"):
        read_candidates("nosuchextension:host=nowhere", DS)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist → give --source"):
        read_candidates(str(tmp_path / "none.duckdb"), DS)


def test_a_file_that_is_no_duckdb_says_so(tmp_path: Path) -> None:
    (tmp_path / "s.duckdb").write_text("id,name\n1,두부\n", encoding="utf-8")
    with pytest.raises(SourceError, match="can't be opened as a DuckDB database"):
        read_candidates(str(tmp_path / "s.duckdb"), DS)


@pytest.mark.parametrize("table", ["items", "baskets", "recommendations"])
def test_a_missing_table_is_named(source: Path, table: str) -> None:
    with duckdb.connect(str(source)) as connection:
        connection.execute(f"DROP TABLE {table}")
    with pytest.raises(SourceError, match=table):
        read_candidates(str(source), DS)


def test_a_missing_column_is_named(source: Path) -> None:
    with duckdb.connect(str(source)) as connection:
        connection.execute("ALTER TABLE items DROP COLUMN scate")
    with pytest.raises(SourceError, match="scate"):
        read_candidates(str(source), DS)


def test_a_date_without_candidates_says_which_dates_there_are(source: Path) -> None:
    with pytest.raises(SourceError, match="no candidates on 2026-11-29: it holds 2026-11-28 to 2026-11-28"):
        read_candidates(str(source), DS.replace(day=29))


def test_an_empty_source_says_so(tmp_path: Path) -> None:
    source = make_source(tmp_path / "s.duckdb", pairs=[])
    with pytest.raises(SourceError, match="no recommendations at all"):
        extract_candidates(make_run(tmp_path, source))
