"""check: every candidate's one outcome, the row checks of what was written, and the gate over the date.

In: the files of the stages before, the result store, the history. Out: `outcomes.parquet` (records.OUTCOMES),
`statistics.parquet` (records.STATISTICS), `drift.json`, `checks.json`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from checks.drift import p_skip_drift, skip_rate_drift
from checks.gate import Gate, judge
from checks.rows import Written, check_written
from checks.suites import Validation, validate_outcomes
from tasks.data_docs import add_to_data_docs
from tasks.history import count_statistics, published_statistics
from tasks.inspect import read_input_checks
from tasks.load import live_publication
from tasks.records import FAILURES, OUTCOMES, Outcome, conform
from tasks.results import find_results
from tasks.runs import Run


def check_date(run: Run) -> Gate:
    """Judge the date; leave the outcomes, the statistics for later dates, the drift and the verdict."""
    for stale in ("manifest.json", "drift.json"):
        (run.folder / stale).unlink(missing_ok=True)
    catalogue = run.read("catalogue")["item_name"].to_list()
    judged = judge_texts(collect_answers(run), catalogue, run.settings.max_characters)
    outcomes = judged.pipe(conform, OUTCOMES)
    run.write("outcomes", outcomes)
    run.write("statistics", count_statistics(outcomes))
    accepted, checks = read_input_checks(run)
    if accepted:
        validation = validate(run, judged)
        checks += validation.checks
        add_to_data_docs(run, validation)
    gate = judge(checks)
    run.write_json("checks", gate.model_dump(mode="json"))
    return gate


def validate(run: Run, judged: pl.DataFrame) -> Validation:
    """Compare the date with the trailing published ones, and run the outcome suite over it."""
    today = run.read("statistics").with_columns(ds=pl.lit(run.ds), model=pl.lit(run.model), prompt=pl.lit(run.prompt))
    reference = published_statistics(run, run.settings.reference_dates)
    skip_rate, p_skip = skip_rate_drift(today, reference), p_skip_drift(today, reference)
    run.write_json("drift", {"skip_rate": skip_rate.model_dump(mode="json"), "p_skip": p_skip.model_dump(mode="json")})
    live = live_publication(run.settings.serving_file, run.ds)
    return validate_outcomes(
        judged,
        run.read("candidates").height,
        [*Outcome],
        run.settings.max_failed_share,
        skip_rate,
        p_skip,
        replaces=live is not None and live.reason_count > 0,
    )


def collect_answers(run: Run) -> pl.DataFrame:
    """One row a candidate with all that is known of it; `outcome` is null where a written text must be judged."""
    reused = run.read("reused").select("candidate_id", "key")
    planned = run.read("plan").select("key", reused=pl.lit(False))
    decisions = find_results(run.settings.store, "decisions", reused["key"], run.oldest_result)
    texts = find_results(run.settings.store, "texts", reused["key"], run.oldest_result)
    rows = (
        run.read("candidates")
        .join(run.read("screened"), on="candidate_id", how="left", maintain_order="left")
        .join(run.read("ranked_out"), on="candidate_id", how="left", maintain_order="left")
        .join(reused, on="candidate_id", how="left", maintain_order="left")
        .join(planned, on="key", how="left", maintain_order="left")
        .join(decisions.select("key", "p_skip", decided_at="finished_at"), on="key", how="left", maintain_order="left")
        .join(texts.select("key", "answer", "finish_reason", written_at="finished_at"), on="key", how="left",
              maintain_order="left")
        .join(read_failures(run.folder), on="key", how="left", maintain_order="left")
    )  # fmt: skip
    skipped = pl.col("p_skip") >= run.settings.threshold
    accepted, _ = read_input_checks(run)
    unasked = "the engine gave no answer" if accepted else "held back before the model was asked"
    outcome = (
        pl.when(pl.col("rule").is_not_null()).then(pl.lit(Outcome.SCREENED))
        .when(pl.col("rank").is_not_null()).then(pl.lit(Outcome.RANKED_OUT))
        .when(pl.col("p_skip").is_null()).then(pl.lit(Outcome.FAILED))
        .when(skipped).then(pl.lit(Outcome.SKIPPED))
        .when(pl.col("answer").is_null()).then(pl.lit(Outcome.FAILED))
    )  # fmt: skip
    unanswered = pl.when(pl.col("outcome") == Outcome.FAILED).then(
        pl.coalesce(pl.format("{}: {}", "stage", "error"), pl.lit(unasked))
    )
    return rows.with_columns(outcome=outcome).with_columns(
        detail=pl.coalesce("rule", "limit", unanswered),
        evidence=pl.coalesce("evidence", pl.format("{} / {}, {}", "rank", "of", pl.col("rank_score").round(3))),
        answer=pl.when(~skipped).then(pl.col("answer")),
        reused=pl.col("reused").fill_null(True) & pl.col("p_skip").is_not_null(),
        generated_at=pl.when(skipped).then("decided_at").otherwise("written_at"),
    )


def judge_texts(rows: pl.DataFrame, catalogue: Sequence[str], max_characters: int) -> pl.DataFrame:
    """Fill in the outcome of every written text, with `text`, the codes and the evidence of its failed checks.

    `catalogue` holds the names of everything the shop sells, which a text must not bring up beside its own two;
    `max_characters` is how long a text may be.
    """
    written = rows.filter(pl.col("outcome").is_null())
    verdicts = check_written([as_written(row) for row in written.iter_rows(named=True)], catalogue, max_characters)
    judged = pl.DataFrame(
        {
            "candidate_id": written["candidate_id"],
            "text": [verdict.text for verdict in verdicts],
            "codes": [", ".join(failure.code for failure in verdict.failures) for verdict in verdicts],
            "shown": ["; ".join(failure.evidence for failure in verdict.failures) for verdict in verdicts],
            "valid_json": [verdict.text is not None for verdict in verdicts],
        },
        schema={"candidate_id": pl.UInt32, "text": pl.String, "codes": pl.String, "shown": pl.String,
                "valid_json": pl.Boolean},
    )  # fmt: skip
    passed = pl.when(pl.col("codes") == "").then(pl.lit(Outcome.PUBLISHED)).otherwise(pl.lit(Outcome.REJECTED))
    return rows.join(judged, on="candidate_id", how="left", maintain_order="left").with_columns(
        outcome=pl.coalesce("outcome", passed),
        detail=pl.coalesce("detail", pl.col("codes").replace("", None)),
        evidence=pl.coalesce("evidence", pl.col("shown").replace("", None)),
    )


def read_failures(folder: Path) -> pl.DataFrame:
    """The last error of each key that got no answer in this run."""
    files: Sequence[Path] = sorted((folder / "failures").glob("*.parquet"))
    frames = [pl.read_parquet(file) for file in files]
    return pl.concat([FAILURES.to_frame(), *frames]).unique("key", keep="last")


def as_written(row: Mapping[str, object]) -> Written:
    """An answer and the names that it was written for, from a row that has them as its columns."""
    return Written(
        answer=str(row["answer"]),
        finish_reason=str(row["finish_reason"]),
        recommended_item=str(row["recommended_item"]),
        reason_item=str(row["reason_item"]),
        basket=tuple(row["basket"]),  # type: ignore[arg-type]
    )
