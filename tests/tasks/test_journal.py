"""Answers are kept from the moment they come, and what a killed worker leaves is stored by whoever comes next."""

import datetime as dt
import os
from io import FileIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tasks.errors import StoreError
from tasks.journal import Row, open_journal, store_all_unfinished, store_unfinished
from tasks.records import DECISIONS, TEXTS
from tasks.results import read_results
from tasks.runs import Run

NOW = dt.datetime(2026, 11, 28, 4, 30, 0, 123456, tzinfo=dt.UTC)
NAME = "2026-11-28-run-chunk"


def decision(key: str, p_skip: float = 1 / 3) -> Row:
    return key, p_skip, 0.9, 100, 64, NOW


def text(key: str) -> Row:
    return key, "쌈배추\u2028청경채\x85 같이 드셔 보세요.\n", "stop", 0, 0, 12, NOW, 1, None


@pytest.fixture
def begun(run: Run) -> Run:
    run.folder.mkdir(parents=True)
    return run


def stored(run: Run, kind: Any) -> pl.DataFrame:
    return read_results(run.settings.store, kind, NAME)


def killed(run: Run, *rows: dict[Any, Row], cut_off: str = "") -> Path:
    """The journal of a worker that was killed after these answers."""
    with open_journal(run, NAME) as keep:
        for row in rows:
            keep(row)
        (journal,) = (run.folder / "journal").iterdir()
        left = journal.read_bytes()
    for kind in ("decisions", "texts"):
        (run.settings.store / "results" / kind / f"{NAME}.parquet").unlink(missing_ok=True)
    journal = journal.with_name(f"{NAME}.dead.jsonl")
    journal.write_bytes(left + cut_off.encode())
    return journal


def test_an_answer_is_on_disk_as_soon_as_it_has_come(begun: Run) -> None:
    with open_journal(begun, NAME) as keep:
        keep({"decisions": decision("a")})
        (journal,) = (begun.folder / "journal").iterdir()
        assert journal.read_text(encoding="utf-8").count("\n") == 1


def test_at_its_end_a_chunk_is_in_the_store_and_not_in_the_journal(begun: Run) -> None:
    with open_journal(begun, NAME) as keep:
        keep({"decisions": decision("a"), "texts": text("a")})
        keep({"decisions": decision("b")})
    assert stored(begun, "decisions").equals(
        pl.DataFrame([decision("a"), decision("b")], schema=DECISIONS, orient="row")
    )
    assert stored(begun, "texts").equals(pl.DataFrame([text("a")], schema=TEXTS, orient="row"))
    assert list((begun.folder / "journal").iterdir()) == []


def test_a_chunk_that_breaks_off_keeps_what_was_answered(begun: Run) -> None:
    with pytest.raises(ZeroDivisionError), open_journal(begun, NAME) as keep:
        keep({"decisions": decision("a")})
        raise ZeroDivisionError
    assert stored(begun, "decisions")["key"].to_list() == ["a"]


def test_results_are_added_to_those_that_are_there(begun: Run) -> None:
    for key, p_skip in (("a", 0.1), ("b", 0.2), ("a", 0.3)):
        with open_journal(begun, NAME) as keep:
            keep({"decisions": decision(key, p_skip)})
    assert sorted(stored(begun, "decisions").select("key", "p_skip").rows()) == [("a", 0.3), ("b", 0.2)]


def test_what_a_killed_worker_left_is_stored_by_the_next_one(begun: Run) -> None:
    journal = killed(begun, {"decisions": decision("a"), "texts": text("a")}, {"decisions": decision("b")})
    assert stored(begun, "decisions").is_empty()
    assert store_unfinished(begun, NAME)
    assert stored(begun, "decisions")["key"].to_list() == ["a", "b"]
    assert stored(begun, "texts")["key"].to_list() == ["a"]
    assert not journal.exists()
    assert not store_unfinished(begun, NAME)


@pytest.mark.parametrize("cut_off", ['{"decisions": ["c", 0.', '{"decisions"', "\ufffd", "\0\0\0\n"])
def test_a_line_that_was_cut_off_is_left_out(begun: Run, cut_off: str) -> None:
    killed(begun, {"decisions": decision("a")}, {"decisions": decision("b")}, cut_off=cut_off)
    store_unfinished(begun, NAME)
    assert stored(begun, "decisions")["key"].to_list() == ["a", "b"]


def test_a_worker_that_was_killed_at_once_left_nothing(begun: Run) -> None:
    killed(begun)
    assert store_unfinished(begun, NAME)
    assert stored(begun, "decisions").is_empty()


def test_another_chunk_is_another_workers(begun: Run) -> None:
    journal = killed(begun, {"decisions": decision("a")})
    assert not store_unfinished(begun, "2026-11-28-run-other")
    assert journal.exists()


def test_a_worker_that_was_given_up_and_is_not_dead_loses_nothing(begun: Run) -> None:
    """Nor does the one in its place, which has stored what the other had so far."""
    with open_journal(begun, NAME) as keep:
        keep({"decisions": decision("a")})
        store_unfinished(begun, NAME)
        with open_journal(begun, NAME) as keep_mine:
            keep_mine({"decisions": decision("b")})
        keep({"decisions": decision("c")})
    assert sorted(stored(begun, "decisions")["key"]) == ["a", "b", "c"]
    assert list((begun.folder / "journal").iterdir()) == []


def test_the_next_run_of_the_date_stores_what_any_run_of_it_left(begun: Run) -> None:
    killed(begun, {"decisions": decision("a")})
    store_all_unfinished(begun.settings.store, begun.ds + dt.timedelta(days=1))
    assert stored(begun, "decisions").is_empty()
    store_all_unfinished(begun.settings.store, begun.ds)
    assert stored(begun, "decisions")["key"].to_list() == ["a"]
    assert not (begun.folder / "journal").exists()


def test_a_full_disk_is_said_and_what_was_answered_is_stored_where_there_is_room(
    begun: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.journal._open", lambda path: FileIO("/dev/full", "w"))
    with pytest.raises(StoreError, match="No space left"), open_journal(begun, NAME) as keep:
        keep({"decisions": decision("a")})
    assert stored(begun, "decisions")["key"].to_list() == ["a"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_can_not_be_written_is_named(begun: Run) -> None:
    begun.folder.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="journal"), open_journal(begun, NAME):
            pass
    finally:
        begun.folder.chmod(0o700)
