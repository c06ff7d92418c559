"""What the engine did in calls, tokens, seconds and money: counted where it is stored, estimated where it is measured.

Seconds are the measured ones, shared out by tokens: one run's busy seconds can't tell computed prompt tokens and
generated ones apart, so a generated token counts as GENERATED_WEIGHT of the others. Money is seconds at a price.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl
from pydantic import BaseModel, ConfigDict

# The rows of benchmarks/results tell the two apart, between no cache and `fused`: seconds rise by 1.35 ms a computed
# prompt token, and what is left is 2.4 ms a generated one (SmolLM2-135M; 1.8 times); Gemma 3 270M: 1.75 times.
GENERATED_WEIGHT = 2


class Cost(BaseModel):
    """What the engine did, or did not have to do: calls that were answered, prompt tokens computed and found in the
    cache, tokens generated; `engine_seconds`: None where no rate was measured; `money`: None without a price, too."""

    model_config = ConfigDict(frozen=True)
    calls: int = 0
    computed: int = 0
    cached: int = 0
    generated: int = 0
    engine_seconds: float | None = 0.0
    money: float | None = None

    @property
    def weight(self) -> int:
        """The tokens that take time, in computed prompt tokens."""
        return self.computed + GENERATED_WEIGHT * self.generated


COUNTS = ("calls", "computed", "cached", "generated")


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """What was asked again because its text failed the checks: how many texts then passed or did not, and what the
    second and later attempts took. (The first attempt is the pair's own.)"""

    mended: int = 0
    still_failing: int = 0
    calls: int = 0
    prompt: int = 0
    cached: int = 0
    generated: int = 0

    @property
    def cost(self) -> Cost:
        """The later attempts' calls and tokens."""
        return Cost(calls=self.calls, computed=self.prompt - self.cached, cached=self.cached, generated=self.generated)


@dataclass(frozen=True, slots=True)
class Rate:
    """Engine seconds a computed prompt token (None: not measured), and an hour's price (None: money is left out)."""

    seconds: float | None
    price_per_hour: float | None = None

    def cost(self, counts: Cost) -> Cost:
        """The counts with their seconds and their money."""
        seconds = 0.0 if not counts.weight else None if self.seconds is None else self.seconds * counts.weight
        return counts.model_copy(update={"engine_seconds": seconds, "money": self.money(seconds)})

    def money(self, seconds: float | None) -> float | None:
        """What so many engine seconds cost."""
        return None if seconds is None or self.price_per_hour is None else seconds / 3600 * self.price_per_hour


@dataclass(frozen=True, slots=True)
class Average:
    """What a pair cost on average: see Cost. `stored`: an earlier run asked those that it is the average of."""

    calls: float
    computed: float
    cached: float
    generated: float
    stored: bool = False

    def times(self, pairs: int) -> Cost:
        """What so many pairs would have cost, in whole calls and tokens."""
        return Cost(**{name: round(getattr(self, name) * pairs) for name in COUNTS})


def add_costs(costs: Iterable[Cost]) -> Cost:
    """All of them together; seconds or money that are not known of one are not known of all."""
    given = list(costs)
    counts = {name: sum(getattr(cost, name) for cost in given) for name in COUNTS}
    seconds = [cost.engine_seconds for cost in given]
    money = [cost.money for cost in given]
    return Cost(**counts, engine_seconds=_sum(seconds), money=_sum(money))


def _sum(numbers: list[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def count_requests(decisions: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """COUNTS of each `key`, from its decision and its text as they are stored (records.DECISIONS, records.TEXTS).

    A text that came with its decision has a prompt of no tokens: it made no call of its own.
    """
    prompts = ("key", "prompt_tokens", "cached_tokens")
    label = decisions.select(*prompts, generated_tokens=pl.lit(1, dtype=pl.Int64))
    return (
        pl.concat([label, texts.select(*prompts, "generated_tokens")])
        .group_by("key")
        .agg(
            calls=(pl.col("prompt_tokens") > 0).sum().cast(pl.Int64),
            computed=(pl.col("prompt_tokens") - pl.col("cached_tokens")).sum(),
            cached=pl.col("cached_tokens").sum(),
            generated=pl.col("generated_tokens").sum(),
        )
    )


def first_answers(texts: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """Texts with the tokens of each pair's first answer, where `attempts` (one row a key and attempt) has several."""
    counts = ("prompt_tokens", "cached_tokens", "generated_tokens")
    return texts.update(attempts.filter(attempt=1).select("key", *counts), on="key")


def average_pair(decisions: pl.DataFrame, texts: pl.DataFrame, again: Cost, stored: bool = False) -> Average | None:
    """What a pair cost on average that was asked from its decision on, its part of what was asked again included.

    None where there is no decision. `stored`: an earlier run asked.
    """
    if decisions.is_empty():
        return None
    rows = count_requests(decisions, texts.join(decisions, on="key", how="semi"))
    return Average(
        **{name: (int(rows[name].sum()) + getattr(again, name)) / rows.height for name in COUNTS}, stored=stored
    )
