"""generate: the texts of the pairs that are to be written, while decide's prompts are still in the engine's cache.

In: one chunk of `plan.parquet`, its decisions. Out: texts in the result store (records.TEXTS), errors in the run
folder. In the order `fused` decide has written already, and only what it could not is left. What fails its checks is
asked for again at once (see tasks.again).

The prompt is decide's to the token, with the label `write` behind it: the model can't change its mind, and spends no
token on saying so again.
"""

import polars as pl

from tasks.again import ask_again
from tasks.chunks import ask, chunk_name, pairs_to_write, read_chunk, read_stored, text_row, write_failures
from tasks.engine import Request
from tasks.journal import store_unfinished
from tasks.renderer import load_renderer
from tasks.results import read_results
from tasks.runs import Run


def generate_chunk(run: Run, chunk: int) -> int:
    """Ask for the texts of one chunk that are not there yet; returns how many of its texts this run has written.

    Raises:
        EngineError: the engine broke; what it has answered before is stored.
    """
    rows = read_chunk(run, chunk)
    name = chunk_name(run, rows)
    store_unfinished(run, name)
    to_write = pairs_to_write(rows, read_results(run.settings.store, "decisions", name), run.settings.threshold)
    texts = read_stored(run, "texts", name)
    asked = to_write.join(texts, on="key", how="anti", maintain_order="left")
    written = texts.height + (_ask(run, chunk, asked, name) if asked.height else 0)
    if written and run.settings.attempts > 1:
        ask_again(run, to_write, name)
    return written


def _ask(run: Run, chunk: int, asked: pl.DataFrame, name: str) -> int:
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    most = renderer.prompt.sampling.max_tokens
    requests = [Request([*ids, renderer.write_id], most) for ids in asked["prompt_ids"].to_list()]
    keys = asked["key"].to_list()
    answered = ask(run, name, keys, requests, lambda key, answer: {"texts": text_row(run, key, answer, renderer)})
    write_failures(run, "generate", chunk, answered)
    return sum(answer.error is None for _, answer in answered)
