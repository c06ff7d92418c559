"""What is handed out anew when a shard comes to an early end. (Real workers: tests/integration.)"""

import uuid
from pathlib import Path
from typing import Any

import pytest
from prefect.states import Cancelled, Cancelling, Completed, Crashed, Failed, Running, Scheduled

from flows.shards import MOST_TRIES, SECONDS_WITHOUT_SIGN, HandedOut, what_is_left
from tasks.decide import decide_chunk
from tasks.generate import generate_chunk
from tasks.runs import Run
from tasks.shards import Shard, signs_of_life
from tests.shop import good_answer, make_run, prepare, record


@pytest.fixture
def planned(tmp_path: Path, source: Path) -> Run:
    """Five chunks of one pair each; the engine is given two at a time."""
    run = make_run(tmp_path, source)
    assert prepare(run) == 5
    record(run, good_answer)
    return run


def handed_out(first: int, last: int, tries: int = 1) -> HandedOut:
    return HandedOut(Shard(first, last), tries, uuid.uuid4())


def finish(run: Run, *chunks: int) -> None:
    for chunk in chunks:
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)


def test_a_shard_that_crashed_is_handed_out_again_without_what_is_finished(planned: Run) -> None:
    finish(planned, 0, 1)
    assert what_is_left(planned, handed_out(0, 4), Crashed()) == [(Shard(2, 4), 2)]
    assert what_is_left(planned, handed_out(0, 4), Failed()) == [(Shard(2, 4), 2)]


def test_the_second_time_the_chunks_that_were_at_work_stand_alone(planned: Run) -> None:
    finish(planned, 0)
    left = what_is_left(planned, handed_out(0, 4, MOST_TRIES), Crashed())
    assert left == [(Shard(3, 4), 1), (Shard(1, 1), MOST_TRIES), (Shard(2, 2), MOST_TRIES)]


def test_a_chunk_that_crashes_alone_is_given_up(planned: Run) -> None:
    assert what_is_left(planned, handed_out(3, 3, MOST_TRIES), Crashed()) == []


def test_one_that_crashed_when_all_was_done_is_done(planned: Run) -> None:
    finish(planned, 0, 1, 2, 3, 4)
    assert what_is_left(planned, handed_out(0, 4), Crashed()) == []


@pytest.mark.parametrize("state", [Completed(), Cancelled(), Cancelling()])
def test_what_is_done_or_somebody_has_cancelled_is_left(planned: Run, state: Any) -> None:
    assert what_is_left(planned, handed_out(0, 4), state) == []


def test_a_worker_is_lost_when_it_shows_no_sign_of_life(planned: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("flows.shards.time.monotonic", lambda: now)
    one = handed_out(0, 4)
    one.seen = now
    with signs_of_life(planned, str(one.flow_run_id)):
        assert not one.is_lost(planned, Running())
    now += SECONDS_WITHOUT_SIGN[Running().type] - 1
    assert not one.is_lost(planned, Running())
    now += 2
    assert one.is_lost(planned, Running())


def test_one_that_waits_for_a_worker_is_not_lost(planned: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    one = handed_out(0, 4)
    monkeypatch.setattr("flows.shards.time.monotonic", lambda: one.seen + 1e6)
    assert not one.is_lost(planned, Scheduled())
