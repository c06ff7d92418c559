"""The serving file: a date is replaced whole or not at all, and can be taken back."""

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from tasks import load
from tasks.errors import PublicationError
from tasks.load import live_publication, load_date, roll_back
from tasks.records import OUTCOMES
from tasks.runs import Run
from tests.shop import DS

PASSED = {"verdict": "passed", "checks": []}
HELD_BACK = {"verdict": "held back", "checks": []}
NOW = dt.datetime(2026, 11, 29, 6, tzinfo=dt.UTC)


def finish(run: Run, texts: dict[int, str], gate: dict[str, Any] = PASSED) -> Run:
    """Leave what check leaves: a published outcome for each recommended item's text, and one skipped pair."""
    rows = [
        {"recommended_item_id": item, "reason_item_id": 2, "text": text, "outcome": "published", "p_skip": 0.1,
         "generated_at": NOW, "candidate_id": item}
        for item, text in texts.items()
    ]  # fmt: skip
    rows.append({"recommended_item_id": 99, "reason_item_id": 2, "outcome": "skipped", "candidate_id": 99})
    run.folder.mkdir(parents=True, exist_ok=True)
    run.write("outcomes", pl.DataFrame(rows, schema=OUTCOMES))
    run.write_json("checks", gate)
    return run


def served(run: Run, ds: dt.date = DS) -> dict[int, str]:
    with duckdb.connect(str(run.settings.serving_file), read_only=True) as connection:
        rows = connection.execute("SELECT recommended_item_id, text FROM reasons WHERE ds = ?", [ds]).fetchall()
    return dict(rows)


def other_run(run: Run, key: str = "another", ds: dt.date = DS) -> Run:
    return run.model_copy(update={"key": key, "ds": ds})


def test_the_published_outcomes_are_served_and_no_others(run: Run) -> None:
    publication = load_date(finish(run, {1: "맛있어요.", 3: "좋아요."}))
    assert publication is not None
    assert publication.reason_count == 2
    assert served(run) == {1: "맛있어요.", 3: "좋아요."}


def test_a_reason_says_where_it_comes_from(run: Run) -> None:
    load_date(finish(run, {1: "맛있어요."}))
    with duckdb.connect(str(run.settings.serving_file), read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        rows = connection.sql("SELECT * EXCLUDE (published_at) FROM reasons").pl().to_dicts()
    assert rows == [
        {"recommended_item_id": 1, "reason_item_id": 2, "text": "맛있어요.", "ds": DS, "p_skip": 0.1,
         "model": run.model, "prompt": "reason/v1", "run_key": run.key, "generated_at": NOW}
    ]  # fmt: skip


def test_a_publication_replaces_its_date_whole_and_no_other_date(run: Run) -> None:
    yesterday = DS - dt.timedelta(days=1)
    load_date(finish(other_run(run, ds=yesterday), {7: "어제예요."}))
    load_date(finish(run, {1: "맛있어요.", 3: "좋아요."}))
    load_date(finish(other_run(run), {4: "새로워요."}))
    assert served(run) == {4: "새로워요."}
    assert served(run, yesterday) == {7: "어제예요."}


def test_publishing_the_same_run_twice_changes_nothing(run: Run) -> None:
    first = load_date(finish(run, {1: "맛있어요."}))
    before = run.settings.serving_file.read_bytes()
    assert load_date(run) == first
    assert run.settings.serving_file.read_bytes() == before


def test_the_same_run_with_other_texts_is_another_publication(run: Run) -> None:
    load_date(finish(run, {1: "맛있어요."}))
    publication = load_date(finish(run, {1: "더 맛있어요."}))
    assert publication is not None
    assert publication.publication_id == 2
    assert served(run) == {1: "더 맛있어요."}


def test_a_held_back_date_leaves_the_serving_file_as_it_was(run: Run) -> None:
    load_date(finish(run, {1: "맛있어요."}))
    before = run.settings.serving_file.read_bytes()
    assert load_date(finish(other_run(run), {4: "새로워요."}, HELD_BACK)) is None
    assert run.settings.serving_file.read_bytes() == before


def test_a_reader_keeps_the_old_day_and_sees_the_new_one_on_opening_again(run: Run) -> None:
    load_date(finish(run, {1: "맛있어요."}))
    with duckdb.connect(str(run.settings.serving_file), read_only=True) as reader:
        load_date(finish(other_run(run), {4: "새로워요."}))
        assert reader.execute("SELECT text FROM reasons").fetchall() == [("맛있어요.",)]
    assert served(run) == {4: "새로워요."}


def test_a_crash_during_a_publication_leaves_the_old_day(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    load_date(finish(run, {1: "맛있어요."}))

    def crash(path: Path) -> None:
        raise KeyboardInterrupt

    second = finish(other_run(run), {4: "새로워요."})
    monkeypatch.setattr("tasks.files._flush", crash)
    with pytest.raises(KeyboardInterrupt):
        load_date(second)
    monkeypatch.undo()
    assert served(run) == {1: "맛있어요."}
    assert sorted(path.name for path in run.settings.store.glob("*serving*.tmp")) == []
    load_date(second)
    assert served(run) == {4: "새로워요."}


def test_rollback_brings_the_publication_before_back_and_then_none(run: Run) -> None:
    load_date(finish(run, {1: "맛있어요."}))
    load_date(finish(other_run(run), {4: "새로워요."}))
    withdrawn, live = roll_back(run.settings.serving_file, DS)
    assert (withdrawn.publication_id, live and live.publication_id) == (2, 1)
    assert served(run) == {1: "맛있어요."}
    withdrawn, live = roll_back(run.settings.serving_file, DS)
    assert (withdrawn.publication_id, live) == (1, None)
    assert served(run) == {}
    with pytest.raises(PublicationError, match="nothing is published for 2026-11-28"):
        roll_back(run.settings.serving_file, DS)


def test_a_withdrawn_run_can_be_published_again(run: Run) -> None:
    load_date(finish(run, {1: "맛있어요."}))
    roll_back(run.settings.serving_file, DS)
    load_date(run)
    assert served(run) == {1: "맛있어요."}


def test_a_file_that_is_no_serving_file_says_so(run: Run) -> None:
    run.settings.serving_file.parent.mkdir(parents=True, exist_ok=True)
    run.settings.serving_file.write_text("not a database", encoding="utf-8")
    with pytest.raises(PublicationError, match="can't be used as a serving file"):
        live_publication(run.settings.serving_file, DS)


def test_another_publication_is_waited_for_and_not_for_ever(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from filelock import FileLock

    from tasks.errors import StoreError

    load_date(finish(run, {1: "맛있어요."}))
    monkeypatch.setattr(load, "LOCK_SECONDS", 0.1)
    serving = run.settings.serving_file
    with FileLock(serving.with_name(f".{serving.name}.lock")), pytest.raises(StoreError, match="locked by another"):
        load_date(finish(other_run(run), {4: "새로워요."}))
