"""One trial of one way of asking: the same pairs, decided and written by the pipeline's own stages, and timed.

What is timed is what a shard does, without Prefect: chunk by chunk the real `decide` and `generate`, with the result
store on disk. A trial begins with an empty prefix cache and an empty store, and runs in a process that keeps its engine
loaded from one trial to the next.
"""

import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import psutil  # type: ignore[import-untyped]  # comes with vLLM

from benchmarks.measured import SECONDS_BETWEEN_LOOKS
from benchmarks.source import DATE
from flows.support.threads import in_flight
from tasks.decide import decide_chunk
from tasks.engine import ALONE, Call, Completion, KvRoom, Request, Sampling, TimedEngine, load_engine, put_engine
from tasks.engine.recorded import prompt_digest
from tasks.extract import extract_candidates
from tasks.generate import generate_chunk
from tasks.order import passes
from tasks.plan import number_chunks, order_prompts, pairs_to_ask, render_prompts
from tasks.rank import rank_candidates
from tasks.records import PLAN, conform
from tasks.renderer import Renderer, load_renderer
from tasks.results import find_results
from tasks.reuse import reuse_results
from tasks.runs import Run, describe_run
from tasks.screen import screen_candidates
from tasks.settings import Settings

WARM_UP_PAIRS = 8  # the first steps of an engine load kernels; they are nobody's time


@dataclass(frozen=True)
class Trial:
    """What one trial took, and what came out of it, by the JSON of a pair."""

    seconds: float
    latencies: list[float]  # seconds from handing a pair to the engine to its last token
    floor: int  # distinct prompt tokens: what must be computed at least
    prompt_tokens: int
    computed_tokens: int
    generated_tokens: int
    preemptions: int
    peak_gib: float
    chunks: int
    room: KvRoom | None
    p_skip: dict[str, float]
    texts: dict[str, str]
    errors: int


class Recorder:
    """An engine that notes when each pair was handed over and when its last token came."""

    def __init__(self, engine: TimedEngine, renderer: Renderer) -> None:
        """Stand in front of a loaded engine."""
        self._engine, self._write_id = engine, renderer.write_id
        self.max_model_len, self.room = engine.max_model_len, engine.room
        self.begun: dict[bytes, float] = {}
        self.ended: dict[bytes, float] = {}
        self.answers: list[Completion] = []

    @property
    def preemptions(self) -> int:
        """See `Engine.preemptions`."""
        return self._engine.preemptions

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        """See `Engine.complete`."""
        now = time.perf_counter()
        answers = self._engine.complete(requests, sampling, call)
        for request, answer in zip(requests, answers, strict=True):
            ids = request.token_ids
            pair = prompt_digest(ids if request.choice else ids[:-1])  # a text's prompt is its decision's and the label
            self.begun.setdefault(pair, now)
            self.ended[pair] = now + answer.seconds
            self.answers.append(answer)
        return answers

    def start_over(self) -> None:
        """Forget what was noted, and what the engine has in its cache."""
        self.begun, self.ended, self.answers = {}, {}, []
        self._engine.forget()

    def forget(self) -> None:
        """See `Engine.forget`."""
        self._engine.forget()

    def close(self) -> None:
        """See `Engine.close`."""
        self._engine.close()


_recorders: dict[int, Recorder] = {}


def run_trial(settings: Settings, work: Path, in_order: bool) -> Trial:
    """Decide and write every pair of the source once.

    Args:
        settings: With the source, the engine, the order and the threshold.
        work: A folder of the trial's own, which is emptied.
        in_order: Whether the pairs stand in the plan's order or, as a notebook would have them, in none.
    """
    shutil.rmtree(work, ignore_errors=True)
    # once a pair: what is compared are ways of asking, by answers that are the same in all of them
    run = describe_run(DATE, settings.model_copy(update={"store": work, "attempts": 1}))
    run.folder.mkdir(parents=True)
    renderer = load_renderer(settings.prompt, settings.model)
    recorder = _recorder(settings, renderer)
    floor, chunks = _write_plan(run, renderer, recorder.room, in_order)
    recorder.start_over()
    engine = load_engine(settings)
    preempted_before = engine.preemptions
    with _peak_memory() as peak:
        start = time.perf_counter()
        for work_on in passes(settings.order, partial(decide_chunk, run), partial(generate_chunk, run)):
            in_flight(work_on, range(chunks), settings.chunks_in_flight)
        seconds = time.perf_counter() - start
    # by what the model read, since the keys of another model or precision are others
    pairs = run.read("reused").unique("key").select("key", "payload")
    decisions = find_results(run.settings.store, "decisions", pairs["key"], run.oldest_result).join(pairs, on="key")
    texts = find_results(run.settings.store, "texts", pairs["key"], run.oldest_result).join(pairs, on="key")
    return Trial(
        seconds=seconds,
        latencies=[ended - recorder.begun[pair] for pair, ended in recorder.ended.items()],
        floor=floor,
        prompt_tokens=sum(answer.prompt_tokens for answer in recorder.answers),
        computed_tokens=sum(answer.prompt_tokens - answer.cached_tokens for answer in recorder.answers),
        generated_tokens=int(texts["generated_tokens"].sum()),
        preemptions=engine.preemptions - preempted_before,
        peak_gib=max(peak) / 2**30,
        chunks=chunks,
        room=recorder.room,
        p_skip=dict(decisions.select("payload", "p_skip").iter_rows()),
        texts=dict(texts.select("payload", "answer").iter_rows()),
        errors=sum(answer.error is not None for answer in recorder.answers),
    )


def _recorder(settings: Settings, renderer: Renderer) -> Recorder:
    """The recorder in front of this process's engine, warmed up when it is made."""
    engine = load_engine(settings)
    if id(engine) not in _recorders:
        recorder = Recorder(engine, renderer)
        put_engine(settings, recorder)
        prompt = renderer.render(["{}"])[0]
        sampling = Sampling(0.0, 0, renderer.stop_ids)
        warm_up = Request(prompt, 1 + WARM_UP_PAIRS, renderer.choice(threshold=1.0))
        recorder.complete([warm_up] * WARM_UP_PAIRS, sampling)
        _recorders[id(load_engine(settings))] = recorder
    return _recorders[id(load_engine(settings))]


def _write_plan(run: Run, renderer: Renderer, room: KvRoom | None, in_order: bool) -> tuple[int, int]:
    """Leave the plan in the run folder; the floor of its prompt tokens, and how many chunks it has."""
    for stage in (extract_candidates, screen_candidates, reuse_results, rank_candidates):
        stage(run)
    asked = pairs_to_ask(run)
    plan = order_prompts(asked.with_columns(prompt_ids=render_prompts(renderer, asked["payload"])))
    lengths = plan["prompt_ids"].list.len()
    floor = int((lengths - plan["shared_tokens"]).sum())
    if not in_order:
        shuffled = np.random.default_rng(0).permutation(plan.height)
        plan = plan[shuffled].with_columns(shared_tokens=pl.lit(0, dtype=pl.UInt32))
    numbered = number_chunks(plan, renderer, room, run.settings)
    run.write("plan", numbered.pipe(conform, PLAN))
    return floor, numbered["chunk"].n_unique()


@contextmanager
def _peak_memory() -> Iterator[list[int]]:
    """Resident bytes of this process, looked at while the block runs."""
    seen, over = [psutil.Process().memory_info().rss], threading.Event()

    def look() -> None:
        while not over.wait(SECONDS_BETWEEN_LOOKS):
            seen.append(psutil.Process().memory_info().rss)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()
