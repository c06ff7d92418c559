"""Every order gives the same answers, even in a KV room far too small for all prompts; only the work differs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.sameness import compare
from benchmarks.trial import Trial, run_trial
from tasks.engine import close_engine
from tasks.settings import OrderName, Settings

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(900)]

PAIRS = 400
SMALL_ROOM, SHORT = 4096, 256  # tokens: about a tenth of what the prompts are, and no prompt is longer
THRESHOLD = 0.5


@pytest.fixture(scope="module")
def trials(demo_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[OrderName, Trial]]:
    """In float32, where nothing is rounded away and only the order of summation is left."""
    settings = Settings(source=str(demo_source), rules=None, dtype="float32", kv_tokens=SMALL_ROOM, max_model_len=SHORT)
    work = tmp_path_factory.mktemp("trials")
    orders: tuple[OrderName, ...] = ("full", "chunked", "fused")
    yield {
        order: run_trial(settings.model_copy(update={"order": order, "chunk_share": 1.0}), work / order, in_order=True)
        for order in orders
    }
    close_engine()


def test_the_room_is_what_was_asked_for_however_many_kv_groups_the_model_has(trials: dict[OrderName, Trial]) -> None:
    rooms = {trial.room.tokens for trial in trials.values() if trial.room}
    assert len(rooms) == 1
    assert SMALL_ROOM * 0.9 <= rooms.pop() <= SMALL_ROOM
    assert trials["full"].prompt_tokens > 8 * SMALL_ROOM


@pytest.mark.parametrize("order", ["chunked", "fused"])
def test_decisions_and_texts_are_those_of_the_full_order(order: OrderName, trials: dict[OrderName, Trial]) -> None:
    full, other = trials["full"], trials[order]
    sameness = compare(other.p_skip, other.texts, full.p_skip, full.texts, THRESHOLD)
    assert sameness.pairs == PAIRS
    assert sameness.texts > PAIRS / 3
    assert sameness.same, str(sameness)


def test_each_order_computes_less_than_the_one_before(trials: dict[OrderName, Trial]) -> None:
    computed = [trials[order].computed_tokens for order in ("full", "chunked", "fused")]
    assert computed == sorted(computed, reverse=True)
    assert computed[0] > 1.15 * computed[1] > 1.15 * computed[2]


@pytest.mark.parametrize("order", ["chunked", "fused"])
def test_no_answer_is_interrupted_for_want_of_room(order: OrderName, trials: dict[OrderName, Trial]) -> None:
    assert trials[order].preemptions == 0
    assert trials[order].errors == 0
