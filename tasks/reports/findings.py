"""What a reviewer should look at first: a date's failed checks, and what stands out in its numbers."""

from collections.abc import Iterator

import polars as pl
from pydantic import BaseModel, ConfigDict

from checks.drift import Drift
from checks.gate import Check, Gate
from tasks.records import Outcome
from tasks.reports.again import budget_spent
from tasks.reports.html import said
from tasks.reports.rows import Group, Groups
from tasks.reports.summary import Summary
from tasks.reports.words import Language, meaning, words

# A rule that fails fewer than one text in a hundred is the usual noise of a small model.
NOTEWORTHY = 0.01
# Decisions this close to the threshold can go either way with another batch or precision; a cache hit alone moves a
# logprob by hundredths.
NEAR = 0.05
# A model that is unsure of more than one pair in ten has not learned the question.
UNSURE = 0.1
MOST_ERRORS = 3  # an engine that is down gives one error, a strange name another: more kinds say nothing more


class Finding(BaseModel):
    """One thing to look at, how bad it is ("critical", "warning" or "info"), and where the report shows it."""

    model_config = ConfigDict(frozen=True)
    severity: str
    text: str
    link: str


def look_at(summary: Summary, gate: Gate, groups: Groups, near: int, language: Language) -> list[Finding]:
    """What a reviewer should see, worst first. `near`: decisions close to the threshold (count_near)."""
    return [
        *sorted(_failed_checks(gate, language), key=lambda finding: finding.severity),  # critical, then warning
        *_screening(summary, language),
        *_lost_reuse(summary, language),
        *(Finding(severity="info", text=text, link="#again") for text in budget_spent(summary.attempts, language)),
        *_what_moved(summary.drift, language),
        *_errors(groups[Outcome.FAILED][:MOST_ERRORS], language),
        *_rules(groups[Outcome.REJECTED], summary.written, language),
        *_unsure(near, summary.written + summary.outcomes[Outcome.SKIPPED], language),
    ]


def count_near(outcomes: pl.DataFrame, threshold: float) -> int:
    """How many decisions lie within NEAR of the threshold."""
    return int(((outcomes["p_skip"] - threshold).abs() < NEAR).sum())


def _failed_checks(gate: Gate, language: Language) -> Iterator[Finding]:
    for place, check in enumerate(gate.checks):
        if not check.passed:
            yield Finding(severity=str(check.severity), text=_failure(check, language), link=f"#check-{place}")


def _failure(check: Check, language: Language) -> str:
    if check.sentence and language == "en":
        return check.sentence
    description, observed = said(check, language)
    return words(language)["failed_check"].format(description=description, observed=observed)


def _screening(summary: Summary, language: Language) -> Iterator[Finding]:
    """Rules that turn away what the model would write, and rules that mean a category that is none."""
    for rule in summary.rules:
        if rule.says_write:
            numbers = {"decided": f"{rule.decided:,}", "share": rule.write_share, "hits": f"{rule.hits:,}"}
            text = words(language)["look_sample"].format(rule=rule.rule, **numbers)
            yield Finding(severity="warning", text=text, link="#screen-rules")
    for unknown in summary.unknown_categories:
        where = {"category": unknown.category, "group": unknown.group, "line": unknown.line}
        text = words(language)["look_category"].format(**where)
        yield Finding(severity="warning", text=text, link="#screen-rules")


def _lost_reuse(summary: Summary, language: Language) -> Iterator[Finding]:
    """A cache that gives less than it should costs hours and breaks nothing: nobody would notice."""
    cache = summary.cache
    if cache and cache.is_lost(summary.expected_cache_share):
        text = words(language)["look_cache"].format(share=cache.share, evicted=f"{cache.evicted:,}")
        yield Finding(severity="warning", text=text, link="#cache")
    if cache and cache.preemptions:
        text = words(language)["look_preempted"].format(preemptions=f"{cache.preemptions:,}")
        yield Finding(severity="info", text=text, link="#cache")


def _what_moved(drift: Drift | None, language: Language) -> Iterator[Finding]:
    """The categories, model or prompt that moved the skip rate, where it moved."""
    w = words(language)
    for part in drift.parts if drift and drift.status == "drifted" else ():
        rates = {"observed": part.observed, "expected": part.expected, "pairs": f"{part.pairs:,}"}
        name = part.name or w["no_category"]
        text = w["look_part"].format(kind=w[f"part_{part.kind}"], name=name, **rates)
        yield Finding(severity="info", text=text, link="#history")


def _errors(groups: list[Group], language: Language) -> Iterator[Finding]:
    for group in groups:
        text = words(language)["look_failed"].format(pairs=f"{group.pairs:,}", reason=group.reason)
        yield Finding(severity="info", text=text, link=f"rows/failed.html#{group.anchor}")


def _rules(groups: list[Group], written: int, language: Language) -> Iterator[Finding]:
    for group in groups:
        if group.pairs / written >= NOTEWORTHY:
            numbers = {"pairs": f"{group.pairs:,}", "written": f"{written:,}", "share": group.pairs / written}
            means = meaning(str(group.reason), language)
            text = words(language)["look_rule"].format(code=group.reason, meaning=means, **numbers)
            yield Finding(severity="info", text=text, link=f"#rule-{group.anchor}")


def _unsure(near: int, decided: int, language: Language) -> Iterator[Finding]:
    if decided and near / decided >= UNSURE:
        numbers = {"pairs": f"{near:,}", "decided": f"{decided:,}", "share": near / decided}
        text = words(language)["look_near"].format(width=NEAR, **numbers)
        yield Finding(severity="info", text=text, link="#p-skip")
