"""The gate: what the checks of a date say together.

A failed critical check holds the date back, a failed warning publishes and says so.
"""

from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Severity(StrEnum):
    """What a failed check does to its date."""

    CRITICAL = "critical"
    WARNING = "warning"


class Verdict(StrEnum):
    """What becomes of a date."""

    PASSED = "passed"
    WARNED = "warned"
    HELD_BACK = "held back"


class Check(BaseModel):
    """One check of a date: what it asks for, and what it saw, in English and in Korean ("" where nobody wrote it).

    `name` and `description` are the same on every date; numbers of the date stand in `observed`. `sentence` is what is
    said of the check when it failed, where description and observed would only say it twice.
    """

    model_config = ConfigDict(frozen=True)
    name: str
    description: str
    severity: Severity
    passed: bool
    observed: str
    sentence: str = ""
    description_ko: str = ""
    observed_ko: str = ""


class Gate(BaseModel):
    """The verdict over a date, with every check behind it."""

    model_config = ConfigDict(frozen=True)
    verdict: Verdict
    checks: tuple[Check, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """What failed, the critical ones first, each in one line."""
        failed = sorted((c for c in self.checks if not c.passed), key=lambda check: check.severity)
        return tuple(check.sentence or f"{check.description} (seen: {check.observed})" for check in failed)


def judge(checks: Sequence[Check]) -> Gate:
    """The verdict over these checks."""
    failed = {check.severity for check in checks if not check.passed}
    if not failed:
        return Gate(verdict=Verdict.PASSED, checks=tuple(checks))
    verdict = Verdict.HELD_BACK if Severity.CRITICAL in failed else Verdict.WARNED
    return Gate(verdict=verdict, checks=tuple(checks))
