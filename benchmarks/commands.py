"""What the command `sayu bench` does with its options."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from benchmarks.bench import Job, run_bench
from benchmarks.bench_report import print_bench, write_bench
from benchmarks.sweep import run_sweep, write_tuned
from benchmarks.variants import ladder
from tasks.settings import Settings

BENCH_OPTIONS = (*(field.name for field in fields(Job)), "repeats", "transformers", "quantised", "sweep")


def measure(
    settings: Settings,
    out: Path,
    name: str,
    as_json: bool,
    *,
    repeats: int,
    transformers: bool,
    quantised: Path | None,
    sweep: bool,
    **asked: Any,
) -> None:
    """Run the ladder or the sweep; print the table, and leave it in the folder `out`. `asked`: see Job."""
    job = Job(**asked)
    if sweep:
        bench, best = run_sweep(settings, job, repeats)
        write_bench(bench, out, name)
        write_tuned(bench, best, out / "tuned.toml")
        won = ", ".join(f"{setting} {value}" for setting, value in best.items()) or "the defaults"
        said = f"{won} won; use it with --tuned {out / 'tuned.toml'}"
    else:
        bench = run_bench(settings, ladder(quantised, transformers), job, repeats)
        write_bench(bench, out, name)
        said = "" if quantised else "INT4 weights not measured: give --quantised the folder of an AWQ or GPTQ model"
    if as_json:
        click.echo(bench.model_dump_json(indent=2))
        return
    print_bench(bench)
    click.echo(f"{said}\n{out / name}.md".strip())
