"""A planner without an engine knows the room of the last one that had the same settings."""

from pathlib import Path

import pytest

from tasks.engine import KvRoom
from tasks.plan import plan_chunks, warm_up_engine
from tasks.room import LARGEST_BLOCK, expected_room, remember_room
from tasks.settings import Settings
from tests.shop import make_run, make_source, prepare

ROOM = KvRoom(4096, 16)


def settings(store: Path, **options: object) -> Settings:
    return Settings(**{"store": store, "kv_tokens": None} | options)  # type: ignore[arg-type]


def test_nothing_is_known_at_first(tmp_path: Path) -> None:
    assert expected_room(settings(tmp_path)) is None
    assert expected_room(settings(tmp_path, kv_tokens=8192)) == KvRoom(8192, LARGEST_BLOCK)


def test_what_an_engine_said_is_expected_of_the_next_with_its_settings(tmp_path: Path) -> None:
    remember_room(settings(tmp_path), ROOM)
    assert expected_room(settings(tmp_path, threshold=0.9)) == ROOM
    assert expected_room(settings(tmp_path, max_num_seqs=8)) is None


def test_an_engine_without_a_room_says_nothing(tmp_path: Path) -> None:
    remember_room(settings(tmp_path), None)
    assert expected_room(settings(tmp_path)) is None


def test_a_file_that_is_not_ours_is_no_room(tmp_path: Path) -> None:
    remember_room(settings(tmp_path), ROOM)
    (file,) = (tmp_path / "engines").iterdir()
    file.write_text("[]", encoding="utf-8")
    assert expected_room(settings(tmp_path)) is None


def test_where_shards_are_run_elsewhere_no_engine_is_loaded_and_chunks_fit_into_its_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(
        tmp_path,
        make_source(tmp_path / "source.duckdb"),
        shard_deployment="shard/shard",
        chunk_share=1.0,
        chunks_in_flight=1,
        chunk_pairs=5,
    )
    monkeypatch.setattr("tasks.plan.load_engine", _must_not_be_called)
    monkeypatch.setattr("tasks.plan.load_engine_meanwhile", _must_not_be_called)
    warm_up_engine(run)
    assert prepare(run) == 1  # nothing is known: `chunk_pairs` at most
    remember_room(run.settings, KvRoom(512, 16))
    assert plan_chunks(run) > 1


def _must_not_be_called(settings: Settings) -> None:
    raise AssertionError("no engine is wanted here")
