"""Engines: the only room that knows an inference library. One protocol, one file an engine.

An engine takes prompts as token ids and gives back, per prompt, the generated token ids, the label tokens' logprobs
where asked, how many prompt tokens it found in its cache, why it stopped, or an error for that prompt alone. It knows
no Korean and no JSON.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from typing import Protocol

from tasks.errors import SayuError
from tasks.settings import Settings


@dataclass(frozen=True, slots=True)
class Choice:
    """The first token of an answer is one of two labels, both token ids.

    It is `end`, and the answer ends there, where the probability of `end` among the two is at least `threshold`;
    else it is `go_on`, and the answer goes on.
    """

    go_on: int
    end: int
    threshold: float


def ends(choice: Choice, label_logprobs: Sequence[float]) -> bool:
    """Whether the answer ends with its first token, by the logprobs (in nats) of the two labels."""
    go_on, end = label_logprobs
    return end - go_on >= log_odds(choice.threshold)


def log_odds(threshold: float) -> float:
    """What the logprob of `end` must exceed that of `go_on` by, in nats, for a probability of `threshold`."""
    return math.log(threshold / (1 - threshold)) if threshold < 1 else math.inf


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt. With a `choice` the logprobs of its two labels at the first generated position are given back.

    A `seed` of its own takes the place of the call's, so that two prompts of one call are not drawn alike.
    """

    token_ids: Sequence[int]
    max_tokens: int
    choice: Choice | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """How all prompts of one call are continued; temperature 0 takes the likeliest token."""

    temperature: float
    seed: int
    stop_ids: frozenset[int]


def seed_of(request: Request, sampling: Sampling) -> int | None:
    """The seed that a request is drawn with; None where nothing is drawn."""
    if sampling.temperature == 0:
        return None
    return sampling.seed if request.seed is None else request.seed


@dataclass(frozen=True, slots=True)
class Completion:
    """What became of one prompt. With an `error` nothing else counts."""

    token_ids: tuple[int, ...] = ()
    label_logprobs: tuple[float, ...] = ()  # of go_on and end
    prompt_tokens: int = 0
    cached_tokens: int = 0
    finish_reason: str = ""  # "stop" or "length"
    error: str | None = None
    seconds: float = 0.0  # from being handed to the engine to the last token


@dataclass(frozen=True, slots=True)
class KvRoom:
    """How many tokens of KV the engine holds, and the block size in which it takes and finds them."""

    tokens: int
    block_size: int


Keep = Callable[[int, Completion], None]


def keep_nothing(number: int, answer: Completion) -> None:
    """A `Keep` for those who can wait until all answers are there."""


@dataclass(frozen=True, slots=True)
class Call:
    """What requests that are handed over together have in common.

    Attributes:
        group: Calls of one group share prompts: an engine of several parts, each with its own cache, keeps them on one;
            and of requests that have to wait, those of the group that came first go first.
        at_most: A request of this call is begun while fewer than so many are being answered [default: the engine's own
            limit]: that is what is lost if the process is killed.
        keep: Is told each answer as it comes, with the number of its request, in the thread that called.
    """

    group: str = ""
    at_most: int | None = None
    keep: Keep = keep_nothing


ALONE = Call()  # one that has nothing to do with others, and waits until all answers are there


def collect(answers: Sequence[Future[Completion]], keep: Keep) -> list[Completion]:
    """Wait for all answers, and hand each on as it comes.

    Raises:
        EngineError: the engine broke before the last of them. All that came before were handed on.
    """
    numbers = {answer: number for number, answer in enumerate(answers)}
    for answer in as_completed(numbers):
        if not answer.cancelled() and answer.exception() is None:
            keep(numbers[answer], answer.result())
    return [answer.result() for answer in answers]


class Engine(Protocol):
    """A loaded model."""

    max_model_len: int  # tokens of prompt and answer together
    room: KvRoom | None  # None: the engine has no cache, or does not say

    @property
    def preemptions(self) -> int:
        """How many answers lost their KV half-way and were computed again, since the engine was loaded."""
        ...

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        """Continue every prompt; one completion per request, in the same order. Several threads may call it at once.

        A prompt that fails has its error in its completion and harms no other.

        Raises:
            EngineError: the engine itself broke.
        """
        ...

    def forget(self) -> None:
        """Empty the prefix cache, where there is one: for measuring. Nobody may be waiting for an answer."""
        ...

    def close(self) -> None:
        """Give back memory and processes; calls that wait for answers end with an EngineError."""
        ...


class TimedEngine:
    """An engine that counts the seconds in which it had work: what a run costs beyond them is the pipeline's own."""

    def __init__(self, engine: Engine) -> None:
        """Stand in front of `engine`."""
        self._engine = engine
        self.max_model_len = engine.max_model_len
        self.room = engine.room
        self._seconds = 0.0
        self._callers = 0
        self._busy_since = 0.0
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Seconds with work so far, since the engine was loaded."""
        with self._lock:
            return self._seconds + (time.perf_counter() - self._busy_since if self._callers else 0.0)

    @property
    def preemptions(self) -> int:
        """See `Engine.preemptions`."""
        return self._engine.preemptions

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        """See `Engine.complete`."""
        with self._lock:
            self._callers += 1
            if self._callers == 1:
                self._busy_since = time.perf_counter()
        try:
            return self._engine.complete(requests, sampling, call)
        finally:
            with self._lock:
                self._callers -= 1
                if self._callers == 0:
                    self._seconds += time.perf_counter() - self._busy_since

    def forget(self) -> None:
        """See `Engine.forget`."""
        self._engine.forget()

    def close(self) -> None:
        """See `Engine.close`."""
        self._engine.close()


_loaded: dict[str, TimedEngine] = {}
_loading = threading.RLock()


def load_engine(settings: Settings) -> TimedEngine:
    """The engine that the settings ask for; waits where another thread is loading it.

    It stays loaded for the life of the process, so that the dates of a range share one; asking with other settings
    closes it and loads another. One that breaks starts itself again (see tasks.engine.steady).

    Raises:
        EngineError: it can't be started with these settings.
    """
    from tasks.engine.steady import SteadyEngine

    wanted = engine_settings(settings)
    with _loading:
        if wanted not in _loaded:
            close_engine()
            _loaded[wanted] = TimedEngine(SteadyEngine(lambda: _start(settings)))
        return _loaded[wanted]


def load_engine_meanwhile(settings: Settings) -> None:
    """Begin to load the engine in the background: it takes half a minute, and the first stages need none.

    An error is not lost: whoever asks for the engine tries again, and gets it.
    """

    def load() -> None:
        with contextlib.suppress(SayuError):
            load_engine(settings)

    threading.Thread(target=load, name="load-engine", daemon=True).start()


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """While no engine is being loaded: the libraries' imports break in two threads at once."""
    with _loading:
        yield


def put_engine(settings: Settings, engine: Engine) -> None:
    """Let `load_engine` give out this engine for these settings, in place of the one that is loaded: for measuring."""
    with _loading:
        _loaded.clear()
        _loaded[engine_settings(settings)] = TimedEngine(engine)


def close_engine() -> None:
    """Give back the loaded engine, if there is one; one that is being loaded is waited for."""
    with _loading:
        while _loaded:
            _loaded.popitem()[1].close()


def engine_settings(settings: Settings) -> str:
    """The settings that an engine is started with, as JSON: equal ones can share an engine."""
    started_with = {
        "engine", "model", "recording", "servers", "dtype", "max_model_len", "max_num_seqs", "max_num_batched_tokens",
        "kv_cache_gib", "kv_tokens", "kv_offload_gib", "prefix_cache", "gpu_memory_utilization",
    }  # fmt: skip
    return settings.model_dump_json(include=started_with)


def _start(settings: Settings) -> Engine:
    """Each engine is imported only when it is asked for: the libraries take seconds, and a machine may lack them."""
    if settings.engine == "vllm_local":
        from tasks.engine.vllm_local import VllmLocal

        return VllmLocal(settings)
    if settings.engine == "vllm_server":
        from tasks.engine.vllm_server import VllmServer

        return VllmServer(settings)
    if settings.engine == "transformers":
        from tasks.engine.transformers_batch import TransformersBatch

        return TransformersBatch(settings)
    from tasks.engine.recorded import Recorded

    return Recorded(settings)
