"""How far a shard is, as a progress artifact of its run in the Prefect UI.

The artifact is made and moved in a thread of its own, one request at a time: what the engine does never waits for the
server, and a server that is away costs a look at the bar, not the shard.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact

logger = logging.getLogger("sayu")
LAST_SECONDS = 5  # a server that is there has answered by then


class ProgressBar:
    """An artifact of the flow run that makes it."""

    def __init__(self, key: str, description: str) -> None:
        """Make it in the background; `key` has lower-case letters, digits and dashes."""
        self._key, self._description = key, description
        self._artifact: UUID | None = None
        self._share = 0.0
        self._moved = threading.Event()
        self._ended = False
        # Prefect finds the run in context variables, which threads don't inherit
        self._thread = threading.Thread(target=copy_context().run, args=(self._follow,), name="progress", daemon=True)
        self._thread.start()

    def show(self, share: float) -> None:
        """Move it to this share of the whole, soon; returns at once."""
        self._share = share
        self._moved.set()

    def end(self) -> None:
        """Show the last share, and stop."""
        self._ended = True
        self._moved.set()
        self._thread.join(LAST_SECONDS)

    def _follow(self) -> None:
        while True:
            ended = self._ended
            try:
                self._move(100 * self._share)
            except Exception as error:
                logger.warning("progress  can't be shown: %s", error)
            if ended:
                return
            self._moved.wait()
            self._moved.clear()

    def _move(self, percent: float) -> None:
        if self._artifact:
            update_progress_artifact(self._artifact, percent)
        else:
            made = create_progress_artifact(percent, key=self._key, description=self._description)
            self._artifact = cast(UUID, made)


@contextmanager
def progress_bar(key: str, description: str) -> Iterator[ProgressBar]:
    """A bar that ends with the block."""
    bar = ProgressBar(key, description)
    try:
        yield bar
    finally:
        bar.end()
