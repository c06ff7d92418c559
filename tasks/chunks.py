"""One chunk of the plan: what decide and generate read and leave.

Answers go to the journal as they come, and to the result store under the chunk's name; errors stay in the run folder,
and are asked again by the next run.
"""

import datetime as dt
import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import polars as pl

from tasks.engine import Call, Completion, Request, Sampling, load_engine
from tasks.journal import Row, Rows, open_journal
from tasks.records import FAILURES, PLAN
from tasks.renderer import Renderer, load_renderer
from tasks.results import Kind, read_results
from tasks.runs import Run

# Opening the plan costs some 10 ms, as much as a chunk of answers costs to store; this many chunks are a few megabytes.
CHUNKS_AT_A_TIME = 16


def read_chunk(run: Run, chunk: int) -> pl.DataFrame:
    """The rows of one chunk (records.PLAN), in order."""
    plan = run.folder / "plan.parquet"
    block = _read_block(plan, plan.stat().st_mtime_ns, chunk // CHUNKS_AT_A_TIME)
    return block.filter(pl.col("chunk") == chunk)


@lru_cache(maxsize=1)  # chunks are asked in order, each by decide and by generate
def _read_block(plan: Path, _written_at: int, block: int) -> pl.DataFrame:
    inside = pl.col("chunk") // CHUNKS_AT_A_TIME == block
    return pl.scan_parquet(plan).filter(inside).select(PLAN.names()).collect()


def chunk_name(run: Run, rows: pl.DataFrame) -> str:
    """The name of a chunk's results: date, run and a hash of the keys, so that another cut has another name."""
    keys = hashlib.blake2b("".join(rows["key"]).encode(), digest_size=6).hexdigest()
    return f"{run.ds}-{run.key}-{keys}"


def read_stored(run: Run, kind: Kind, name: str) -> pl.DataFrame:
    """What this run has stored of a chunk already: more than nothing where it is asked once more, after a crash."""
    return read_results(run.settings.store, kind, name).filter(pl.col("finished_at") >= run.started_at)


def pairs_to_write(rows: pl.DataFrame, decisions: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """The rows of a chunk whose decision, new or stored, says write."""
    new = decisions.select("key", new_p_skip="p_skip")
    p_skip = pl.coalesce("p_skip", "new_p_skip")
    return rows.join(new, on="key", how="left", maintain_order="left").filter(p_skip < threshold)


def ask(
    run: Run,
    name: str,
    keys: Sequence[str],
    requests: Sequence[Request],
    rows_of: Callable[[str, Completion], Rows],
) -> list[tuple[str, Completion]]:
    """The engine's answers to requests of a chunk, by key; when they are given back, they are stored.

    Args:
        run: The run.
        name: The name of the chunk's results.
        keys: Of the pairs that are asked about.
        requests: What the engine is asked about each.
        rows_of: What is to be stored of an answer.

    Raises:
        EngineError: the engine broke; what it has answered before is stored.
    """
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    of_prompt = renderer.prompt.sampling
    with open_journal(run, name) as keep_rows:

        def keep(number: int, answer: Completion) -> None:
            if answer.error is None:
                keep_rows(rows_of(keys[number], answer))

        sampling = Sampling(of_prompt.temperature, of_prompt.seed, renderer.stop_ids)
        answers = load_engine(run.settings).complete(requests, sampling, Call(name, pairs_at_a_time(run), keep))
    return list(zip(keys, answers, strict=True))


def pairs_at_a_time(run: Run) -> int:
    """How many of the run's pairs the engine may be answering at a time: a kill loses no more."""
    plan = run.folder / "plan.parquet"
    return run.settings.most_in_flight(_planned(plan, plan.stat().st_mtime_ns))


@lru_cache(maxsize=1)
def _planned(plan: Path, _written_at: int) -> int:
    return int(pl.scan_parquet(plan).select(pl.len()).collect().item())


def text_row(run: Run, key: str, answer: Completion, renderer: Renderer) -> Row:
    """What was written, as a first answer that nobody has looked at (records.TEXTS).

    A completion that begins with the label `write` is one request's decision and text: its prompt counts as decide's.
    """
    fused = bool(answer.label_logprobs)
    written = answer.token_ids[1:] if fused else answer.token_ids
    return (
        key,
        renderer.written_answer(written),
        answer.finish_reason,
        0 if fused else answer.prompt_tokens,
        0 if fused else answer.cached_tokens,
        len(written),
        now(run),
        1,
        None,
    )


def write_failures(run: Run, stage: str, chunk: int, answered: Sequence[tuple[str, Completion]]) -> None:
    """Leave the pairs that got no answer, if there are any, with their errors."""
    failed = [(key, stage, answer.error) for key, answer in answered if answer.error is not None]
    if failed:
        run.write(f"failures/{stage}-{chunk:05d}", pl.DataFrame(failed, schema=FAILURES, orient="row"))


def now(run: Run) -> dt.datetime:
    """When a result was finished: never before its run began, though a clock be set back or another worker's be slow.

    By this time a run knows its own results.
    """
    return max(dt.datetime.now(dt.UTC), run.started_at)
