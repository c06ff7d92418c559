"""plan: which pairs the engine is asked about, in which order, and in which chunks.

In: `candidates`, `reused`, `ranked_out`. Out: `plan.parquet` (records.PLAN), one row a distinct prompt, in order.

The order makes the prefix cache pay: the fixed text comes first in every prompt, and pairs are sorted by the JSON that
follows, so that neighbours share more of it. A chunk is what surely fits into the engine's KV room, so that what
decide left there is still there when generate reads it.
"""

import logging
import math
from collections.abc import Sequence
from itertools import chain

import numpy as np
import polars as pl
import pyarrow as pa

from tasks.engine import KvRoom, load_engine
from tasks.records import PLAN, conform
from tasks.renderer import Renderer, load_renderer
from tasks.reuse import is_finished
from tasks.runs import Run
from tasks.settings import Settings

logger = logging.getLogger("sayu")

# Reading a chunk reads the whole row groups it lies in, and the directory of all groups: some thousand rows keep both
# to milliseconds.
ROWS_PER_GROUP = 2048
PROMPTS_AT_A_TIME = 4096


def start_engine(run: Run) -> bool:
    """Load the engine if there is anything to ask; returns whether there is.

    Raises:
        EngineError: the engine can't be started with these settings.
    """
    if pairs_to_ask(run).is_empty():
        return False
    logger.info("%-9s loading %s into %s", "start", run.settings.model, run.settings.engine)
    load_engine(run.settings)
    return True


def plan_chunks(run: Run) -> int:
    """Leave the plan in the run folder; returns how many chunks there are: none if nothing has to be asked.

    The engine says how much room a chunk has.

    Raises:
        PromptError, ModelError: the prompt and the model's tokenizer can't be used together.
    """
    asked = pairs_to_ask(run)
    if asked.is_empty():
        plan_nothing(run)
        return 0
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    prompts = render_prompts(renderer, asked["payload"])
    engine = load_engine(run.settings)
    sizes = (prompts.list.len() + renderer.prompt.sampling.max_tokens).to_list()
    chunks = pl.Series(cut_chunks(sizes, engine.room, run.settings), dtype=pl.UInt32)
    plan = asked.with_columns(chunk=chunks, prompt_ids=prompts)
    run.write("plan", plan.pipe(conform, PLAN), row_group_size=ROWS_PER_GROUP)
    return int(plan["chunk"].n_unique())


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
    """`key`, `payload`, `p_skip` and `ask` of what is not in the store, one row a key, sorted by payload."""
    ranked_out = run.read("ranked_out")
    ask = pl.when(pl.col("p_skip").is_null()).then(pl.lit("decide")).otherwise(pl.lit("generate"))
    return (
        run.read("reused")
        .join(ranked_out, on="candidate_id", how="anti")
        .filter(~is_finished(run.settings.threshold))
        .unique("key", keep="any")
        .sort("payload")
        .select("key", "payload", "p_skip", ask=ask)
    )


def cut_chunks(sizes: Sequence[int], room: KvRoom | None, settings: Settings) -> list[int]:
    """The chunk number of each prompt, in order, starting at 0.

    `sizes` are tokens of prompt and longest answer together. A chunk ends when its prompts would fill the room less
    the margin (each rounded up to whole blocks, nothing counted as shared), at `chunk_pairs` pairs, or at
    `chunk_share` of all pairs, so that a crash loses little. A prompt larger than the room stands alone.
    """
    most_pairs = max(1, min(settings.chunk_pairs, math.floor(settings.chunk_share * len(sizes))))
    most_tokens = room.tokens * (1 - settings.kv_margin) if room else math.inf
    block_size = room.block_size if room else 1
    chunks: list[int] = []
    chunk = pairs = tokens = 0
    for size in sizes:
        whole_blocks = math.ceil(size / block_size) * block_size
        if pairs and (pairs == most_pairs or tokens + whole_blocks > most_tokens):
            chunk, pairs, tokens = chunk + 1, 0, 0
        pairs, tokens = pairs + 1, tokens + whole_blocks
        chunks.append(chunk)
    return chunks
