"""generate: the texts of the pairs that are to be written, while decide's prompts are still in the engine's cache.

In: one chunk of `plan.parquet`, its decisions. Out: texts in the result store (records.TEXTS), errors in the run
folder.

The prompt is decide's to the token, with the label `write` behind it: the model can't change its mind, and spends no
token on saying so again.
"""

import polars as pl

from tasks.chunks import chunk_name, now, read_chunk, write_failures
from tasks.engine import Completion, Request, Sampling, load_engine
from tasks.records import TEXTS
from tasks.renderer import Renderer, load_renderer
from tasks.results import read_results, write_results
from tasks.runs import Run


def generate_chunk(run: Run, chunk: int) -> int:
    """Ask for the texts of one chunk; returns how many were written.

    Raises:
        EngineError: the engine broke; finished chunks are kept.
    """
    rows = read_chunk(run, chunk)
    name = chunk_name(run, rows)
    asked = pairs_to_write(rows, read_results(run.settings.store, "decisions", name), run.settings.threshold)
    if asked.is_empty():
        return 0
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    sampling = renderer.prompt.sampling
    requests = [Request([*ids, renderer.write_id], sampling.max_tokens) for ids in asked["prompt_ids"].to_list()]
    engine = load_engine(run.settings)
    completions = engine.complete(requests, Sampling(sampling.temperature, sampling.seed, renderer.stop_ids))
    answered = list(zip(asked["key"], completions, strict=True))
    texts = [_text(key, answer, renderer) for key, answer in answered if answer.error is None]
    errors = {key: answer.error for key, answer in answered if answer.error is not None}
    if texts:
        write_results(run.settings.store, "texts", name, pl.DataFrame(texts, schema=TEXTS, orient="row"))
    write_failures(run, "generate", chunk, list(errors), list(errors.values()))
    return len(texts)


def pairs_to_write(rows: pl.DataFrame, decisions: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """The rows of a chunk whose decision, new or stored, says write."""
    new = decisions.select("key", new_p_skip="p_skip")
    p_skip = pl.coalesce("p_skip", "new_p_skip")
    return rows.join(new, on="key", how="left", maintain_order="left").filter(p_skip < threshold)


def _text(key: str, answer: Completion, renderer: Renderer) -> tuple[object, ...]:
    return (
        key,
        renderer.written_answer(answer.token_ids),
        answer.finish_reason,
        answer.prompt_tokens,
        answer.cached_tokens,
        len(answer.token_ids),
        now(),
    )
