"""Great Expectations suites: what must hold of a date as a whole.

`validate_input` looks at the candidates before any GPU time is spent, `validate_outcomes` at what became of them before
they are loaded. In: one day as a polars frame. Out: one `Check` per expectation, and Great Expectations' own result for
its Data Docs (`docs.py`). A check's severity says which is worse: a date without reasons (critical holds it back), or a
date with these (a warning publishes and says so).
"""

from checks.input_suite import validate_input
from checks.outcome_suite import validate_outcomes
from checks.validation import Validation

__all__ = ["Validation", "validate_input", "validate_outcomes"]
