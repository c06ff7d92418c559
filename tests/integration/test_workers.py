"""Two "GPU workers", each with a small engine on a CPU, share out a date: what comes out is what one engine gives."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowFilter, FlowFilterName, FlowRunFilter, FlowRunFilterId
from prefect.settings import PREFECT_API_URL, temporary_settings

from tasks.engine import close_engine
from tasks.results import find_results
from tasks.settings import Settings
from tests.integration.conftest import DS, Done, trim_source
from tests.integration.prefect_beside import Server, prefect_server
from tests.integration.stages import all_stages
from tests.shop import make_run

pytestmark = [pytest.mark.engine, pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(1200)]

PAIRS, SHARD_PAIRS = 120, 40
BAND = 0.02  # p_skip round the threshold
# Room for some twenty prompts at a time. Both compute in the same precision.
ENGINE: dict[str, Any] = {"kv_tokens": 4096, "max_model_len": 256, "dtype": "float32", "chunks_in_flight": 2}


@dataclass(frozen=True)
class Shared:
    """A date that two workers have shared out."""

    done: Done
    store: Path
    workers: dict[UUID, str]  # who ran which shard
    tasks: list[tuple[UUID, str]]  # shard and name of each task run

    @property
    def run_folder(self) -> Path:
        (folder,) = (self.store / "runs" / f"ds={DS}").iterdir()
        return folder


UNKNOWN = "unknown"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with prefect_server(tmp_path_factory.mktemp("server")) as server:
        server.prefect("work-pool", "create", "sayu-gpu", "--type", "process", "--overwrite")
        server.prefect("deploy", "--name", "shard")
        yield server


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, demo_source: Path) -> Path:
    source = tmp_path_factory.mktemp("source") / "source.duckdb"
    source.write_bytes(demo_source.read_bytes())
    return trim_source(source, PAIRS)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, server: Server, source: Path) -> Shared:
    folder = tmp_path_factory.mktemp("shared")
    options = ENGINE | {"source": source, "shard_deployment": "shard/shard", "shard_pairs": SHARD_PAIRS, "ds": DS}
    arguments = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    # one core each; and nobody waits longer than needed for the next shard
    with (
        server.worker("sayu-gpu", "gpu-a", VLLM_CPU_OMP_THREADS_BIND="0", PREFECT_WORKER_QUERY_SECONDS="1"),
        server.worker("sayu-gpu", "gpu-b", VLLM_CPU_OMP_THREADS_BIND="1", PREFECT_WORKER_QUERY_SECONDS="1"),
    ):
        done = server.sayu(folder, "daily", "--json", *arguments)
    with temporary_settings({PREFECT_API_URL: server.url}), get_client(sync_client=True) as client:
        runs = client.read_flow_runs(flow_filter=FlowFilter(name=FlowFilterName(any_=["shard"])))
        # one database serves all tests of a session: only the shards of this store are meant
        shards = [run for run in runs if run.parameters["store"] == str(folder / "store")]
        of_shards = FlowRunFilter(id=FlowRunFilterId(any_=[shard.id for shard in shards]))
        tasks = client.read_task_runs(flow_run_filter=of_shards)
    # Prefect now and then loses this label: the worker and the run write theirs at the same time
    workers = {shard.id: str(shard.labels.get("prefect.worker.name", UNKNOWN)) for shard in shards}
    return Shared(
        done, folder / "store", workers, [(task.flow_run_id, task.name) for task in tasks if task.flow_run_id]
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, shared: Shared, source: Path) -> Settings:
    """The same date by one engine in this process."""
    folder = tmp_path_factory.mktemp("alone")
    all_stages(make_run(folder, source, engine="vllm_local", recording=None, **ENGINE))
    close_engine()
    return Settings(store=folder / "store")


def test_the_date_is_done(shared: Shared) -> None:
    assert shared.done.code == 0, shared.done.stderr
    assert shared.done.summary["outcomes"]["failed"] == 0
    assert shared.done.summary["decide"]["pairs"] == shared.done.summary["candidates"] == PAIRS


def test_both_workers_take_shards(shared: Shared) -> None:
    assert len(shared.workers) == PAIRS / SHARD_PAIRS
    named = set(shared.workers.values())
    assert named == {"gpu-a", "gpu-b"} or UNKNOWN in named
    assert named <= {"gpu-a", "gpu-b", UNKNOWN}


def test_no_chunk_is_split_or_leaves_its_worker_between_decide_and_generate(shared: Shared) -> None:
    chunks = pl.read_parquet(shared.run_folder / "plan.parquet")["chunk"].unique()
    assert Counter(name for _, name in shared.tasks) == Counter(
        f"{stage}-{chunk}" for stage in ("decide", "generate") for chunk in chunks
    )
    home = {name.removeprefix("decide-"): shard for shard, name in shared.tasks if name.startswith("decide")}
    assert all(home[name.split("-")[1]] == shard for shard, name in shared.tasks)


def test_nothing_was_asked_twice(shared: Shared) -> None:
    for kind in ("decisions", "texts"):
        rows = pl.concat([pl.read_parquet(file) for file in (shared.store / "results" / kind).glob("*.parquet")])
        assert rows["key"].is_unique().all()


def test_decisions_are_those_of_one_engine_outside_the_band(shared: Shared, alone: Settings) -> None:
    keys = pl.read_parquet(shared.run_folder / "plan.parquet")["key"]
    oldest = pl.Series([0]).cast(pl.Datetime("us", "UTC"))[0]
    one, two = (
        find_results(store, "decisions", keys, oldest).select("key", "p_skip") for store in (alone.store, shared.store)
    )
    both = one.join(two, on="key", suffix="_shared")
    assert both.height == PAIRS
    outside = both.filter((pl.col("p_skip") - 0.5).abs() > BAND)
    assert outside.height > PAIRS * 0.9
    assert ((outside["p_skip"] < 0.5) == (outside["p_skip_shared"] < 0.5)).all()


def test_what_the_engines_did_is_added_up(shared: Shared) -> None:
    assert shared.done.summary["engine_seconds"] > 0
    engine = json.loads((shared.run_folder / "engine.json").read_text(encoding="utf-8"))
    assert engine["room_tokens"] > 0
    assert not (shared.run_folder / "shards").exists()


def test_the_next_plan_knows_the_room(shared: Shared) -> None:
    (room,) = (shared.store / "engines").iterdir()
    assert json.loads(room.read_text(encoding="utf-8"))["block_size"] == 32
