"""An engine that breaks is started again, and only the prompts that break it fail."""

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.engine import ALONE, Call, Completion, KvRoom, Request, Sampling
from tasks.engine.steady import MOST_BREAKS, SteadyEngine
from tasks.errors import EngineError

SAMPLING = Sampling(0.0, 0, frozenset())


@pytest.fixture(autouse=True)
def no_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """These engines have no memory to give back, and to collect the whole suite's objects at each break takes long."""
    monkeypatch.setattr("tasks.engine.steady.gc.collect", lambda: 0)


class Fragile:
    """Answers a prompt with its own tokens; dies of some, and is then of no more use."""

    max_model_len = 100
    room: KvRoom | None = None

    def __init__(self, deadly: Iterable[int] = (), lives: int | None = None) -> None:
        self.deadly, self.lives = set(deadly), lives
        self.preemptions = 1
        self.dead = self.closed = False

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        if self.lives is not None:
            self.lives -= 1
        first_tokens = {request.token_ids[0] for request in requests}
        if self.closed or self.dead or self.lives == 0 or self.deadly & first_tokens:
            self.dead = True
            raise EngineError("it died", "start it again")
        answers = [Completion(tuple(request.token_ids)) for request in requests]
        for number, answer in enumerate(answers):
            call.keep(number, answer)
        return answers

    def forget(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class Makers:
    """Starts an engine of the list at each call; the last one again and again."""

    def __init__(self, *engines: Fragile) -> None:
        self.left, self.started = list(engines), 0
        self.last = engines[-1]

    def __call__(self) -> Fragile:
        self.started += 1
        return self.left.pop(0) if self.left else Fragile(self.last.deadly, self.last.lives)


def ask(engine: SteadyEngine, numbers: Sequence[int]) -> list[int | str]:
    answers = engine.complete([Request([number], 1) for number in numbers], SAMPLING)
    return [answer.error or answer.token_ids[0] for answer in answers]


def test_a_break_of_chance_is_made_good_by_starting_again() -> None:
    makers = Makers(Fragile(lives=1), Fragile())
    engine = SteadyEngine(makers)
    assert ask(engine, [1, 2, 3]) == [1, 2, 3]
    assert makers.started == 2
    assert engine.preemptions == 2  # of both together


@settings(max_examples=20)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=20, unique=True), st.integers(0, 20))
def test_only_the_prompt_that_breaks_it_fails(numbers: list[int], deadly: int) -> None:
    answers = ask(SteadyEngine(Makers(Fragile([deadly]))), numbers)
    assert answers == ["it breaks the engine: it died" if number == deadly else number for number in numbers]


def test_several_deadly_prompts_are_all_found() -> None:
    answers = ask(SteadyEngine(Makers(Fragile([0, 7, 9]))), range(10))
    assert [number for number, answer in enumerate(answers) if isinstance(answer, str)] == [0, 7, 9]


def test_after_a_break_it_answers_as_before() -> None:
    makers = Makers(Fragile([5]))
    engine = SteadyEngine(makers)
    ask(engine, range(8))
    started = makers.started
    assert ask(engine, [1, 2]) == [1, 2]
    assert makers.started == started


def test_what_was_answered_before_a_break_is_not_asked_again() -> None:
    asked: list[int] = []

    class Breaking(Fragile):
        """Answers one prompt after the other, and dies at the third."""

        def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
            for number, request in enumerate(requests):
                if self.dead or number == 2:
                    self.dead = True
                    raise EngineError("it died", "start it again")
                asked.append(request.token_ids[0])
                call.keep(number, Completion(tuple(request.token_ids)))
            return [Completion(tuple(request.token_ids)) for request in requests]

    kept: list[tuple[int, tuple[int, ...]]] = []
    engine = SteadyEngine(Makers(Breaking(), Fragile()))
    requests = [Request([number], 1) for number in range(10, 16)]
    answers = engine.complete(
        requests, SAMPLING, Call(keep=lambda number, answer: kept.append((number, answer.token_ids)))
    )
    assert [answer.token_ids for answer in answers] == [(number,) for number in range(10, 16)]
    assert asked == [10, 11]
    assert sorted(kept) == [(number, (number + 10,)) for number in range(6)]


def test_those_who_ask_at_the_same_time_are_not_blamed() -> None:
    """One caller's deadly prompt takes the engine from under the others."""
    everybody = threading.Barrier(4, timeout=20)

    class Shared(Fragile):
        def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
            everybody.wait()
            raise EngineError("it died", "start it again")

    engine = SteadyEngine(Makers(Shared(), Fragile([13])))
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, engine, range(start, start + 10)) for start in (0, 10, 20, 30)]
        answers = [answer for future in asked for answer in future.result(timeout=20)]
    assert answers == ["it breaks the engine: it died" if number == 13 else number for number in range(40)]


def test_one_that_breaks_at_everything_is_given_up() -> None:
    makers = Makers(Fragile(range(100)))
    with pytest.raises(EngineError, match="it died"):
        ask(SteadyEngine(makers), range(100))
    assert makers.started <= MOST_BREAKS + 2


def test_one_that_can_not_be_started_again_says_so_and_is_tried_again_later() -> None:
    broken, sound = Fragile(lives=1), Fragile()
    steps: list[Fragile | EngineError] = [broken, EngineError("no memory", "lower it"), sound]

    def start() -> Fragile:
        step = steps.pop(0)
        if isinstance(step, EngineError):
            raise step
        return step

    engine = SteadyEngine(start)
    with pytest.raises(EngineError, match="no memory"):
        ask(engine, [1])
    assert ask(engine, [1]) == [1]


def test_a_closed_one_stays_closed() -> None:
    makers = Makers(Fragile())
    engine = SteadyEngine(makers)
    engine.close()
    with pytest.raises(EngineError):
        ask(engine, [1])
    assert makers.started == 1
