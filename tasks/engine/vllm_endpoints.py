"""A server that runs `vllm serve`: what it says of itself, whether it lives, and its answers.

All of it runs in one event loop: between two `await`s nothing changes, so nothing is locked.
"""

import asyncio
import contextlib
import logging
import random
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tasks.engine import KvRoom
from tasks.engine.vllm_http import (
    LONGEST_WAIT,
    broken_off,
    kv_room,
    message,
    preemptions_counted,
    seconds_to_wait,
    words,
)
from tasks.errors import EngineError

logger = logging.getLogger("sayu")

# A request waits behind at most as many others as the server answers at a time: on a CPU that is minutes.
TIMEOUT = httpx.Timeout(300, connect=10, pool=None)
PROBE_SECONDS = 10  # for what a living server answers at once
# Shorter than the 5 s after which vLLM closes an idle connection, perhaps while we write into it.
LIMITS = httpx.Limits(keepalive_expiry=3)
NOT_NOW = {httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS}  # all other 4xx are about the request itself
ATTEMPTS = 7  # with the waits below half a minute in all, what an overloaded server needs to get through its queue
FIRST_WAIT = 0.5  # seconds
SECONDS_DEAD = 15.0  # until a server that is gone is looked for again; to load a model takes longer


class Gone(Exception):
    """The server does not live: what it was asked can be asked of another."""


class Refused(Exception):
    """The server lives, but this request it does not answer."""


@dataclass(frozen=True, slots=True)
class Served:
    """What a server says of itself."""

    name: str  # of the model, as requests must call it
    max_model_len: int
    room: KvRoom | None


class Endpoint:
    """One server.

    Attributes:
        alive: whether it is worth asking. One that is gone is looked for in the background until it is back.
        outstanding: how many requests were given to it and have no answer yet.
        given: how many groups it was ever given.
    """

    def __init__(self, url: str, model: Path, at_once: int) -> None:
        """A server at `url` that should serve `model`, and is sent so many requests at once."""
        self.url = url
        self.alive = True
        self.outstanding = 0
        self.given = 0
        self.served: Served | None = None
        self.why_gone = ""
        self._model = model
        # A client with 256 connections looks through them all at every request, which takes five times as long as the
        # request: so each has one connection. The last one that was used is open, hence last in, first out.
        secure = httpx.create_ssl_context()
        self._clients = [_client(url, secure) for _ in range(at_once)]
        self._free: asyncio.LifoQueue[httpx.AsyncClient] = asyncio.LifoQueue()
        for client in self._clients:
            self._free.put_nowait(client)
        self._client = _client(url, secure)  # for questions about the server itself
        self._probing = asyncio.Lock()
        self._seen_alive = 0.0
        self._preemptions = self._preemptions_counted = 0
        self._search: asyncio.Task[None] | None = None

    async def introduce(self) -> None:
        """Ask what it serves; one that can't be reached is gone for now.

        Raises:
            EngineError: whatever answers there is no vLLM server.
        """
        try:
            models = await self._client.get("/v1/models", timeout=PROBE_SECONDS)
            metrics = await self._metrics()
        except httpx.RequestError as error:
            self._is_gone(words(error))
            return
        if self.served is None:
            self._preemptions_counted = preemptions_counted(metrics)
        self.served = self._read(models, metrics)
        self.alive = True

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[httpx.AsyncClient]:
        """Wait for one that is free, and have it to oneself."""
        client = await self._free.get()
        try:
            yield client
        finally:
            self._free.put_nowait(client)

    async def ask(self, body: dict[str, Any], connection: httpx.AsyncClient) -> Any:
        """The server's answer to a completion request; what may pass by itself is tried again.

        Raises:
            Gone: it does not live.
            Refused: it says that the request is wrong, or fails at it again and again.
        """
        timeouts, why = 0, ""
        for attempt in range(ATTEMPTS):
            if not self.alive or self.served is None:
                raise Gone(self.why_gone)
            wait = random.uniform(0.5, 1) * min(LONGEST_WAIT, FIRST_WAIT * 2**attempt)
            try:
                response = await connection.post("/v1/completions", json={"model": self.served.name} | body)
            except httpx.RequestError as error:
                timeouts += isinstance(error, httpx.TimeoutException)
                why = words(error)
            else:
                if response.is_success and not broken_off(answer := response.json()):
                    return answer
                why = "it broke off its answer" if response.is_success else message(response)
                if response.is_client_error and response.status_code not in NOT_NOW:
                    raise Refused(f"{self.url}: {why}")
                wait = seconds_to_wait(response) or wait
            if not await self._lives(why, hopeless=timeouts > 1):
                raise Gone(why)
            if attempt < ATTEMPTS - 1:
                await asyncio.sleep(wait)
        raise Refused(f"{self.url}: asked {ATTEMPTS} times, and it still says: {why}")

    async def preemptions(self) -> int:
        """How many answers it has preempted since it introduced itself, as far as it can be asked."""
        if self.alive:
            with contextlib.suppress(httpx.RequestError):
                counted = preemptions_counted(await self._metrics())
                before = self._preemptions_counted if counted >= self._preemptions_counted else 0  # it was started anew
                self._preemptions += counted - before
                self._preemptions_counted = counted
        return self._preemptions

    async def forget(self) -> None:
        """Have it empty its prefix cache.

        Raises:
            EngineError: it does not.
        """
        try:
            response = await self._client.post("/reset_prefix_cache", timeout=PROBE_SECONDS)
            emptied = response.is_success and response.json()["success"]
            why = "" if emptied else message(response)
        except httpx.RequestError as error:
            why = words(error)
        if why:
            raise EngineError(
                f"{self.url} does not empty its prefix cache ({why})",
                "start it with VLLM_SERVER_DEV_MODE=1 in its environment, for measuring only",
            )

    async def close(self) -> None:
        """Let go of its connections."""
        for client in [*self._clients, self._client]:
            await client.aclose()

    async def _metrics(self) -> list[Sample]:
        response = await self._client.get("/metrics", timeout=PROBE_SECONDS)
        with contextlib.suppress(ValueError):  # it is something else that answers there
            return [sample for family in text_string_to_metric_families(response.text) for sample in family.samples]
        return []

    def _read(self, models: httpx.Response, metrics: Sequence[Sample]) -> Served:
        try:
            listed = models.raise_for_status().json()["data"]
            ours = [model for model in listed if Path(model["root"]).name == self._model.name]
            model = (ours or listed)[0]
            served = Served(model["id"], int(model["max_model_len"]), kv_room(metrics))
        except (httpx.HTTPStatusError, ValueError, LookupError, TypeError) as error:
            raise EngineError(
                f"{self.url} does not answer like a vLLM server ({words(error)})",
                "correct `servers`: the addresses at which `vllm serve` listens, such as http://gpu-1:8000",
            ) from error
        if not ours:
            logger.warning("%s serves %s: make sure that it is the model %s", self.url, model["root"], self._model)
        return served

    async def _lives(self, doubt: str, hopeless: bool) -> bool:
        """Whether it is in good health; many may ask at once, one looks."""
        async with self._probing:
            if self.alive and (hopeless or time.monotonic() - self._seen_alive > 1):
                try:
                    healthy = (await self._client.get("/health", timeout=PROBE_SECONDS)).is_success and not hopeless
                except httpx.RequestError:
                    healthy = False
                if healthy:
                    self._seen_alive = time.monotonic()
                else:
                    self._is_gone(doubt)
            return self.alive

    def _is_gone(self, why: str) -> None:
        self.alive, self.why_gone = False, why
        if self._search is None or self._search.done():
            logger.warning("the server %s is gone (%s): its work goes to the others", self.url, why)
            self._search = asyncio.create_task(self._come_back())

    async def _come_back(self) -> None:
        while not self.alive:
            await asyncio.sleep(SECONDS_DEAD)
            with contextlib.suppress(EngineError):  # it may not be ready yet
                await self.introduce()
        logger.info("the server %s is back", self.url)


def _client(url: str, secure: ssl.SSLContext) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, verify=secure, timeout=TIMEOUT, limits=LIMITS)
