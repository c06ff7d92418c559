"""What to look at: the worst first, what moved the skip rate, and only what stands out."""

from typing import Any

import polars as pl
import pytest

from checks.drift import Drift, Part
from checks.gate import Check, Gate, Severity, judge
from tasks.cache import Cache
from tasks.records import Outcome
from tasks.reports.findings import count_near, look_at
from tasks.reports.rows import Group, Groups
from tasks.reports.summary import Summary, Tokens
from tasks.rules.account import RuleCount
from tasks.rules.file import Unknown

PASSED = judge([])


def summary(
    published: int = 99, rejected: int = 1, skipped: int = 0, drift: Drift | None = None, cache: Cache | None = None,
    **screening: Any,
) -> Summary:  # fmt: skip
    outcomes = {outcome.value: 0 for outcome in Outcome}
    outcomes |= {"published": published, "rejected": rejected, "skipped": skipped}
    return Summary(
        ds="2026-11-28", run_key="k", model="m", prompt="p", engine="recorded", threshold=0.5,
        candidates=sum(outcomes.values()), outcomes=outcomes, reused=0, model_calls=0, skip_rate=None,
        decide=Tokens(), generate=Tokens(), seconds={}, engine_seconds=0.0, verdict="passed", reasons=(),
        publication_id=None,
        serving="", report="", drift=drift, expected_cache_share=0.9, cache=cache, **screening,
    )  # fmt: skip


def groups(outcome: Outcome | None = None, **pairs: int) -> Groups:
    found: Groups = {each.value: [] for each in Outcome}
    if outcome:
        found[outcome] = [
            Group(anchor=f"r{place}", reason=reason.replace("__", "."), pairs=count, rows=[])
            for place, (reason, count) in enumerate(pairs.items())
        ]
    return found


def texts(numbers: Summary, gate: Gate, shown: Groups, near: int = 0, language: Any = "en") -> list[str]:
    return [finding.text for finding in look_at(numbers, gate, shown, near, language)]


def test_a_date_without_anything_odd_has_nothing_to_look_at() -> None:
    passed = Check(name="a", description="a", severity=Severity.CRITICAL, passed=True, observed="")
    assert look_at(summary(), judge([passed]), groups(), 0, "en") == []


def test_a_rule_whose_sample_the_model_writes_and_a_category_that_is_none_are_looked_at() -> None:
    rule = RuleCount(rule="soap", effect="reject", hits=900, calls_saved=890, sample=10, decided=10, write_share=0.9)
    right = rule.model_copy(update={"rule": "right", "write_share": 0.1})
    unknown = Unknown(group="soap", category="세제류", line=7, meant="세제")
    numbers = summary(rules=(right, rule), unknown_categories=(unknown,))
    assert texts(numbers, PASSED, groups()) == [
        "of 10 pairs that the rule soap would turn away the model wrote 90%: is the rule right? It saw 900 pairs",
        "the shop has no category 세제류, which the group soap of the rules names (line 7)",
    ]
    assert "규칙 soap" in texts(numbers, PASSED, groups(), language="ko")[0]


def test_failed_checks_come_first_the_critical_ones_before_the_warnings() -> None:
    gate: Gate = judge(
        [
            Check(name="w", description="few failed", severity=Severity.WARNING, passed=False, observed="7 %"),
            Check(name="p", description="fine", severity=Severity.CRITICAL, passed=True, observed=""),
            Check(
                name="c", description="c", severity=Severity.CRITICAL, passed=False, observed="", sentence="too many!"
            ),
        ]
    )
    found = look_at(summary(), gate, groups(Outcome.FAILED, boom=3), 0, "en")
    assert [(each.severity, each.link) for each in found] == [
        ("critical", "#check-2"), ("warning", "#check-0"), ("info", "rows/failed.html#r0")
    ]  # fmt: skip
    assert [each.text for each in found] == [
        "too many!", "does not hold: few failed (seen: 7 %)", "3 pairs got no answer: boom"
    ]  # fmt: skip


def test_a_check_is_said_in_korean_where_somebody_wrote_it() -> None:
    check = Check(name="c", description="few failed", severity=Severity.WARNING, passed=False, observed="7 %",
                  sentence="seven!", description_ko="실패는 드물게", observed_ko="7%")  # fmt: skip
    assert texts(summary(), judge([check]), groups(), language="ko") == ["지켜지지 않음: 실패는 드물게 (관측: 7%)"]


@pytest.mark.parametrize(("status", "shown"), [("drifted", True), ("steady", False)])
def test_what_moved_the_skip_rate_is_named_where_it_moved(status: Any, shown: bool) -> None:
    parts = (
        Part(kind="category", name="두부", observed=0.61, expected=0.38, pairs=1200, share=0.8),
        Part(kind="category", name="", observed=0.5, expected=0.4, pairs=9, share=0.1),
        Part(kind="model", name="m2", observed=0.6, expected=0.4, pairs=2000, share=None),
    )
    drift = Drift(status=status, observed=0.6, dates=14, sentence="", sentence_ko="", parts=parts)
    expected = [
        "category 두부: skip rate 61% against 38%, over 1,200 pairs",
        "category (none): skip rate 50% against 40%, over 9 pairs",
        "model m2: skip rate 60% against 40%, over 2,000 pairs",
    ]
    assert texts(summary(drift=drift), PASSED, groups()) == (expected if shown else [])


def test_a_rule_is_named_from_one_text_in_a_hundred_on() -> None:
    failed = groups(Outcome.REJECTED, text__too_long=10, text__markup=9)
    found = texts(summary(published=990, rejected=10), PASSED, failed)
    assert found == ["10 of 1,000 written texts (1.0%) fail text.too_long: too many characters"]


@pytest.mark.parametrize(("near", "shown"), [(9, False), (10, True)])
def test_many_decisions_near_the_threshold_are_named(near: int, shown: bool) -> None:
    found = texts(summary(published=59, rejected=1, skipped=40), PASSED, groups(), near=near)
    assert found == ([f"{near} of 100 decisions (10.0%) lie within 0.05 of the threshold"] if shown else [])


def test_decisions_near_the_threshold_are_counted_on_both_sides_of_it() -> None:
    outcomes = pl.DataFrame({"p_skip": [0.2, 0.26, 0.3, 0.34, 0.36, None]})
    assert count_near(outcomes, 0.3) == 3


def cache(found: int, preemptions: int = 0) -> Cache:
    return Cache(
        block_size=16, room=4096, preemptions=preemptions, prompt=2_000, cached=found, evicted=1_000 - found,
        remainder=0, first_time=1_000, hoped_for=1_000, found=found, again_hoped_for=0, again_found=0,
    )  # fmt: skip


@pytest.mark.parametrize(("found", "named"), [(899, True), (900, False)])
def test_a_cache_that_gives_less_than_expected_is_named(found: int, named: bool) -> None:
    said = texts(summary(cache=cache(found)), PASSED, groups())
    assert ["gave only 90% of what it could have: 101 prompt tokens" in text for text in said] == [True] * named


def test_preemptions_are_named() -> None:
    assert texts(summary(cache=cache(1_000, preemptions=3)), PASSED, groups())[0].startswith("3 answers were interrupt")
