"""Processes that run beside this one and end with it: each leads a group of its own, and leaves its log in a file."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import SayuError

# A worker that is told to end tells its flow runs, and they tell the server.
GRACE_SECONDS = 15
LIBC = ctypes.CDLL(None)
SIGNAL_WHEN_PARENT_DIES = 1  # PR_SET_PDEATHSIG of prctl(2)


@dataclass(frozen=True)
class Beside:
    """A process that runs beside this one."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def check(self) -> None:
        """See that it still runs.

        Raises:
            SayuError: it has ended, with the last lines of its log.
        """
        if self.process.poll() is not None:
            lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
            raise SayuError(f"{self.name} has ended: {' / '.join(lines)}", f"see {self.log}")


@contextlib.contextmanager
def beside(name: str, command: Sequence[str], log: Path, **options: object) -> Iterator[Beside]:
    """Run a command while the block runs; then end it and everything it has started.

    Args:
        name: What it is called in messages.
        command: What to run, in a process group of its own: Ctrl-C is for this process, which ends them in order.
        log: Where its output goes.
        options: Handed to `subprocess.Popen`, such as `cwd` and `env`.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(  # type: ignore[call-overload]
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            preexec_fn=_end_with_parent,
            **options,
        )
    try:
        yield Beside(name, process, log)
    finally:
        _end(process)


def _end_with_parent() -> None:
    """Let the operating system end this process when the one that made it is killed."""
    LIBC.prctl(SIGNAL_WHEN_PARENT_DIES, signal.SIGTERM)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask the process to end, then make sure of it and of its children, also where Ctrl-C comes again."""
    try:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
        # children that outlive it get the rest of the time
        deadline = time.monotonic() + GRACE_SECONDS / 3
        while _group_lives(process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
