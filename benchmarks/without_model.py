"""The pipeline without the model, at real size: `python -m benchmarks.without_model`.

Makes a recording that answers every prompt of a date, then runs the real `sayu daily` on it in a process of its own,
Prefect and all, and prints where time and memory went. What it is compared with: at 135,000 candidates everything
outside the engine takes at most 60 s and 3 GiB (all processes together) on two cores. Making the source, the recording
and Prefect's database is not measured; answering from the recording is, and is shown by itself, since it stands for the
engine. (The recording is loaded in the background, as an engine is, and its time counts.)

    python -m benchmarks.without_model                                   a source of 135,000 pairs of its own
    python -m benchmarks.without_model --source shop.duckdb --ds 2026-11-28 --write-share 1.0
"""

import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from benchmarks.measured import Measured, run_measured
from benchmarks.recording import make_recording
from benchmarks.source import DATE, build_large_source
from tasks.settings import HOME, load_settings

BUDGET_PAIRS, BUDGET_SECONDS, BUDGET_GIB = 135_000, 60.0, 3.0
MISSION_WRITE_SHARE = 0.55  # 5,499 of 10,000 pairs were written with the service model's own decisions


@click.command()
@click.option("--source", help="A source in the contract's form [default: built here, of --pairs pairs]")
@click.option("--ds", default=str(DATE), show_default=True, help="The date")
@click.option("--pairs", default=BUDGET_PAIRS, show_default=True, help="Pairs of the source that is built here")
@click.option("--write-share", default=MISSION_WRITE_SHARE, show_default=True, help="Share of the pairs to write")
@click.option("--bad-share", default=0.02, show_default=True, help="Share of the texts that break a rule")
@click.option("--store", type=click.Path(path_type=Path), help="Where to work, and leave it all [default: nowhere]")
def main(source: str | None, ds: str, pairs: int, write_share: float, bad_share: float, store: Path | None) -> None:
    """Run a date of real size with stored answers; show time and memory against the budget."""
    work = store or Path(tempfile.mkdtemp(prefix="sayu-without-model-"))
    try:
        source = source or str(build_large_source(work / "source.duckdb", pairs))
        recording = work / "recording.parquet"
        settings = load_settings(source=source, rules="")  # every pair is asked about, and pays its way
        click.echo("making the recording …", err=True)
        make_recording(settings, dt.date.fromisoformat(ds), recording, write_share, bad_share)
        command = [sys.executable, "-m", "flows", "daily", "--json", "--ds", ds, "--source", source, "--rules", ""]
        command += ["--engine", "recorded", "--recording", str(recording), "--store", str(work / "store")]
        environment = {"PREFECT_HOME": str(work / "prefect")}
        make_prefect_database(environment)
        measured = run_measured(command, HOME, environment)
        print_measured(measured, json.loads(measured.output))
    finally:
        if store is None:
            shutil.rmtree(work, ignore_errors=True)


def make_prefect_database(environment: dict[str, str]) -> None:
    """Let Prefect make its database, as it has on every day but a machine's first."""
    command = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"]
    subprocess.run(command, env=os.environ | environment, capture_output=True, check=True)


def print_measured(measured: Measured, summary: dict[str, Any]) -> None:
    """What a person compares with the budget."""
    stages: dict[str, float] = summary["seconds"]
    outcomes = ", ".join(f"{name} {count:,}" for name, count in summary["outcomes"].items() if count)
    outside = measured.wall_seconds - summary["engine_seconds"]
    click.echo(f"candidates      {summary['candidates']:,} ({outcomes})")
    answering = f"answering from the recording {summary['engine_seconds']:.1f} s of it"
    click.echo(f"wall time       {measured.wall_seconds:.1f} s, {answering}")
    click.echo(f"CPU time        {measured.cpu_seconds:.1f} s in all processes")
    click.echo(f"stages          {', '.join(f'{name} {seconds:.1f}' for name, seconds in stages.items())} s")
    click.echo(f"                {measured.wall_seconds - sum(stages.values()):.1f} s between and around them")
    click.echo(f"peak memory     {measured.peak_gib:.2f} GiB in all processes")
    budget = f"{BUDGET_SECONDS:.0f} s and {BUDGET_GIB:.0f} GiB at {BUDGET_PAIRS:,} candidates on two cores"
    kept = outside <= BUDGET_SECONDS and measured.peak_gib <= BUDGET_GIB
    click.echo(f"outside engine  {outside:.1f} s; budget {budget}: {'kept' if kept else 'EXCEEDED'}")


if __name__ == "__main__":
    main()
