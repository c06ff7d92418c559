"""Who asks the engine about a plan: one shard in this process, or many on the workers of a pool.

A shard that comes to an early end is handed out again: whole, and the second time without the chunks it was working on,
which then stand alone. What is still unfinished at the end is left: its pairs count as failed until the next run.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.deployments import run_deployment
from prefect.states import Cancelled, Cancelling

from flows.shard import shard
from tasks.journal import store_all_unfinished
from tasks.runs import Run
from tasks.shards import Shard, accounts_of_shards, cut_shards, last_sign, send_request, unfinished

logger = logging.getLogger("sayu")

SECONDS_BETWEEN_LOOKS = 1
# A worker that is at work shows it every few seconds (tasks.shards). To get a container may take minutes.
SECONDS_WITHOUT_SIGN = {StateType.RUNNING: 120, StateType.CANCELLING: 120, StateType.PENDING: 900}
SECONDS_BETWEEN_COMPLAINTS = 300
MOST_TRIES = 2  # of the same chunks
# A chunk that kills its worker costs four more shards, so this is enough for some. More of them are not to blame.
MOST_AGAIN = 20


def ask_engine(run: Run, chunks: int) -> None:
    """Have every chunk of the plan decided and written.

    Raises:
        EngineError: the engine in this process can't be started, or broke for good; what was answered is kept.
    """
    begun = time.monotonic()
    with accounts_of_shards(run):
        if run.settings.shard_deployment:
            on_pool(run, run.settings.shard_deployment, cut_shards(run))
        else:
            shard(run.ds, run.key, 0, chunks - 1, run.settings.store)
        store_all_unfinished(run.settings.store, run.ds)
    run.add_seconds("decide and generate", time.monotonic() - begun)


@dataclass
class HandedOut:
    """A shard on its way: waiting for a worker, or with one."""

    shard: Shard
    tries: int
    flow_run_id: UUID
    last_sign: object = None
    seen: float = field(default_factory=time.monotonic)  # when that changed last

    def is_lost(self, run: Run, state: State[None]) -> bool:
        """Whether a worker has taken it and shows no sign of life any more."""
        sign = state.type, last_sign(run, str(self.flow_run_id))
        if sign != self.last_sign:
            self.last_sign, self.seen = sign, time.monotonic()
        patience = SECONDS_WITHOUT_SIGN.get(state.type)
        return patience is not None and time.monotonic() - self.seen > patience


def on_pool(run: Run, deployment: str, shards: list[Shard]) -> None:
    """Hand shards to the workers of a deployment, and wait until all have ended, for `shard_hours` at most."""
    logger.info("%-9s %d shards for the workers of %s", "shards", len(shards), deployment)
    send_request(run)
    until = time.monotonic() + run.settings.shard_hours * 3600
    again = MOST_AGAIN + len(shards)
    with get_client(sync_client=True) as client, _cancelled_at_the_end(client) as out:
        out.extend(hand_out(run, deployment, one) for one in shards)
        heard = time.monotonic()
        while out and time.monotonic() < until:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            for one, state in look(client, out):
                if not state.is_final() and not one.is_lost(run, state):
                    continue
                if not state.is_final():
                    client.set_flow_run_state(one.flow_run_id, Cancelled(message="no sign of life"), force=True)
                out.remove(one)
                heard = time.monotonic()
                for left, tries in what_is_left(run, one, state)[:again]:
                    again -= 1
                    out.append(hand_out(run, deployment, left, tries))
            if time.monotonic() - heard > SECONDS_BETWEEN_COMPLAINTS:
                heard = time.monotonic()
                _complain(client, out, deployment)


def hand_out(run: Run, deployment: str, one: Shard, tries: int = 1) -> HandedOut:
    """Put a shard into the pool's queue."""
    parameters = {"ds": str(run.ds), "run_key": run.key, "first": one.first, "last": one.last}
    parameters["store"] = str(run.settings.store.resolve())
    flow_run = cast(FlowRun, run_deployment(deployment, parameters=parameters, timeout=0))
    return HandedOut(one, tries, flow_run.id)


def look(client: SyncPrefectClient, out: list[HandedOut]) -> list[tuple[HandedOut, State[None]]]:
    """The states of all that are on their way."""
    filtered = FlowRunFilter(id=FlowRunFilterId(any_=[one.flow_run_id for one in out]))
    states = {flow_run.id: flow_run.state for flow_run in client.read_flow_runs(flow_run_filter=filtered)}
    return [(one, state) for one in out if (state := states.get(one.flow_run_id))]


def what_is_left(run: Run, one: HandedOut, state: State[None]) -> list[tuple[Shard, int]]:
    """The shards to hand out anew, and which try of them it is, now that this one has ended like this, or is lost."""
    wanted = state.type not in {StateType.COMPLETED, StateType.CANCELLED, StateType.CANCELLING}
    if not wanted or not (left := unfinished(run, one.shard)):
        return []
    name = f"chunks {left.first} to {left.last}"
    why = state.message or state.name if state.is_final() else "its worker shows no sign of life"
    logger.warning("%-9s %s are unfinished: %s", "shards", name, why)
    if one.tries < MOST_TRIES:
        return [(left, one.tries + 1)]
    if len(left.chunks) == 1:
        logger.error("%-9s %s are given up", "shards", name)
        return []
    suspects, others = left.chunks[: run.settings.chunks_in_flight], left.chunks[run.settings.chunks_in_flight :]
    rest = [(Shard(others[0], others[-1]), 1)] if others else []
    return [*rest, *((Shard(chunk, chunk), MOST_TRIES) for chunk in suspects)]


@contextmanager
def _cancelled_at_the_end(client: SyncPrefectClient) -> Iterator[list[HandedOut]]:
    """Shards on their way; however the block ends, none is left behind that nobody waits for."""
    out: list[HandedOut] = []
    try:
        yield out
    finally:
        for one, state in look(client, out) if out else []:
            if not state.is_final():
                logger.warning("%-9s chunks %d to %d are given up", "shards", one.shard.first, one.shard.last)
                running = state.type is StateType.RUNNING
                client.set_flow_run_state(one.flow_run_id, Cancelling() if running else Cancelled())


def _complain(client: SyncPrefectClient, out: list[HandedOut], deployment: str) -> None:
    waiting = sum(state.is_scheduled() for _, state in look(client, out))
    if waiting:
        logger.warning(
            "%-9s %d wait for a worker of %s: is one running? (prefect work-pool ls)", "shards", waiting, deployment
        )
