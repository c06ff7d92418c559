"""The result store: one key, one result, until its time is over."""

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tasks import results
from tasks.errors import StoreError
from tasks.expiry import Oldest
from tasks.prompt import load_prompt
from tasks.records import ATTEMPTS, DECISIONS, TEXTS
from tasks.results import (
    find_all,
    find_results,
    list_results,
    merge_results,
    read_results,
    result_key,
    valid_share,
    write_results,
)
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


def file_of(store: Path, name: str) -> Path:
    return store / "results" / "decisions" / f"{name}.parquet"


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda whole: whole[: len(whole) // 2],
    "without its last byte": lambda whole: whole[:-1],
    "empty": lambda whole: b"",
    "something else": lambda whole: b"not a Parquet file at all",
    "damaged in the middle": lambda whole: whole[:40] + bytes(len(whole) - 600) + whole[-560:],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_file_is_set_aside_and_the_rest_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]
) -> None:
    for name, key in (("one", "a"), ("two", "b"), ("three", "c")):
        write_results(tmp_path, "decisions", name, decisions((key, 0.1, NOW)))
    damaged = damage(file_of(tmp_path, "two").read_bytes())
    file_of(tmp_path, "two").write_bytes(damaged)
    assert found(tmp_path, "a", "b", "c") == {"a": 0.1, "c": 0.1}
    assert "two.parquet is damaged" in caplog.text
    assert not file_of(tmp_path, "two").exists()
    assert (tmp_path / "results" / "damaged" / "decisions-two.parquet").read_bytes() == damaged
    write_results(tmp_path, "decisions", "two", decisions(("b", 0.2, NOW)))
    assert found(tmp_path, "a", "b", "c") == {"a": 0.1, "b": 0.2, "c": 0.1}


def test_a_file_with_other_columns_is_set_aside_too(tmp_path: Path) -> None:
    write_results(tmp_path, "decisions", "one", pl.DataFrame({"key": ["a"], "colour": ["red"]}))
    write_results(tmp_path, "decisions", "two", decisions(("b", 0.1, NOW)))
    assert found(tmp_path, "a", "b") == {"b": 0.1}


def test_a_damaged_chunk_holds_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_results(tmp_path, "decisions", "one", decisions(("a", 0.1, NOW)))
    whole = file_of(tmp_path, "one").read_bytes()
    file_of(tmp_path, "one").write_bytes(whole[: len(whole) // 2])
    assert read_results(tmp_path, "decisions", "one").is_empty()
    assert "one.parquet is damaged" in caplog.text


def test_a_file_that_goes_while_it_is_looked_for_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_results(tmp_path, "decisions", "small", decisions(("a", 0.1, NOW)))
    before = list_results(tmp_path, "decisions")
    write_results(tmp_path, "decisions", "merged", decisions(("a", 0.1, NOW)))
    file_of(tmp_path, "small").unlink()
    listed = [before, list_results(tmp_path, "decisions")]
    monkeypatch.setattr(results, "list_results", lambda store, kind: listed.pop(0))
    assert found(tmp_path, "a") == {"a": 0.1}
    assert listed == []
    assert not (tmp_path / "results" / "damaged").exists()


def test_what_no_file_is_to_blame_for_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_results(tmp_path, "decisions", "one", decisions(("a", 0.1, NOW)))

    def no_memory(*_: object, **__: object) -> None:
        raise duckdb.OutOfMemoryException("no room")

    monkeypatch.setattr(duckdb, "connect", no_memory)
    with pytest.raises(StoreError, match="can't be read: no room"):
        found(tmp_path, "a")
    assert file_of(tmp_path, "one").exists()


def test_how_much_of_a_file_still_counts_is_told_unless_it_holds_nothing_or_can_not_be_read(tmp_path: Path) -> None:
    earlier, oldest = NOW - dt.timedelta(days=1), Oldest.all_from(NOW)
    write_results(tmp_path, "decisions", "half", decisions(("a", 0.1, earlier), ("b", 0.1, NOW)))
    write_results(tmp_path, "decisions", "none", decisions(("a", 0.1, earlier)))
    write_results(tmp_path, "decisions", "empty", decisions())
    file_of(tmp_path, "damaged").write_bytes(b"PAR1")
    names = ("half", "none", "empty", "damaged", "gone")
    shares = [valid_share("decisions", file_of(tmp_path, name), oldest) for name in names]
    assert shares == [0.5, 0.0, None, None, None]


# -- texts


def texts(*rows: tuple[str, str, bool | None, dt.datetime]) -> pl.DataFrame:
    full = [(key, answer, "stop", 0, 0, 9, at, 1, passed) for key, answer, passed, at in rows]
    return pl.DataFrame(full, schema=TEXTS, orient="row")


@pytest.mark.parametrize("others", [[], ["new"]], ids=["alone", "beside new ones"])
def test_texts_from_before_there_were_attempts_are_first_answers_that_nobody_has_judged(
    tmp_path: Path, others: list[str]
) -> None:
    old = texts(("a", "두부", None, NOW)).drop("attempt", "passed")
    write_results(tmp_path, "texts", "old", old)
    for name in others:
        write_results(tmp_path, "texts", name, texts(("b", "대파", False, NOW)))
    rows = find_results(tmp_path, "texts", pl.Series(["a", "b"]), LONG_AGO).filter(key="a")
    assert rows.select("answer", "attempt", "passed").rows() == [("두부", 1, None)]
    assert read_results(tmp_path, "texts", "old").equals(rows)
    path = tmp_path / "results" / "texts" / "old.parquet"
    assert valid_share("texts", path, Oldest.all_from(NOW)) == 1.0


def test_a_text_that_failed_its_checks_expires_in_its_own_time(tmp_path: Path) -> None:
    written = texts(("a", "두부", True, NOW), ("b", "대파", False, NOW))
    write_results(tmp_path, "texts", "one", written)
    oldest = Oldest.all_from(NOW)._replace(rejected=NOW + dt.timedelta(days=1))
    assert find_results(tmp_path, "texts", pl.Series(["a", "b"]), oldest)["key"].to_list() == ["a"]
    path = tmp_path / "results" / "texts" / "one.parquet"
    assert valid_share("texts", path, oldest) == 0.5
    merge_results(tmp_path, "texts", [path], oldest)
    path.unlink()
    assert find_results(tmp_path, "texts", pl.Series(["a", "b"]), LONG_AGO)["key"].to_list() == ["a"]


def test_every_result_of_a_key_is_found_where_all_are_asked_for(tmp_path: Path) -> None:
    write_results(tmp_path, "decisions", "new", decisions(("a", 0.9, NOW), ("b", 0.9, NOW)))
    write_results(tmp_path, "decisions", "old", decisions(("a", 0.1, LONG_AGO)))
    rows = find_all(tmp_path, "decisions", pl.Series(["a"]))
    assert sorted(rows["p_skip"]) == [0.1, 0.9]
    assert find_all(tmp_path, "decisions", pl.Series(["a"]), NOW)["p_skip"].to_list() == [0.9]
    columns = ("key", "p_skip", "finished_at")
    few = find_all(tmp_path, "decisions", pl.Series(["a"]), columns=columns)
    assert few.sort("p_skip").equals(rows.select(columns).sort("p_skip"))
    assert find_all(tmp_path, "texts", pl.Series(["a"]), columns=("key", "passed")).columns == ["key", "passed"]


# -- merging


def test_merged_files_hold_the_newest_of_each_key_and_nothing_that_has_expired(tmp_path: Path) -> None:
    old = NOW - dt.timedelta(days=31)
    write_results(tmp_path, "decisions", "one", decisions(("a", 0.9, NOW), ("b", 0.5, old)))
    write_results(tmp_path, "decisions", "two", decisions(("a", 0.1, NOW - dt.timedelta(days=1)), ("c", 0.3, NOW)))
    files = list_results(tmp_path, "decisions")
    gone = file_of(tmp_path, "gone")
    merge_results(tmp_path, "decisions", [*files, gone], Oldest.all_from(NOW - dt.timedelta(days=30)))
    (merged,) = set(list_results(tmp_path, "decisions")) - set(files)
    assert sorted(pl.read_parquet(merged).select("key", "p_skip").rows()) == [("a", 0.9), ("c", 0.3)]


def test_nothing_is_written_where_all_has_expired(tmp_path: Path) -> None:
    write_results(tmp_path, "decisions", "one", decisions(("a", 0.1, LONG_AGO)))
    files = list_results(tmp_path, "decisions")
    merge_results(tmp_path, "decisions", files, Oldest.all_from(NOW))
    assert list_results(tmp_path, "decisions") == files


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
    assert result_key('{"recommended_item": "두부"}', prompt, "demo-1", "pair") not in keys
    assert result_key('{"recommended_item": "두부"}', prompt, "demo-1") in keys


def test_texts_from_before_they_were_asked_for_again_are_first_answers(tmp_path: Path) -> None:
    """The newest files lie beside them, and one reading finds both."""
    rows = [(key, "{}", "stop", 100, 64, 20, NOW, 2, True) for key in ("old", "new")]
    texts = pl.DataFrame(rows, schema=TEXTS, orient="row")
    write_results(tmp_path, "texts", "one", texts.filter(pl.col("key") == "old").drop("attempt", "passed"))
    assert read_results(tmp_path, "texts", "one").select("attempt", "passed").rows() == [(1, None)]
    wanted = pl.Series(["old", "new"])
    assert find_results(tmp_path, "texts", wanted, LONG_AGO).select("attempt", "passed").rows() == [(1, None)]
    write_results(tmp_path, "texts", "two", texts.filter(pl.col("key") == "new"))
    both = find_results(tmp_path, "texts", wanted, LONG_AGO).sort("key")
    assert both.select("key", "attempt", "passed").rows() == [("new", 2, True), ("old", 1, None)]
    merge_results(tmp_path, "texts", list_results(tmp_path, "texts"), Oldest.all_from(LONG_AGO))
    assert find_results(tmp_path, "texts", wanted, LONG_AGO).sort("key").equals(both)


def test_every_attempt_is_kept_and_found(tmp_path: Path) -> None:
    rows = [("a", attempt, "{}", "stop", "text.empty", 100, 64, 20, NOW) for attempt in (1, 2, 3)]
    attempts = pl.DataFrame(rows, schema=ATTEMPTS, orient="row")
    write_results(tmp_path, "attempts", "one", attempts)
    write_results(tmp_path, "attempts", "two", attempts.head(1).with_columns(finished_at=NOW - dt.timedelta(days=1)))
    merge_results(tmp_path, "attempts", list_results(tmp_path, "attempts"), Oldest.all_from(LONG_AGO))
    found = find_results(tmp_path, "attempts", pl.Series(["a", "z"]), LONG_AGO)
    assert found.sort("attempt").equals(attempts)


def test_by_pair_the_key_knows_everything_but_the_basket() -> None:
    prompt = load_prompt(PROMPT)

    def key(recommended: str, *basket: str, model: str = "demo-1") -> str:
        payload = json.dumps({"recommended_item": recommended, "basket": basket}, ensure_ascii=False)
        return result_key(payload, prompt, model, "pair")

    assert key("두부", "대파") == key("두부", "대파", "된장") == key("두부")
    assert len({key("두부"), key("대파"), key("두부", model="demo-2")}) == 3
    other = load_prompt(PROMPT).model_copy(update={"instruction": "다르게 쓰세요."})
    assert result_key('{"recommended_item": "두부"}', other, "demo-1", "pair") != key("두부")
