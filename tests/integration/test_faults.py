"""What breaks, breaks here for real. After each fault: no finished result is lost, no candidate is without an outcome,
no date half published, no lock held; and the same command once more makes it good.

(tests/integration/test_kill.py kills a run with the real engine again and again.)
"""

import datetime as dt
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from tasks.engine import Request, Sampling, close_engine, load_engine
from tasks.engine.recorded import prompt_digest
from tasks.errors import EngineError
from tasks.load import live_publication
from tasks.runs import hold_date, open_run
from tasks.settings import Settings
from tests.integration.conftest import DS, SECONDS, Done, served
from tests.integration.prefect_beside import Server, prefect_server
from tests.integration.stages import all_stages
from tests.shop import good_answer, make_run, make_source, prepare, record

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(900)]
FAULTY = "tests.integration.faulty"
PAIRS = 5


@dataclass(frozen=True)
class Shop:
    """The small shop, an engine that knows its answers, and a serving file with an older publication of the date."""

    folder: Path
    source: Path
    recording: Path
    server: Server

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def serving(self) -> Path:
        return self.folder / "serving.duckdb"

    @property
    def asked(self) -> list[str]:
        """The prompts that the engine was asked, by digest, each as often as it was asked."""
        file = self.folder / "asked"
        return [line.split()[2] for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []

    def command(self, **more: Any) -> tuple[str, ...]:
        """A pair a chunk; and two requests a pair, so that a fault can come between them."""
        options = {"ds": DS, "source": self.source, "serving": self.serving, "engine": "recorded", "order": "chunked"}
        options |= {"chunk-pairs": 1, "recording": self.recording, "data-docs": "false"} | more
        return ("daily", "--json", *(text for name, value in options.items() for text in (f"--{name}", str(value))))

    def start(self, *command: str, **faults: str) -> "subprocess.Popen[str]":
        faults = {f"FAULTY_{name.upper()}": value for name, value in faults.items()}
        asked = {"FAULTY_ASKED": str(self.folder / "asked")}
        return self.server.start_sayu(self.folder, *command, program=FAULTY, **(asked | faults))

    def sayu(self, *command: str, **faults: str) -> Done:
        process = self.start(*command, **faults)
        stdout, stderr = process.communicate(timeout=SECONDS)
        return Done(process.returncode, stdout, stderr)

    def stored(self, kind: str) -> pl.DataFrame:
        files = list((self.store / "results" / kind).glob("*.parquet"))
        return pl.concat(
            [pl.DataFrame(schema={"key": pl.String}), *(pl.read_parquet(f, columns=["key"]) for f in files)]
        )

    def outcomes(self, done: Done) -> pl.DataFrame:
        return pl.read_parquet(self.store / "runs" / f"ds={DS}" / done.summary["run_key"] / "outcomes.parquet")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with prefect_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source, the recording, and a serving file with a first publication."""
    folder = tmp_path_factory.mktemp("stocked")
    # another threshold is another run, which the ones below replace
    source = make_source(folder / "source.duckdb")
    run = make_run(folder, source, serving=folder / "serving.duckdb", threshold=0.95)
    prepare(run)
    record(run, good_answer)
    all_stages(run)
    close_engine()
    shutil.rmtree(run.settings.store)
    return folder


@pytest.fixture
def shop(tmp_path: Path, stocked: Path, server: Server) -> Shop:
    shutil.copy(stocked / "serving.duckdb", tmp_path / "serving.duckdb")
    return Shop(tmp_path, stocked / "source.duckdb", stocked / "recording.parquet", server)


def wait_for(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def assert_made_good(shop: Shop, done: Done, before: int = 0) -> None:
    """The date is published whole, and nothing that was finished before has been asked again.

    `before`: how many prompts were asked before that were not answered.
    """
    assert done.code == 0, done.stderr
    assert done.summary["outcomes"] | {"published": 4, "skipped": 1, "failed": 0} == done.summary["outcomes"]
    assert shop.outcomes(done)["outcome"].null_count() == 0
    assert len(served(shop.serving)) == 4
    assert {run_key for (run_key,) in served(shop.serving, "run_key")} == {done.summary["run_key"]}
    for kind in ("decisions", "texts"):
        assert shop.stored(kind)["key"].is_unique().all()
    assert len(shop.asked) - before == len(set(shop.asked)) == 9  # five decisions and four texts
    with hold_date(shop.store, DS):  # nobody holds it any more
        pass


@pytest.mark.parametrize(("where", "lost"), [("decide", 2), ("generate", 2), ("check", 0), ("load", 0)])
def test_kill_9(shop: Shop, where: str, lost: int) -> None:
    """While a decision is waited for, while a text is, between check and load, and in the transaction of load."""
    before = served(shop.serving)
    held = shop.folder / "held"
    process = shop.start(*shop.command(), hold=where, held=str(held))
    wait_for(held.exists, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert served(shop.serving) == before
    unanswered = len(shop.asked) - shop.stored("decisions").height - shop.stored("texts").height
    assert (unanswered > 0) == (lost > 0)
    assert unanswered <= lost  # two chunks are in flight
    assert_made_good(shop, shop.sayu(*shop.command()), before=unanswered)


def test_a_disk_that_is_full_when_a_chunk_is_written(shop: Shop) -> None:
    """A file system of its own for the results, with room for three files; what finds none is in the journal."""
    before = served(shop.serving)
    results = shop.store / "results"
    results.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12k", "tmpfs", str(results)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        done = shop.sayu(*shop.command())
        assert done.code == 1
        assert "No space left on device" in done.summary["error"]
        assert "with room on its disk" in done.summary["todo"]
        assert served(shop.serving) == before
        stored = shop.stored("decisions").height + shop.stored("texts").height
        assert 0 < stored < len(shop.asked)
        subprocess.run(["mount", "-o", "remount,size=1m", str(results)], check=True)
        assert_made_good(shop, shop.sayu(*shop.command()))
    finally:
        subprocess.run(["umount", str(results)], check=True)


def test_a_prefect_server_that_is_gone_for_a_while(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> None:
    """It ends while the engine is asked, and is started again: nobody is told of it but by the waiting."""
    with prefect_server(tmp_path_factory.mktemp("first")) as first:
        port = int(first.url.split(":")[2].split("/")[0])
        shop = replace(shop, server=first)
        process = shop.start(*shop.command(), slow="1")
        wait_for(lambda: len(shop.asked) > 1, process)
    assert process.poll() is None
    time.sleep(5)
    with prefect_server(tmp_path_factory.mktemp("second"), port):
        stdout, stderr = process.communicate(timeout=SECONDS)
        assert_made_good(shop, Done(process.returncode, stdout, stderr))


def test_two_workers_on_one_shard(shop: Shop, tmp_path: Path) -> None:
    """As when a shard is handed out again because its worker was taken for dead."""
    options: dict[str, Any] = {"recording": shop.recording, "serving": shop.serving, "order": "chunked"}
    asked = make_run(tmp_path, shop.source, **options)
    with open_run(asked.ds, asked.settings) as run:
        last = prepare(run) - 1
        together = tmp_path / "together"
        together.mkdir()
        command = ("shard", str(DS), run.key, "0", str(last), str(shop.store))
        workers = [shop.start(*command, slow="0.3", together=str(together)) for _ in range(2)]
        for worker in workers:
            _, stderr = worker.communicate(timeout=SECONDS)
            assert worker.returncode == 0, stderr
    # whoever is second at a chunk finds it done; which of the two that is, is chance
    assert_made_good(shop, shop.sayu(*shop.command()))


def test_a_chunk_that_kills_its_worker_costs_no_other(shop: Shop) -> None:
    """The worker's process dies as of a fault in a driver; the shard is handed out again until the chunk is found."""
    run = make_run(shop.folder, shop.source, recording=shop.recording)
    prepare(run)
    deadly = prompt_digest(run.read("plan").filter(pl.col("chunk") == 1)["prompt_ids"][0]).hex()
    shop.server.prefect("work-pool", "create", "sayu-gpu", "--type", "process", "--overwrite")
    shop.server.prefect("deploy", "--name", "shard")
    (shop.folder / "sitecustomize.py").write_text(
        "import sys\nif 'prefect.flow_engine' in sys.orig_argv or 'prefect.engine' in sys.orig_argv:\n"
        "    from tests.integration.faulty import break_things\n    break_things()\n",
        encoding="utf-8",
    )
    path = f"{shop.folder}:{shop.server.environment()['PYTHONPATH']}"
    asked = str(shop.folder / "asked")
    faults = {"FAULTY_DEADLY": deadly, "FAULTY_ASKED": asked, "PYTHONPATH": path, "PREFECT_WORKER_QUERY_SECONDS": "1"}
    command = shop.command(**{"shard-deployment": "shard/shard", "max-failed-share": 0.5})
    with shop.server.worker("sayu-gpu", "fragile", **faults):
        done = shop.sayu(*command)
    assert done.code == 0, done.stderr
    assert done.summary["outcomes"]["failed"] == 1
    assert shop.outcomes(done)["outcome"].null_count() == 0
    assert len([digest for digest in shop.asked if digest == deadly]) <= 4
    unanswered = len(shop.asked) - shop.stored("decisions").height - shop.stored("texts").height
    assert_made_good(shop, shop.sayu(*shop.command()), before=unanswered)


def test_a_clock_that_runs_backwards_over_midnight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run belongs to the date that it was begun for, and knows its results whatever time they bear."""
    moments = (dt.datetime(2026, 11, 29, 0, 0, tzinfo=dt.UTC) - dt.timedelta(minutes=number) for number in range(1000))

    class Clock(dt.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return next(moments).astimezone(tz)

    clock = SimpleNamespace(datetime=Clock, UTC=dt.UTC, timedelta=dt.timedelta, date=dt.date)
    for module in ("chunks", "runs", "load"):
        monkeypatch.setattr(f"tasks.{module}.dt", clock)
    asked = make_run(tmp_path, make_source(tmp_path / "source.duckdb"))
    prepare(asked)
    record(asked, good_answer)
    run, _, publication, summary = all_stages(asked)
    assert run.ds == DS
    assert (summary.outcomes["published"], summary.outcomes["skipped"], summary.decide.pairs) == (4, 1, 5)
    assert publication == live_publication(run.settings.serving_file, DS)
    again, _, _, second = all_stages(asked)
    assert again.started_at < run.started_at
    assert second.outcomes == summary.outcomes
    assert second.model_calls == 0


@pytest.mark.engine
def test_the_engine_dies_in_the_middle_of_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM itself raises at one of the prompts, every time: that one fails, the others are answered."""
    from vllm.v1.engine.llm_engine import LLMEngine

    deadly, alive = [7] * 40, [[token] * 40 for token in range(20, 26)]
    add, step, doomed = LLMEngine.add_request, LLMEngine.step, set()

    def add_request(self: Any, request_id: str, prompt: Any, *rest: Any, **more: Any) -> Any:
        if prompt["prompt_token_ids"] == deadly:
            doomed.add(id(self))
        return add(self, request_id, prompt, *rest, **more)

    def fragile_step(self: Any) -> Any:
        if id(self) in doomed:
            doomed.discard(id(self))
            raise RuntimeError("device-side assert")
        return step(self)

    monkeypatch.setattr(LLMEngine, "add_request", add_request)
    monkeypatch.setattr(LLMEngine, "step", fragile_step)
    engine = load_engine(Settings(kv_tokens=4096, max_model_len=128))
    answers = engine.complete(
        [Request(ids, 2) for ids in (*alive[:3], deadly, *alive[3:])], Sampling(0, 0, frozenset())
    )
    assert [answer.error for answer in answers] == [
        "it breaks the engine: vLLM broke: device-side assert" if number == 3 else None for number in range(7)
    ]
    assert {len(answer.token_ids) for answer in answers} == {0, 2}
    assert load_engine(Settings(kv_tokens=4096, max_model_len=128)) is engine
    assert engine.complete([Request(alive[0], 2)], Sampling(0, 0, frozenset()))[0].error is None
    close_engine()


@pytest.mark.engine
def test_an_engine_that_gets_no_memory_says_which_setting_to_lower() -> None:
    with pytest.raises(EngineError, match=r"lower kv_cache_gib \(now 10000\)"):
        load_engine(Settings(kv_cache_gib=10_000))
