"""reuse: what the store already holds for the pairs that are left. Reuse is resume.

In: `candidates.parquet`, `screened.parquet`, the result store. Out: `reused.parquet` (records.REUSED), one row a pair
that may go to the model, with the key of its result and the decision and text that are stored; `reuse.json`, what was
found, by its age (tasks.hits).
"""

import polars as pl

from tasks.expiry import Oldest
from tasks.hits import DECIDED, EXPIRED, FOUND, IGNORED, NEVER, Hits, count_hits
from tasks.journal import store_all_unfinished
from tasks.prompt import load_prompt, payload
from tasks.records import REUSED, Outcome, conform
from tasks.results import EVER, find_all, newest_results, result_key
from tasks.runs import Run


def reuse_results(run: Run) -> int:
    """Look every pair up in the result store; returns how many need nothing more from the model.

    What a run of the date that was killed has left is stored first.
    """
    store_all_unfinished(run.settings.store, run.ds)
    screened = run.read("screened")
    candidates = run.read("candidates").join(screened, on="candidate_id", how="anti", maintain_order="left")
    stored = add_stored(add_keys(candidates, run), run)
    hits = account_hits(stored, run)
    run.write("reused", stored.pipe(conform, REUSED))
    run.write_json("reuse", hits.model_dump(mode="json"))
    return hits.found


def is_finished(threshold: float) -> pl.Expr:
    """Whether the store holds all that a pair needs: a decision, and a text where it is to be written."""
    return pl.col("p_skip").is_not_null() & ((pl.col("p_skip") >= threshold) | pl.col("has_text"))


def add_keys(candidates: pl.DataFrame, run: Run) -> pl.DataFrame:
    """`candidate_id`, `payload` (the JSON that the model reads) and `key` of each candidate."""
    prompt = load_prompt(run.settings.prompt)
    payloads = [payload(prompt, row) for row in candidates.select(prompt.keys).iter_rows(named=True)]
    keys = [result_key(text, prompt, run.model, run.settings.reuse_key) for text in payloads]
    return candidates.select(
        "candidate_id",
        payload=pl.Series(payloads, dtype=pl.String),
        key=pl.Series(keys, dtype=pl.String),
    )


def add_stored(keyed: pl.DataFrame, run: Run) -> pl.DataFrame:
    """What the result store holds for each row's `key`.

    Adds `p_skip` and `has_text`, of results that count; and, whether they count or not, `hit` (tasks.hits), `stored_as`
    (the outcome that they come to, null where the text is missing) and `stored_at`.
    """
    decisions = find_all(run.settings.store, "decisions", keyed["key"], columns=("key", "p_skip", "finished_at"))
    texts = find_all(run.settings.store, "texts", keyed["key"], columns=("key", "passed", "finished_at"))
    counting = _newest(decisions, texts, run.oldest_result)
    in_time = _newest(decisions, texts, Oldest.at(run.started_at, run.settings)).select("key", in_time=True)
    ever = _newest(decisions, texts, Oldest.all_from(EVER))
    p_skip, passed = pl.coalesce("p_skip", "p_skip_ever"), pl.coalesce("passed", "passed_ever")
    skip = p_skip >= run.settings.threshold
    hit = (
        pl.when(is_finished(run.settings.threshold)).then(pl.lit(FOUND))
        .when(pl.col("p_skip").is_not_null()).then(pl.lit(DECIDED))
        .when("in_time").then(pl.lit(IGNORED))
        .when(p_skip.is_not_null()).then(pl.lit(EXPIRED))
        .otherwise(pl.lit(NEVER))
    )  # fmt: skip
    stored_as = (
        pl.when(skip).then(pl.lit(Outcome.SKIPPED))
        .when(passed).then(pl.lit(Outcome.PUBLISHED))
        .when(~passed).then(pl.lit(Outcome.REJECTED))
    )  # fmt: skip
    return (
        keyed.join(counting, on="key", how="left", maintain_order="left")
        .join(ever, on="key", how="left", maintain_order="left", suffix="_ever")
        .join(in_time, on="key", how="left", maintain_order="left")
        .with_columns(has_text=pl.col("written_at").is_not_null())
        .with_columns(hit=hit, stored_as=stored_as, stored_at=pl.when(skip).then("decided_at").otherwise("written_at"))
    )


def account_hits(stored: pl.DataFrame, run: Run) -> Hits:
    """What the pairs of `add_stored` found, counted."""
    return count_hits(stored, run.started_at, run.settings.reuse_key, run.fresh_since)


def _newest(decisions: pl.DataFrame, texts: pl.DataFrame, oldest: Oldest) -> pl.DataFrame:
    """Of each key that has a decision the newest one, and its newest text. Nobody having looked, a text has passed."""
    decided = newest_results(decisions, "decisions", oldest).select("key", "p_skip", decided_at="finished_at")
    written = newest_results(texts, "texts", oldest).select(
        "key", passed=pl.col("passed").fill_null(True), written_at="finished_at"
    )
    return decided.join(written, on="key", how="left")
