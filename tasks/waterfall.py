"""The waterfall: where each candidate left the way to a published reason, and what that cost the engine or spared it.

In: `outcomes`, `plan` and `reused` of the run folder, the results that the engine gave this run, its busy seconds. Out:
a `Waterfall`. Every candidate leaves at one step, the first of these that holds:

- `screened`: a rule turned it away. `ranked_out`: another reason item was worth more.
- `reused`: all that it needed was stored.
- `duplicate`: its key was asked for another candidate of the date.
- `not_asked`: it failed without being asked, as when the date was held back before the model.
- `skipped`, `failed`, `rejected`, `published`: it was asked, and this is what became of it.

What the engine did is booked, to the token, where the pair left that it was done for: a decision that said skip at
`skipped`, the decision and the text of a rejected pair at `rejected`, what was asked again at `asked_again`.

What a step saved is an estimate: each pair that left there would have cost the average of the pairs that this run asked
from their decision on or, where it asked none, of those that it found stored. The first step that spared a pair gets
all the credit, though a later one might have spared it too. A stored decision alone (`decision_reused`) saves its one
token, and its call where decisions are asked apart: its prompt is read for the text all the same.
"""

import datetime as dt

import polars as pl
from pydantic import BaseModel, ConfigDict, computed_field

from tasks.attempts import Attempts
from tasks.costs import (
    COUNTS,
    GENERATED_WEIGHT,
    AskedAgain,
    Average,
    Cost,
    Rate,
    add_costs,
    average_pair,
    count_requests,
    first_answers,
)
from tasks.expiry import Oldest
from tasks.records import Outcome
from tasks.results import find_results
from tasks.runs import Run

SPARED = ("screened", "reused", "ranked_out", "duplicate")
STEPS = (
    "candidates", "screened", "reused", "decision_reused", "ranked_out", "duplicate", "not_asked",
    "asked", "skipped", "failed", "written", "asked_again", "rejected", "published",
)  # fmt: skip


class Step(BaseModel):
    """One step of the way. `pairs` leave here (`outcomes`: what became of them), `left` go on.

    `touched`: pairs that the step was about and that went on: their decision was stored, or they were asked again.
    `made`: what the engine did for this step. `saved`: what it did not have to do; None where no average is known.
    """

    model_config = ConfigDict(frozen=True)
    name: str
    pairs: int = 0
    left: int
    touched: int = 0
    outcomes: dict[str, int] = {}
    made: Cost = Cost()
    saved: Cost | None = Cost()


class Waterfall(BaseModel):
    """The steps in order. Their `pairs` add up to the candidates, their `outcomes` to the date's, their `made` to all
    that the engine did for the run."""

    model_config = ConfigDict(frozen=True)
    steps: tuple[Step, ...]
    average: Average | None = None  # what a pair that leaves unasked would have cost; None: not known
    asked_again: AskedAgain = AskedAgain()
    seconds_per_prompt_token: float | None = None  # computed ones; None: no rate was measured
    seconds_per_generated_token: float | None = None
    price_per_hour: float | None = None
    currency: str | None = None

    def step(self, name: str) -> Step:
        """The step of this name."""
        return next(step for step in self.steps if step.name == name)

    @computed_field  # type: ignore[prop-decorator]  # which is how pydantic wants it
    @property
    def made(self) -> Cost:
        """All that the engine did."""
        return add_costs(step.made for step in self.steps)

    @computed_field  # type: ignore[prop-decorator]  # which is how pydantic wants it
    @property
    def saved(self) -> Cost | None:
        """All that it was spared; None where that of a step is not known."""
        saved = [step.saved for step in self.steps if step.saved]
        return add_costs(saved) if len(saved) == len(self.steps) else None

    @computed_field  # type: ignore[prop-decorator]  # which is how pydantic wants it
    @property
    def published(self) -> int:
        """Pairs with a text that passed, whichever way it came: asked now, stored, or another candidate's."""
        return sum(step.outcomes.get(Outcome.PUBLISHED, 0) for step in self.steps)

    @computed_field  # type: ignore[prop-decorator]  # which is how pydantic wants it
    @property
    def per_published(self) -> dict[str, float | None] | None:
        """All that the engine did, a text that passed: what a published text costs. None where none passed."""
        if not self.published:
            return None
        made = self.made.model_dump()
        return {name: None if number is None else number / self.published for name, number in made.items()}


def account_waterfall(run: Run, outcomes: pl.DataFrame, busy: float, attempts: Attempts) -> Waterfall:
    """The waterfall of a run, from its folder and the result store.

    Args:
        run: The run.
        outcomes: Its outcomes (records.OUTCOMES).
        busy: Seconds that the engine was at work, of all workers together.
        attempts: What asking for texts again has brought.
    """
    settings, again = run.settings, asked_again(attempts)
    plan = run.read("plan").select("key", "ask")
    placed = place_candidates(outcomes, plan, run.read("reused"))
    decisions, texts = _results(run, plan.filter(ask="decide")["key"], plan["key"], run.started_at)
    average = average_pair(decisions, texts, again.cost)
    if average is None:
        stored = placed.filter(step="reused")["key"]
        average = average_pair(*_results(run, stored, stored, run.oldest_result), Cost(), stored=True)
    return make_waterfall(
        placed,
        plan,
        count_requests(decisions, texts),
        average,
        busy,
        again,
        fused=settings.order == "fused",
        price_per_hour=settings.engine_price_per_hour,
        currency=settings.currency,
    )


def asked_again(attempts: Attempts) -> AskedAgain:
    """What asking again has brought, as the waterfall books it."""
    mended = sum(attempts.mended.values())
    counts = {name: getattr(attempts, name) for name in ("calls", "prompt", "cached", "generated")}
    return AskedAgain(mended=mended, still_failing=attempts.again - mended, **counts)


def place_candidates(outcomes: pl.DataFrame, plan: pl.DataFrame, reused: pl.DataFrame) -> pl.DataFrame:
    """One row a candidate: `key`, `outcome`, the `step` where it left, and whether its decision was `stored`.

    Of the candidates that share a planned key the first is the one that was asked.
    """
    stored = reused.select("candidate_id", stored=pl.col("p_skip").is_not_null())
    gone = pl.col("outcome").is_in([Outcome.SCREENED, Outcome.RANKED_OUT])
    planned = pl.col("planned").fill_null(False) & ~gone
    rows = (
        outcomes.select("candidate_id", "key", "outcome")
        .join(plan.select("key", planned=True), on="key", how="left", maintain_order="left")
        .join(stored, on="candidate_id", how="left", maintain_order="left")
        .with_columns(planned=planned, stored=pl.col("stored").fill_null(False))
    )
    another = pl.int_range(pl.len()).over("key", "planned") > 0
    step = (
        pl.when(gone).then("outcome")
        .when(pl.col("planned") & another).then(pl.lit("duplicate"))
        .when("planned").then("outcome")
        .when(pl.col("outcome") == Outcome.FAILED).then(pl.lit("not_asked"))
        .otherwise(pl.lit("reused"))
    )  # fmt: skip
    return rows.select("key", "outcome", "stored", step=step)


def make_waterfall(
    placed: pl.DataFrame,
    plan: pl.DataFrame,
    requests: pl.DataFrame,
    average: Average | None,
    busy: float,
    again: AskedAgain,
    *,
    fused: bool,
    price_per_hour: float | None = None,
    currency: str | None = None,
) -> Waterfall:
    """The steps, added up.

    Args:
        placed: The candidates, as place_candidates gives them.
        plan: `key` and `ask` of what was to be asked.
        requests: What each key took, as costs.count_requests gives it; keys without an answer may be missing.
        average: What a pair costs; None: not known.
        busy: Seconds that the engine was at work.
        again: What was asked again.
        fused: Whether a decision and its text are one call.
        price_per_hour: The price of an hour of the engine; None: money is left out.
        currency: What that is paid in.
    """
    made = _book(placed, plan, requests) | {"asked_again": again.cost}
    weight = add_costs(made.values()).weight
    rate = Rate(busy / weight if busy and weight else None, price_per_hour)
    costs = {step: rate.cost(counts) for step, counts in made.items()}
    if not weight:  # all failed: nothing else to show for the time
        failed = {"engine_seconds": busy, "money": rate.money(busy)}
        costs["failed"] = costs.get("failed", Cost()).model_copy(update=failed)
    saved = {step: counts and rate.cost(counts) for step, counts in _saved(placed, plan, average, fused).items()}
    touched = {"decision_reused": plan.filter(ask="generate").height, "asked_again": again.mended + again.still_failing}
    nothing = rate.cost(Cost())
    became: dict[str, dict[str, int]] = {name: {} for name in STEPS}
    for step, outcome, pairs in placed.group_by("step", "outcome").len().sort("step", "outcome").iter_rows():
        became[step][outcome] = pairs
    steps: list[Step] = []
    left = placed.height
    for name, outcomes in became.items():
        pairs = sum(outcomes.values())
        left -= pairs
        does = {"made": costs.get(name, nothing), "saved": saved.get(name, nothing)}
        steps.append(Step(name=name, pairs=pairs, left=left, touched=touched.get(name, 0), outcomes=outcomes, **does))
    return Waterfall(
        steps=tuple(steps),
        average=average,
        asked_again=again,
        seconds_per_prompt_token=rate.seconds,
        seconds_per_generated_token=None if rate.seconds is None else rate.seconds * GENERATED_WEIGHT,
        price_per_hour=price_per_hour,
        currency=currency,
    )


def _book(placed: pl.DataFrame, plan: pl.DataFrame, requests: pl.DataFrame) -> dict[str, Cost]:
    """What the planned keys took, by the step where their pair left."""
    asked = placed.filter(~pl.col("step").is_in([*SPARED, "not_asked"])).select("key", "step")
    booked = (
        plan.join(requests, on="key").join(asked, on="key", how="left").with_columns(pl.col("step").fill_null("failed"))
    )
    return {row.pop("step"): Cost(**row) for row in booked.group_by("step").agg(pl.col(COUNTS).sum()).to_dicts()}


def _saved(placed: pl.DataFrame, plan: pl.DataFrame, average: Average | None, fused: bool) -> dict[str, Cost | None]:
    """What each step saved. A pair that was ranked out though its decision was stored spared the engine nothing."""
    spared = placed.filter(pl.col("step").is_in(SPARED) & ~((pl.col("step") == "ranked_out") & pl.col("stored")))
    saved = {
        step: average.times(pairs) if average else None for step, pairs in spared.group_by("step").len().iter_rows()
    }
    decided = plan.filter(ask="generate").height
    return saved | {"decision_reused": Cost(calls=0 if fused else decided, generated=decided)}


def _results(
    run: Run, decided: pl.Series, written: pl.Series, oldest: Oldest | dt.datetime
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The stored decisions of some keys, and the first answers of others, no older than `oldest`."""
    store = run.settings.store
    attempts = find_results(store, "attempts", written, oldest)
    texts = first_answers(find_results(store, "texts", written, oldest), attempts)
    return find_results(store, "decisions", decided, oldest), texts
