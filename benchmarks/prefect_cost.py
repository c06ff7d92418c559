"""What Prefect costs a chunk: `python -m benchmarks.prefect_cost`.

The same chunks are asked twice of an engine that answers at once: by the plain functions, and by the real `sayu daily`
with a Prefect server, where every chunk is two task runs. What the second takes longer is Prefect's: at 500 chunks at
most 100 ms a chunk. While it runs, the server is asked for its health and for a flow run again and again, as the UI
does: half a second is still quick.
"""

import datetime as dt
import json
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import httpx

from benchmarks.measured import run_measured
from benchmarks.recording import make_recording
from benchmarks.source import DATE, build_large_source
from benchmarks.without_model import MISSION_WRITE_SHARE, make_prefect_database
from flows.support.processes import beside
from flows.support.threads import in_flight
from tasks.decide import decide_chunk
from tasks.extract import extract_candidates
from tasks.generate import generate_chunk
from tasks.inspect import inspect_candidates
from tasks.plan import plan_chunks
from tasks.rank import rank_candidates
from tasks.reuse import reuse_results
from tasks.runs import open_run
from tasks.screen import screen_candidates
from tasks.settings import HOME, Settings

BUDGET_CHUNKS, BUDGET_MILLISECONDS, BUDGET_LATENCY = 500, 100.0, 500.0
BAD_SHARE = 0.02
SECONDS_BETWEEN_QUESTIONS = 0.2


@click.command()
@click.option("--chunks", default=BUDGET_CHUNKS, show_default=True, help="Chunks to ask")
@click.option("--chunk-pairs", default=20, show_default=True, help="Pairs in each")
def main(chunks: int, chunk_pairs: int) -> None:
    """Ask the same chunks without and with Prefect; show what it costs, and how quickly its server answers."""
    work = Path(tempfile.mkdtemp(prefix="sayu-prefect-cost-"))
    try:
        source = build_large_source(work / "source.duckdb", chunks * chunk_pairs)
        settings = Settings(
            source=str(source), store=work / "plain", engine="recorded", recording=work / "recording.parquet",
            chunk_pairs=chunk_pairs, chunk_share=1.0, data_docs=False, rules=None,
        )  # fmt: skip
        click.echo("making the recording …", err=True)
        make_recording(settings, DATE, work / "recording.parquet", MISSION_WRITE_SHARE, BAD_SHARE)
        asked, plain = time_plain(settings, DATE)
        with_prefect, latencies = time_with_prefect(settings, DATE, work)
        print_cost(asked, plain, with_prefect, latencies)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def time_plain(settings: Settings, ds: dt.date) -> tuple[int, float]:
    """How many chunks there are, and the seconds that they take without Prefect: engine and files."""
    with open_run(ds, settings) as run:
        for stage in (extract_candidates, screen_candidates, inspect_candidates, reuse_results, rank_candidates):
            stage(run)
        chunks = plan_chunks(run)

        def ask(chunk: int) -> None:
            decide_chunk(run, chunk)
            generate_chunk(run, chunk)

        begun = time.perf_counter()
        in_flight(ask, range(chunks), settings.chunks_in_flight)
        return chunks, time.perf_counter() - begun


def time_with_prefect(settings: Settings, ds: dt.date, work: Path) -> tuple[float, list[float]]:
    """The seconds of the same chunks in `sayu daily`, and the seconds in which the server answered meanwhile."""
    options = settings.model_copy(update={"store": work / "store"}).model_dump(mode="json", exclude_none=True)
    wanted = ("source", "store", "engine", "recording", "chunk_pairs", "chunk_share", "data_docs")
    command = [sys.executable, "-m", "flows", "daily", "--json", "--ds", str(ds)]
    command += [text for name in wanted for text in (f"--{name.replace('_', '-')}", str(options[name]))]
    environment = {"PREFECT_HOME": str(work / "prefect"), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    make_prefect_database(environment)
    with prefect_server(work, environment) as url, _asked_again_and_again(url) as latencies:
        measured = run_measured(command, HOME, environment | {"PREFECT_API_URL": url})
    seconds: dict[str, float] = json.loads(measured.output)["seconds"]
    return seconds["decide and generate"], latencies


@contextmanager
def prefect_server(work: Path, environment: dict[str, str]) -> Iterator[str]:
    """A Prefect server while the block runs; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    url = f"http://127.0.0.1:{port}/api"
    with beside("the Prefect server", ["env", *(f"{k}={v}" for k, v in environment.items()), *command],
                work / "server.log") as running:  # fmt: skip
        while True:
            running.check()
            try:
                if httpx.get(f"{url}/health", timeout=2).is_success:
                    break
            except httpx.TransportError:
                time.sleep(0.2)
        yield url


@contextmanager
def _asked_again_and_again(url: str) -> Iterator[list[float]]:
    """How many seconds each pair of questions took: its health, and the newest flow run."""
    latencies: list[float] = []
    done = threading.Event()

    def ask() -> None:
        with httpx.Client(timeout=60) as client:
            while not done.wait(SECONDS_BETWEEN_QUESTIONS):
                begun = time.perf_counter()
                client.get(f"{url}/health").raise_for_status()
                client.post(f"{url}/flow_runs/filter", json={"limit": 1, "sort": "START_TIME_DESC"}).raise_for_status()
                latencies.append(time.perf_counter() - begun)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield latencies
    finally:
        done.set()
        thread.join()


def print_cost(chunks: int, plain: float, with_prefect: float, latencies: list[float]) -> None:
    """What a person compares with the budget."""
    cost = (with_prefect - plain) / chunks * 1000
    shown = [1000 * share for share in (statistics.median(latencies), _quantile(latencies, 95), max(latencies))]
    click.echo(f"chunks          {chunks:,}, each two task runs")
    click.echo(f"without Prefect {plain:.1f} s, {plain / chunks * 1000:.1f} ms a chunk: engine and files")
    click.echo(f"with Prefect    {with_prefect:.1f} s, {with_prefect / chunks * 1000:.1f} ms a chunk")
    click.echo(f"Prefect's cost  {cost:.1f} ms a chunk; budget {_verdict(cost, BUDGET_MILLISECONDS)}")
    click.echo(
        f"server answers  in {shown[0]:.0f} ms (median), {shown[1]:.0f} ms (95 %), {shown[2]:.0f} ms (slowest of "
        f"{len(latencies)}); budget for 95 % {_verdict(shown[1], BUDGET_LATENCY)}"
    )


def _quantile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def _verdict(milliseconds: float, budget: float) -> str:
    return f"{budget:.0f} ms: {'kept' if milliseconds <= budget else 'EXCEEDED'}"


if __name__ == "__main__":
    main()
