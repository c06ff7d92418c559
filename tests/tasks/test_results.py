"""The result store: one key, one result, until its time is over."""

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from tasks.errors import StoreError
from tasks.prompt import load_prompt
from tasks.records import DECISIONS
from tasks.results import find_results, read_results, result_key, write_results
from tests.shop import PROMPT

NOW = dt.datetime(2026, 11, 28, 12, tzinfo=dt.UTC)
LONG_AGO = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)


def decisions(*rows: tuple[str, float, dt.datetime]) -> pl.DataFrame:
    full = [(key, p_skip, 1.0, 100, 64, finished_at) for key, p_skip, finished_at in rows]
    return pl.DataFrame(full, schema=DECISIONS, orient="row")


def found(store: Path, *keys: str, oldest: dt.datetime = LONG_AGO) -> dict[str, float]:
    rows = find_results(store, "decisions", pl.Series(keys, dtype=pl.String), oldest)
    return dict(zip(rows["key"], rows["p_skip"], strict=True))


def test_what_was_stored_is_found_and_nothing_else(tmp_path: Path) -> None:
    write_results(tmp_path, "decisions", "one", decisions(("a", 0.1, NOW), ("b", 0.2, NOW)))
    write_results(tmp_path, "decisions", "two", decisions(("c", 0.3, NOW)))
    assert found(tmp_path, "a", "c", "z") == {"a": 0.1, "c": 0.3}


def test_an_empty_store_finds_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, "a") == {}
    assert read_results(tmp_path, "decisions", "one").is_empty()


def test_the_newest_result_of_a_key_counts(tmp_path: Path) -> None:
    write_results(tmp_path, "decisions", "new", decisions(("a", 0.9, NOW)))
    write_results(tmp_path, "decisions", "old", decisions(("a", 0.1, NOW - dt.timedelta(days=1))))
    assert found(tmp_path, "a") == {"a": 0.9}


def test_a_result_older_than_its_time_counts_as_not_there(tmp_path: Path) -> None:
    write_results(tmp_path, "decisions", "one", decisions(("a", 0.1, NOW), ("b", 0.2, NOW - dt.timedelta(days=31))))
    assert found(tmp_path, "a", "b", oldest=NOW - dt.timedelta(days=30)) == {"a": 0.1}


def test_a_half_written_file_is_not_read(tmp_path: Path) -> None:
    write_results(tmp_path, "decisions", "one", decisions(("a", 0.1, NOW)))
    (tmp_path / "results" / "decisions" / ".two.parquet.1a2b.tmp").write_bytes(b"PAR1 half of a file")
    assert found(tmp_path, "a") == {"a": 0.1}


def test_a_damaged_file_is_named_with_the_way_out(tmp_path: Path) -> None:
    write_results(tmp_path, "decisions", "one", decisions(("a", 0.1, NOW)))
    whole = (tmp_path / "results" / "decisions" / "one.parquet").read_bytes()
    (tmp_path / "results" / "decisions" / "two.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match=r"two\.parquet.*move that file away"):
        found(tmp_path, "a")


def test_the_key_knows_the_pair_the_prompt_and_the_model() -> None:
    prompt = load_prompt(PROMPT)
    other = prompt.model_copy(update={"instruction": "다르게 쓰세요."})
    keys = {
        result_key('{"recommended_item": "두부"}', prompt, "demo-1"),
        result_key('{"recommended_item": "두부 "}', prompt, "demo-1"),
        result_key('{"recommended_item": "두부"}', other, "demo-1"),
        result_key('{"recommended_item": "두부"}', prompt, "demo-2"),
    }
    assert len(keys) == 4
    assert result_key('{"recommended_item": "두부"}', prompt, "demo-1") in keys
