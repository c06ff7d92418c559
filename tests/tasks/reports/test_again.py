"""What is said of texts that were asked for again, in both languages."""

import pytest

from tasks.attempts import Attempts
from tasks.reports.again import asked_again
from tasks.reports.words import Language

ASKED = Attempts(
    most=3,
    mended={2: 1_200, 3: 30},
    failing=20,
    calls=1_300,
    prompt=9_000,
    cached=8_000,
    generated=500,
    engine_share=0.125,
)


def test_nothing_is_said_where_every_text_passed_at_once() -> None:
    assert not list(asked_again(Attempts(most=3), "en"))
    assert not list(asked_again(None, "en"))  # a run from before


def test_what_became_of_them_adds_up_and_what_it_took_is_said() -> None:
    assert list(asked_again(ASKED, "en")) == [
        "1,250 texts failed their checks at first: 1,200 passed at attempt 2, 30 passed at attempt 3, "
        "20 passed at none.",
        "Asking again took 1,300 calls: 1,000 prompt tokens computed, 8,000 found in the cache, 500 tokens written, "
        "12.5% of all that the engine computed and wrote.",
    ]


@pytest.mark.parametrize(("language", "said"), [("en", "budget of 5 minutes is spent: 20"), ("ko", "예산 5분을 다 씀")])
def test_a_budget_that_was_spent_too_early_is_said(language: Language, said: str) -> None:
    spent = {"budget_minutes": 5.0, "budget_spent": True}
    assert said in list(asked_again(ASKED.model_copy(update={**spent, "unasked": 20}), language))[-1]
    assert len(list(asked_again(ASKED.model_copy(update=spent), language))) == 2  # each had all its attempts
