"""Processes that run beside this one and end with it: each leads a group of its own, and leaves its log in a file."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import SayuError

GRACE_SECONDS = 15
# A worker tells the server that its flow run has ended.
SECONDS_TO_TELL = 4
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
    """Ask the process and its children to end, then make sure of it, also where Ctrl-C comes again.

    Children first: a worker that sees its flow run end tells the server; one that is gone can't, and the run would
    seem to run for ever.
    """
    try:
        if _signal(_children(process.pid)):
            _wait_while(lambda: bool(_children(process.pid)), GRACE_SECONDS)
            time.sleep(SECONDS_TO_TELL)
        _signal([process.pid])
        _wait_while(lambda: process.poll() is None or bool(_children(process.pid)), GRACE_SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _signal(pids: Sequence[int]) -> bool:
    """Ask processes to end; whether there were any."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    return bool(pids)


def _wait_while(true: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while true() and time.monotonic() < deadline:
        time.sleep(0.1)


def _children(group: int) -> list[int]:
    """The processes of a group but its leader, those that have ended left out: /proc/PID/stat, see proc(5)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group, *_ = stat.read_text().rpartition(")")[2].split()
            if int(its_group) == group and state != "Z" and int(stat.parent.name) != group:
                found.append(int(stat.parent.name))
    return found
