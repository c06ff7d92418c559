"""`sayu plan calibrate`: what this machine's engine takes for a step, measured in about a minute.

Calls of different shape (how many prompts, how long, how long their answers) are timed on the loaded engine; the
simulator says what steps they took; four costs are fitted to that. Kept in `STORE/calibration-….json`, one a model and
machine.
"""

import hashlib
import json
import os
import platform
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy.optimize import nnls

from planner.roofline import Measured
from planner.simulator import Ask, Shape, simulate
from tasks.engine import Engine, Request, Sampling, load_engine
from tasks.errors import EngineError
from tasks.files import write_json
from tasks.model import model_fingerprint
from tasks.settings import Settings

# Seconds that are measured; a shape that has been begun is finished.
LONG_ENOUGH = 50.0


class Call(NamedTuple):
    """Prompts handed over together."""

    prompts: int
    length: int  # tokens of each
    answer: int  # tokens of each


# From the smallest up, so that a slow machine has seen every kind before its minute is over: steps alone, prompts
# alone, answers of few and of many at a time, and short answers in crowds, as decisions are.
CALLS = (
    Call(1, 32, 16), Call(4, 150, 1), Call(8, 100, 16), Call(16, 150, 1), Call(32, 60, 24), Call(16, 200, 8),
    Call(64, 150, 1), Call(64, 100, 24), Call(128, 150, 8), Call(1, 150, 60), Call(4, 60, 48),
)  # fmt: skip


class Trial(NamedTuple):
    """What a call took, and its steps: how many, prompt tokens, answers' tokens, tokens that these attended to."""

    seconds: float
    work: tuple[float, float, float, float]


class Calibration(BaseModel):
    """What was measured, and on what. `error` is the median of how far the fit is off its trials, as a share."""

    model_config = ConfigDict(frozen=True)
    machine: str
    model: str
    step: float
    prompt: float
    answer: float
    context: float
    room: int
    block_size: int
    trials: int
    error: float

    @property
    def clock(self) -> Measured:
        """As the simulator takes it."""
        return Measured(self.step, self.prompt, self.answer, self.context)


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
        max_num_batched_tokens=settings.max_num_batched_tokens or default_batched_tokens(None),
        prefix_cache=False,  # no two prompts begin alike
    )
    trials = measure(engine, shape, vocabulary(settings.model), time.perf_counter)
    clock, error = fit(trials)
    calibration = Calibration(
        machine=describe_machine(), model=model_fingerprint(settings), **clock._asdict(),
        room=engine.room.tokens, block_size=engine.room.block_size, trials=len(trials), error=error,
    )  # fmt: skip
    write_json(calibration.model_dump(), calibration_file(settings))
    return calibration


def measure(engine: Engine, shape: Shape, words: int, now: Callable[[], float]) -> list[Trial]:
    """Time every call that fits, again and again until it is long enough; the first one warms up, and is left out."""
    generator = random.Random(0)
    possible = [call for call in CALLS if call.length + call.answer <= engine.max_model_len]
    trials: list[Trial] = []
    begun = now()
    _time(engine, possible[0], words, generator, now)
    while now() - begun < LONG_ENOUGH:
        for call in possible:
            trials.append(Trial(_time(engine, call, words, generator, now), work_of(call, shape)))
            if now() - begun > LONG_ENOUGH and len(trials) >= len(possible) // 2:
                break
    return trials


def _time(engine: Engine, call: Call, words: int, generator: random.Random, now: Callable[[], float]) -> float:
    prompts = [[generator.randrange(words) for _ in range(call.length)] for _ in range(call.prompts)]
    start = now()
    answers = engine.complete([Request(prompt, call.answer) for prompt in prompts], Sampling(0.0, 0, frozenset()))
    seconds = now() - start
    if failed := next((answer.error for answer in answers if answer.error), None):
        raise EngineError(f"the engine can't be calibrated: {failed}", "see that it answers with `sayu demo`")
    return seconds


def work_of(call: Call, shape: Shape) -> tuple[float, float, float, float]:
    """The steps that a call takes: how many, and the sums of what they do."""
    asks = [Ask([], call.length, call.answer) for _ in range(call.prompts)]
    steps = simulate(shape, [[iter([asks])]]).steps
    return len(steps.prompt), sum(steps.prompt), sum(steps.answers), sum(steps.context)


def fit(trials: list[Trial]) -> tuple[Measured, float]:
    """Costs that are not negative and least off, as shares of each trial; and how far off in the median."""
    work, seconds = np.array([trial.work for trial in trials]), np.array([trial.seconds for trial in trials])
    costs, _ = nnls(work / seconds[:, None], np.ones(len(trials)))
    error = float(np.median(np.abs(work @ costs / seconds - 1)))
    return Measured(*map(float, costs)), error


def load_calibration(settings: Settings) -> Calibration | None:
    """What was measured of this model on this machine; None where nothing was."""
    try:
        return Calibration.model_validate_json(calibration_file(settings).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def calibration_file(settings: Settings) -> Path:
    """Where it is kept."""
    digest = hashlib.blake2b(f"{describe_machine()}\0{model_fingerprint(settings)}".encode(), digest_size=6)
    return settings.store / f"calibration-{digest.hexdigest()}.json"


def default_batched_tokens(gpu: tuple[str, float] | None) -> int:
    """Tokens a step that vLLM takes if it is not told (engine/arg_utils.py, 0.32); `gpu` is its name and GiB."""
    if gpu is None:
        return 4096
    name, memory = gpu
    return 16384 if memory >= 70 and "a100" not in name.lower() else 8192


def vocabulary(model: Path) -> int:
    """How many tokens the model knows."""
    config: dict[str, Any] = json.loads((model / "config.json").read_text(encoding="utf-8"))
    return int((config.get("text_config") or config)["vocab_size"])


def describe_machine() -> str:
    """The processor, its cores, and the GPUs where there are any."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    gpus = ""
    if tool := shutil.which("nvidia-smi"):
        asked = subprocess.run([tool, "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
        gpus = ", " + ", ".join(asked.stdout.split("\n")[:1])
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores{gpus}"
