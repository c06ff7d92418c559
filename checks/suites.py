"""Great Expectations suites: what must hold of a date as a whole.

In: one day as a polars frame. Out: one `Check` per expectation. An expectation that raised is a failed critical check,
whatever its severity says.
"""

import logging
import os
from collections.abc import Sequence
from typing import Any

import polars as pl

from checks.gate import Check, Severity

# The form is what a fine-tuned model is surest of: the demo model breaks it in none of a thousand answers.
MIN_JSON_SHARE = 0.9


def check_outcomes(
    outcomes: pl.DataFrame, candidates: int, allowed: Sequence[str], max_failed_share: float
) -> list[Check]:
    """Check the outcomes of one date (one row a candidate) before they are loaded.

    Needs the columns `candidate_id`, `outcome`, `text` and `valid_json` (null where nothing was written).

    Args:
        outcomes: the frame; `candidates`: how many rows it must have; `allowed`: the outcomes that exist.
        max_failed_share: share of rows without an answer (0 to 1) above which the date is held back.
    """
    frame = outcomes.select(
        "candidate_id",
        "outcome",
        failed=(pl.col("outcome") == "failed").cast(pl.Float64),
        published=(pl.col("outcome") == "published").cast(pl.Float64),
        bare=((pl.col("outcome") == "published") & pl.col("text").is_null()).cast(pl.Float64),
        valid_json=pl.col("valid_json").cast(pl.Float64),
    )
    suite = _outcome_suite(candidates, allowed, max_failed_share)
    if frame["valid_json"].count():
        suite.append(_json_expectation())
    return _validate(frame, suite)


def _outcome_suite(candidates: int, allowed: Sequence[str], max_failed_share: float) -> list[Any]:
    from great_expectations import expectations as core

    gxe: Any = core
    critical, warning = {"severity": "critical"}, {"severity": "warning"}
    return [
        gxe.ExpectTableRowCountToEqual(value=candidates, description="outcomes add up to the candidates", **critical),
        gxe.ExpectColumnValuesToNotBeNull(column="outcome", description="every candidate has an outcome", **critical),
        gxe.ExpectColumnValuesToBeUnique(
            column="candidate_id", description="no candidate has two outcomes", **critical
        ),
        gxe.ExpectColumnValuesToBeInSet(
            column="outcome", value_set=list(allowed), description="outcomes are known ones", **critical
        ),
        gxe.ExpectColumnMaxToBeBetween(
            column="bare", max_value=0, description="what is published has a text", **critical
        ),
        gxe.ExpectColumnMeanToBeBetween(
            column="failed",
            max_value=max_failed_share,
            description=f"at most {max_failed_share:.0%} of the pairs failed",
            **critical,
        ),
        gxe.ExpectColumnMaxToBeBetween(
            column="published", min_value=1, description="at least one reason is published", **warning
        ),
    ]


def _json_expectation() -> Any:
    from great_expectations import expectations as core

    gxe: Any = core
    return gxe.ExpectColumnMeanToBeBetween(
        column="valid_json",
        min_value=MIN_JSON_SHARE,
        description=f"at least {MIN_JSON_SHARE:.0%} of the written answers are valid JSON",
        severity="warning",
    )


def _validate(frame: pl.DataFrame, expectations: Sequence[Any]) -> list[Check]:
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx

    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    context: Any = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    asset = context.data_sources.add_pandas("day").add_dataframe_asset("outcomes")
    batch = asset.add_batch_definition_whole_dataframe("day").get_batch({"dataframe": frame.to_pandas()})
    suite = gx.ExpectationSuite("outcomes", expectations=list(expectations))
    return [_check(result) for result in batch.validate(suite).results]


def _check(result: Any) -> Check:
    expectation = result.expectation_config
    raised = _raised(result.exception_info or {})
    return Check(
        name=expectation.type.removeprefix("expect_"),
        description=str(expectation.description),
        severity=Severity.CRITICAL if raised else Severity(str(getattr(expectation.severity, "value", "critical"))),
        passed=bool(result.success) and not raised,
        observed=raised or _observed(result.result or {}),
    )


def _observed(seen: dict[str, Any]) -> str:
    """What the expectation saw: its value, or how many rows broke it and some of their values."""
    if "observed_value" in seen:
        value = seen["observed_value"]
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    count, values = seen.get("unexpected_count", 0), seen.get("partial_unexpected_list", [])
    return f"{count} rows: {', '.join(str(value) for value in values[:5])}" if count else "no row breaks it"


def _raised(info: dict[str, Any]) -> str:
    """The message of the exception that an expectation raised, empty if it raised none."""
    entries = [info] if "raised_exception" in info else list(info.values())
    return next((str(e.get("exception_message")) for e in entries if e.get("raised_exception")), "")
