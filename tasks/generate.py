"""generate: the texts of the pairs that are to be written, while decide's prompts are still in the engine's cache.

In: one chunk of `plan.parquet`, its decisions. Out: texts in the result store (records.TEXTS), errors in the run
folder. In the order `fused` decide has written already, and only what it could not is left.

The prompt is decide's to the token, with the label `write` behind it: the model can't change its mind, and spends no
token on saying so again.
"""

from collections.abc import Sequence

import polars as pl

from tasks.chunks import chunk_name, now, read_chunk, read_stored, store_more, write_failures
from tasks.engine import Completion, Request, Sampling, load_engine
from tasks.records import TEXTS
from tasks.renderer import Renderer, load_renderer
from tasks.results import read_results
from tasks.runs import Run


def generate_chunk(run: Run, chunk: int) -> int:
    """Ask for the texts of one chunk that are not there yet; returns how many of its texts this run has written.

    Raises:
        EngineError: the engine broke; finished chunks are kept.
    """
    rows = read_chunk(run, chunk)
    name = chunk_name(run, rows)
    to_write = pairs_to_write(rows, read_results(run.settings.store, "decisions", name), run.settings.threshold)
    written = read_stored(run, "texts", name)
    asked = to_write.join(written, on="key", how="anti", maintain_order="left")
    if asked.is_empty():
        return written.height
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    sampling = renderer.prompt.sampling
    requests = [Request([*ids, renderer.write_id], sampling.max_tokens) for ids in asked["prompt_ids"].to_list()]
    engine = load_engine(run.settings)
    completions = engine.complete(requests, Sampling(sampling.temperature, sampling.seed, renderer.stop_ids), name)
    answered = list(zip(asked["key"], completions, strict=True))
    store_texts(run, name, answered, renderer)
    write_failures(run, "generate", chunk, answered)
    return written.height + sum(answer.error is None for answer in completions)


def pairs_to_write(rows: pl.DataFrame, decisions: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """The rows of a chunk whose decision, new or stored, says write."""
    new = decisions.select("key", new_p_skip="p_skip")
    p_skip = pl.coalesce("p_skip", "new_p_skip")
    return rows.join(new, on="key", how="left", maintain_order="left").filter(p_skip < threshold)


def store_texts(run: Run, name: str, answered: Sequence[tuple[str, Completion]], renderer: Renderer) -> None:
    """Store what was written of a chunk. Errors are left out.

    A completion that begins with the label `write` is one request's decision and text: its prompt counts as decide's.
    """
    texts = [_text(run, key, answer, renderer) for key, answer in answered if answer.error is None]
    store_more(run, "texts", name, pl.DataFrame(texts, schema=TEXTS, orient="row"))


def _text(run: Run, key: str, answer: Completion, renderer: Renderer) -> tuple[object, ...]:
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
