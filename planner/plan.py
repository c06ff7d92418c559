"""The plan: what each order costs, which settings are best, how many workers a deadline takes, and what would change.

In: prompts, an engine's shape, a clock. Out: `Plan`, which planner.report shows.
"""

import datetime as dt
import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

from planner.asks import Shape
from planner.dates import Answers
from planner.orders import Prediction, predict
from planner.prompts import Prompts, answered
from planner.roofline import TimeModel
from tasks.errors import UsageError
from tasks.settings import OrderName, Settings

ORDERS: tuple[OrderName, ...] = ("fused", "chunked", "full")
# A setting is changed for what is more than noise.
WORTH = 1.02
# Settings are tried on so many pairs: hundreds of steps, and several times a small KV room.
TRIED = 2_000
# Beyond so many pairs KV groups are counted as one, and a date's simulation stays within a minute (see `simplify`).
EXACT = 20_000
# What a chunk's caller does around a call (tasks.chunks) where nothing is measured: files of some hundred rows.
PAUSE = 0.03
CHANGES: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("chunks_in_flight", (1, 3, 4)),
    ("chunk_pairs", (64, 128, 512)),
    ("max_num_seqs", (64, 128, 512)),
    ("max_num_batched_tokens", (2048, 4096, 8192, 16384)),
)


class Cost(NamedTuple):
    """What a run takes, with nothing but the engine's work and what a run needs around it."""

    seconds: float  # of the engine
    around: float  # before and behind it: loading, reading, checking, publishing
    money: float | None
    per_thousand: float | None  # published reasons
    published: int


class Workers(NamedTuple):
    """How many engines meet a deadline."""

    by: str
    seconds: float  # that are left until then
    number: int


class Context(NamedTuple):
    """What all predictions of a plan have in common."""

    shape: Shape
    settings: Settings
    longest_answer: int
    clock: TimeModel
    pause: float = PAUSE  # seconds that a chunk's caller takes around each call

    def predict(self, prompts: Prompts, order: OrderName, **changes: Any) -> Prediction:
        """One order, with some settings changed."""
        shape, settings = self.shape, self.settings.model_copy(update=changes)
        given = {name: value for name, value in changes.items() if name in Shape._fields}
        shape = simplify(shape._replace(**given), len(prompts.lengths))
        return predict(prompts, order, shape, settings, self.longest_answer, self.clock, self.pause)

    def sample(self, prompts: Prompts) -> tuple["Context", Prompts]:
        """The first of the prompts, in chunks of the size that all of them have."""
        some = prompts.first(TRIED)
        share = self.settings.chunk_share * len(prompts.lengths) / max(1, len(some.lengths))
        return self._replace(settings=self.settings.model_copy(update={"chunk_share": min(1.0, share)})), some


def simplify(shape: Shape, pairs: int) -> Shape:
    """The same engine with its KV groups counted as one where there are very many pairs."""
    if pairs <= EXACT or shape.groups == 1:
        return shape
    return shape._replace(blocks=shape.blocks // shape.groups, groups=1, sliding=min(shape.sliding, 1))


def predict_orders(context: Context, prompts: Prompts) -> list[Prediction]:
    """Every order, and last the one without a cache; for very many pairs each in a process of its own."""
    ways: list[tuple[OrderName, dict[str, Any]]] = [(order, {}) for order in ORDERS]
    ways += [("full", {"prefix_cache": False})]
    if len(prompts.lengths) <= EXACT:
        return [context.predict(prompts, order, **changes) for order, changes in ways]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        begun = [processes.submit(context.predict, prompts, order, **changes) for order, changes in ways]
        return [one.result() for one in begun]


def recommend(context: Context, prompts: Prompts) -> tuple[OrderName, dict[str, int], float]:
    """The fastest order, the settings that are worth changing for it, and how many times faster they make it.

    Tried on some of the pairs, one setting after the other; whatever interrupts answers for want of room is out.
    """
    context, some = context.sample(prompts)
    orders = [context.predict(some, order) for order in ORDERS]
    order = min(orders, key=lambda prediction: prediction.seconds).order
    first = best = min(prediction.seconds for prediction in orders)
    chosen: dict[str, int] = {}
    for name, values in CHANGES:
        tried = [(context.predict(some, order, **chosen, **{name: value}), value) for value in values]
        quiet = [(prediction.seconds, value) for prediction, value in tried if not prediction.preemptions]
        seconds, value = min(quiet, default=(math.inf, 0))
        if seconds * WORTH < best:
            chosen[name], best = value, seconds
    return order, chosen, first / best


def cost(
    prediction: Prediction, answers: Answers, around: float, price_per_hour: float | None, workers: int = 1
) -> Cost:
    """Money is for engines: all workers, for as long as the run takes."""
    seconds = prediction.seconds / workers
    pairs = prediction.decide.requests
    published = round(pairs * answers.published_share)
    money = None if price_per_hour is None else workers * (seconds + around) / 3600 * price_per_hour
    each = None if money is None or not published else money / published * 1000
    return Cost(prediction.seconds, around, money, each, published)


def workers_for(seconds: float, around: float, start: dt.datetime, by: str, most: int | None) -> Workers:
    """How many workers finish by a time of day, the next one after the start.

    Args:
        seconds: Of the engine, if one does it all.
        around: That no second worker shortens.
        start: When the run begins.
        by: HH:MM.
        most: How many there are; None: as many as it takes.

    Raises:
        UsageError: `by` is no time of day, or it can't be met; the error says with how many workers it could.
    """
    try:
        hour, minute = map(int, by.split(":"))
        deadline = start.replace(hour=hour, minute=minute, second=0, microsecond=0)
    except ValueError as error:
        raise UsageError(f"{by} is no time of day", "give --by as HH:MM") from error
    if deadline <= start:
        deadline += dt.timedelta(days=1)
    left = (deadline - start).total_seconds()
    if left <= around:
        raise UsageError(
            f"{by} can't be met with any number of workers: {_minutes(around)} pass around the engine's work alone, "
            f"and {_minutes(left)} are left",
            "begin earlier",
        )
    number = math.ceil(seconds / (left - around))
    if most is not None and number > most:
        raise UsageError(
            f"{by} can't be met with {most} worker(s): that takes {_minutes(seconds / most + around)}, and "
            f"{_minutes(left)} are left",
            f"{number} workers could; or begin earlier",
        )
    return Workers(by, left, max(1, number))


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"


def write_shares(
    context: Context, prompts: Prompts, order: OrderName, shares: Sequence[float]
) -> list[tuple[float, float, float]]:
    """For each share written: itself, how many times faster the order is than all decisions first, and its seconds."""
    context, some = context.sample(prompts)
    found = []
    for share in shares:
        changed = answered(some.lengths, some.shared, share, some.texts)
        best, full = context.predict(changed, order), context.predict(changed, "full")
        found.append((share, full.seconds / best.seconds, best.seconds))
    return found
