"""decide: write or skip, and from the logprobs of the two labels the probability of skip.

In: one chunk of `plan.parquet`. Out: decisions in the result store (records.DECISIONS), errors in the run folder. In
the order `fused` one request decides and, where it comes out so, writes: then the texts are stored as well.
"""

import math

import polars as pl

from tasks.chunks import ask, chunk_name, now, read_chunk, read_stored, text_row, write_failures
from tasks.engine import Completion, Request
from tasks.journal import Row, Rows, store_unfinished
from tasks.renderer import load_renderer
from tasks.runs import Run


def decide_chunk(run: Run, chunk: int) -> int:
    """Ask for the decisions of one chunk that are not there yet; returns how many of its pairs this run has decided.

    Raises:
        EngineError: the engine broke; what it has answered before is stored.
    """
    rows = read_chunk(run, chunk)
    name = chunk_name(run, rows)
    worker_died = store_unfinished(run, name)
    to_decide = rows.filter(pl.col("ask") == "decide")
    asked = to_decide.join(read_stored(run, "decisions", name), on="key", how="anti", maintain_order="left")
    decided = to_decide.height - asked.height
    if worker_died:  # should a pair have killed it, then from this end those behind it are answered
        asked = asked.reverse()
    return decided + (_ask(run, chunk, asked, name) if asked.height else 0)


def _ask(run: Run, chunk: int, asked: pl.DataFrame, name: str) -> int:
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    choice = renderer.choice(run.settings.threshold)
    most = 1 + renderer.prompt.sampling.max_tokens if run.settings.order == "fused" else 1
    requests = [Request(prompt, most, choice) for prompt in asked["prompt_ids"].to_list()]

    def rows_of(key: str, answer: Completion) -> Rows:
        decision = _decision(run, key, answer)
        if len(answer.token_ids) > 1:
            return {"decisions": decision, "texts": text_row(run, key, answer, renderer)}
        return {"decisions": decision}

    answered = ask(run, name, asked["key"].to_list(), requests, rows_of)
    write_failures(run, "decide", chunk, answered)
    return sum(answer.error is None for _, answer in answered)


def skip_probability(write_logprob: float, skip_logprob: float) -> float:
    """The probability of skip if only the two labels could be said: a softmax over their two logprobs (in nats)."""
    return 1 / (1 + math.exp(min(write_logprob - skip_logprob, 700)))


def _decision(run: Run, key: str, answer: Completion) -> Row:
    write, skip = answer.label_logprobs
    mass = math.exp(write) + math.exp(skip)
    return key, skip_probability(write, skip), mass, answer.prompt_tokens, answer.cached_tokens, now(run)
