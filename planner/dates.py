"""The prompts of a date, or of as many pairs as are asked for, rendered as the pipeline renders them.

Nothing is written: what the pipeline leaves in a run folder is worked out in memory from the same functions.
"""

import datetime as dt
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from planner.prompts import Prompts, answered, spread
from tasks.errors import ModelError
from tasks.extract import clean_candidates, read_candidates
from tasks.model import model_fingerprint
from tasks.plan import order_prompts, render_prompts
from tasks.records import Outcome
from tasks.renderer import load_renderer
from tasks.reports.index import Finished, finished_runs
from tasks.reports.summary import Summary
from tasks.results import find_results
from tasks.reuse import add_keys, add_stored, is_finished
from tasks.runs import Run, describe_run
from tasks.screen import pairs_left
from tasks.settings import Settings

# Where no run tells: the original service wrote 5,499 of 10,000 pairs, and fifty Korean characters with the closing of
# the JSON take 25 to 45 tokens.
WRITE_SHARE, TEXT_TOKENS = 0.55, 32


class Answers(NamedTuple):
    """What answers are expected to be like, and why: the last run's, or assumed."""

    write_share: float
    texts: Sequence[int]  # lengths to draw from
    pass_share: float | None  # of the texts, those that passed their checks; None: not known
    published_share: float  # of the pairs asked, those that end as reasons
    source: str


class Past(NamedTuple):
    """The last finished run in the store that asked an engine with a cache, as the planner would have seen it."""

    finished: Finished
    prompts: Prompts
    room: int
    block_size: int


def ordered_prompts(ds: dt.date, settings: Settings) -> pl.DataFrame:
    """The prompts of a date that the engine would be asked about today, in the plan's order, with `shared_tokens`.

    Raises:
        SourceError, PromptError, ModelError: as the pipeline's own stages raise them.
    """
    run = describe_run(ds, settings)
    left = pairs_left(clean_candidates(read_candidates(settings.source, ds)), settings)
    keyed = add_stored(add_keys(left, run).unique("key", keep="any"), run)
    asked = keyed.filter(~is_finished(settings.threshold))
    renderer = load_renderer(settings.prompt, settings.model)
    return order_prompts(asked.with_columns(prompt_ids=render_prompts(renderer, asked["payload"])))


def ordered_pairs(pairs: int, settings: Settings) -> pl.DataFrame:
    """The same of so many pairs in the demo shop's shape."""
    from benchmarks.source import DATE, build_large_source

    with tempfile.TemporaryDirectory(prefix="sayu-plan-") as folder:
        source = build_large_source(Path(folder) / "source.duckdb", pairs)
        there = {"source": str(source), "store": Path(folder) / "store", "rules": None}  # its items come in many sizes
        return ordered_prompts(DATE, settings.model_copy(update=there))


def with_answers(ordered: pl.DataFrame, answers: Answers) -> Prompts:
    """Prompts as the simulator takes them, with answers as expected."""
    lengths = ordered["prompt_ids"].list.len().to_list()
    return answered(lengths, ordered["shared_tokens"].to_list(), answers.write_share, answers.texts)


def expected_answers(
    past: Summary | None, write_share: float | None = None, text_tokens: float | None = None
) -> Answers:
    """As the last run's were, unless something else is given; assumed where there was none."""
    share, tokens, passed, source = WRITE_SHARE, float(TEXT_TOKENS), None, "assumed"
    if past and past.decide.pairs and past.generate.pairs:
        share = min(1.0, past.generate.pairs / past.decide.pairs)
        tokens = past.generate.generated / past.generate.pairs
        passed = past.outcomes[Outcome.PUBLISHED] / past.written if past.written else None
        source = f"as on {past.ds}"
    if write_share is not None:
        share, source = write_share, "given"
    if text_tokens is not None:
        tokens, source = text_tokens, "given"
    return Answers(share, spread(tokens), passed, share * (1.0 if passed is None else passed), source)


def last_finished(settings: Settings, model: str) -> Finished | None:
    """The latest run in the store with this model (its fingerprint) whose engine said what it did."""
    finished = [run for run in finished_runs(settings).values() if run.summary.model == model]
    return next((run for run in reversed(finished) if run.summary.cache and run.summary.engine_seconds), None)


def last_run(settings: Settings) -> Past | None:
    """The same with its prompts; None also where the model has no weights and so no past."""
    try:
        finished = last_finished(settings, model_fingerprint(settings))
    except ModelError:
        return None
    if finished is None or finished.summary.cache is None:
        return None
    run = describe_run(dt.date.fromisoformat(finished.summary.ds), settings)
    cache = finished.summary.cache
    return Past(finished, _prompts_of(settings.store / Path(finished.report).parent, run), cache.room, cache.block_size)


def _prompts_of(folder: Path, run: Run) -> Prompts:
    """What was asked in a run, and how long its texts became."""
    plan = pl.read_parquet(folder / "plan.parquet")
    oldest = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
    texts = find_results(run.settings.store, "texts", plan["key"], oldest).select("key", "generated_tokens")
    joined = plan.join(texts, on="key", how="left", maintain_order="left")
    lengths = joined["generated_tokens"].to_list()
    return Prompts(
        joined["prompt_ids"].list.len().to_list(),
        joined["shared_tokens"].to_list(),
        [length is not None for length in lengths],
        [length or 1 for length in lengths],
    )
