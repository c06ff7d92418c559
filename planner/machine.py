"""The engine that is planned with: its clock, its room, its shape; measured where it was, else from a data sheet."""

import re
from typing import NamedTuple

from planner.asked import Asked
from planner.asks import Shape
from planner.calibration import Calibration, default_batched_tokens, load_calibration, local_gpu
from planner.dates import Past
from planner.hardware import Gpu, find_gpu, read_gpus
from planner.model_config import Model
from planner.orders import Prediction
from planner.plan import PAUSE, Context
from planner.roofline import Roofline, TimeModel, does_not_fit
from planner.whatif import Offload, offload
from tasks.errors import SayuError
from tasks.prompt import load_prompt
from tasks.settings import Settings

DEFAULT_GPU = "L4"
GPU_BLOCK = 16  # tokens; see tasks.engine.vllm_local
PROMPT_TOKENS_A_STEP = 2048  # while lost KV is computed again


class Timing(NamedTuple):
    """The clock, and what is said of it; `gpu` is what layouts are worked out for."""

    clock: TimeModel
    said: str
    gpu: Gpu
    measured: Calibration | None


def timing(settings: Settings, model: Model, asked: Asked) -> Timing:
    """A calibration of this machine if there is one and no GPU is named, else the data sheet of a GPU: the one that is
    named, or this machine's own, or an L4.

    Raises:
        UsageError: the GPU is unknown.
        ModelError: the model does not fit it.
    """
    measured = None if asked.gpu else _calibration(settings)
    gpu = find_gpu(asked.gpu, asked.hardware) if asked.gpu else own_gpu() or find_gpu(DEFAULT_GPU, asked.hardware)
    if measured:
        said = f"measured on {measured.machine} (off by {measured.error:.0%} in the median of its trials)"
        return Timing(measured.clock, said, gpu, measured)
    roofline = Roofline(model, gpu)
    if not roofline.fits(settings.gpu_memory_utilization):
        raise does_not_fit(roofline, settings.gpu_memory_utilization, tuple(read_gpus(asked.hardware).values()))
    return Timing(roofline, f"worked out from the data sheet of {gpu.name}, {gpu.source}", gpu, None)


def own_gpu() -> Gpu | None:
    """This machine's GPU, where it has one with a known data sheet."""
    local = local_gpu()
    return next((gpu for name, gpu in read_gpus().items() if local and re.search(rf"\b{name}\b", local[0])), None)


def _calibration(settings: Settings) -> Calibration | None:
    try:
        return load_calibration(settings)
    except SayuError:  # a folder with a config.json and nothing else has no fingerprint
        return None


def shape_of(settings: Settings, model: Model, timed: Timing, room: int | None, block_size: int | None = None) -> Shape:
    """The engine as the simulator takes it: its room is what is given, else the setting, measured or worked out."""
    measured = timed.measured
    block = block_size or (measured.block_size if measured else GPU_BLOCK)
    tokens = room or settings.kv_tokens or (measured.room if measured else None)
    if tokens is None:
        tokens = Roofline(model, timed.gpu).room(settings.gpu_memory_utilization)
    gpu = local_gpu() if measured else (timed.gpu.name, timed.gpu.memory_gib)
    return Shape(
        blocks=tokens // block * model.groups - 1,  # vLLM keeps one for itself
        block_size=block,
        groups=model.groups,
        max_num_seqs=settings.max_num_seqs,
        max_num_batched_tokens=settings.max_num_batched_tokens or default_batched_tokens(gpu),
        prefix_cache=settings.prefix_cache,
        sliding=model.sliding_groups,
    )


def context_of(settings: Settings, shape: Shape, timed: Timing) -> Context:
    """What predictions with this engine have in common."""
    longest_answer = 1 + load_prompt(settings.prompt).sampling.max_tokens
    pause = timed.measured.pause if timed.measured else PAUSE
    return Context(shape, settings, longest_answer, timed.clock, pause)


def offload_of(full: Prediction, timed: Timing, model: Model) -> Offload:
    """What the order `full` loses to eviction, carried to host memory and back instead."""
    lost = full.decide.evicted + full.generate.evicted
    return offload(lost, timed.clock, model.kv_bytes, timed.gpu.host_gb, PROMPT_TOKENS_A_STEP)


def notes_on(settings: Settings, model: Model, timed: Timing, past: Past | None) -> list[str]:
    """What the reader has to know of the engine's sums."""
    notes = []
    if timed.measured and past and past.room != timed.measured.room:
        notes.append(f"the last run had room for {past.room:,} tokens, the calibration for {timed.measured.room:,}")
    if 0 < model.window < settings.max_model_len:
        notes.append(f"prompts are taken to be shorter than the model's sliding window of {model.window} tokens")
    return notes


def error_on_last_run(past: Past | None, timed: Timing, settings: Settings, model: Model) -> str:
    """How far the planner is off the last measured run, in a sentence."""
    if past is None or not past.prompts.lengths:
        return "no measured run in the store to compare it with"
    summary = past.finished.summary
    replayed = replay(past, timed, settings, model)
    assert summary.cache is not None  # see dates.last_run
    tokens = replayed.computed / max(summary.cache.computed, 1) - 1
    seconds = replayed.seconds / summary.engine_seconds - 1
    elsewhere = "" if timed.measured else " (on another machine)"
    return f"against the run of {summary.ds}: computed tokens {tokens:+.1%}, engine seconds {seconds:+.0%}{elsewhere}"


def replay(past: Past, timed: Timing, settings: Settings, model: Model) -> Prediction:
    """What would have been predicted of a run, had its answers been known."""
    shape = shape_of(settings, model, timed, past.room, past.block_size)
    order = next((order for order in ("fused", "chunked", "full") if order == past.finished.summary.order), "fused")
    return context_of(settings, shape, timed).predict(past.prompts, order)  # type: ignore[arg-type]
