"""reuse: what the store already holds for the pairs that are left. Reuse is resume.

In: `candidates.parquet`, `screened.parquet`, the result store. Out: `reused.parquet` (records.REUSED), one row a pair
that may go to the model, with the key of its result and the decision and text that are stored.
"""

import polars as pl

from tasks.prompt import load_prompt, payload
from tasks.records import REUSED, conform
from tasks.results import find_results, result_key
from tasks.runs import Run


def reuse_results(run: Run) -> int:
    """Look every pair up in the result store; returns how many need nothing more from the model."""
    screened = run.read("screened")
    candidates = run.read("candidates").join(screened, on="candidate_id", how="anti", maintain_order="left")
    reused = add_stored(add_keys(candidates, run), run).pipe(conform, REUSED)
    run.write("reused", reused)
    return reused.filter(is_finished(run.settings.threshold)).height


def is_finished(threshold: float) -> pl.Expr:
    """Whether the store holds all that a pair needs: a decision, and a text where it is to be written."""
    return pl.col("p_skip").is_not_null() & ((pl.col("p_skip") >= threshold) | pl.col("has_text"))


def add_keys(candidates: pl.DataFrame, run: Run) -> pl.DataFrame:
    """`candidate_id`, `payload` (the JSON that the model reads) and `key` of each candidate."""
    prompt = load_prompt(run.settings.prompt)
    payloads = [payload(prompt, row) for row in candidates.select(prompt.keys).iter_rows(named=True)]
    return candidates.select(
        "candidate_id",
        payload=pl.Series(payloads, dtype=pl.String),
        key=pl.Series([result_key(text, prompt, run.model) for text in payloads], dtype=pl.String),
    )


def add_stored(keyed: pl.DataFrame, run: Run) -> pl.DataFrame:
    """`p_skip` and `has_text` of each row's `key`, as the result store holds them."""
    store, oldest = run.settings.store, run.oldest_result
    decisions = find_results(store, "decisions", keyed["key"], oldest).select("key", "p_skip")
    texts = find_results(store, "texts", keyed["key"], oldest).select("key", has_text=pl.lit(True))
    return (
        keyed.join(decisions, on="key", how="left", maintain_order="left")
        .join(texts, on="key", how="left", maintain_order="left")
        .with_columns(pl.col("has_text").fill_null(False))
    )
