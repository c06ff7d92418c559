r"""What the whole pipeline costs beside the engine's own work: `python -m benchmarks.overhead`.

Runs the real `sayu daily` (Prefect's server, DuckDB, checks and reports and all) and a bare script that sends the same
prompts to the same engine (benchmarks.bare), each in a process of its own, in turn, and prints both wall times and
their ratio. Budget: 1.10. Making the source and Prefect's database is not measured.

    python -m benchmarks.overhead --model /models/smollm2-135m --prompt benchmarks/prompt --dtype float32 --pairs 2000 \
        --threshold 0.95

A model that computes next to nothing, like the demo's, shows the cost of the pipeline itself. A date of some hundred
pairs shows what it costs that a kill must lose little (the setting `chunk_share`): as few answers at a time make the
engine's steps many and small. About ten seconds are the same for every date.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

import click

from benchmarks.measured import run_measured
from benchmarks.source import DATE, build_large_source
from benchmarks.without_model import make_prefect_database
from tasks.runs import runs_of
from tasks.settings import HOME, Settings, load_settings

BUDGET = 1.10


@click.command()
@click.option("--model", type=click.Path(path_type=Path, exists=True), help="The model [default: the demo model]")
@click.option("--prompt", type=click.Path(path_type=Path, exists=True), help="The prompt [default: the demo model's]")
@click.option("--dtype", default="auto", show_default=True, help="Precision of the weights")
@click.option("--threshold", default=0.5, show_default=True, help="A pair is written when its p_skip is below this")
@click.option("--pairs", default=10_000, show_default=True, help="Pairs of the date")
@click.option("--repeats", default=3, show_default=True, help="How often each is run")
def main(model: Path | None, prompt: Path | None, dtype: str, threshold: float, pairs: int, repeats: int) -> None:
    """Run the pipeline and the bare script in turn, and compare."""
    work = Path(tempfile.mkdtemp(prefix="sayu-overhead-"))
    try:
        settings = load_settings(
            model=model,
            prompt=prompt,
            dtype=dtype,
            threshold=threshold,
            source=str(build_large_source(work / "source.duckdb", pairs)),
            store=work / "store",
            rules="",
            attempts=1,  # the bare script asks for nothing twice
        )
        environment = {"PREFECT_HOME": str(work / "prefect")}
        make_prefect_database(environment)
        whole, bare = [], []
        for _ in range(repeats):
            whole.append(_daily(settings, environment))
            bare.append(_bare(settings))
        ratio = median(whole) / median(bare)
        click.echo(f"sayu daily   {median(whole):.1f} s ({', '.join(f'{s:.1f}' for s in whole)})")
        click.echo(f"bare script  {median(bare):.1f} s ({', '.join(f'{s:.1f}' for s in bare)})")
        click.echo(f"ratio        {ratio:.3f}: budget {BUDGET:.2f} {'kept' if ratio <= BUDGET else 'EXCEEDED'}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _daily(settings: Settings, environment: dict[str, str]) -> float:
    shutil.rmtree(settings.store, ignore_errors=True)
    command = [sys.executable, "-m", "flows", "daily", "--json", "--ds", str(DATE), "--source", settings.source]
    command += ["--store", str(settings.store), "--model", str(settings.model), "--dtype", settings.dtype]
    command += ["--prompt", str(settings.prompt.resolve()), "--rules", ""]
    command += ["--threshold", str(settings.threshold), "--attempts", "1"]
    # many of these texts break the checks, and a date that is held back took just as long
    measured = run_measured(command, HOME, environment, accepted=(0, 3))
    summary = json.loads(measured.output)
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in summary["seconds"].items())
    engine = f"the engine itself {summary['engine_seconds']:.1f}"
    click.echo(f"sayu daily   {measured.wall_seconds:.1f} s: {stages}; {engine}", err=True)
    return measured.wall_seconds


def _bare(settings: Settings) -> float:
    (plan,) = runs_of(settings.store, DATE).glob("*/plan.parquet")
    command = [sys.executable, "-m", "benchmarks.bare", str(plan), settings.model_dump_json()]
    measured = run_measured(command, HOME, {})
    click.echo(f"bare script  {measured.wall_seconds:.1f} s: {measured.output.strip()}", err=True)
    return measured.wall_seconds


if __name__ == "__main__":
    main()
