"""report: what happened to a date, for people and for machines.

In: the run folder. Out: `report.html`, self-contained and readable offline, with the rows behind it in `rows/`, and
`manifest.json`, written last of the run folder; then the store's `index.html`.
"""

import os
from html import escape

from checks.gate import Gate
from tasks.files import replacing
from tasks.load import Publication
from tasks.reports.index import skip_rates, write_index
from tasks.reports.page import render_report
from tasks.reports.rows import group_rows, write_rows
from tasks.reports.summary import Summary, Tokens, latest_summary, summarize
from tasks.reports.waterfall import short
from tasks.reports.words import Language, words
from tasks.runs import Run

__all__ = ["Summary", "Tokens", "artifact_markdown", "latest_summary", "plain_text", "report_date"]


def report_date(run: Run, gate: Gate, publication: Publication | None) -> Summary:
    """Write the report, the manifest and the index of all dates; returns what they say in numbers."""
    outcomes = run.read("outcomes")
    language = run.settings.language
    summary = summarize(run, outcomes, gate, publication)
    groups = group_rows(outcomes)
    history = skip_rates(run, summary, run.settings.reference_dates)
    page = render_report(summary, outcomes, gate, groups, history, language, _data_docs(run))
    write_rows(run.folder, outcomes, groups, summary.ds, language)
    with replacing(run.folder / "report.html") as beside:
        beside.write_text(page, encoding="utf-8")
    run.write_json("manifest", summary.model_dump(mode="json"))
    write_index(run.settings)
    return summary


def artifact_markdown(summary: Summary, language: Language = "en") -> str:
    """A date in short, as Markdown for the Prefect UI: the verdict, why, the counts, and where the report is."""
    w = words(language)
    lines = [f"## {summary.ds}: {w[summary.kind]}", ""]
    lines += [f"- {plain_text(reason)}" for reason in summary.reasons]
    lines += ["", f"| {w['outcome']} | {w['pairs']} |", "|---|---:|"]
    names = {outcome: w[f"outcome_{outcome}"] for outcome in summary.outcomes} | {"published": w[summary.passed]}
    lines += [f"| {names[outcome]} | {pairs:,} |" for outcome, pairs in summary.outcomes.items()]
    lines += [f"| **{w['candidates']}** | **{summary.candidates:,}** |", ""]
    lines += [f"- {said}" for said in (short(summary.waterfall, language) if summary.waterfall else [])]
    lines += [""]
    lines += [f"[report.html](<{summary.link}>) `{summary.report}`"]
    return "\n".join(lines)


def plain_text(text: str) -> str:
    """Text that neither Markdown nor HTML takes for more than text."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]#|~!" else letter for letter in escape(" ".join(text.split())))


def _data_docs(run: Run) -> str | None:
    """Where Great Expectations' own pages are, seen from the report."""
    index = run.settings.data_docs_folder / "site" / "index.html"
    return os.path.relpath(index, run.folder) if index.exists() else None
