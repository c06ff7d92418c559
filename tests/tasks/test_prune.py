"""Upkeep: what is old and not needed goes, and whatever a reader or a later run needs stays."""

import datetime as dt
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checks.gate import Verdict
from tasks import prune
from tasks.backfill import state_of
from tasks.check import check_date
from tasks.errors import PublicationError, StoreError
from tasks.expiry import Oldest
from tasks.files import replacing
from tasks.history import published_statistics
from tasks.load import load_date, roll_back
from tasks.old import FRAMES, MERGED_BYTES, Old
from tasks.prune import Upkeep, prune_store
from tasks.records import CACHE, DECISIONS, FAILURES, OUTCOMES, TEXTS
from tasks.report import latest_summary
from tasks.results import Kind, find_results, list_results, read_results, write_results
from tasks.runs import Run, hold_date, runs_of
from tasks.settings import Settings
from tests.days import whole_day
from tests.pages import Page, broken_links
from tests.shop import DS, prepare

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)
NOW = dt.datetime.now(dt.UTC)
LATER = NOW + 100 * DAY


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "LISTING_SECONDS", 0.0)


def finish(run: Run, key: str, ds: dt.date = DS, published: bool = True) -> Run:
    """Leave the folder of a finished run, published or not."""
    run = run.model_copy(update={"key": key, "ds": ds})
    row = {"recommended_item_id": 1, "reason_item_id": 2, "text": f"{key}예요.", "outcome": "published", "p_skip": 0.1,
           "generated_at": NOW, "candidate_id": 1}  # fmt: skip
    run.folder.mkdir(parents=True, exist_ok=True)
    run.write("outcomes", pl.DataFrame([row], schema=OUTCOMES))
    run.write_json("checks", {"verdict": "passed", "checks": []})
    publication = load_date(run) if published else None
    run.write_json("manifest", {"publication_id": publication and publication.publication_id})
    return run


def age(path: Path, by: dt.timedelta) -> Path:
    """Let a file, or all files in a folder, be last changed so long ago."""
    for file in [path, *path.rglob("*")]:
        os.utime(file, ((NOW - by).timestamp(),) * 2)
    return path


def decided(store: Path, name: str, rows: dict[str, dt.datetime], changed: dt.timedelta = DAY) -> Path:
    """Store decisions, each with its own p_skip, in a file that was last changed so long ago."""
    full = [(key, (at.timestamp() % 1000) / 1000, 1.0, 100, 64, at) for key, at in rows.items()]
    write_results(store, "decisions", name, pl.DataFrame(full, schema=DECISIONS, orient="row"))
    return age(store / "results" / "decisions" / f"{name}.parquet", changed)


def found(store: Path, keys: list[str], now: dt.datetime = NOW) -> list[tuple[object, ...]]:
    rows = find_results(store, "decisions", pl.Series(keys, dtype=pl.String), now - 30 * DAY)
    return rows.sort("key").rows()


def everything(folder: Path) -> dict[str, tuple[float, bytes]]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime, path.read_bytes()) for path in files}


def numbers(upkeep: Upkeep) -> dict[str, int]:
    return {row.kind: row.count for row in upkeep.pruned if row.count}


def folders(run: Run, ds: dt.date = DS) -> set[str]:
    return {path.name for path in runs_of(run.settings.store, ds).glob("*")}


# -- runs


def test_an_old_run_that_nobody_needs_goes_with_its_date(run: Run) -> None:
    finish(run, "old", published=False)
    upkeep = prune_store(run.settings, now=LATER)
    assert numbers(upkeep) == {"run folders": 1}
    assert not runs_of(run.settings.store, DS).exists()


def test_a_run_stays_while_it_is_not_old(run: Run) -> None:
    finish(run, "young", published=False)
    finish(run, "older", published=False)
    assert numbers(prune_store(run.settings, now=NOW + 89 * DAY)) == {}
    assert folders(run) == {"young", "older"}


def test_the_run_that_readers_see_and_the_one_before_it_stay_whatever_their_age(run: Run) -> None:
    for key in ("first", "second", "third"):
        finish(run, key)
    before = everything(runs_of(run.settings.store, DS) / "third")
    assert numbers(prune_store(run.settings, now=LATER)) == {"run folders": 1, "old publications": 1}
    assert folders(run) == {"second", "third"}
    assert everything(runs_of(run.settings.store, DS) / "third") == before
    _, live = roll_back(run.settings.serving_file, DS)
    assert live is not None
    assert live.run_key == "second"


def test_the_last_finished_run_of_a_date_with_reasons_stays(run: Run) -> None:
    for key, published in (("live", True), ("held", False), ("held later", False)):
        age(finish(run, key, published=published).folder, 100 * DAY)
    last = runs_of(run.settings.store, DS) / "held later" / "manifest.json"
    os.utime(last, ((NOW - 99 * DAY).timestamp(),) * 2)
    prune_store(run.settings)
    assert folders(run) == {"live", "held later"}


def test_a_run_that_never_ended_goes_when_it_is_old(run: Run) -> None:
    finish(run, "live")
    (finish(run, "killed", published=False).folder / "manifest.json").unlink()
    assert numbers(prune_store(run.settings, now=LATER)) == {"run folders": 1}
    assert folders(run) == {"live"}


def test_a_date_that_is_being_worked_on_is_left_alone_and_named(run: Run) -> None:
    store = run.settings.store
    finish(run, "old", published=False)
    finish(run, "old", ds=DS - DAY, published=False)
    for name in (f"{DS}-abc-1", f"{DS}-abc-2", f"{DS}-abc-3"):
        decided(store, name, {name: LATER - DAY})
    with hold_date(store, DS):
        upkeep = prune_store(run.settings, now=LATER)
    assert upkeep.busy == (DS,)
    assert numbers(upkeep) == {"run folders": 1}
    assert folders(run) == {"old"}
    assert len(list_results(store, "decisions")) == 3
    assert prune_store(run.settings, now=LATER).busy == ()
    assert folders(run) == set()


def test_a_date_that_a_run_takes_meanwhile_is_left_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(run, "old", published=False)
    monkeypatch.setattr(prune, "busy_dates", lambda store: set())
    with hold_date(run.settings.store, DS):
        assert prune_store(run.settings, now=LATER).busy == (DS,)
    assert folders(run) == {"old"}


def test_a_folder_that_is_written_to_meanwhile_stays(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    old = age(finish(run, "old", published=False).folder, 100 * DAY)
    remove = prune.remove

    def run_again(store: Path, items: Iterable[Old]) -> set[dt.date]:
        (old / "candidates.parquet").touch()
        return remove(store, items)

    monkeypatch.setattr(prune, "remove", run_again)
    prune_store(run.settings)
    assert folders(run) == {"old"}


def test_a_kill_while_a_run_is_removed_leaves_no_run_that_looks_whole(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(run, "old", published=False)

    def killed(path: Path) -> None:
        (path / "outcomes.parquet").unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("tasks.prune.shutil.rmtree", killed)
        prune_store(run.settings, now=LATER)
    assert not list(run.settings.store.rglob("manifest.json"))
    assert numbers(prune_store(run.settings, now=LATER)) == {"run folders": 1}
    assert folders(run) == set()


def test_what_was_published_elsewhere_is_not_removed(run: Run) -> None:
    finish(run, "live")
    elsewhere = run.settings.model_copy(update={"serving": run.settings.store / "elsewhere.duckdb"})
    with pytest.raises(PublicationError, match=r"elsewhere\.duckdb does not exist.*give --serving"):
        prune_store(elsewhere, now=LATER)
    assert folders(run) == {"live"}


def test_the_index_shows_only_what_is_left(run: Run) -> None:
    whole_day(run)
    index = run.settings.store / "index.html"
    assert f"{run.key}/report.html" in index.read_text(encoding="utf-8")
    prune_store(run.settings, now=LATER)
    assert f"{run.key}/report.html" in index.read_text(encoding="utf-8")
    roll_back(run.settings.serving_file, DS)
    prune_store(run.settings, now=LATER)
    assert f"{run.key}/report.html" not in index.read_text(encoding="utf-8")


# -- frames


def with_frames(run: Run) -> Run:
    """Leave what a run's stages leave for one another."""
    for name in FRAMES:
        if name == "failures":
            run.write("failures/decide-00000", pl.DataFrame(schema=FAILURES))
        else:
            run.write(name.removesuffix(".parquet"), pl.DataFrame({"candidate_id": [1]}))
    return run


def frames(run: Run, key: str, ds: dt.date = DS) -> set[str]:
    return {path.name for path in (runs_of(run.settings.store, ds) / key).iterdir()} & set(FRAMES)


def test_of_an_old_published_run_stays_what_is_read_later_and_its_frames_go(run: Run) -> None:
    summary = whole_day(run)
    run.write("failures/decide-00000", pl.DataFrame(schema=FAILURES))
    run.write("cache", pl.DataFrame(schema=CACHE))
    run.write_json("request", run.model_dump(mode="json"))
    before, outcomes = everything(run.folder), run.read("outcomes")
    long = run.settings.model_copy(update={"result_ttl_days": 365})
    assert numbers(prune_store(long, now=LATER))["old frames"] == len(FRAMES)
    gone = {str(run.folder / name) for name in FRAMES if name != "failures"}
    gone.add(str(run.folder / "failures" / "decide-00000.parquet"))
    assert everything(run.folder) == {path: content for path, content in before.items() if path not in gone}
    assert broken_links(Page(run.folder / "report.html")) == []
    tomorrow = run.model_copy(update={"ds": DS + DAY})
    assert published_statistics(tomorrow)["candidates"].sum() == summary.candidates
    assert latest_summary(run.settings, DS) == summary
    assert state_of(DS, run.settings) == "published"
    assert prepare(run) == 0
    assert check_date(run).verdict is Verdict(summary.verdict)
    assert run.read("outcomes").drop("reused").equals(outcomes.drop("reused"))


def test_frames_stay_while_a_run_may_be_approved_is_not_old_or_is_being_worked_on(run: Run) -> None:
    held_back = {"verdict": "held back", "checks": []}
    for key in ("first", "second"):
        with_frames(finish(run, key))
    with_frames(finish(run, "live", ds=DS - DAY))
    with_frames(finish(run, "held", ds=DS - DAY, published=False)).write_json("checks", held_back)
    with_frames(finish(run, "approved", ds=DS - 2 * DAY)).write_json("checks", held_back)
    with_frames(finish(run, "at work", ds=DS - 3 * DAY))
    assert numbers(prune_store(run.settings, now=NOW + 89 * DAY)) == {}
    with hold_date(run.settings.store, DS - 3 * DAY):
        assert numbers(prune_store(run.settings, now=LATER)) == {"old frames": 2 * len(FRAMES)}
    assert frames(run, "first") == frames(run, "second") == set()
    for key, days in (("live", 1), ("held", 1), ("approved", 2), ("at work", 3)):
        assert frames(run, key, DS - days * DAY) == set(FRAMES)
    assert numbers(prune_store(run.settings, now=LATER)) == {"old frames": len(FRAMES)}
    _, live = roll_back(run.settings.serving_file, DS)
    assert (live and live.run_key) == "first"


# -- results


def test_expired_results_go_and_others_stay(run: Run) -> None:
    store = run.settings.store
    expired = decided(store, "expired", {"a": NOW - 32 * DAY})
    valid = decided(store, "valid", {"b": NOW - 29 * DAY, "a": NOW - 33 * DAY})
    assert numbers(prune_store(run.settings)) == {"expired decisions": 1}
    assert (expired.exists(), valid.exists()) == (False, True)


def test_each_outcome_goes_in_its_own_time(run: Run) -> None:
    store = run.settings.store
    shop = run.settings.model_copy(update={"skipped_ttl_days": 60, "rejected_ttl_days": 5})
    rows = [("skip", 0.9), ("write", 0.1)]
    full = [(key, p_skip, 1.0, 100, 64, NOW - 40 * DAY) for key, p_skip in rows]
    for place, row in enumerate(full):
        write_results(store, "decisions", f"{place}", pl.DataFrame([row], schema=DECISIONS, orient="row"))
    for name, passed in (("passed", True), ("failed", False), ("not judged", None)):
        text = (name, "", "stop", 0, 0, 9, NOW - 20 * DAY, 1, passed)
        write_results(store, "texts", name, pl.DataFrame([text], schema=TEXTS, orient="row"))
    age(store / "results", DAY)
    assert numbers(prune_store(shop)) == {"expired decisions": 1, "expired texts": 1, "small files of texts": 2}
    (texts,) = list_results(store, "texts")
    assert sorted(pl.read_parquet(texts)["key"]) == ["not judged", "passed"]
    assert pl.read_parquet(list_results(store, "decisions")[0])["key"].to_list() == ["skip"]


def test_a_large_file_is_written_again_when_most_of_it_has_expired(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    store = run.settings.store
    expired = {f"old {number}": NOW - 40 * DAY for number in range(1200)}
    large = decided(store, "large", expired | {f"key {number}": NOW - DAY for number in range(400)})
    decided(store, "small", {"another": NOW - DAY})
    monkeypatch.setattr("tasks.old.MERGED_BYTES", 1.9 * large.stat().st_size)
    assert numbers(prune_store(run.settings)) == {"small files of decisions": 2}
    (merged,) = list_results(store, "decisions")
    assert pl.read_parquet(merged).height == 401


def test_what_a_run_found_at_its_start_it_finds_at_its_end(run: Run) -> None:
    decided(run.settings.store, "one", {"a": NOW - 30 * DAY})
    prune_store(run.settings, now=NOW + 23 * HOUR)
    assert len(found(run.settings.store, ["a"])) == 1


def test_small_files_become_one(run: Run) -> None:
    store = run.settings.store
    for number in range(20):
        decided(store, f"{DS}-abc-{number}", {f"key {number}": NOW - number * HOUR, "shared": NOW - number * DAY})
    keys = ["shared", *(f"key {number}" for number in range(20))]
    before = found(store, keys)
    upkeep = prune_store(run.settings)
    assert [(row.count, row.into) for row in upkeep.pruned if row.into] == [(20, 1)]
    assert found(store, keys) == before
    assert len(list_results(store, "decisions")) == 1
    assert numbers(prune_store(run.settings)) == {}


def test_the_small_files_stay_until_whoever_lists_the_folder_has_seen_the_merged_one(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = run.settings.store
    for number in range(3):
        decided(store, f"{DS}-abc-{number}", {f"key {number}": NOW})
    listed: list[int] = []
    monkeypatch.setattr("tasks.prune.time.sleep", lambda seconds: listed.append(len(list_results(store, "decisions"))))
    prune_store(run.settings)
    assert (listed, len(list_results(store, "decisions"))) == ([4], 1)


def test_a_day_whose_results_were_merged_asks_the_model_nothing(run: Run) -> None:
    assert whole_day(run).model_calls == 5
    age(run.settings.store / "results", DAY)
    assert numbers(prune_store(run.settings)).keys() == {"small files of decisions", "small files of texts"}
    assert prepare(run) == 0


def test_the_chunks_of_a_run_at_work_are_left_as_they_are(run: Run) -> None:
    store = run.settings.store
    for number in range(3):
        decided(store, f"{DS}-abc-{number}", {f"key {number}": NOW}, changed=5 * HOUR)
    assert numbers(prune_store(run.settings)) == {}
    assert read_results(store, "decisions", f"{DS}-abc-1")["key"].to_list() == ["key 1"]


def test_large_files_are_not_written_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    store = run.settings.store
    sizes = [decided(store, f"{number}", {f"key {number}": NOW}).stat().st_size for number in range(9)]
    monkeypatch.setattr("tasks.old.MERGED_BYTES", 4 * max(sizes))
    upkeep = prune_store(run.settings)
    assert [(row.count, row.into) for row in upkeep.pruned if row.into] == [(8, 2)]
    monkeypatch.setattr("tasks.old.MERGED_BYTES", max(sizes))
    for path in list_results(store, "decisions"):
        age(path, DAY)
    assert numbers(prune_store(run.settings)) == {}
    assert len(found(store, [f"key {number}" for number in range(9)])) == 9
    assert MERGED_BYTES > 2**20


def test_the_vectors_of_a_model_go_when_nothing_was_added_to_them_for_long(run: Run) -> None:
    for model, days in (("in-use", 1), ("out-of-use", 91)):
        file = run.settings.store / "vectors" / model / "names.parquet"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"vectors")
        age(file, days * DAY)
    assert numbers(prune_store(run.settings, now=NOW)) == {"vectors": 1}
    assert [path.name for path in (run.settings.store / "vectors").iterdir()] == ["in-use"]


def test_a_damaged_file_is_set_aside_and_no_other_is_lost(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    store = run.settings.store
    for number in range(3):
        decided(store, f"{number}", {f"key {number}": NOW})
    damaged = store / "results" / "decisions" / "1.parquet"
    damaged.write_bytes(damaged.read_bytes()[:300])
    age(damaged, DAY)
    prune_store(run.settings)
    assert "1.parquet is damaged" in caplog.text
    assert [row[0] for row in found(store, ["key 0", "key 1", "key 2"])] == ["key 0", "key 2"]
    assert numbers(prune_store(run.settings, now=NOW + 29 * DAY)) == {}
    assert numbers(prune_store(run.settings, now=LATER)) == {"expired decisions": 1, "damaged result files": 1}
    assert list((store / "results" / "damaged").iterdir()) == []


rows = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 40 * 24 * 60), max_size=5)  # minutes ago
files = st.lists(st.tuples(rows, st.integers(0, 40 * 24), st.booleans()), min_size=1, max_size=8)  # hours ago, dated


@settings(max_examples=25)
@given(files=files, room=st.integers(500, 20_000))
def test_every_result_that_counts_is_found_as_before(files: list[tuple[dict[str, int], int, bool]], room: int) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.old.MERGED_BYTES", room)
        shop = Settings(store=Path(folder))
        for number, (minutes, hours, dated) in enumerate(files):
            times = {key: NOW - dt.timedelta(minutes=ago, microseconds=number) for key, ago in minutes.items()}
            decided(shop.store, f"{DS}-abc-{number}" if dated else f"{number}", times, hours * HOUR)
        before = found(shop.store, list("abcdefgh"))
        files_before = len(list_results(shop.store, "decisions"))
        for _ in range(2):
            prune_store(shop)
            assert found(shop.store, list("abcdefgh")) == before
        assert len(list_results(shop.store, "decisions")) <= files_before


shops = st.builds(Settings, result_ttl_days=st.sampled_from([5, 30]), skipped_ttl_days=st.sampled_from([None, 10, 35]),
                  rejected_ttl_days=st.sampled_from([None, 2, 35]))  # fmt: skip
spoken = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40 * 24), st.booleans()), max_size=8)  # hours ago


@example(Settings(result_ttl_days=5, rejected_ttl_days=2), [[("a", 49, False)], [("a", 50, True)]], 6_000)
@settings(max_examples=8)
@given(shop=shops, files=st.lists(spoken, min_size=1, max_size=6), room=st.integers(500, 20_000))
def test_what_is_found_does_not_change_whatever_results_say_and_however_long_they_count(
    shop: Settings, files: list[list[tuple[str, int, bool]]], room: int
) -> None:
    def counting() -> list[list[tuple[object, ...]]]:
        kinds: tuple[Kind, ...] = ("decisions", "texts")
        oldest, keys = Oldest.at(NOW, shop), pl.Series(["a", "b", "c"])
        return [find_results(shop.store, kind, keys, oldest).sort("key").rows() for kind in kinds]

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.old.MERGED_BYTES", room)
        shop = shop.model_copy(update={"store": Path(folder)})
        for number, rows in enumerate(files):
            times = [NOW - hours * HOUR - dt.timedelta(microseconds=10 * number + place)
                     for place, (_, hours, _) in enumerate(rows)]  # fmt: skip
            said = list(zip(rows, times, strict=True))
            decisions = [(key, 0.9 if skip else 0.1, 1.0, 0, 0, at) for (key, _, skip), at in said]
            texts = [(key, "", "stop", 0, 0, 9, at, 1, skip) for (key, _, skip), at in said]
            write_results(shop.store, "decisions", f"{number}", pl.DataFrame(decisions, DECISIONS, orient="row"))
            write_results(shop.store, "texts", f"{number}", pl.DataFrame(texts, TEXTS, orient="row"))
        age(shop.store / "results", DAY)
        before = counting()
        prune_store(shop, now=NOW)
        assert counting() == before


class Kill(BaseException):
    """What nothing catches."""


KILLS = [("merge_results", 0), ("merge_results", 1), ("time.sleep", 0), ("hold_date", 0), ("hold_date", 3),
         ("_remove", 0), ("_remove", 1), ("_remove", 5)]  # fmt: skip


@pytest.mark.parametrize(("step", "times_well"), KILLS)
def test_a_kill_during_merging_loses_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, step: str, times_well: int
) -> None:
    store = run.settings.store
    names = [f"{DS - number * DAY}-abc-{number}" for number in range(6)]
    for number, name in enumerate(names):
        size = decided(store, name, {name: NOW, "shared": NOW - number * HOUR}).stat().st_size
    monkeypatch.setattr("tasks.old.MERGED_BYTES", 4 * size)
    before = found(store, ["shared", *names])
    calls = iter([False] * times_well)
    original: Callable[..., object] = attrgetter(step)(prune)

    def killed(*arguments: object) -> object:
        if next(calls, True):
            raise Kill
        return original(*arguments)

    with monkeypatch.context() as patch, pytest.raises(Kill):
        patch.setattr(f"tasks.prune.{step}", killed)
        prune_store(run.settings)
    assert found(store, ["shared", *names]) == before
    prune_store(run.settings)
    assert found(store, ["shared", *names]) == before


def test_no_room_on_the_disk_loses_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    store = run.settings.store
    before = [decided(store, f"{number}", {f"key {number}": NOW}) for number in range(3)]

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tasks.files._flush", full)
    with pytest.raises(StoreError, match="No space left on device"):
        prune_store(run.settings)
    assert list_results(store, "decisions") == before


@pytest.fixture
def reader(run: Run) -> Iterator[list[int]]:
    """How many results somebody found who looked for the same hundred all the time."""
    store = run.settings.store
    keys = [f"key {number}" for number in range(100)]
    for number, key in enumerate(keys):
        decided(store, f"{DS - number % 7 * DAY}-abc-{number}", {key: NOW})
    counts: list[int] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            counts.append(len(found(store, keys)))

    thread = threading.Thread(target=look)
    thread.start()
    yield counts
    ended.set()
    thread.join()


def test_a_reader_finds_every_result_while_files_are_merged(
    run: Run, reader: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "LISTING_SECONDS", 0.1)
    while len(reader) < 2:
        time.sleep(0.01)
    prune_store(run.settings)
    looked = len(reader)
    while len(reader) < looked + 2:
        time.sleep(0.01)
    assert set(reader) == {100}
    assert len(list_results(run.settings.store, "decisions")) == 1


# -- remains


def test_what_killed_writers_left_goes_after_a_day_and_what_is_being_written_stays(run: Run) -> None:
    finish(run, "live")
    serving = run.settings.serving_file
    left = [
        run.settings.store / "results" / "decisions" / ".one.parquet.0123abcd.tmp",
        runs_of(run.settings.store, DS) / "live" / ".manifest.json.0123abcd.tmp",
        serving.with_name(f".{serving.name}.0123abcd.tmp"),
        serving.with_name(f".{serving.name}.0123abcd.tmp.wal"),
    ]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")
        age(path, 25 * HOUR)
    apart = ("ui/.server.log.0123abcd.tmp", "engines/.one.json.0123abcd.tmp", "engines/one.json")
    others = [run.settings.store / name for name in (".note.tmp", "0123abcd.tmp", *apart)]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"somebody's own")
        age(path, 30 * DAY)
    with replacing(run.settings.store / "one.json") as beside:
        beside.write_text("at work", encoding="utf-8")
        assert numbers(prune_store(run.settings)) == {"left-over files": 4}
        assert beside.exists()
    assert [path.exists() for path in left + others] == [False] * 4 + [True] * 5


def test_locks_and_pages_go_when_no_run_has_use_for_them(run: Run) -> None:
    store = run.settings.store
    finish(run, "live")
    for ds in (DS, DS - DAY, NOW.date() + 99 * DAY):
        with hold_date(store, ds):
            pass
    page = run.settings.data_docs_folder / "site" / "index.html"
    page.parent.mkdir(parents=True)
    page.touch()
    assert numbers(prune_store(run.settings, now=NOW + 80 * DAY)).get("Data Docs") is None
    assert numbers(prune_store(run.settings, now=LATER)) == {"Data Docs": 1, "locks": 1}
    assert not run.settings.data_docs_folder.exists()
    assert {path.name for path in (store / "locks").glob("ds=*")} == {
        f"ds={DS}.lock",
        f"ds={NOW.date() + 99 * DAY}.lock",
    }


# -- as a whole


def test_a_dry_run_says_the_same_and_changes_no_byte(run: Run) -> None:
    store = run.settings.store
    for key in ("first", "second", "third"):
        finish(run, key)
    finish(run, "old", ds=DS - DAY, published=False)
    for number in range(3):
        decided(store, f"{number}", {f"key {number}": LATER - DAY})
    decided(store, "expired", {"a": NOW})
    (store / "results" / "decisions" / "damaged.parquet").write_bytes(b"PAR1")
    age(store / "results" / "decisions" / "damaged.parquet", DAY)
    with hold_date(store, DS - 2 * DAY):
        before = everything(store)
        foretold = prune_store(run.settings, dry_run=True, now=LATER)
        assert everything(store) == before
    assert numbers(foretold) == {
        "run folders": 2, "expired decisions": 1, "old publications": 1, "small files of decisions": 4,
    }  # fmt: skip
    assert foretold.busy == (DS - 2 * DAY,)
    done = prune_store(run.settings, now=LATER)
    assert [row for row in done.pruned if row.kind != "locks"] == [
        row for row in foretold.pruned if row.kind != "locks"
    ]


def test_an_empty_store_needs_nothing_and_gets_nothing(run: Run) -> None:
    assert numbers(prune_store(run.settings, dry_run=True)) == {}
    assert numbers(prune_store(run.settings)) == {}
    assert not run.settings.store.exists()
