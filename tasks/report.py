"""report: what happened to a date, for people and for machines.

In: the run folder. Out: `report.html`, self-contained and readable offline, and `manifest.json`, written last.
"""

import datetime as dt
from collections import Counter
from typing import Any

import jinja2
import polars as pl
from pydantic import BaseModel, ConfigDict

from checks.gate import Gate
from tasks.errors import StoreError
from tasks.files import replacing
from tasks.load import Publication
from tasks.records import Outcome
from tasks.results import find_results
from tasks.runs import Run, runs_of
from tasks.settings import Settings

# What a person reads of each kind before the report gets long.
EXAMPLES = 20


class Tokens(BaseModel):
    """Tokens of one stage in this run: read in all, found in the cache, written."""

    model_config = ConfigDict(frozen=True)
    pairs: int = 0
    prompt: int = 0
    cached: int = 0
    generated: int = 0

    @property
    def computed(self) -> int:
        """Prompt tokens that the engine really read."""
        return self.prompt - self.cached


class Summary(BaseModel):
    """A date in numbers. `outcomes` add up to `candidates`."""

    model_config = ConfigDict(frozen=True)
    ds: str
    run_key: str
    model: str
    prompt: str
    engine: str
    threshold: float
    candidates: int
    outcomes: dict[str, int]
    reused: int
    model_calls: int
    skip_rate: float | None  # skipped / all pairs with a decision
    decide: Tokens
    generate: Tokens
    seconds: dict[str, float]
    verdict: str
    reasons: tuple[str, ...]
    publication_id: int | None
    serving: str
    report: str


def report_date(run: Run, gate: Gate, publication: Publication | None) -> Summary:
    """Write the report and the manifest of a run; returns what they say in numbers."""
    outcomes = run.read("outcomes")
    summary = summarize(run, outcomes, gate, publication)
    page = render_report(summary, outcomes, gate)
    with replacing(run.folder / "report.html") as beside:
        beside.write_text(page, encoding="utf-8")
    run.write_json("manifest", summary.model_dump(mode="json"))
    return summary


def summarize(run: Run, outcomes: pl.DataFrame, gate: Gate, publication: Publication | None) -> Summary:
    """The date in numbers, from the outcomes and from what this run's plan got."""
    counts = Counter(outcomes["outcome"])
    decided = outcomes["p_skip"].count()
    decide, generate = count_tokens(run)
    return Summary(
        ds=str(run.ds),
        run_key=run.key,
        model=run.model,
        prompt=run.prompt,
        engine=run.settings.engine,
        threshold=run.settings.threshold,
        candidates=outcomes.height,
        outcomes={outcome.value: counts[outcome.value] for outcome in Outcome},
        reused=int(outcomes["reused"].sum()),
        model_calls=decide.pairs + generate.pairs,
        skip_rate=counts[Outcome.SKIPPED] / decided if decided else None,
        decide=decide,
        generate=generate,
        seconds=run.seconds(),
        verdict=gate.verdict.value,
        reasons=gate.reasons,
        publication_id=publication.publication_id if publication else None,
        serving=str(run.settings.serving_file.resolve()),
        report=str((run.folder / "report.html").resolve()),
    )


def count_tokens(run: Run) -> tuple[Tokens, Tokens]:
    """What the engine read and wrote in this run: the stored counts of the pairs that the plan asked for."""
    plan = run.read("plan").select("key", "ask")
    if plan.is_empty():
        return Tokens(), Tokens()
    to_decide = plan.filter(pl.col("ask") == "decide")["key"]
    store = run.settings.store
    decided = find_results(store, "decisions", to_decide, run.started_at)
    written = find_results(store, "texts", plan["key"], run.started_at)
    return (
        Tokens(
            pairs=decided.height,
            prompt=int(decided["prompt_tokens"].sum()),
            cached=int(decided["cached_tokens"].sum()),
            generated=decided.height,
        ),
        Tokens(
            pairs=written.height,
            prompt=int(written["prompt_tokens"].sum()),
            cached=int(written["cached_tokens"].sum()),
            generated=int(written["generated_tokens"].sum()),
        ),
    )


def render_report(summary: Summary, outcomes: pl.DataFrame, gate: Gate) -> str:
    """The report as one HTML page that needs nothing from the net. Names and texts are escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tasks", "."), autoescape=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template("report.html.j2").render(
        summary=summary,
        checks=gate.checks,
        details=_count_details(outcomes),
        examples={outcome: _examples(outcomes, outcome) for outcome in Outcome},
    )


def _count_details(outcomes: pl.DataFrame) -> list[dict[str, Any]]:
    """How often each rule, failed check or error was the reason, the most frequent first."""
    return (
        outcomes.filter(pl.col("detail").is_not_null())
        .select("outcome", pl.col("detail").str.split(", "))
        .explode("detail")
        .group_by("outcome", "detail")
        .agg(pairs=pl.len())
        .sort(["pairs", "detail"], descending=[True, False])
        .head(EXAMPLES)
        .to_dicts()
    )


def _examples(outcomes: pl.DataFrame, outcome: Outcome) -> list[dict[str, Any]]:
    """Some rows of an outcome, the same ones every time."""
    rows = outcomes.filter(pl.col("outcome") == outcome)
    return rows.sample(min(EXAMPLES, rows.height), seed=0, shuffle=True).to_dicts()


def latest_summary(settings: Settings, ds: dt.date) -> Summary:
    """What the last finished run of a date says in numbers.

    Raises:
        StoreError: no run of this date has finished.
    """
    manifests = sorted(runs_of(settings.store, ds).glob("*/manifest.json"), key=lambda path: path.stat().st_mtime)
    if not manifests:
        raise StoreError(f"no finished run of {ds} in {settings.store}", f"run `sayu daily --ds {ds}` first")
    return Summary.model_validate_json(manifests[-1].read_text(encoding="utf-8"))
