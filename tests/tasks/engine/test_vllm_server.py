"""The engine `vllm_server` against stand-in servers: who is asked what, and what becomes of it when servers fail.

The stand-in speaks as much of vLLM's HTTP as the engine uses and answers at once, or when it is let; no model is in
it. That real servers answer as it does is tests/integration/test_servers.py.
"""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any

import httpx
import pytest

from tasks.engine import Call, Choice, Completion, KvRoom, Request, Sampling, vllm_endpoints
from tasks.engine.vllm_server import VllmServer
from tasks.errors import EngineError, UsageError
from tasks.settings import Settings, load_settings

WRITE, SKIP = 7, 8
CHOICE = Choice(go_on=WRITE, end=SKIP, threshold=0.5)
SAMPLING = Sampling(temperature=0.0, seed=0, stop_ids=frozenset({1}))
TEXT = [21, 22, 1]  # what every answer goes on with
LIKELY, UNLIKELY = -0.25, -1.5

METRICS = """\
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{{engine="0"}} {preemptions}
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{{block_size="32",kv_cache_size_tokens="{tokens}",num_gpu_blocks="131072"}} 1.0
"""


class Server(ThreadingHTTPServer):
    """A stand-in for `vllm serve`. A prompt that ends with an odd token is to be skipped, any other to be written."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 512

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.asked: list[dict[str, Any]] = []
        self.root, self.max_model_len, self.room, self.preemptions = "/models/model", 512, 4096, 3
        self.says_cached = self.may_be_emptied = True
        self.emptied = self.breaks_off = 0
        self.fails: Callable[[dict[str, Any]], tuple[int, dict[str, str], str] | None] = lambda body: None
        self.let = threading.Event()
        self.let.set()
        self.dead = False
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def prompts(self) -> list[int]:
        """What it was asked, each prompt by its first token."""
        return [body["prompt"][0] for body in self.asked]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked has left: nothing to say."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        server = self.server
        model = {"id": "served", "root": server.root, "max_model_len": server.max_model_len}
        answers = {
            "/v1/models": json.dumps({"data": [model]}),
            "/metrics": METRICS.format(preemptions=server.preemptions, tokens=server.room),
            "/health": "",
        }
        self.answer(200, answers[self.path])

    def do_POST(self) -> None:
        server = self.server
        if self.path == "/reset_prefix_cache":
            server.emptied += server.may_be_emptied
            self.answer(200 if server.may_be_emptied else 404, '{"success": true}')
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.asked.append(body)
        server.let.wait(20)
        if failure := server.fails(body):
            status, headers, message = failure
            self.answer(status, json.dumps({"error": {"message": message}}), headers)
        else:
            answer = completion(body, server.says_cached)
            if server.breaks_off:
                server.breaks_off -= 1
                answer["choices"][0]["finish_reason"] = "abort"
            self.answer(200, json.dumps(answer))

    def answer(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        if self.server.dead:
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(text.encode()))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())


def completion(body: dict[str, Any], says_cached: bool) -> dict[str, Any]:
    tokens, logprobs = TEXT[: body["max_tokens"]], None
    if labels := body.get("logprob_token_ids"):
        tokens = [4]  # the likeliest token of all may be neither label
        values = (UNLIKELY, LIKELY) if body["prompt"][-1] % 2 else (LIKELY, UNLIKELY)
        said = {f"token_id:{label}": value for label, value in zip(labels, values, strict=True)}
        logprobs = {"top_logprobs": [{"token_id:4": -0.1} | said]}
    usage = {"prompt_tokens": len(body["prompt"]), "prompt_tokens_details": {"cached_tokens": 32}}
    if not says_cached:
        usage["prompt_tokens_details"] = None
    finish = "stop" if tokens[-1] == 1 else "length"
    return {"choices": [{"token_ids": tokens, "logprobs": logprobs, "finish_reason": finish}], "usage": usage}


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_endpoints, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(vllm_endpoints, "SECONDS_DEAD", 0.1)


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    two = [Server(), Server()]
    yield two
    for server in two:
        server.let.set()
        server.shutdown()
        server.server_close()


Started = Callable[..., VllmServer]


@pytest.fixture
def start(servers: list[Server]) -> Iterator[Started]:
    started = []

    def start_with(*of: Server, **settings: Any) -> VllmServer:
        urls = tuple(server.url for server in of or servers)
        started.append(VllmServer(Settings(**{"engine": "vllm_server", "servers": urls} | settings)))
        return started[-1]

    yield start_with
    for engine in started:
        engine.close()


def prompts(first: int, count: int) -> list[Request]:
    """Requests for texts, whose prompts begin with first, first + 1, …"""
    return [Request([first + number, 2, 3], max_tokens=8) for number in range(count)]


def wait_until(true: Callable[[], bool]) -> None:
    end = monotonic() + 20
    while not true():
        assert monotonic() < end, "it never came true"
        sleep(0.005)


def errors(completions: list[Completion]) -> list[str | None]:
    return [completion.error for completion in completions]


# What is asked and how answers are put together


def test_what_it_says_of_itself_is_what_every_server_can_do(servers: list[Server], start: Started) -> None:
    servers[0].max_model_len, servers[1].room = 256, 2048
    engine = start()
    assert engine.max_model_len == 256
    assert engine.room == KvRoom(tokens=2048, block_size=32)
    assert start(kv_tokens=1024).room == KvRoom(tokens=1024, block_size=32)


def test_a_request_is_asked_for_by_token_ids_and_without_the_servers_own_sampling(
    servers: list[Server], start: Started
) -> None:
    (answer,) = start(servers[0]).complete([Request([5, 6], max_tokens=8)], SAMPLING)
    assert (answer.token_ids, answer.finish_reason, answer.error) == (tuple(TEXT), "stop", None)
    assert (answer.prompt_tokens, answer.cached_tokens, answer.label_logprobs) == (2, 32, ())
    assert answer.seconds > 0
    (body,) = servers[0].asked
    wanted = {"model": "served", "prompt": [5, 6], "max_tokens": 8, "temperature": 0.0, "stop_token_ids": [1]}
    assert {name: body[name] for name in wanted} == wanted
    assert (body["top_k"], body["top_p"], body["repetition_penalty"]) == (0, 1.0, 1.0)


def test_a_choice_that_ends_is_one_request(servers: list[Server], start: Started) -> None:
    (answer,) = start(servers[0]).complete([Request([5, 9], 64, CHOICE)], SAMPLING)
    assert (answer.token_ids, answer.finish_reason) == ((SKIP,), "stop")
    assert answer.label_logprobs == (UNLIKELY, LIKELY)
    assert [(body["prompt"], body["max_tokens"]) for body in servers[0].asked] == [([5, 9], 1)]


def test_a_choice_that_goes_on_is_asked_for_the_rest_and_joined(servers: list[Server], start: Started) -> None:
    (answer,) = start(servers[0]).complete([Request([5, 10], 64, CHOICE)], SAMPLING)
    assert (answer.token_ids, answer.finish_reason) == ((WRITE, *TEXT), "stop")
    assert answer.label_logprobs == (LIKELY, UNLIKELY)
    assert (answer.prompt_tokens, answer.cached_tokens) == (2, 32)  # of the first request: the second found it all
    asked = [(body["prompt"], body["max_tokens"]) for body in servers[0].asked]
    assert asked == [([5, 10], 1), ([5, 10, WRITE], 63)]


def test_the_threshold_decides_not_the_likeliest_label(servers: list[Server], start: Started) -> None:
    lenient = Choice(WRITE, SKIP, threshold=1.0)
    answers = start(servers[0]).complete([Request([5, 9], 1, choice) for choice in (CHOICE, lenient)], SAMPLING)
    assert [(answer.token_ids, answer.finish_reason) for answer in answers] == [((SKIP,), "stop"), ((WRITE,), "length")]


def test_answers_come_in_the_order_of_the_requests(start: Started) -> None:
    requests = [Request([5] * length, 64, CHOICE) for length in range(1, 40)]
    answers = start().complete(requests, SAMPLING)
    assert [answer.prompt_tokens for answer in answers] == list(range(1, 40))


def test_preemptions_are_those_since_the_start_of_all_servers(servers: list[Server], start: Started) -> None:
    engine = start()
    servers[0].preemptions += 2
    servers[1].preemptions += 5
    assert engine.preemptions == 7
    servers[1].preemptions = 1  # it was started anew
    assert engine.preemptions == 8


def test_caches_are_emptied_where_the_servers_allow_it(servers: list[Server], start: Started) -> None:
    engine = start()
    engine.forget()
    assert [server.emptied for server in servers] == [1, 1]
    servers[1].may_be_emptied = False
    with pytest.raises(EngineError, match=f"{servers[1].url}.*VLLM_SERVER_DEV_MODE"):
        engine.forget()


def test_no_more_requests_are_under_way_than_the_server_answers_at_a_time(
    servers: list[Server], start: Started
) -> None:
    server = servers[0]
    server.let.clear()
    engine = start(server, max_num_seqs=3)
    with ThreadPoolExecutor() as threads:
        call = threads.submit(engine.complete, prompts(100, 10), SAMPLING)
        wait_until(lambda: len(server.asked) == 3)
        sleep(0.1)
        assert len(server.asked) == 3
        server.let.set()
        assert errors(call.result()) == [None] * 10


def test_no_more_are_under_way_at_all_servers_together_than_the_call_wants(
    servers: list[Server], start: Started
) -> None:
    engine = start()
    for server in servers:
        server.let.clear()
    with ThreadPoolExecutor() as threads:
        groups = Call("a", at_most=3), Call("b", at_most=3)
        calls = [threads.submit(engine.complete, prompts(0, 10), SAMPLING, group) for group in groups]
        wait_until(lambda: sum(len(server.asked) for server in servers) == 3)
        sleep(0.1)
        assert sum(len(server.asked) for server in servers) == 3
        for server in servers:
            server.let.set()
        assert [errors(call.result()) for call in calls] == [[None] * 10] * 2


def test_each_answer_is_told_as_it_comes_in_the_thread_that_asked(servers: list[Server], start: Started) -> None:
    told: list[tuple[int, threading.Thread]] = []
    first = threading.Event()

    def keep(number: int, answer: Completion) -> None:
        told.append((number, threading.current_thread()))
        first.set()

    servers[0].fails = lambda body: (
        None if body["prompt"][0] == 0 or first.wait(20) else (500, {}, "nobody was told of the first")
    )
    answers = start(servers[0]).complete(prompts(0, 4), SAMPLING, Call(keep=keep))
    assert errors(answers) == [None] * 4
    assert sorted(number for number, _ in told) == [0, 1, 2, 3]
    assert {thread for _, thread in told} == {threading.current_thread()}


def test_what_was_answered_before_an_error_is_told(servers: list[Server], start: Started) -> None:
    server, told = servers[0], []

    def die(body: dict[str, Any]) -> None:
        server.dead = body["prompt"][0] >= 3

    server.fails = die
    with pytest.raises(EngineError):
        start(server).complete(prompts(0, 6), SAMPLING, Call(at_most=1, keep=lambda number, _: told.append(number)))
    assert told == [0, 1, 2]


# Who is asked


def test_a_group_stays_on_one_server_and_groups_are_spread(servers: list[Server], start: Started) -> None:
    engine = start()
    for group in range(6):
        for _ in range(2):
            engine.complete(prompts(100 * group, 5), SAMPLING, Call(f"chunk {group}"))
    asked = [{prompt // 100 for prompt in server.prompts()} for server in servers]
    assert [len(groups) for groups in asked] == [3, 3]
    assert asked[0].isdisjoint(asked[1])


def test_new_groups_go_around_a_busy_server_and_its_own_groups_stay_whole(
    servers: list[Server], start: Started
) -> None:
    engine = start()
    with ThreadPoolExecutor() as threads:
        servers[0].let.clear()
        slow = threads.submit(engine.complete, prompts(0, 20), SAMPLING, Call("slow"))
        wait_until(lambda: len(servers[0].asked) == 20)
        for group in range(1, 5):
            engine.complete(prompts(100 * group, 5), SAMPLING, Call(f"new {group}"))
        more = threads.submit(engine.complete, prompts(20, 5), SAMPLING, Call("slow"))
        wait_until(lambda: len(servers[0].asked) == 25)
        servers[0].let.set()
        assert errors(slow.result() + more.result()) == [None] * 25
    assert sorted(servers[0].prompts()) == list(range(25))
    assert {prompt // 100 for prompt in servers[1].prompts()} == {1, 2, 3, 4}


# What goes wrong


def test_what_a_dying_server_was_asked_is_asked_of_another_and_its_groups_move_whole(
    servers: list[Server], start: Started
) -> None:
    engine = start()
    with ThreadPoolExecutor() as threads:
        servers[0].let.clear()
        calls = [threads.submit(engine.complete, prompts(0, 20), SAMPLING, Call("first"))]
        wait_until(lambda: len(servers[0].asked) == 20)
        servers[0].dead = True
        servers[0].let.set()
        assert errors(calls[0].result()) == [None] * 20
    assert sorted(servers[1].prompts()) == list(range(20))
    engine.complete(prompts(20, 5), SAMPLING, Call("first"))
    assert sorted(servers[1].prompts()) == list(range(25))


def test_a_server_that_comes_back_is_used_again(servers: list[Server], start: Started) -> None:
    engine = start()
    servers[0].dead = True
    for group in ("a", "b"):
        assert errors(engine.complete(prompts(0, 3), SAMPLING, Call(group))) == [None] * 3
    servers[0].dead = False
    servers[0].asked.clear()

    def is_asked_again() -> bool:
        engine.complete(prompts(0, 1), SAMPLING)
        return bool(servers[0].asked)

    wait_until(is_asked_again)


def test_a_server_that_is_away_at_the_start_is_done_without(servers: list[Server], start: Started) -> None:
    servers[0].dead = True
    engine = start()
    assert errors(engine.complete(prompts(0, 3), SAMPLING)) == [None] * 3
    assert engine.room == KvRoom(4096, 32)


@pytest.mark.parametrize(("status", "as_date"), [(429, False), (503, True)])
def test_a_server_that_says_when_is_asked_then(
    servers: list[Server], start: Started, status: int, as_date: bool
) -> None:
    server, engine = servers[0], start(servers[0])
    begun = time()
    until = begun + 1
    when = formatdate(until + 1, usegmt=True) if as_date else "1"  # dates have whole seconds
    server.fails = lambda body: (status, {"Retry-After": when}, "busy") if time() < until else None
    assert errors(engine.complete(prompts(0, 3), SAMPLING)) == [None] * 3
    assert len(server.asked) == 6
    assert time() - begun >= 1


def test_a_server_error_is_tried_again_and_then_costs_its_row_alone(servers: list[Server], start: Started) -> None:
    server = servers[0]
    server.fails = lambda body: (500, {}, "the sky fell") if body["prompt"][0] == 1 or len(server.asked) < 3 else None
    answers = start(server).complete(prompts(0, 3), SAMPLING)
    assert [answer.error is None for answer in answers] == [True, False, True]
    assert "the sky fell" in str(answers[1].error)
    assert server.prompts().count(1) == vllm_endpoints.ATTEMPTS


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_request_that_the_server_refuses_fails_alone_and_at_once(
    servers: list[Server], start: Started, status: int
) -> None:
    server = servers[0]
    server.fails = lambda body: (status, {}, "token id 1 is out of vocabulary") if body["prompt"][0] == 1 else None
    answers = start(server).complete(prompts(0, 3), SAMPLING)
    assert [answer.error is None for answer in answers] == [True, False, True]
    assert f"{status} token id 1 is out of vocabulary" in str(answers[1].error)
    assert server.prompts().count(1) == 1


def test_a_prompt_that_is_too_long_fails_alone_and_is_not_asked(servers: list[Server], start: Started) -> None:
    answers = start(servers[0]).complete([Request([5] * 505, 8), *prompts(0, 2)], SAMPLING)
    assert answers[0].error == "505 prompt tokens and 8 of answer are more than max_model_len = 512"
    assert errors(answers[1:]) == [None, None]
    assert len(servers[0].asked) == 2


def test_an_answer_that_does_not_come_in_time_is_asked_for_again(
    servers: list[Server], start: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_endpoints, "TIMEOUT", httpx.Timeout(0.3))
    server, engine = servers[0], start(servers[0])
    server.fails = lambda body: sleep(1.0) if len(server.asked) == 1 else None
    assert errors(engine.complete(prompts(0, 1), SAMPLING)) == [None]
    assert len(server.asked) == 2


def test_an_answer_that_the_server_breaks_off_is_asked_for_again(servers: list[Server], start: Started) -> None:
    server = servers[0]
    server.breaks_off = 1  # as vLLM does with what is in flight when it is stopped
    (answer,) = start(server).complete(prompts(0, 1), SAMPLING)
    assert (answer.finish_reason, len(server.asked)) == ("stop", 2)


def test_when_all_are_dead_it_says_which_and_what_to_do(servers: list[Server], start: Started) -> None:
    engine = start()
    for server in servers:
        server.dead = True
    with pytest.raises(EngineError, match="vllm serve") as raised:
        engine.complete(prompts(0, 5), SAMPLING)
    assert all(server.url in str(raised.value) for server in servers)


def test_a_call_that_waits_when_the_engine_is_closed_ends_with_an_error(servers: list[Server], start: Started) -> None:
    engine = start()
    servers[0].let.clear()
    with ThreadPoolExecutor() as threads:
        call = threads.submit(engine.complete, prompts(0, 5), SAMPLING)
        wait_until(lambda: bool(servers[0].asked))
        engine.close()
        with pytest.raises(EngineError, match="closed"):
            call.result()
    with pytest.raises(EngineError, match="closed"):
        engine.complete(prompts(0, 5), SAMPLING)


# Addresses, wrong and right, and servers of the wrong kind


def test_addresses_are_an_option_a_list_in_the_file_or_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAYU_SERVERS", "http://one:8000, http://two:8000/,http://one:8000")
    assert load_settings().servers == ("http://one:8000", "http://two:8000")
    Path("sayu.toml").write_text('servers = ["http://three:8000/v1"]', encoding="utf-8")
    assert load_settings().servers == ("http://three:8000",)
    assert load_settings(servers="https://four,https://five").servers == ("https://four", "https://five")


@pytest.mark.parametrize("servers", ["", "gpu-1:8000", "http://gpu-1:8000,gpu-2"])
def test_the_engine_wants_addresses(servers: str) -> None:
    with pytest.raises(UsageError, match="servers"):
        load_settings(engine="vllm_server", servers=servers)


def test_an_address_where_nobody_listens_is_named() -> None:
    gone = Server()
    gone.shutdown()
    gone.server_close()
    with pytest.raises(EngineError, match=gone.url):
        VllmServer(Settings(engine="vllm_server", servers=(gone.url,)))


def test_an_address_of_something_else_is_named(servers: list[Server], start: Started) -> None:
    servers[1].max_model_len = None  # type: ignore[assignment]  # as other servers of OpenAI's protocol have none
    with pytest.raises(EngineError, match=f"{servers[1].url} does not answer like a vLLM server"):
        start()


def test_a_server_of_another_model_is_warned_of(
    servers: list[Server], start: Started, caplog: pytest.LogCaptureFixture
) -> None:
    start()
    assert caplog.messages == []
    servers[1].root = "/models/other"
    start()
    (message,) = caplog.messages
    assert servers[1].url in message
    assert "/models/other" in message


def test_a_server_that_hides_its_cached_tokens_is_warned_of_once(
    servers: list[Server], start: Started, caplog: pytest.LogCaptureFixture
) -> None:
    servers[0].says_cached = False
    answers = start(servers[0]).complete(prompts(0, 5), SAMPLING)
    assert [answer.cached_tokens for answer in answers] == [0] * 5
    (message,) = caplog.messages
    assert "--enable-prompt-tokens-details" in message
