"""The verdict over a date."""

import pytest

from checks.gate import Check, Severity, Verdict, judge


def check(severity: Severity, passed: bool) -> Check:
    return Check(name="x", description=f"{severity} holds", severity=severity, passed=passed, observed="3")


@pytest.mark.parametrize(
    ("critical", "warning", "verdict"),
    [
        (True, True, Verdict.PASSED),
        (True, False, Verdict.WARNED),
        (False, True, Verdict.HELD_BACK),
        (False, False, Verdict.HELD_BACK),
    ],
)
def test_a_critical_check_holds_back_and_a_warning_only_warns(critical: bool, warning: bool, verdict: Verdict) -> None:
    gate = judge([check(Severity.WARNING, warning), check(Severity.CRITICAL, critical)])
    assert gate.verdict is verdict


def test_the_reasons_name_what_failed_the_critical_ones_first() -> None:
    gate = judge([check(Severity.WARNING, False), check(Severity.CRITICAL, False), check(Severity.WARNING, True)])
    assert gate.reasons == ("critical holds (seen: 3)", "warning holds (seen: 3)")


def test_a_gate_survives_the_way_through_its_file() -> None:
    gate = judge([check(Severity.CRITICAL, False)])
    assert type(gate).model_validate(gate.model_dump(mode="json")) == gate
