"""The checks of a date of real size: `python -m benchmarks.checks`.

Makes a date whose answers are all stored, then, in a process of its own and without Prefect, runs the stages that
follow on the last answer: the input suite; the row rules over every text, the outcome suite and Great Expectations'
pages; the report. Prints their seconds, imports included, and the peak memory against the budget: 90 s and 4 GiB at
135,000 outcomes on two cores. Making the date is not measured.

    python -m benchmarks.checks                        every pair is written: the most work there can be
    python -m benchmarks.checks --write-share 0.55     as many as the service model writes
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from benchmarks.measured import run_measured
from benchmarks.recording import make_recording
from benchmarks.source import DATE, build_large_source
from tasks.runs import describe_run
from tasks.settings import HOME, Settings, load_settings

BUDGET_PAIRS, BUDGET_SECONDS, BUDGET_GIB = 135_000, 90.0, 4.0


@click.command()
@click.option("--pairs", default=BUDGET_PAIRS, show_default=True, help="Pairs of the date")
@click.option("--write-share", default=1.0, show_default=True, help="Share of the pairs that are written")
@click.option("--bad-share", default=0.02, show_default=True, help="Share of the texts that break a rule")
@click.option("--work", type=click.Path(path_type=Path), help="Where to work, and leave it all [default: nowhere]")
def main(pairs: int, write_share: float, bad_share: float, work: Path | None) -> None:
    """Check a date of real size; show time and memory against the budget."""
    folder = work or Path(tempfile.mkdtemp(prefix="sayu-checks-"))
    try:
        click.echo("making the date …", err=True)
        settings = _make_date(folder, pairs, write_share, bad_share)
        program = f"from benchmarks.checks import judge_date; judge_date({settings.model_dump_json()!r})"
        measured = run_measured([sys.executable, "-c", program], HOME, {})
        for step in json.loads(measured.output):
            click.echo(f"{step['name']:<16}{step['seconds']:6.1f} s")
        kept = measured.wall_seconds <= BUDGET_SECONDS and measured.peak_gib <= BUDGET_GIB
        budget = f"budget {BUDGET_SECONDS:.0f} s and {BUDGET_GIB:.0f} GiB at {BUDGET_PAIRS:,} outcomes on two cores"
        click.echo(f"{'all':<16}{measured.wall_seconds:6.1f} s, peak memory {measured.peak_gib:.2f} GiB")
        click.echo(f"{pairs:,} outcomes; {budget}: {'kept' if kept else 'EXCEEDED'}")
    finally:
        if work is None:
            shutil.rmtree(folder, ignore_errors=True)


def _make_date(folder: Path, pairs: int, write_share: float, bad_share: float) -> Settings:
    """A date with every answer in the result store."""
    from tasks.decide import decide_chunk
    from tasks.engine import close_engine
    from tasks.extract import extract_candidates
    from tasks.generate import generate_chunk
    from tasks.plan import plan_chunks
    from tasks.rank import rank_candidates
    from tasks.reuse import reuse_results
    from tasks.screen import screen_candidates

    source = build_large_source(folder / "source.duckdb", pairs)
    recording = folder / "recording.parquet"
    make_recording(load_settings(source=str(source), rules=""), DATE, recording, write_share, bad_share)
    given = {"source": str(source), "store": folder / "store", "engine": "recorded", "recording": recording}
    settings = load_settings(rules="", **given)
    run = describe_run(DATE, settings)
    run.folder.mkdir(parents=True)
    for stage in (extract_candidates, screen_candidates, reuse_results, rank_candidates):
        stage(run)
    for chunk in range(plan_chunks(run)):
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    close_engine()
    return settings


def judge_date(settings: str) -> None:
    """All that is measured, in this process; prints the steps as JSON."""
    steps: list[dict[str, str | float]] = []

    @contextmanager
    def step(name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        steps.append({"name": name, "seconds": time.perf_counter() - start})

    run = describe_run(DATE, Settings.model_validate_json(settings))
    with step("imports"):
        import checks.expectations  # noqa: F401
        from tasks.check import check_date
        from tasks.inspect import inspect_candidates
        from tasks.report import report_date
    with step("input suite"):
        inspect_candidates(run)
    with step("check"):
        gate = check_date(run)
    with step("report"):
        report_date(run, gate, None)
    print(json.dumps(steps))


if __name__ == "__main__":
    main()
