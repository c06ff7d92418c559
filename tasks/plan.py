"""plan: which pairs the engine is asked about, in which order, and in which chunks.

In: `candidates`, `reused`, `ranked_out`. Out: `plan.parquet` (records.PLAN), one row a distinct prompt, in order.

The order makes the prefix cache pay: the fixed text comes first in every prompt, and prompts stand in the order of
their tokens, so that each follows the one it shares most with. A chunk is what surely fits into its part of the
engine's KV room, so that what decide left there is still there when generate reads it.
"""

import logging
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, pairwise
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tasks.engine import KvRoom, load_engine, load_engine_meanwhile
from tasks.errors import PublicationError
from tasks.load import live_publication
from tasks.records import PLAN, conform
from tasks.renderer import Renderer, load_renderer
from tasks.reuse import is_finished
from tasks.room import expected_room
from tasks.runs import Run
from tasks.settings import Settings

logger = logging.getLogger("sayu")

# Reading a chunk reads the whole row groups it lies in, and the directory of all groups: some thousand rows keep both
# to milliseconds.
ROWS_PER_GROUP = 2048
PROMPTS_AT_A_TIME = 4096


def warm_up_engine(run: Run) -> None:
    """Begin to load the engine, unless it is elsewhere or this very request was met before: its answers are stored."""
    if not run.settings.shard_deployment and (run.settings.fresh or not _met_before(run)):
        load_engine_meanwhile(run.settings)


def _met_before(run: Run) -> bool:
    """Whether the run has ended before, by its folder or, where that is gone, by what readers see."""
    if run.met_before:
        return True
    with suppress(PublicationError):  # whoever needs the serving file says what is wrong with it
        live = live_publication(run.settings.serving_file, run.ds)
        return live is not None and live.run_key == run.key
    return False


def plan_chunks(run: Run) -> int:
    """Leave the plan in the run folder; returns how many chunks there are: none if nothing has to be asked.

    The prompts are rendered while the engine is still being loaded; it says how much room a chunk has. Where shards are
    run elsewhere, none is loaded here (see tasks.room).

    Raises:
        PromptError, ModelError: the prompt and the model's tokenizer can't be used together.
        EngineError: the engine can't be started with these settings.
    """
    asked = pairs_to_ask(run)
    if asked.is_empty():
        plan_nothing(run)
        return 0
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    ordered = order_prompts(asked.with_columns(prompt_ids=render_prompts(renderer, asked["payload"])))
    plan = number_chunks(ordered, renderer, _room(run), run.settings)
    run.write("plan", plan.pipe(conform, PLAN), row_group_size=ROWS_PER_GROUP)
    return int(plan["chunk"].n_unique())


def _room(run: Run) -> KvRoom | None:
    if run.settings.shard_deployment:
        return expected_room(run.settings)
    waiting_since = time.perf_counter()
    room = load_engine(run.settings).room
    waited = time.perf_counter() - waiting_since
    logger.info("%-9s %s has %s (waited %.1f s)", "engine", run.settings.engine, run.settings.model, waited)
    return room


def order_prompts(asked: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by `prompt_ids`, and add `shared_tokens`: how many each prompt has in common with the one before it.

    In this order no other prompt before it shares more with it.
    """
    big_endian = [prompt.astype(">u4").tobytes() for prompt in _rows(asked["prompt_ids"])]
    ordered = asked.with_columns(_order=pl.Series(big_endian, dtype=pl.Binary)).sort("_order").drop("_order")
    prompts = [np.empty(0, dtype=np.int32), *_rows(ordered["prompt_ids"])]
    shared = [_shared(before, prompt) for before, prompt in pairwise(prompts)]
    return ordered.with_columns(shared_tokens=pl.Series(shared, dtype=pl.UInt32))


def _rows(lists: pl.Series) -> list[Any]:
    """The rows of a Series of lists as numpy arrays, without a Python number for each element."""
    return np.split(lists.explode(empty_as_null=False).to_numpy(), lists.list.len().cum_sum().to_numpy()[:-1])


def _shared(one: Any, other: Any) -> int:
    length = min(len(one), len(other))
    parted = np.flatnonzero(one[:length] != other[:length])
    return int(parted[0]) if len(parted) else length


def render_prompts(renderer: Renderer, payloads: pl.Series) -> pl.Series:
    """The token ids of one prompt per payload, as lists of Int32.

    Rendered some thousand at a time: as Python's numbers a date's prompts would take gigabytes.
    """
    rendered = [pl.Series(dtype=pl.List(pl.Int32))]
    for batch in payloads.to_frame().iter_slices(PROMPTS_AT_A_TIME):
        prompts = renderer.render(batch.to_series().to_list())
        ends = np.cumsum([0, *map(len, prompts)], dtype=np.int64)
        ids = np.fromiter(chain.from_iterable(prompts), dtype=np.int32, count=ends[-1])
        rendered.append(pl.Series(pa.LargeListArray.from_arrays(ends, ids)))
    return pl.concat(rendered)


def plan_nothing(run: Run) -> None:
    """Leave a plan that asks the engine for nothing."""
    run.write("plan", PLAN.to_frame())


def pairs_to_ask(run: Run) -> pl.DataFrame:
    """`key`, `payload`, `p_skip` and `ask` of what is not in the store, one row a key.

    Where pairs share a key (by `pair` their baskets may differ) the best-scored one is asked, for all of them.
    """
    ranked_out, scores = run.read("ranked_out"), run.read("candidates").select("candidate_id", "score")
    ask = pl.when(pl.col("p_skip").is_null()).then(pl.lit("decide")).otherwise(pl.lit("generate"))
    return (
        run.read("reused")
        .join(ranked_out, on="candidate_id", how="anti")
        .filter(~is_finished(run.settings.threshold))
        .join(scores, on="candidate_id", how="left")
        .sort("score", "candidate_id", descending=[True, False], nulls_last=True)
        .unique("key", keep="first", maintain_order=True)
        .select("key", "payload", "p_skip", ask=ask)
    )


def number_chunks(ordered: pl.DataFrame, renderer: Renderer, room: KvRoom | None, settings: Settings) -> pl.DataFrame:
    """Add `chunk` to rows with `prompt_ids` and `shared_tokens`, in their order: see cut_chunks."""
    # what decide generates and what generate does: the label and the text
    longest_answer = 1 + renderer.prompt.sampling.max_tokens
    lengths, shared = ordered["prompt_ids"].list.len().to_list(), ordered["shared_tokens"].to_list()
    sized = None if settings.order == "full" else room  # which keeps nothing for the texts anyway
    chunks = cut_chunks(lengths, shared, longest_answer, sized, settings)
    return ordered.with_columns(chunk=pl.Series(chunks, dtype=pl.UInt32))


def cut_chunks(
    lengths: Sequence[int], shared: Sequence[int], longest_answer: int, room: KvRoom | None, settings: Settings
) -> list[int]:
    """The chunk number of each prompt, in order, starting at 0.

    `lengths` are tokens of the prompts, `shared` how many of them the prompt before has as well. A chunk ends when its
    prompts with their longest answers would fill its part of the room (less the margin, by the chunks in flight; in
    whole blocks, what neighbours share counted once), at `chunk_pairs` pairs, or at twice as many as may be answered at
    a time: then the engine always has the next ones at hand, and no chunk is a large part of the date. There are at
    least as many chunks as are in flight. A prompt larger than its part of the room stands alone.
    """
    of_the_date = min(2 * settings.most_in_flight(len(lengths)), len(lengths) // settings.chunks_in_flight)
    most_pairs = max(1, min(settings.chunk_pairs, of_the_date))
    block = room.block_size if room else 1
    most_blocks = room.tokens // block * (1 - settings.kv_margin) / settings.chunks_in_flight if room else math.inf
    chunks: list[int] = []
    chunk = pairs = blocks = 0
    for length, common in zip(lengths, shared, strict=True):
        alone = math.ceil((length + longest_answer) / block)
        added = alone - min(common, length - 1) // block
        if pairs and (pairs == most_pairs or blocks + added > most_blocks):
            chunk, pairs, blocks = chunk + 1, 0, 0
        blocks += added if pairs else alone
        pairs += 1
        chunks.append(chunk)
    return chunks
