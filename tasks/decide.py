"""decide: one token a pair, write or skip, and from the labels' logprobs the probability of skip.

In: one chunk of `plan.parquet`. Out: decisions in the result store (records.DECISIONS), errors in the run folder.
"""

import math

import polars as pl

from tasks.chunks import chunk_name, now, read_chunk, write_failures
from tasks.engine import Completion, Request, Sampling, load_engine
from tasks.records import DECISIONS
from tasks.renderer import load_renderer
from tasks.results import write_results
from tasks.runs import Run


def decide_chunk(run: Run, chunk: int) -> int:
    """Ask for the decisions of one chunk; returns how many pairs were decided.

    Raises:
        EngineError: the engine broke; finished chunks are kept.
    """
    rows = read_chunk(run, chunk)
    asked = rows.filter(pl.col("ask") == "decide")
    if asked.is_empty():
        return 0
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    labels = (renderer.write_id, renderer.skip_id)
    requests = [Request(prompt, max_tokens=1, label_ids=labels) for prompt in asked["prompt_ids"].to_list()]
    engine = load_engine(run.settings)
    # the labels' logprobs decide, not the token that was drawn: temperature plays no part
    completions = engine.complete(requests, Sampling(temperature=0.0, seed=0, stop_ids=renderer.stop_ids))
    answered = list(zip(asked["key"], completions, strict=True))
    decisions = [_decision(key, answer) for key, answer in answered if answer.error is None]
    errors = {key: answer.error for key, answer in answered if answer.error is not None}
    if decisions:
        frame = pl.DataFrame(decisions, schema=DECISIONS, orient="row")
        write_results(run.settings.store, "decisions", chunk_name(run, rows), frame)
    write_failures(run, "decide", chunk, list(errors), list(errors.values()))
    return len(decisions)


def skip_probability(write_logprob: float, skip_logprob: float) -> float:
    """The probability of skip if only the two labels could be said: a softmax over their two logprobs (in nats)."""
    return 1 / (1 + math.exp(min(write_logprob - skip_logprob, 700)))


def _decision(key: str, answer: Completion) -> tuple[object, ...]:
    write, skip = answer.label_logprobs
    mass = math.exp(write) + math.exp(skip)
    return key, skip_probability(write, skip), mass, answer.prompt_tokens, answer.cached_tokens, now()
