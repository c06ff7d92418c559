"""How far a shard is: lines in the log while it works, and what the engine did so far (see tasks.shards)."""

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tasks.engine import TimedEngine
from tasks.runs import Run
from tasks.shards import leave_account

logger = logging.getLogger("sayu")
SECONDS_BETWEEN_LINES = 5


class Progress:
    """Counts what the chunks of a shard report, from whatever thread."""

    def __init__(
        self, run: Run, engine: TimedEngine, chunks: int, name: str, show: Callable[[float], None] | None = None
    ) -> None:
        """Begin to count for a shard of so many chunks; `name` is its own.

        `show` is told, with each line, which share of them is finished; it returns at once.
        """
        self._show = show
        self._run, self._engine, self._chunks, self._name = run, engine, chunks, name
        self._finished = self._pairs = self._texts = 0
        self._lock = threading.Lock()
        self._started = self._said = time.monotonic()
        self._before = engine.seconds, engine.preemptions

    def decided(self, pairs: int) -> None:
        """A chunk has its decisions."""
        with self._lock:
            self._pairs += pairs

    def written(self, texts: int) -> None:
        """A chunk has its texts, and is finished."""
        with self._lock:
            self._texts += texts
            self._finished += 1
            now = time.monotonic()
            if now - self._said > SECONDS_BETWEEN_LINES or self._finished == self._chunks:
                self._said = now
                self._leave_account()
                if self._show:
                    self._show(self._finished / self._chunks)
                left = (now - self._started) / self._finished * (self._chunks - self._finished)
                progress = (self._finished, self._chunks, self._pairs, self._texts, left)
                logger.info(
                    "shard     chunk %d of %d: %d pairs decided, %d texts written, about %.0f s left", *progress
                )

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave in the run folder what the engine did for this shard."""
        self._leave_account()

    def _leave_account(self) -> None:
        seconds, preemptions = self._before
        room = self._engine.room
        account: dict[str, float | int | None] = {
            "busy_seconds": round(self._engine.seconds - seconds, 3),
            "preemptions": self._engine.preemptions - preemptions,
            "block_size": room.block_size if room else None,
            "room_tokens": room.tokens if room else None,
        }
        leave_account(self._run, self._name, account)
