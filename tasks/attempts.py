"""attempts: what asking for texts again has brought, and what it took.

In: the plan, and of the result store what this run has left: texts, and every attempt of the pairs that were asked
more than once (records.ATTEMPTS; the first answer is one of them).
"""

import polars as pl
from pydantic import BaseModel, ConfigDict

from tasks.results import find_results
from tasks.runs import Run


class Attempts(BaseModel):
    """Asking again in one run. Tokens and calls are those of the second and later attempts alone."""

    model_config = ConfigDict(frozen=True)
    most: int  # the setting: how often a text is asked for in all
    mended: dict[int, int] = {}  # texts that passed at last, by the attempt that passed
    failing: int = 0  # texts that no attempt has mended: their first answers stay
    again: int = 0  # texts that were asked for more than once
    unasked: int = 0  # of the failing ones, those that were asked fewer than `most` times
    calls: int = 0
    prompt: int = 0
    cached: int = 0
    generated: int = 0
    # of all tokens that the engine computed and wrote in this run, each counted alike
    engine_share: float = 0.0
    budget_minutes: float | None = None  # of the engine for the date; None: no bound
    budget_spent: bool = False

    @property
    def computed(self) -> int:
        """Prompt tokens that the engine really read."""
        return self.prompt - self.cached

    @property
    def failed(self) -> int:
        """Texts whose first answer failed its checks."""
        return sum(self.mended.values()) + self.failing


def count_attempts(run: Run, engine_seconds: float = 0.0, engine_tokens: int = 0) -> Attempts:
    """What asking again has brought in this run.

    Args:
        run: A run whose engine has been asked.
        engine_seconds: How long the engine was at work in it, against the budget.
        engine_tokens: Prompt tokens computed and tokens written in this run, asking again included, for its share.
    """
    budget = run.settings.engine_budget_minutes
    spent = budget is not None and engine_seconds > budget * 60
    counted = Attempts(most=run.settings.attempts, budget_minutes=budget, budget_spent=spent)
    keys = run.read("plan")["key"]
    if keys.is_empty():
        return counted
    texts = find_results(run.settings.store, "texts", keys, run.started_at)
    attempts = find_results(run.settings.store, "attempts", keys, run.started_at)
    again = attempts.filter(pl.col("attempt") > 1)
    prompt, cached, generated = (int(again[f"{name}_tokens"].sum()) for name in ("prompt", "cached", "generated"))
    mended = texts.filter(pl.col("passed") & (pl.col("attempt") > 1))
    failing = texts.filter(~pl.col("passed"))
    update = {
        "mended": dict(sorted(mended.group_by("attempt").len().iter_rows())),
        "failing": failing.height,
        "again": again["key"].n_unique(),
        "unasked": failing.join(times_asked(attempts), on="key", how="left").filter(_fewer_than(counted.most)).height,
        "calls": again.height,
        "prompt": prompt,
        "cached": cached,
        "generated": generated,
        "engine_share": (prompt - cached + generated) / engine_tokens if engine_tokens else 0.0,
    }
    return counted.model_copy(update=update)


def text_requests(run: Run, keys: pl.Series) -> pl.DataFrame:
    """One row a time that this run has asked for a text of `keys`: `key`, `attempt` and the counts of tokens.

    A text that came with its decision has no prompt tokens here: they are its decision's.
    """
    texts = find_results(run.settings.store, "texts", keys, run.started_at)
    attempts = find_results(run.settings.store, "attempts", keys, run.started_at)
    columns = ("key", "attempt", "prompt_tokens", "cached_tokens", "generated_tokens")
    once = texts.join(attempts, on="key", how="anti", maintain_order="left")
    return pl.concat([once.select(columns), attempts.select(columns)])


def unfinished_texts(texts: pl.DataFrame, attempts: pl.DataFrame, most: int) -> pl.DataFrame:
    """The texts of a chunk that nobody has looked at, that are worth another attempt, or that one has mended already.

    Of the last two kinds are texts that failed. None where a text is asked for once (`most` = 1).
    """
    passed_at_last = pl.col("key").is_in(attempts.filter(pl.col("codes") == "")["key"].implode())
    waiting = pl.col("passed").is_null() | (~pl.col("passed") & (passed_at_last | _fewer_than(most)))
    joined = texts.join(times_asked(attempts), on="key", how="left", maintain_order="left")
    return joined.filter(waiting & (most > 1)).drop("asked")


def times_asked(attempts: pl.DataFrame) -> pl.DataFrame:
    """`key` and `asked`: how often; keys that were asked once are not there."""
    return attempts.group_by("key").agg(asked=pl.col("attempt").max())


def _fewer_than(most: int) -> pl.Expr:
    return pl.col("asked").fill_null(1) < most
