"""A command run in a process of its own, with its wall time, CPU time and memory measured from outside."""

import os
import resource
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # comes with vLLM

# Often enough to see the peak of a stage that takes seconds, seldom enough to cost nothing.
SECONDS_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True, slots=True)
class Measured:
    """What a command took. `peak_gib` is the greatest sum of its processes' resident memory; pages that two of them
    share count twice."""

    output: str
    wall_seconds: float
    cpu_seconds: float
    peak_gib: float


def run_measured(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], accepted: Sequence[int] = (0,)
) -> Measured:
    """Run a command in `folder` with these variables on top of one's own; its messages are passed on.

    Raises:
        subprocess.CalledProcessError: it ended with a code that is not accepted.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE, text=True)
    peaks = [0]
    watcher = threading.Thread(target=_watch, args=(process.pid, peaks), daemon=True)
    watcher.start()
    output, _ = process.communicate()
    wall_seconds = time.perf_counter() - start
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode not in accepted:
        raise subprocess.CalledProcessError(process.returncode, list(command))
    cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(output, wall_seconds, cpu_seconds, max(peaks) / 2**30)


def _watch(pid: int, peaks: list[int]) -> None:
    """Add up the resident bytes of the process and its children until it has ended."""
    try:
        root = psutil.Process(pid)
        while root.status() != psutil.STATUS_ZOMBIE:
            peaks.append(_resident(root))
            time.sleep(SECONDS_BETWEEN_LOOKS)
    except psutil.NoSuchProcess:
        return


def _resident(root: psutil.Process) -> int:
    resident = 0
    for process in (root, *root.children(recursive=True)):
        try:
            resident += process.memory_info().rss
        except psutil.NoSuchProcess:  # ended between the two looks
            continue
    return resident
