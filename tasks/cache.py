"""What the prefix cache was hoped to give, what it gave, and why the rest was read again.

In: `plan.parquet`, the results of this run, `engine.json`. Out: `cache.parquet` (records.CACHE), one row a chunk and
stage.

A prompt token is *first time* where no prompt before it begins alike: the floor, which nothing can save. Of what was
seen before, the engine keeps whole blocks only and always computes a prompt's last token: the rest is *remainder of a
block*. Whole blocks that were seen before and not found again were *evicted* (the rules are vLLM's).
"""

import polars as pl
from pydantic import BaseModel, ConfigDict

from tasks.attempts import text_requests
from tasks.records import CACHE, conform
from tasks.renderer import load_renderer
from tasks.results import find_results
from tasks.runs import Run


class Cache(BaseModel):
    """The cache of one run, in prompt tokens: `prompt` = `cached` + `evicted` + `remainder` + `first_time`."""

    model_config = ConfigDict(frozen=True)
    block_size: int
    room: int  # tokens of KV
    preemptions: int
    prompt: int
    cached: int
    evicted: int
    remainder: int
    first_time: int
    hoped_for: int  # in whole blocks that were seen before
    found: int  # of these
    again_hoped_for: int  # the same for texts alone: what decide had read of their prompts
    again_found: int

    @property
    def computed(self) -> int:
        """Tokens that the engine really read."""
        return self.prompt - self.cached

    @property
    def share(self) -> float | None:
        """Found, of what was hoped for."""
        return self.found / self.hoped_for if self.hoped_for else None

    def is_lost(self, expected: float) -> bool:
        """Whether less than the expected share was found."""
        return self.share is not None and self.share < expected

    @property
    def share_again(self) -> float | None:
        """Found by texts, of the whole blocks of their prompts that decide had read."""
        return self.again_found / self.again_hoped_for if self.again_hoped_for else None

    @property
    def times_floor(self) -> float | None:
        """How often each distinct prompt token was computed."""
        return self.computed / self.first_time if self.first_time else None


def account_cache(run: Run) -> Cache | None:
    """Leave the account of every chunk in the run folder, and add it up; None where no cache was asked."""
    engine = run.read_json("engine") if (run.folder / "engine.json").exists() else {}
    if not engine.get("block_size"):
        return None
    plan = run.read("plan")
    store = run.settings.store
    decisions = find_results(store, "decisions", plan["key"], run.started_at)
    texts = text_requests(run, plan["key"])
    note_at = load_renderer(run.settings.prompt, run.settings.model).tokens_behind if _told_why(run, texts) else None
    account = account_requests(plan, decisions, texts, engine["block_size"], note_at)
    chunks = account.group_by("chunk", "stage", maintain_order=True).agg(
        pl.len().alias("requests"), pl.col(COUNTS).sum(), found=pl.min_horizontal("cached", "hoped_for").sum()
    )
    run.write("cache", chunks.pipe(conform, CACHE))
    return _add_up(chunks, engine)


COUNTS = ("prompt", "cached", "evicted", "remainder", "first_time", "hoped_for")


def account_requests(
    plan: pl.DataFrame, decisions: pl.DataFrame, texts: pl.DataFrame, block: int, note_at: int | None = None
) -> pl.DataFrame:
    """One row a request: `chunk`, `stage`, and what became of its prompt tokens (see the module).

    A text that came with its decision made no request of its own. What a text's request has seen before is all that
    decide has read: its prompt without the label; a text that is asked for again has seen the label as well, or, where
    its prompt says why it failed, what stands before that.

    Args:
        plan, decisions: records.PLAN, records.DECISIONS.
        texts: One row a time that a text was asked for (attempts.text_requests).
        block: Tokens of a block.
        note_at: So many tokens before a prompt's end it says why the text has failed; None if it does not.
    """
    length = pl.col("prompt_ids").list.len()
    rows = plan.select("key", "chunk", "ask", "shared_tokens", length=length)
    decided = rows.filter(pl.col("ask") == "decide").join(decisions, on="key", maintain_order="left")
    written = rows.join(texts.filter(pl.col("prompt_tokens") > 0), on="key", maintain_order="left")
    seen = (
        pl.when(pl.col("attempt") > 1)
        .then(pl.col("length").cast(pl.Int64) + (1 if note_at is None else -note_at))
        .when(pl.col("ask") == "decide")
        .then("length")
        .otherwise("shared_tokens")
    )
    requests = pl.concat(
        [
            decided.select("chunk", "prompt_tokens", "cached_tokens", stage=pl.lit("decide"), seen="shared_tokens"),
            written.select("chunk", "prompt_tokens", "cached_tokens", stage=pl.lit("generate"), seen=seen),
        ],
        how="vertical_relaxed",
    )
    prompt, cached, seen = (pl.col(name).cast(pl.Int64) for name in ("prompt_tokens", "cached_tokens", "seen"))
    hoped_for = pl.min_horizontal(seen, prompt - 1) // block * block
    return requests.select(
        "chunk",
        "stage",
        prompt=prompt,
        cached=cached,
        # an engine that has seen earlier dates may find more than this run's prompts let hope for
        evicted=(hoped_for - cached).clip(lower_bound=0),
        remainder=(seen - pl.max_horizontal(hoped_for, cached)).clip(lower_bound=0),
        first_time=prompt - pl.max_horizontal(seen, cached),
        hoped_for=hoped_for,
    )


def _told_why(run: Run, texts: pl.DataFrame) -> bool:
    """Whether prompts that were asked again said why."""
    return run.settings.attempt_feedback and not texts.filter(pl.col("attempt") > 1).is_empty()


def _add_up(chunks: pl.DataFrame, engine: dict[str, int]) -> Cache:
    totals = {name: int(chunks[name].sum()) for name in (*COUNTS, "found")}
    again = chunks.filter(pl.col("stage") == "generate")
    return Cache(
        block_size=engine["block_size"],
        room=engine["room_tokens"],
        preemptions=engine["preemptions"],
        again_hoped_for=int(again["hoped_for"].sum()),
        again_found=int(again["found"].sum()),
        **totals,
    )
