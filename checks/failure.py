"""What a rule says when it does not hold."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """One rule that a text breaks: `code` is stable ("text.too_long"), `evidence` says what was seen."""

    code: str
    evidence: str
