"""A server that runs `vllm serve`: what it says of itself, whether it lives, and its answers.

All of it runs in one event loop: between two `await`s nothing changes, so nothing is locked.
"""

import asyncio
import contextlib
import datetime as dt
import logging
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tasks.engine import KvRoom
from tasks.errors import EngineError

logger = logging.getLogger("sayu")

# A request waits behind at most as many others as the server answers at a time: on a CPU that is minutes.
TIMEOUT = httpx.Timeout(300, connect=10, pool=None)
PROBE_SECONDS = 10  # for what a living server answers at once
# Shorter than the 5 s after which vLLM closes an idle connection, perhaps while we write into it.
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=3)
NOT_NOW = {httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS}  # all other 4xx are about the request itself
ATTEMPTS = 7  # with the waits below half a minute in all, what an overloaded server needs to get through its queue
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0  # seconds
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
        slots: how many requests it is sent at a time.
    """

    def __init__(self, url: str, model: Path, at_once: int) -> None:
        """A server at `url` that should serve `model`."""
        self.url = url
        self.alive = True
        self.outstanding = 0
        self.given = 0
        self.slots = asyncio.Semaphore(at_once)
        self.served: Served | None = None
        self.why_gone = ""
        self._model = model
        self._client = httpx.AsyncClient(base_url=url, timeout=TIMEOUT, limits=LIMITS)
        self._probing = asyncio.Lock()
        self._seen_alive = 0.0
        self._preemptions = self._preemptions_before = 0
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
            self._is_gone(_words(error))
            return
        self.served = self._read(models, metrics)
        self._preemptions_before = self._preemptions = _preemptions(metrics)
        self.alive = True

    async def ask(self, body: dict[str, Any]) -> Any:
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
                response = await self._client.post("/v1/completions", json={"model": self.served.name} | body)
            except httpx.RequestError as error:
                timeouts += isinstance(error, httpx.TimeoutException)
                why = _words(error)
            else:
                if response.is_success and not _broken_off(answer := response.json()):
                    return answer
                why = _message(response)
                if response.is_client_error and response.status_code not in NOT_NOW:
                    raise Refused(f"{self.url}: {why}")
                wait = _retry_after(response) or wait
            if not await self._lives(why, hopeless=timeouts > 1):
                raise Gone(why)
            if attempt < ATTEMPTS - 1:
                await asyncio.sleep(wait)
        raise Refused(f"{self.url}: asked {ATTEMPTS} times, and it still says: {why}")

    async def preemptions(self) -> int:
        """How many answers it has preempted since it introduced itself, as far as it can be asked."""
        if self.alive:
            with contextlib.suppress(httpx.RequestError):
                self._preemptions = _preemptions(await self._metrics())
        if self._preemptions < self._preemptions_before:  # it was started anew
            self._preemptions_before = 0
        return self._preemptions - self._preemptions_before

    async def close(self) -> None:
        """Let go of its connections."""
        await self._client.aclose()

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
            served = Served(model["id"], int(model["max_model_len"]), _room(metrics))
        except (httpx.HTTPStatusError, ValueError, LookupError, TypeError) as error:
            raise EngineError(
                f"{self.url} does not answer like a vLLM server ({_words(error)})",
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


def _room(metrics: Sequence[Sample]) -> KvRoom | None:
    """KV room by vLLM's own count, which knows that models with sliding windows keep every token several times over.

    (blocks × block size would overstate it by that factor.) Of several engines behind one address the smallest counts.
    """
    rooms = []
    for sample in metrics:
        if sample.name == "vllm:cache_config_info":
            with contextlib.suppress(KeyError, ValueError):  # a label is missing, or "None"
                rooms.append(KvRoom(int(sample.labels["kv_cache_size_tokens"]), int(sample.labels["block_size"])))
    return min(rooms, key=lambda room: room.tokens, default=None)


def _preemptions(metrics: Sequence[Sample]) -> int:
    return int(sum(sample.value for sample in metrics if sample.name == "vllm:num_preemptions_total"))


def _broken_off(answer: Any) -> bool:
    """Whether the server gave up half-way, as it does with what is in flight when it is told to stop."""
    return bool(answer["choices"][0]["finish_reason"] == "abort")


def _message(response: httpx.Response) -> str:
    """What the server says is wrong."""
    try:
        said = response.json()["error"]["message"]
    except (ValueError, LookupError, TypeError):
        said = response.text[:200] or response.reason_phrase
    return f"{response.status_code} {said}"


def _retry_after(response: httpx.Response) -> float | None:
    """The seconds that the server asks to wait (RFC 9110, 10.2.3: a number, or a date)."""
    asked = response.headers.get("Retry-After", "")
    try:
        seconds = (
            float(asked)
            if asked.isdigit()
            else (parsedate_to_datetime(asked) - dt.datetime.now(dt.UTC)).total_seconds()
        )
    except (ValueError, TypeError):
        return None
    return min(LONGEST_WAIT, max(0.0, seconds))


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
