"""vLLM in processes of its own, on this machine or others: `vllm serve` endpoints, asked over HTTP.

The requests of a group stay on one endpoint, where their prompts are cached; groups are spread over the endpoints.
An answer is stored by whoever asked, never by the server, so anything can be asked again of another.
"""

import asyncio
import itertools
import logging
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import httpx

from tasks.engine import ALONE, Call, Completion, KvRoom, Request, Sampling, collect, ends
from tasks.engine.places import Places
from tasks.engine.vllm_endpoints import Endpoint, Gone, Refused
from tasks.engine.vllm_http import completion_body, completion_of
from tasks.engine.vllm_router import Router
from tasks.errors import EngineError
from tasks.settings import Settings

logger = logging.getLogger("sayu")
T = TypeVar("T")

MOST_MOVES = 5  # of a request from one endpoint that dies to another: beyond that it may be the request that kills them


class VllmServer:
    """An `Engine` (see tasks.engine) on a list of `vllm serve` endpoints.

    All HTTP is done in one thread; callers hand requests over and wait.
    """

    def __init__(self, settings: Settings) -> None:
        """Ask every endpoint what it serves; some may be away.

        Raises:
            EngineError: none can be reached, or one is no vLLM server.
        """
        self._lock = threading.Lock()
        self._closed = False
        self._calls = itertools.count()
        self._places: Places[asyncio.Future[None]] = Places()
        self._warned_of_cache = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm-server", daemon=True)
        self._thread.start()
        try:
            self._endpoints = self._run(_introduced(settings))
            self._router = Router(self._endpoints)
            self._router.least_busy()  # one at least must live
        except BaseException:
            self.close()
            raise
        served = [endpoint.served for endpoint in self._endpoints if endpoint.served]
        self.max_model_len = min(settings.max_model_len, *(one.max_model_len for one in served))
        self.room = _smallest([one.room for one in served], settings.kv_tokens)

    @property
    def preemptions(self) -> int:
        """See `Engine.preemptions`."""

        async def all_of_them() -> int:
            return sum(await asyncio.gather(*(endpoint.preemptions() for endpoint in self._endpoints)))

        return self._run(all_of_them())

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        """See `Engine.complete`. `at_most` counts what all endpoints answer together."""
        call = call if call.group else replace(call, group=f"call {next(self._calls)}")
        answers = self._hand_over(*(self._answer(request, sampling, call) for request in requests))
        try:
            return collect(answers, call.keep)
        except CancelledError:
            raise _closed() from None
        finally:
            for answer in answers:
                answer.cancel()  # of use where the wait was interrupted

    def forget(self) -> None:
        """See `Engine.forget`."""

        async def all_of_them() -> None:
            await asyncio.gather(*(endpoint.forget() for endpoint in self._endpoints))

        self._run(all_of_them())

    def close(self) -> None:
        """See `Engine.close`."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            ended = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        ended.result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the other thread do it, and wait."""
        (handed_over,) = self._hand_over(work)
        try:
            return handed_over.result()
        except CancelledError:
            raise _closed() from None
        finally:
            handed_over.cancel()  # of use where the wait was interrupted

    def _hand_over(self, *works: Coroutine[Any, Any, T]) -> list[Future[T]]:
        with self._lock:  # what is handed over before it is closed is cancelled then; later nothing would ever end it
            if self._closed:
                for work in works:
                    work.close()
                raise _closed()
            return [asyncio.run_coroutine_threadsafe(work, self._loop) for work in works]

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for endpoint in getattr(self, "_endpoints", ()):
            await endpoint.close()

    async def _answer(self, request: Request, sampling: Sampling, call: Call) -> Completion:
        if len(request.token_ids) + request.max_tokens > self.max_model_len:
            size = f"{len(request.token_ids)} prompt tokens and {request.max_tokens} of answer"
            return Completion(error=f"{size} are more than max_model_len = {self.max_model_len}")
        async with self._place(call):
            return await self._ask_a_server(request, sampling, call.group)

    @asynccontextmanager
    async def _place(self, call: Call) -> AsyncIterator[None]:
        """Wait until there are few enough others, and be one of them."""
        turn = self._loop.create_future()
        self._places.wait(turn, call.group, call.at_most)
        self._let_in()
        try:
            await turn
            yield
        finally:
            if not turn.cancelled():
                self._places.leave()
                self._let_in()

    def _let_in(self) -> None:
        for turn in self._places.let_in():
            if turn.cancelled():
                self._places.leave()
            else:
                turn.set_result(None)

    async def _ask_a_server(self, request: Request, sampling: Sampling, group: str) -> Completion:
        """Ask wherever the group is; if its endpoint dies, wherever it has gone."""
        handed_over = time.perf_counter()
        for _ in range(MOST_MOVES):
            endpoint = self._router.choose(group)
            endpoint.outstanding += 1
            try:
                async with endpoint.connection() as connection:
                    completion = await self._ask(request, sampling, endpoint, connection)
                return replace(completion, seconds=time.perf_counter() - handed_over)
            except Refused as refused:
                return Completion(error=str(refused))
            except Gone:
                continue
            finally:
                endpoint.outstanding -= 1
        raise EngineError(
            f"{MOST_MOVES} servers in a row went away while they had the same requests",
            "see in their logs why; what was answered is kept",
        )

    async def _ask(
        self, request: Request, sampling: Sampling, endpoint: Endpoint, connection: httpx.AsyncClient
    ) -> Completion:
        """A plain server can't be told to choose: it is asked for the labels' logprobs, then at once for the rest."""
        if request.choice is None:
            return await self._ask_once(request, sampling, endpoint, connection)
        choice = request.choice
        first = await self._ask_once(replace(request, max_tokens=1), sampling, endpoint, connection)
        if ends(choice, first.label_logprobs):
            return replace(first, token_ids=(choice.end,), finish_reason="stop")
        if request.max_tokens == 1:
            return replace(first, token_ids=(choice.go_on,), finish_reason="length")
        left = Request([*request.token_ids, choice.go_on], request.max_tokens - 1, seed=request.seed)
        rest = await self._ask_once(left, sampling, endpoint, connection)
        return replace(first, token_ids=(choice.go_on, *rest.token_ids), finish_reason=rest.finish_reason)

    async def _ask_once(
        self, request: Request, sampling: Sampling, endpoint: Endpoint, connection: httpx.AsyncClient
    ) -> Completion:
        try:
            answer = await endpoint.ask(completion_body(request, sampling), connection)
            completion = completion_of(answer, request.choice)
        except (LookupError, TypeError, ValueError) as error:
            raise EngineError(
                f"{endpoint.url} does not answer as it should ({error!r})",
                "serve the model with the version of vLLM that sayu is installed with",
            ) from error
        if not self._warned_of_cache and answer["usage"].get("prompt_tokens_details") is None:
            self._warned_of_cache = True
            logger.warning(
                "%s does not say what it finds in its cache, so cached tokens read 0: start it with "
                "--enable-prompt-tokens-details",
                endpoint.url,
            )
        return completion


def _closed() -> EngineError:
    return EngineError("the engine was closed", "run again: what was answered is kept")


async def _introduced(settings: Settings) -> list[Endpoint]:
    endpoints = [Endpoint(url, settings.model, settings.max_num_seqs) for url in settings.servers]
    try:
        await asyncio.gather(*(endpoint.introduce() for endpoint in endpoints))
    except EngineError:
        for endpoint in endpoints:
            await endpoint.close()
        raise
    return endpoints


def _smallest(rooms: Sequence[KvRoom | None], most: int | None) -> KvRoom | None:
    """A chunk may land anywhere, and has to fit there. None where one does not say."""
    known = [room for room in rooms if room is not None]
    if len(known) < len(rooms):
        return None
    room = min(known, key=lambda room: room.tokens)
    return replace(room, tokens=min(room.tokens, most or room.tokens))
