"""What would change: KV kept in host memory, a small model asked again, another fixed text, another share written."""

import math
from typing import NamedTuple

from planner.pareto import PARTS, Load, read_seconds, write_seconds
from planner.prompts import Prompts, common_start, stretched
from planner.roofline import Roofline, TimeModel
from tasks.errors import UsageError


class Offload(NamedTuple):
    """Tokens lost to eviction, computed again or carried to host memory and back."""

    lost: int
    recompute_seconds: float
    carry_seconds: float
    least_gb: float  # GB/s to and from the host beyond which carrying is faster

    @property
    def saved(self) -> float:
        """Seconds that carrying saves; less than none where it costs more."""
        return self.recompute_seconds - self.carry_seconds


def offload(lost: int, clock: TimeModel, kv_bytes: int, host_gb: float, step_tokens: int) -> Offload:
    """Host memory in place of eviction: each lost token travels out once and back once.

    Args:
        lost: Prompt tokens that were in the cache and are computed again.
        clock: What a step takes.
        kv_bytes: Of one token.
        host_gb: GB/s to the host's memory, and back.
        step_tokens: Prompt tokens a step while they are computed again.
    """
    a_token = clock(step_tokens, 0, 0, 0) / step_tokens
    carried = 2 * lost * kv_bytes
    return Offload(lost, lost * a_token, carried / (host_gb * 1e9), 2 * kv_bytes / a_token / 1e9)


class Retry(NamedTuple):
    """A small model asked until a text passes, k times at most, against a larger one asked once."""

    times: int
    pass_share: float  # of pairs with a text that passes in the end
    calls: float  # a pair, on average
    cost: float  # seconds of a GPU per passing text, in steady state
    large_cost: float | None
    large_pass_share: float | None


def retries(
    most: int, pass_share: float, read: float, write: float, large: tuple[float, float, float] | None = None
) -> list[Retry]:
    """Every k up to `most`, as if tries passed independently of each other.

    Args:
        most: The largest k.
        pass_share: Of texts, those that pass their checks: measured on the small model.
        read: Seconds of reading a prompt, once: later tries find it in the cache.
        write: Seconds of writing a text.
        large: The larger model's pass share, and its seconds to read and to write.

    Raises:
        UsageError: a share is none, or nothing ever passes.
    """
    for share in (pass_share, *(large[:1] if large else ())):
        if not 0 < share <= 1:
            raise UsageError(f"a pass rate of {share} can't be planned with", "give a share above 0, up to 1")
    found = []
    for times in range(1, most + 1):
        passed = 1 - (1 - pass_share) ** times
        calls = passed / pass_share
        large_cost = (large[1] + large[2]) / large[0] if large else None
        found.append(
            Retry(times, passed, calls, (read + calls * write) / passed, large_cost, large[0] if large else None)
        )
    return found


class Instruction(NamedTuple):
    """The fixed text longer or shorter by some tokens: what every prompt shares, and what is left over of a block."""

    tokens: int
    shared: int
    left_over: int  # tokens of the common beginning behind its last whole block: read anew in every prompt
    free: int  # more tokens up to the next border of a block: each prompt reads fewer if the fixed text has them


def instruction(prompts: Prompts, block_size: int, tokens: int) -> tuple[Prompts, Instruction]:
    """The prompts with a fixed text of so many tokens more, and where the common beginning then ends."""
    changed = stretched(prompts, tokens)
    shared = common_start(changed)
    return changed, Instruction(tokens, shared, shared % block_size, -shared % block_size)


def to_border(prompts: Prompts, block_size: int) -> tuple[int, int]:
    """Tokens to the nearest borders of blocks: how many fewer, how many more, the common beginning would need."""
    shared = common_start(prompts)
    return -(shared % block_size), -shared % block_size


def seconds_apart(roofline: Roofline, load: Load, batch: int) -> tuple[float, float]:
    """A request's seconds of a GPU that only reads prompts, and of one that only writes, so many answers at a time."""
    prompts = max(1, math.floor(PARTS[-1] / load.computed))
    return read_seconds(roofline, load, prompts), write_seconds(roofline, load, batch)


def ratio(roofline: Roofline, load: Load, batch: int) -> float:
    """GPUs that read prompts for each GPU that writes answers, if the two are apart and neither waits."""
    reading, writing = seconds_apart(roofline, load, batch)
    return reading / writing
