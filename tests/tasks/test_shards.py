"""Chunks shared out among workers: how they are cut, what is left of them, and what workers leave for one another."""

import threading
import time
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.decide import decide_chunk
from tasks.errors import StoreError
from tasks.generate import generate_chunk
from tasks.plan import plan_nothing
from tasks.records import FAILURES, PLAN
from tasks.runs import Run, open_run
from tasks.shards import (
    FEWEST_CHUNKS,
    Shard,
    accounts_of_shards,
    alone,
    cut_shards,
    find_request,
    last_sign,
    leave_account,
    send_request,
    signs_of_life,
    unfinished,
)
from tests.shop import good_answer, make_run, make_source, prepare, record


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("shards")
    run = make_run(folder, make_source(folder / "source.duckdb"))
    run.folder.mkdir(parents=True)
    return run


def plan_of(run: Run, sizes: list[int], shard_pairs: int) -> Run:
    """A plan with chunks of these sizes."""
    rows = [
        (chunk, f"{chunk}-{pair}", "decide", None, [1], 0) for chunk, size in enumerate(sizes) for pair in range(size)
    ]
    run.write("plan", pl.DataFrame(rows, schema=PLAN, orient="row"))
    return run.model_copy(update={"settings": run.settings.model_copy(update={"shard_pairs": shard_pairs})})


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 400))
def test_every_chunk_is_in_one_shard_and_the_order_is_kept(planned: Run, sizes: list[int], shard_pairs: int) -> None:
    shards = cut_shards(plan_of(planned, sizes, shard_pairs))
    assert [chunk for shard in shards for chunk in shard.chunks] == list(range(len(sizes)))


@given(st.integers(1, 60), st.integers(1, 400))
def test_there_are_no_more_shards_than_needed(planned: Run, chunks: int, shard_pairs: int) -> None:
    shards = cut_shards(plan_of(planned, [10] * chunks, shard_pairs))
    assert len(shards) <= max(1, -(-10 * chunks // shard_pairs))
    assert min(len(shard.chunks) for shard in shards) >= min(chunks, FEWEST_CHUNKS)


def test_shards_are_about_as_large_as_each_other(planned: Run) -> None:
    shards = cut_shards(plan_of(planned, [10] * 100, 300))
    assert [len(shard.chunks) for shard in shards] == [25] * 4


def test_what_is_left_of_a_shard_is_what_has_no_answer(run: Run) -> None:
    """A chunk is one pair here, and one of the five is to be skipped."""
    chunks = prepare(run)
    record(run, good_answer)
    whole = Shard(0, chunks - 1)
    assert unfinished(run, whole) == whole
    for chunk in (0, 1, 3):
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    assert unfinished(run, whole) == Shard(2, 4)
    for chunk in (2, 4):
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    assert unfinished(run, whole) is None


def test_a_decision_without_its_text_is_unfinished(tmp_path: Path, source: Path) -> None:
    run = make_run(tmp_path, source, order="chunked", threshold=1.0)
    prepare(run)
    record(run, good_answer)
    decide_chunk(run, 0)
    assert unfinished(run, Shard(0, 0)) == Shard(0, 0)
    generate_chunk(run, 0)
    assert unfinished(run, Shard(0, 0)) is None


def test_a_pair_that_failed_is_finished_for_this_run(run: Run) -> None:
    prepare(run)
    (key,) = run.read("plan").filter(pl.col("chunk") == 0)["key"]
    run.write("failures/decide-00000", pl.DataFrame([(key, "decide", "no")], schema=FAILURES, orient="row"))
    assert unfinished(run, Shard(0, 0)) is None


def test_a_worker_in_another_folder_finds_the_request(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = make_run(tmp_path, source, store=Path("store"), recording=Path("recording.parquet"))
    with open_run(asked.ds, asked.settings) as run:
        send_request(run)
        plan_nothing(run)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = find_request(run.ds, run.key, tmp_path / "store")
    assert (found.key, found.started_at, found.model) == (run.key, run.started_at, run.model)
    assert found.settings.recording == tmp_path / "recording.parquet"
    assert found.settings.model.is_dir()


def test_a_worker_without_the_store_says_so(tmp_path: Path, run: Run) -> None:
    with pytest.raises(StoreError, match=r"there is no planned run .* in .*/other → let every worker see"):
        find_request(run.ds, run.key, tmp_path / "other")


def test_a_chunk_is_worked_on_by_one_at_a_time(planned: Run) -> None:
    at_work: list[str] = []

    def work(name: str) -> None:
        with alone(planned, 7):
            at_work.append(name)
            time.sleep(0.05)
            at_work.append(name)

    workers = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert at_work[0::2] == at_work[1::2]


def test_a_worker_that_is_at_work_shows_it(planned: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.shards.SECONDS_BETWEEN_SIGNS", 0.01)
    assert last_sign(planned, "one") is None
    with signs_of_life(planned, "one"):
        first = last_sign(planned, "one")
        deadline = time.monotonic() + 10
        while last_sign(planned, "one") == first:
            assert time.monotonic() < deadline
    last = last_sign(planned, "one")
    time.sleep(0.05)
    assert last_sign(planned, "one") == last


def test_what_the_engines_did_is_added_up(planned: Run) -> None:
    with accounts_of_shards(planned):
        for name, seconds in (("a", 1.5), ("b", 2.0)):
            account = {"busy_seconds": seconds, "preemptions": 1, "block_size": 32, "room_tokens": 4096}
            leave_account(planned, name, account)
    engine = planned.read_json("engine")
    assert engine == {"busy_seconds": 3.5, "preemptions": 2, "block_size": 32, "room_tokens": 4096}
    assert not (planned.folder / "shards").exists()
