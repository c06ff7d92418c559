"""The serving file: a date is replaced whole or not at all, and can be taken back."""

import contextlib
import datetime as dt
import resource
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from tasks import load
from tasks.errors import PublicationError
from tasks.load import drop_publications, list_publications, live_publication, load_date, roll_back
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


def publish(run: Run, *texts: str) -> None:
    for number, text in enumerate(texts):
        load_date(finish(other_run(run, key=f"run-{number}"), {1: text}))


def soon() -> dt.datetime:
    """A moment before which everything so far was published."""
    return dt.datetime.now(dt.UTC) + dt.timedelta(days=1)


def kept_reasons(run: Run) -> list[int]:
    with duckdb.connect(str(run.settings.serving_file), read_only=True) as connection:
        rows = connection.execute("SELECT DISTINCT publication_id FROM published_reasons ORDER BY 1").fetchall()
    return [number for (number,) in rows]


def test_the_live_publication_and_the_one_before_it_are_kept_whatever_their_age(run: Run) -> None:
    yesterday = DS - dt.timedelta(days=1)
    load_date(finish(other_run(run, ds=yesterday), {7: "어제예요."}))
    publish(run, "하나예요.", "둘이에요.", "셋이에요.")
    kept = {one.publication_id: one.kept for one in list_publications(run.settings.serving_file, soon())}
    assert kept == {1: True, 2: False, 3: True, 4: True}
    drop_publications(run.settings.serving_file, soon())
    assert kept_reasons(run) == [1, 3, 4]
    assert served(run) == {1: "셋이에요."}
    assert served(run, yesterday) == {7: "어제예요."}
    assert [one.publication_id for one in list_publications(run.settings.serving_file, soon())] == [1, 3, 4]


def test_a_rollback_never_brings_back_a_publication_without_its_reasons(run: Run) -> None:
    publish(run, "하나예요.", "둘이에요.", "셋이에요.")
    drop_publications(run.settings.serving_file, soon())
    _, live = roll_back(run.settings.serving_file, DS)
    assert (live and live.publication_id, served(run)) == (2, {1: "둘이에요."})
    assert roll_back(run.settings.serving_file, DS)[1] is None


def test_a_withdrawn_publication_is_dropped_with_its_age_and_stays_on_record(run: Run) -> None:
    publish(run, "하나예요.", "둘이에요.")
    roll_back(run.settings.serving_file, DS)
    before = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    assert all(one.kept for one in list_publications(run.settings.serving_file, before))
    drop_publications(run.settings.serving_file, soon())
    assert kept_reasons(run) == [1]
    publish(run, "셋이에요.")
    with duckdb.connect(str(run.settings.serving_file), read_only=True) as connection:
        assert connection.execute("SELECT max(publication_id), count(*) FROM publications").fetchone() == (3, 3)


def test_a_serving_file_without_old_publications_is_smaller_and_works_as_before(run: Run) -> None:
    for number in range(4):
        texts = {item: f"{item}번 상품이 {number}번째로 맛있어요." for item in range(1, 30_001)}
        load_date(finish(other_run(run, key=f"run-{number}"), texts))
    before, reasons = run.settings.serving_file.stat().st_size, served(run)
    drop_publications(run.settings.serving_file, soon())
    assert run.settings.serving_file.stat().st_size < before * 0.7
    assert served(run) == reasons
    publish(run, "새로워요.")
    assert served(run) == {1: "새로워요."}


def test_a_crash_while_publications_are_dropped_leaves_them_all(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(run, "하나예요.", "둘이에요.", "셋이에요.")

    def crash(file: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(load, "_shrink", crash)
    with pytest.raises(KeyboardInterrupt):
        drop_publications(run.settings.serving_file, soon())
    assert kept_reasons(run) == [1, 2, 3]


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


@pytest.mark.parametrize("kilobytes", [20, 100, 200, 300, 600, 900, 1200, 1500])
@pytest.mark.parametrize("published", [False, True])
def test_a_disk_that_fills_up_leaves_the_file_as_it_was(run: Run, kilobytes: int, published: bool) -> None:
    """Wherever the writing ends: in the copy, in the log, or when what is in the log is brought into the file."""
    from tasks.errors import StoreError

    if published:
        load_date(finish(run, {1: "맛있어요."}))
    later = finish(other_run(run), {item: f"{item}번째 {item * 7919 % 10007} 맛있어요." for item in range(300)})
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1000, hard))
    try:
        with contextlib.suppress(StoreError):
            load_date(later)
            published, later = True, other_run(later, "done")  # there was room after all
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    serving = run.settings.serving_file
    assert serving.exists() == published
    if published:
        assert len(served(run)) == (300 if later.key == "done" else 1)
    assert {path.name for path in serving.parent.glob("*serving*")} <= {serving.name, f".{serving.name}.lock"}
