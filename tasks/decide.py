"""decide: write or skip, and from the logprobs of the two labels the probability of skip.

In: one chunk of `plan.parquet`. Out: decisions in the result store (records.DECISIONS), errors in the run folder. In
the order `fused` one request decides and, where it comes out so, writes: then the texts are stored as well.
"""

import math
from collections.abc import Sequence

import polars as pl

from tasks.chunks import as_texts, chunk_name, now, read_chunk, read_stored, store_more, write_failures
from tasks.engine import Completion, Request, Sampling, load_engine
from tasks.records import DECISIONS
from tasks.renderer import load_renderer
from tasks.runs import Run


def decide_chunk(run: Run, chunk: int) -> int:
    """Ask for the decisions of one chunk that are not there yet; returns how many of its pairs this run has decided.

    Raises:
        EngineError: the engine broke; finished chunks are kept.
    """
    rows = read_chunk(run, chunk)
    name = chunk_name(run, rows)
    to_decide = rows.filter(pl.col("ask") == "decide")
    asked = to_decide.join(read_stored(run, "decisions", name), on="key", how="anti", maintain_order="left")
    decided = to_decide.height - asked.height
    if asked.is_empty():
        return decided
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    choice = renderer.choice(run.settings.threshold)
    sampling = renderer.prompt.sampling
    most = 1 + sampling.max_tokens if run.settings.order == "fused" else 1
    requests = [Request(prompt, most, choice) for prompt in asked["prompt_ids"].to_list()]
    engine = load_engine(run.settings)
    completions = engine.complete(requests, Sampling(sampling.temperature, sampling.seed, renderer.stop_ids), name)
    answered = list(zip(asked["key"], completions, strict=True))
    written = [(key, answer) for key, answer in answered if len(answer.token_ids) > 1]
    store_more(run, "texts", name, as_texts(run, written, renderer))
    _store_decisions(run, name, answered)
    write_failures(run, "decide", chunk, answered)
    return decided + sum(answer.error is None for answer in completions)


def skip_probability(write_logprob: float, skip_logprob: float) -> float:
    """The probability of skip if only the two labels could be said: a softmax over their two logprobs (in nats)."""
    return 1 / (1 + math.exp(min(write_logprob - skip_logprob, 700)))


def _store_decisions(run: Run, name: str, answered: Sequence[tuple[str, Completion]]) -> None:
    decisions = [_decision(run, key, answer) for key, answer in answered if answer.error is None]
    store_more(run, "decisions", name, pl.DataFrame(decisions, schema=DECISIONS, orient="row"))


def _decision(run: Run, key: str, answer: Completion) -> tuple[object, ...]:
    write, skip = answer.label_logprobs
    mass = math.exp(write) + math.exp(skip)
    return key, skip_probability(write, skip), mass, answer.prompt_tokens, answer.cached_tokens, now(run)
