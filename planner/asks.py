"""What the simulator is given and what it gives back: an engine, requests, steps."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Shape(NamedTuple):
    """An engine: its pool of KV blocks (of all groups together), and how much it does at a time."""

    blocks: int
    block_size: int
    groups: int
    max_num_seqs: int
    max_num_batched_tokens: int
    prefix_cache: bool = True
    sliding: int = 0  # of the groups, the first so many have sliding windows


@dataclass(slots=True, eq=False)
class Ask:
    """A request: what its prompt's whole blocks hold (one number for each that differs), and how long its answer is."""

    prefix: Sequence[int]
    length: int  # tokens of the prompt
    answer: int  # tokens to be generated, at least one
    cached: int = -1  # prompt tokens that were found; -1: not read yet
    call: "Call | None" = None
    blocks: list[list[int]] = field(default_factory=list)  # by group
    computed: int = 0  # tokens whose KV is there, up to the first answer token
    first_answer: int = -1  # the step in which its first token came
    kept: int = -1  # blocks that groups with sliding windows keep
    turn: int = -1  # in which order it was begun; another one after an interruption


class Steps(NamedTuple):
    """What each step did."""

    prompt: list[int]  # tokens of prompts that were computed
    begun: list[int]  # answers that got their first token
    answers: list[int]  # answers that got a further token
    context: list[int]  # tokens that these attend to


class Outcome(NamedTuple):
    """What became of all requests; `seconds` by the clock that was given."""

    steps: Steps
    seconds: float
    preemptions: int


@dataclass(slots=True)
class Call:
    """Requests that are handed over together."""

    left: int  # requests without an answer
    caller: "Caller"


Caller = Iterator[Sequence[Ask]]
Clock = Callable[[int, int, int, int], float]  # seconds of a step: see `Steps`
