"""An engine that is started again when it breaks, and that finds the prompts which break it.

A break takes down whatever is in the engine at that moment, the innocent with the guilty. So whoever was answered by a
break asks once more, alone; if that breaks the engine too, in halves, until a single prompt does: that one fails, with
the error, and no other.
"""

import gc
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tasks.engine import ALONE, Call, Completion, Engine, Request, Sampling
from tasks.errors import EngineError

logger = logging.getLogger("sayu")

# To get at one prompt in a chunk of 4096 takes 2 + log2(4096) = 14. An engine that breaks more often without one answer
# in between is not broken by a prompt.
MOST_BREAKS = 16


class SteadyEngine:
    """An `Engine` (see tasks.engine) over one that may break."""

    def __init__(self, start: Callable[[], Engine]) -> None:
        """`start` loads the engine; it is called again after each break.

        Raises:
            EngineError: it can't be started.
        """
        self._start = start
        engine = start()
        self._engine: Engine | None = engine
        self.max_model_len, self.room = engine.max_model_len, engine.room
        self._preempted_before = self._breaks = 0
        self._closed = False
        self._changed = threading.Condition()
        self._together = self._waiting_alone = 0
        self._alone = False

    @property
    def preemptions(self) -> int:
        """See `Engine.preemptions`."""
        return self._preempted_before + (self._engine.preemptions if self._engine else 0)

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        """See `Engine.complete`. What was answered before a break is not asked again.

        Raises:
            EngineError: it was closed, can't be started again, or breaks whatever it is asked.
        """
        asked = _Asked(requests, sampling, call)
        with self._with_others():
            if engine := self._engine:
                try:
                    asked.put_to(engine, range(len(requests)))
                    return asked.answers()
                except EngineError as error:
                    broke = error
        with self._by_itself():
            if engine and engine is self._engine:
                self._stop(broke)
            self._ask_carefully(asked, range(len(requests)))
        return asked.answers()

    def forget(self) -> None:
        """See `Engine.forget`."""
        if self._engine:
            self._engine.forget()

    def close(self) -> None:
        """See `Engine.close`."""
        self._closed = True
        if self._engine:
            self._engine.close()

    def _ask_carefully(self, asked: "_Asked", numbers: Sequence[int]) -> None:
        if self._closed:
            raise EngineError("the engine was closed", "run again: what was answered is kept")
        if not (left := asked.unanswered(numbers)):
            return
        engine = self._engine = self._engine or self._start()
        try:
            asked.put_to(engine, left)
            self._breaks = 0
        except EngineError as error:
            self._stop(error)
            if len(left) == 1:
                asked.fail(left[0], f"it breaks the engine: {error.what}")
                return
            half = len(left) // 2
            for part in (left[:half], left[half:]):
                self._ask_carefully(asked, part)

    def _stop(self, error: EngineError) -> None:
        """Let go of the broken engine; raises the error where another one would not help."""
        if self._closed:
            raise error
        self._breaks += 1
        logger.warning("%-9s %s: it is started again", "engine", error.what)
        if self._engine:
            self._preempted_before += self._engine.preemptions
            self._engine.close()
        self._engine = None
        gc.collect()  # its memory is wanted by the next one
        if self._breaks > MOST_BREAKS:
            raise error

    @contextmanager
    def _with_others(self) -> Iterator[None]:
        """Any number of callers, while nobody is or wants to be alone."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting_alone)
            self._together += 1
        try:
            yield
        finally:
            with self._changed:
                self._together -= 1
                self._changed.notify_all()

    @contextmanager
    def _by_itself(self) -> Iterator[None]:
        """One caller and no other: what breaks the engine now is what this one asks."""
        with self._changed:
            self._waiting_alone += 1
            self._changed.wait_for(lambda: not self._alone and not self._together)
            self._waiting_alone -= 1
            self._alone = True
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()


class _Asked:
    """The requests of one call, by number, and the answers that have come so far."""

    def __init__(self, requests: Sequence[Request], sampling: Sampling, call: Call) -> None:
        self._requests, self._sampling, self._call = requests, sampling, call
        self._answers: dict[int, Completion] = {}

    def put_to(self, engine: Engine, numbers: Sequence[int]) -> None:
        def keep(place: int, answer: Completion) -> None:
            self._keep(numbers[place], answer)

        engine.complete([self._requests[n] for n in numbers], self._sampling, replace(self._call, keep=keep))

    def fail(self, number: int, error: str) -> None:
        self._keep(number, Completion(error=error))

    def unanswered(self, numbers: Sequence[int]) -> list[int]:
        return [number for number in numbers if number not in self._answers]

    def answers(self) -> list[Completion]:
        return [self._answers[number] for number in range(len(self._requests))]

    def _keep(self, number: int, answer: Completion) -> None:
        self._answers[number] = answer
        self._call.keep(number, answer)
