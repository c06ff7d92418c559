"""What a date's report shows: the verdict first, then what to look at, then the numbers, then texts to read.

In: the summary, the outcomes, the gate. Out: HTML. The outcomes are counted in polars before anything is drawn.
"""

from collections import Counter
from typing import Any

import polars as pl

from checks.gate import Gate
from checks.length import count_characters
from tasks.costs import GENERATED_WEIGHT
from tasks.records import Outcome
from tasks.reports.again import asked_again
from tasks.reports.charts import Step, histogram, skip_history, waterfall
from tasks.reports.findings import NEAR, count_near, look_at
from tasks.reports.html import render
from tasks.reports.rows import Groups
from tasks.reports.summary import Summary
from tasks.reports.waterfall import bars, parts, per_text, say_money, say_seconds
from tasks.reports.words import Language, words
from tasks.waterfall import Waterfall

TO_READ = 20  # published texts that a person reads each morning in a minute or two
EXAMPLES = 3  # of each rule: enough to see whether the rule or the model is wrong
OTHERS = 10  # of each other outcome
# The way of the data: what each stage takes away, and what is left.
WAY = {
    Outcome.SCREENED: "var(--dim)",
    Outcome.RANKED_OUT: "var(--dim)",
    Outcome.SKIPPED: "var(--bar)",
    Outcome.FAILED: "var(--bad)",
    Outcome.REJECTED: "var(--warn)",
    Outcome.PUBLISHED: "var(--good)",
}


def render_report(
    summary: Summary,
    outcomes: pl.DataFrame,
    gate: Gate,
    groups: Groups,
    history: pl.DataFrame,
    language: Language,
    data_docs: str | None = None,
) -> str:
    """The report as one HTML page that needs nothing from the net. Names and texts are escaped.

    Args:
        summary, outcomes, gate: The date. `groups`: The rows to show.
        history: The skip rates up to the date, as charts.skip_history takes them.
        language: What the report is written in.
        data_docs: The relative address of Great Expectations' own pages, where there are any.
    """
    near = count_near(outcomes, summary.threshold)
    return render(
        "report.html.j2",
        language,
        summary=summary,
        checks=sorted(enumerate(gate.checks), key=lambda check: check[1].passed),
        data_docs=data_docs,
        groups=groups,
        kind=summary.kind,
        look_at=look_at(summary, gate, groups, near, language),
        charts=_charts(summary, outcomes, history, words(language)),
        costs=_costs(summary.waterfall, summary.passed, language) if summary.waterfall else None,
        way=[outcome.value for outcome in WAY],
        decided=int(outcomes["p_skip"].count()),
        near=near,
        again=list(asked_again(summary.attempts, language)),
        width=NEAR,
        limit=summary.max_characters,
        to_read=TO_READ,
        examples=EXAMPLES,
        others=OTHERS,
        marked=mark_evidence,
    )


def mark_evidence(text: str, evidence: str | None) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it is what a failed rule saw; together they are the text."""
    seen = [part for part in (evidence or "").replace(" / ", "; ").split("; ") if part and part in text]
    if not seen:
        return [(text, False)]
    longest = max(seen, key=len)
    before, _, after = text.partition(longest)
    return [(before, False), (longest, True), (after, False)]


def _charts(summary: Summary, outcomes: pl.DataFrame, history: pl.DataFrame, w: dict[str, str]) -> dict[str, Any]:
    lengths, decisions = _lengths(outcomes), _decisions(outcomes, summary.threshold)
    charts = {"waterfall": waterfall(_steps(summary, w), w["what_became"])}
    if history.height > 1:
        charts["history"] = skip_history(history, w["skip_history"], w["skip_rate"], w["date"])
    if lengths.height:
        limit = summary.max_characters + 0.5
        domain = (0.0, max(limit + 5, float(lengths["end"].max())))  # type: ignore[arg-type]
        charts["lengths"] = histogram(lengths, domain, limit, w["lengths"], w["length_axis"], w["pairs"])
    if decisions.height:
        charts["p_skip"] = histogram(decisions, (0, 1), summary.threshold, w["p_skip"], "p(skip)", w["pairs"])
    return charts


def _costs(account: Waterfall, passed: str, language: Language) -> dict[str, Any]:
    """What the part about calls, tokens and money shows."""
    drawn = bars(account, passed, language)
    return {
        "parts": parts(account, passed, language),
        "chart": waterfall(*drawn) if drawn else None,
        "caption": drawn[1] if drawn else None,
        "per_text": per_text(account, language),
        "weight": GENERATED_WEIGHT,
        "seconds": say_seconds,
        "money": say_money,
    }


def _steps(summary: Summary, w: dict[str, str]) -> list[Step]:
    names = {outcome: w[f"outcome_{outcome}"] for outcome in WAY} | {Outcome.PUBLISHED: w[summary.passed]}
    steps = [(names[outcome], summary.outcomes[outcome], colour) for outcome, colour in WAY.items()]
    return [(w["candidates"], summary.candidates, "var(--ink)"), *steps]


def _lengths(outcomes: pl.DataFrame) -> pl.DataFrame:
    """How many texts have each length in characters as a reader counts them, by what became of them."""
    texts = outcomes.filter(pl.col("text").is_not_null()).select("text", "outcome")
    counts = Counter((count_characters(text), WAY[Outcome(outcome)]) for text, outcome in texts.iter_rows())
    rows = [(length - 0.5, length + 0.5, pairs, colour) for (length, colour), pairs in sorted(counts.items())]
    return _bars(rows)


def _decisions(outcomes: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """How many decisions lie in each fiftieth of p_skip, and on which side of the threshold."""
    bins = 50
    counts = (
        outcomes.filter(pl.col("p_skip").is_not_null())
        .select(bin=(pl.col("p_skip") * bins).floor().clip(0, bins - 1), skipped=pl.col("p_skip") >= threshold)
        .group_by("bin", "skipped")
        .len()
        .sort("bin", "skipped")
    )
    colours = {False: WAY[Outcome.PUBLISHED], True: WAY[Outcome.SKIPPED]}
    return _bars([(bin / bins, (bin + 1) / bins, pairs, colours[side]) for bin, side, pairs in counts.iter_rows()])


def _bars(rows: list[tuple[float, float, int, str]]) -> pl.DataFrame:
    schema = {"start": pl.Float64, "end": pl.Float64, "pairs": pl.Int64, "colour": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")
