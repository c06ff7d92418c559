"""Places in an engine: who is let in next, where a call has only so many of its requests answered at a time.

A place is taken again as soon as it is free, so that an engine that is to hold few answers at a time is never short of
them. Of those that wait the group that came first goes first: what a chunk asks last does not stand behind the next
chunk, which has not even begun.
"""

import heapq
import itertools
import math
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Places(Generic[T]):
    """A queue before an engine. Not for several threads."""

    def __init__(self) -> None:
        """Nobody waits, and every place is free."""
        self._waiting: list[tuple[int, int, float, T]] = []
        self._groups: dict[str, int] = {}
        self._numbers = itertools.count()
        self._taken = 0

    def wait(self, item: T, group: str, at_most: int | None) -> None:
        """Stand in the queue, to be let in while fewer than `at_most` are inside [None: at once]."""
        first = self._groups.setdefault(group, next(self._numbers))
        heapq.heappush(self._waiting, (first, next(self._numbers), at_most or math.inf, item))

    def let_in(self) -> Iterator[T]:
        """Those that may go inside now, each of whom takes a place."""
        while self._waiting and self._taken < self._waiting[0][2]:
            self._taken += 1
            yield heapq.heappop(self._waiting)[3]

    def leave(self) -> None:
        """One of those inside gives its place back."""
        self._taken -= 1

    def give_up(self) -> Iterator[T]:
        """Those that wait, none of whom will be let in any more."""
        while self._waiting:
            yield self._waiting.pop()[3]
