"""Engines: the only room that knows an inference library. One protocol, one file an engine.

An engine takes prompts as token ids and gives back, per prompt, the generated token ids, the label tokens' logprobs
where asked, how many prompt tokens it found in its cache, why it stopped, or an error for that prompt alone. It knows
no Korean and no JSON.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tasks.settings import Settings


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt. With `label_ids` the logprobs of these tokens at the first generated position are given back."""

    token_ids: Sequence[int]
    max_tokens: int
    label_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Sampling:
    """How all prompts of one call are continued; temperature 0 takes the likeliest token."""

    temperature: float
    seed: int
    stop_ids: frozenset[int]


@dataclass(frozen=True, slots=True)
class Completion:
    """What became of one prompt. With an `error` nothing else counts."""

    token_ids: tuple[int, ...] = ()
    label_logprobs: tuple[float, ...] = ()
    prompt_tokens: int = 0
    cached_tokens: int = 0
    finish_reason: str = ""  # "stop" or "length"
    error: str | None = None


@dataclass(frozen=True, slots=True)
class KvRoom:
    """How many tokens of KV the engine holds, and the block size in which it takes and finds them."""

    tokens: int
    block_size: int


class Engine(Protocol):
    """A loaded model."""

    max_model_len: int  # tokens of prompt and answer together
    room: KvRoom | None  # None: the engine has no cache, or does not say

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """Continue every prompt; one completion per request, in the same order.

        A prompt that fails has its error in its completion and harms no other.

        Raises:
            EngineError: the engine itself broke.
        """
        ...

    def close(self) -> None:
        """Give back memory and processes."""
        ...


class TimedEngine:
    """An engine that counts the seconds it was at work: what a run costs beyond them is the pipeline's own."""

    def __init__(self, engine: Engine) -> None:
        """Stand in front of `engine`."""
        self._engine = engine
        self.max_model_len = engine.max_model_len
        self.room = engine.room
        self.seconds = 0.0

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """See `Engine.complete`."""
        start = time.perf_counter()
        try:
            return self._engine.complete(requests, sampling)
        finally:
            self.seconds += time.perf_counter() - start

    def close(self) -> None:
        """See `Engine.close`."""
        self._engine.close()


_loaded: dict[str, TimedEngine] = {}


def load_engine(settings: Settings) -> TimedEngine:
    """The engine that the settings ask for.

    It stays loaded for the life of the process, so that the dates of a range share one; asking with other settings
    closes it and loads another.
    """
    wanted = engine_settings(settings)
    if wanted not in _loaded:
        close_engine()
        _loaded[wanted] = TimedEngine(_start(settings))
    return _loaded[wanted]


def close_engine() -> None:
    """Give back the loaded engine, if there is one."""
    while _loaded:
        _loaded.popitem()[1].close()


def engine_settings(settings: Settings) -> str:
    """The settings that an engine is started with, as JSON: equal ones can share an engine."""
    started_with = {
        "engine", "model", "recording", "dtype", "max_model_len", "max_num_seqs", "kv_cache_gib", "kv_tokens",
        "gpu_memory_utilization",
    }  # fmt: skip
    return settings.model_dump_json(include=started_with)


def _start(settings: Settings) -> Engine:
    """Each engine is imported only when it is asked for: the libraries take seconds, and a machine may lack them."""
    if settings.engine == "vllm_local":
        from tasks.engine.vllm_local import VllmLocal

        return VllmLocal(settings)
    if settings.engine == "transformers":
        from tasks.engine.transformers_batch import TransformersBatch

        return TransformersBatch(settings)
    from tasks.engine.recorded import Recorded

    return Recorded(settings)
