"""Throughput per GPU against speed per request, for every layout: what is bought with what.

Layouts: one engine a GPU; several GPUs on each step together (tensor parallel); prompts read on some GPUs and answers
written on others (prefill and decode split), at every ratio, with what prompts left in KV carried over a link. Each is
worked out in its steady state, where every answer that ends is followed by another request: the GPUs' times are those
of planner.roofline, and nothing is said here of who wins.

Where prompts and answers share a GPU, a step that reads a part of a prompt makes all running answers wait for it: who
wants speed must run fewer answers at a time. Where they are split, answers wait for no prompt, but GPUs come in whole
numbers, one kind waits for the other, the answers' GPUs alone hold the KV, and a prompt's KV travels first.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from planner.roofline import Roofline

BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # vLLM takes no more
TOGETHER = (1, 2, 4, 8)
# A layout that wants two kinds of machines, and a link between them, must give more than so many times as much.
SPLIT_PAYS = 1.1
# Prompt tokens a step; more than the last, vLLM's own bound, gain nothing.
PARTS = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)


class Load(NamedTuple):
    """A request as it is on average; its answer has more than one token."""

    prompt: float  # tokens
    computed: float  # of them, those not found in the cache
    answer: float  # tokens


class Point(NamedTuple):
    """A layout at a number of answers at a time."""

    layout: str  # "one engine a GPU", "2 GPUs together", "3 + 5 GPUs"
    kind: str  # "one", "together" or "split"
    gpus: int
    batch: int  # answers at a time, of one engine
    per_gpu: float  # requests a second and GPU
    speed: float  # tokens a second of one request: its answer by its whole time, without a queue
    first_token: float  # seconds of that until the first token: reading the prompt, carrying its KV

    @property
    def second_a_token(self) -> float:
        """What a request waits for each token."""
        return 1 / self.speed


def points(roofline: Roofline, load: Load, gpus: int, link_gb: float, memory_share: float = 0.9) -> list[Point]:
    """Every layout of up to so many GPUs, at every number of answers at a time that fits.

    Args:
        roofline: The model on one GPU.
        load: What a request is like.
        gpus: How many there are to be laid out.
        link_gb: GB/s that one GPU sends to another.
        memory_share: Of a GPU's memory, what the engine gets.
    """
    found: list[Point] = []
    for together in [number for number in TOGETHER if number <= gpus]:
        group = roofline._replace(gpus=together)
        if not group.fits(memory_share):
            continue
        room = group.room(memory_share)
        found += _shared(group, load, room)
        found += _split(group, roofline, load, room, gpus, link_gb, memory_share)
    return found


def _batches(load: Load, room: int) -> Iterator[int]:
    """Numbers of answers at a time whose KV fits."""
    return (batch for batch in BATCHES if batch * (load.prompt + load.answer) <= room)


def _context(load: Load) -> float:
    return load.prompt + load.answer / 2


def _shared(group: Roofline, load: Load, room: int) -> Iterator[Point]:
    """Prompts and answers on the same GPUs: some steps carry a part of a prompt, or several prompts, as well."""
    name = "one engine a GPU" if group.gpus == 1 else f"{group.gpus} GPUs together"
    for batch, part in product(_batches(load, room), PARTS):
        steps = load.computed / part  # that carry a request's prompt
        own = math.ceil(steps)
        lived = own + load.answer - 1  # steps of a request; the last part of its prompt gives its first token
        carry = batch * steps / lived  # share of all steps that carry some prompt
        if carry > 1 or part > batch * load.computed:
            continue
        context = batch * _context(load)
        bare = group(0, 0, batch, context)
        carrying = (
            group(part, part / load.computed, batch, context)
            + group.prefill(part, load.prompt / 2)
            + _read_again(group, load, part)
        )
        rate = batch / (lived * (carry * carrying + (1 - carry) * bare))
        others = carry * (batch - 1) / batch
        seconds = own * carrying + (load.answer - 1) * (others * carrying + (1 - others) * bare)
        kind = "one" if group.gpus == 1 else "together"
        yield Point(name, kind, group.gpus, batch, rate / group.gpus, load.answer / seconds, own * carrying)


def _read_again(group: Roofline, load: Load, part: int) -> float:
    """Seconds: what was read of a prompt has its KV read again for each further part."""
    if part >= load.computed:
        return 0.0
    return load.prompt / 2 * group.model.kv_bytes / group.gpu.bandwidth / group.gpus


def _split(
    group: Roofline, alone: Roofline, load: Load, room: int, gpus: int, link_gb: float, memory_share: float
) -> Iterator[Point]:
    """Prompts on GPUs of their own, some in a step; answers on groups of GPUs."""
    if not alone.fits(memory_share):
        return
    carried = load.computed * alone.model.kv_bytes / (link_gb * 1e9)
    for batch, prompts in product(_batches(load, room), _prompts_a_step(load)):
        step = group(0, 0, batch, batch * _context(load))
        reading = read_seconds(alone, load, prompts)
        writing = batch / (load.answer - 1) / step  # requests a second of one group; reading gave the first token
        first = prompts * reading + carried
        speed = load.answer / (first + (load.answer - 1) * step)
        for readers in range(1, gpus):
            for groups in range(1, (gpus - readers) // group.gpus + 1):
                writers = groups * group.gpus
                rate = min(readers / max(reading, carried), groups * writing, writers / carried)
                name = f"{readers} + {writers} GPUs" + (f" ({group.gpus} together)" if group.gpus > 1 else "")
                yield Point(name, "split", readers + writers, batch, rate / (readers + writers), speed, first)


def _prompts_a_step(load: Load) -> Iterator[int]:
    """Numbers of prompts that are read in one step: many cost less, one is there sooner."""
    return (number for number in BATCHES if number == 1 or number * load.computed <= PARTS[-1])


def read_seconds(alone: Roofline, load: Load, prompts: int) -> float:
    """Of a prompt on a GPU that does nothing else, so many of them in a step."""
    tokens = prompts * load.computed
    return (alone(tokens, prompts, 0, 0) + alone.prefill(tokens, load.prompt / 2)) / prompts


def write_seconds(group: Roofline, load: Load, batch: int) -> float:
    """Of an answer on GPUs that write nothing but answers, so many at a time, in seconds of one GPU."""
    return load.answer * group(0, 0, batch, batch * _context(load)) / batch * group.gpus


def frontier(found: Sequence[Point]) -> list[Point]:
    """Points that no other beats in both, the fastest first."""
    best: list[Point] = []
    for point in sorted(found, key=lambda point: (-point.speed, -point.per_gpu)):
        if not best or point.per_gpu > best[-1].per_gpu:
            best.append(point)
    return best


def choose(found: Sequence[Point], second_a_token: float | None) -> Point | None:
    """The cheapest point that is fast enough; None: none is. At night nobody waits for a single request.

    A split is chosen only where it is cheaper by more than it is trouble.
    """
    fast = [point for point in found if second_a_token is None or point.second_a_token <= second_a_token]
    return max(fast, key=lambda point: point.per_gpu / (SPLIT_PAYS if point.kind == "split" else 1), default=None)


def gain(found: Sequence[Point], second_a_token: float | None) -> float | None:
    """What the best split gives over the best layout without one, as a factor; None where one of them can't do it."""
    split = choose([point for point in found if point.kind == "split"], second_a_token)
    whole = choose([point for point in found if point.kind != "split"], second_a_token)
    return split.per_gpu / whole.per_gpu if split and whole else None
