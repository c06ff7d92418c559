"""Great Expectations, run on one frame: expectations in, one `Check` each out.

An expectation that raised is a failed critical check, whatever its severity says. Importing Great Expectations takes
seconds, so it is imported by the functions that need it.
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from checks.gate import Check, Severity


@dataclass(frozen=True, slots=True)
class Validation:
    """A suite's checks, in the suite's order, and Great Expectations' own result (`docs.py` makes Data Docs of it)."""

    suite: str
    checks: list[Check]
    result: Any


def expectation(
    kind: Any, name: str, severity: Severity, said: tuple[str, str], observed: tuple[str, str] = ("", ""),
    sentence: str = "", **limits: Any,
) -> Any:  # fmt: skip
    """An expectation of a core or own kind, with what a `Check` needs to know of it in its `meta`.

    Args:
        kind: the class; `limits`: its arguments.
        name: the check's stable name; `said`: what must hold, in English and in Korean, without today's numbers.
        observed: what was seen, in both languages, where the bare value would not do.
        sentence: what is said when it failed, where description and observed would only say it twice.
    """
    meta = {"name": name, "description_ko": said[1], "sentence": sentence}
    meta |= {"observed": observed[0], "observed_ko": observed[1]}
    return kind(description=said[0], severity=severity.value, meta=meta, **limits)


def validate(suite: str, frame: pl.DataFrame, expectations: Sequence[Any]) -> Validation:
    """Run a suite's expectations on a frame."""
    context = quiet_context()
    import great_expectations as gx

    asset = context.data_sources.add_pandas("sayu").add_dataframe_asset(suite)
    batch = asset.add_batch_definition_whole_dataframe("date").get_batch({"dataframe": frame.to_pandas()})
    result = batch.validate(gx.ExpectationSuite(suite, expectations=list(expectations)))
    for each in result.results:
        each.success = bool(each.success)  # some are numpy's, which can't be stored
    checks = {check.name: check for check in map(_check, result.results)}
    order = [each.meta["name"] for each in expectations]  # what raised comes first in the result
    return Validation(suite, [checks[name] for name in order], result)


def quiet_context(config: Any = None) -> Any:
    """A Great Expectations context in memory that shows no progress and reports to no one."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx
    from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    # Given no configuration, it would leave a folder for Data Docs in /tmp each time.
    config = config or DataContextConfig(store_backend_defaults=InMemoryStoreBackendDefaults())
    context: Any = gx.get_context(mode="ephemeral", project_config=config)
    context.variables.progress_bars = {"globally": False}
    return context


def _check(result: Any) -> Check:
    asked = result.expectation_config
    said = asked.meta or {}
    raised = _raised(result.exception_info or {})
    observed = raised or said.get("observed") or _observed(asked.type, result.result or {})
    return Check(
        name=said.get("name") or asked.type.removeprefix("expect_"),
        description=str(asked.description),
        description_ko=said.get("description_ko", ""),
        severity=Severity.CRITICAL if raised else Severity(str(getattr(asked.severity, "value", "critical"))),
        passed=result.success and not raised,
        observed=observed,
        sentence="" if raised else said.get("sentence", ""),
        observed_ko=raised or said.get("observed_ko") or observed,
    )


def _observed(kind: str, seen: dict[str, Any]) -> str:
    """What the expectation saw: its value, or how many rows broke it and some of their values."""
    if "observed_value" in seen:
        value = seen["observed_value"]
        if isinstance(value, dict):
            return ", ".join(f"{q:.0%}: {v:.4g}" for q, v in zip(value["quantiles"], value["values"], strict=True))
        if value is None:
            return "nothing"
        return f"{value:.2%}" if kind.startswith("expect_share") else f"{value:,.4g}"
    count, values = seen.get("unexpected_count", 0), seen.get("partial_unexpected_list", [])
    return f"{count} rows: {', '.join(str(value) for value in values[:5])}" if count else "no row breaks it"


def _raised(info: dict[str, Any]) -> str:
    """The message of the exception that an expectation raised, empty if it raised none."""
    entries = [info] if "raised_exception" in info else list(info.values())
    return next((str(e.get("exception_message")) for e in entries if e.get("raised_exception")), "")
