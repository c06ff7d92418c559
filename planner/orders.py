"""The orders of tasks.order as what the engine is handed, and what its cache gives in each.

As flows.support.threads does it, some chunks are worked on at a time, each by one caller after its last one is done. Of
requests that wait for a place the first to come is the first here; tasks.engine.places lets a chunk's texts pass the
decisions of the next.
"""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from planner.asks import Ask, Clock, Shape, Steps
from planner.prompts import Prompts
from planner.simulator import simulate
from tasks.engine import KvRoom
from tasks.plan import cut_chunks
from tasks.settings import OrderName, Settings


class Found(NamedTuple):
    """One stage's prompt tokens: `prompt` = `cached` + `evicted` + `remainder` + `first_time` (see tasks.cache)."""

    requests: int = 0
    prompt: int = 0
    cached: int = 0
    evicted: int = 0
    remainder: int = 0
    first_time: int = 0

    @property
    def computed(self) -> int:
        """Tokens that the engine reads."""
        return self.prompt - self.cached

    @property
    def share(self) -> float:
        """Of its prompt tokens, those found."""
        return self.cached / self.prompt if self.prompt else 0.0


class Prediction(NamedTuple):
    """One order."""

    order: OrderName
    chunks: int
    chunk_pairs: int  # of most chunks
    decide: Found
    generate: Found
    floor: int
    preemptions: int
    seconds: float  # by the clock that was given
    steps: Steps

    @property
    def computed(self) -> int:
        """Prompt tokens that the engine reads."""
        return self.decide.computed + self.generate.computed

    @property
    def times_floor(self) -> float:
        """How often each distinct prompt token is computed."""
        return self.computed / self.floor if self.floor else 0.0


Stage = list[list[Ask]]  # by chunk


def predict(
    prompts: Prompts,
    order: OrderName,
    shape: Shape,
    settings: Settings,
    longest_answer: int,
    clock: Clock = lambda *_: 1.0,
    pause: float = 0.0,
) -> Prediction:
    """What the cache gives in one order, and how long it takes.

    Args:
        prompts: In the plan's order.
        order: See tasks.order.
        shape: The engine.
        settings: How chunks are cut, and how many are in flight.
        longest_answer: Tokens that an answer may have, label and text.
        clock: Seconds of an engine step.
        pause: Seconds that a chunk's caller takes after each call.
    """
    # vLLM keeps one block for itself, and says its room with it
    room = KvRoom((shape.blocks + 1) // shape.groups * shape.block_size, shape.block_size)
    sized = None if order == "full" or not shape.prefix_cache else room
    chunks = cut_chunks(prompts.lengths, prompts.shared, longest_answer, sized, settings)
    decide, generate = _asks(prompts, order, shape, chunks)
    shape = shape._replace(max_num_seqs=min(shape.max_num_seqs, settings.most_in_flight(len(prompts.lengths))))
    done = simulate(shape, _passes(order, decide, generate, settings.chunks_in_flight), clock, pause)
    written = [] if order == "fused" else list(compress(prompts.lengths, prompts.writes))
    sizes = np.bincount(chunks) if chunks else np.zeros(1, dtype=int)
    return Prediction(
        order=order,
        chunks=len(set(chunks)),
        chunk_pairs=int(np.median(sizes)),
        decide=_found(decide, prompts.shared, shape.block_size),
        generate=_found(generate, written, shape.block_size),
        floor=prompts.floor,
        preemptions=done.preemptions,
        seconds=done.seconds,
        steps=done.steps,
    )


def _asks(prompts: Prompts, order: OrderName, shape: Shape, chunks: Sequence[int]) -> tuple[Stage, Stage]:
    """What each stage asks, by chunk: in the order `fused` texts come with their decisions."""
    decide: Stage = [[] for _ in range(chunks[-1] + 1 if chunks else 0)]
    generate: Stage = [[] for _ in decide]
    rows = zip(chunks, prompts.prefixes(shape.block_size), *prompts, strict=True)
    for chunk, prefix, length, _, writes, text in rows:
        fused = order == "fused" and writes
        decide[chunk].append(Ask(prefix, length, 1 + text if fused else 1))
        if writes and not fused:
            generate[chunk].append(Ask(prefix, length + 1, text))  # the label `write` stands behind the prompt
    return decide, generate


def _passes(order: OrderName, decide: Stage, generate: Stage, in_flight: int) -> list[list[Iterator[Sequence[Ask]]]]:
    """So many callers a pass, who share its chunks among them."""
    jobs: list[list[tuple[Sequence[Ask], ...]]]
    if order == "full":
        jobs = [[(asks,) for asks in decide], [(asks,) for asks in generate]]
    else:
        jobs = [[*zip(decide, generate, strict=True)]]

    def caller(left: Iterator[tuple[Sequence[Ask], ...]]) -> Iterator[Sequence[Ask]]:
        for job in left:
            yield from job

    shared = [iter(one_pass) for one_pass in jobs]
    return [[caller(left) for _ in range(in_flight)] for left in shared]


def _found(stage: Stage, seen: Sequence[int], block_size: int) -> Found:
    """Why tokens are computed, by the rules of tasks.cache."""
    asks = [ask for chunk in stage for ask in chunk]
    if not asks:
        return Found()
    prompt, cached = np.array([(ask.length, ask.cached) for ask in asks]).T
    known = np.asarray(seen)
    hoped_for = np.minimum(known, prompt - 1) // block_size * block_size
    return Found(
        requests=len(asks),
        prompt=int(prompt.sum()),
        cached=int(cached.sum()),
        evicted=int((hoped_for - cached).clip(0).sum()),
        remainder=int((known - np.maximum(hoped_for, cached)).clip(0).sum()),
        first_time=int((prompt - np.maximum(known, cached)).sum()),
    )
