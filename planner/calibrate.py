"""`sayu plan calibrate`: what this machine's engine takes for a step, measured in about a minute.

Calls of different shape (how many prompts, how long, how long their answers) are timed on the loaded engine; the
simulator says what steps they took; five costs are fitted to that. Then some chunks go through the pipeline's own
stage: what it takes beside the engine is the pause between a chunk's calls.
"""

import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import nnls

from benchmarks.source import DATE
from planner.asks import Ask, Shape
from planner.calibration import Calibration, default_batched_tokens, describe_machine, keep_calibration, local_gpu
from planner.dates import ordered_pairs
from planner.roofline import Measured
from planner.simulator import simulate
from tasks.decide import decide_chunk
from tasks.engine import Choice, Engine, Request, Sampling, TimedEngine, load_engine
from tasks.errors import EngineError
from tasks.model import model_fingerprint
from tasks.records import PLAN, conform
from tasks.runs import describe_run
from tasks.settings import Settings

# Seconds that calls are measured; on a slow machine those from the end of CALLS are left out.
LONG_ENOUGH = 45.0
# The chunks whose stage is measured; the median counts, since the first of them warms up.
CHUNKS, CHUNK_PAIRS = 5, 32


class Call(NamedTuple):
    """Prompts handed over together."""

    prompts: int
    length: int  # tokens of each
    answer: int  # tokens of each


# From the smallest up, so that a slow machine has seen every kind before its minute is over: steps alone, prompts
# alone, what is left of prompts whose beginning is found, answers of few and of many at a time.
CALLS = (
    Call(1, 32, 16), Call(4, 150, 1), Call(32, 24, 1), Call(8, 100, 16), Call(16, 150, 1), Call(32, 24, 24),
    Call(64, 32, 1), Call(32, 60, 24), Call(16, 200, 8), Call(64, 150, 1), Call(64, 60, 24), Call(1, 150, 60),
    Call(64, 150, 8), Call(4, 60, 48),
)  # fmt: skip


class Trial(NamedTuple):
    """What a call took, and the work in its steps as `Measured` prices it: steps, and the sums of asks.Steps."""

    seconds: float
    work: tuple[int, ...]


def calibrate(settings: Settings) -> Calibration:
    """Measure the engine that the settings ask for, and keep the result in the store.

    Raises:
        EngineError: it can't be started, has no KV room to speak of, or fails.
    """
    engine = load_engine(settings)
    if engine.room is None:
        raise EngineError(f"the engine {settings.engine} has no KV room to plan with", "calibrate on vllm_local")
    shape = Shape(
        blocks=engine.room.tokens // engine.room.block_size,
        block_size=engine.room.block_size,
        groups=1,
        max_num_seqs=settings.max_num_seqs,
        max_num_batched_tokens=settings.max_num_batched_tokens or default_batched_tokens(local_gpu()),
        prefix_cache=False,  # no two prompts begin alike
    )
    trials = measure(engine, shape, vocabulary(settings.model), time.perf_counter)
    clock, error = fit(trials)
    calibration = Calibration(
        machine=describe_machine(), model=model_fingerprint(settings), **clock._asdict(),
        pause=measure_pause(settings, engine), room=engine.room.tokens, block_size=engine.room.block_size,
        trials=len(trials), error=error,
    )  # fmt: skip
    keep_calibration(calibration, settings)
    return calibration


def measure(engine: Engine, shape: Shape, words: int, now: Callable[[], float]) -> list[Trial]:
    """Time every call that fits, again and again until it is long enough; the first one warms up, and is left out."""
    generator = random.Random(0)
    possible = [call for call in CALLS if call.length + call.answer <= engine.max_model_len]
    trials: list[Trial] = []
    begun = now()
    _time(engine, possible[0], words, generator, now)
    while len(trials) < len(possible) // 2 or now() - begun < LONG_ENOUGH:
        call = possible[len(trials) % len(possible)]
        trials.append(Trial(_time(engine, call, words, generator, now), work_of(call, shape)))
    return trials


def _time(engine: Engine, call: Call, words: int, generator: random.Random, now: Callable[[], float]) -> float:
    prompts = [[generator.randrange(words) for _ in range(call.length)] for _ in range(call.prompts)]
    choice = Choice(0, 1, 0.5) if call.answer == 1 else None  # as decisions are asked
    requests = [Request(prompt, call.answer, choice) for prompt in prompts]
    start = now()
    answers = engine.complete(requests, Sampling(0.0, 0, frozenset()))
    seconds = now() - start
    if failed := next((answer.error for answer in answers if answer.error), None):
        raise EngineError(f"the engine can't be calibrated: {failed}", "see that it answers with `sayu demo`")
    return seconds


def work_of(call: Call, shape: Shape) -> tuple[int, ...]:
    """The steps that a call takes: how many, and the sums of what they do."""
    asks = [Ask([], call.length, call.answer) for _ in range(call.prompts)]
    steps = simulate(shape, [[iter([asks])]]).steps
    return len(steps.prompt), *map(sum, steps)


def fit(trials: list[Trial]) -> tuple[Measured, float]:
    """Costs that are not negative and least off, as shares of each trial; and how far off in the median."""
    work, seconds = np.array([trial.work for trial in trials]), np.array([trial.seconds for trial in trials])
    costs, _ = nnls(work / seconds[:, None], np.ones(len(trials)))
    error = float(np.median(np.abs(work @ costs / seconds - 1)))
    return Measured(*map(float, costs)), error


def vocabulary(model: Path) -> int:
    """How many tokens the model knows."""
    config: dict[str, Any] = json.loads((model / "config.json").read_text(encoding="utf-8"))
    return int((config.get("text_config") or config)["vocab_size"])


def measure_pause(settings: Settings, engine: TimedEngine) -> float:
    """Seconds that the pipeline's stage takes around a call to the loaded engine: reading a chunk, and storing it."""
    pairs = ordered_pairs(CHUNKS * CHUNK_PAIRS, settings)
    plan = pairs.with_columns(chunk=pl.int_range(pl.len()) // CHUNK_PAIRS, ask=pl.lit("decide"))
    with tempfile.TemporaryDirectory(prefix="sayu-calibrate-") as folder:
        run = describe_run(DATE, settings.model_copy(update={"store": Path(folder), "order": "chunked"}))
        run.folder.mkdir(parents=True)
        run.write("plan", plan.pipe(conform, PLAN))
        beside = []
        for chunk in range(CHUNKS):
            start, busy = time.perf_counter(), engine.seconds
            decide_chunk(run, chunk)
            beside.append(time.perf_counter() - start - (engine.seconds - busy))
    return median(beside)
