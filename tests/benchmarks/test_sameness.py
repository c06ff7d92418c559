"""Two ways of asking are called equal only where they are."""

import pytest

from benchmarks.sameness import compare

P_SKIP = {"a": 0.1, "b": 0.9, "c": 0.49}
TEXTS = {"a": "두부로 된장찌개 어떠세요?", "c": "쌈배추로 샤브샤브 어떠세요?"}


def test_the_same_answers_are_the_same() -> None:
    assert compare(P_SKIP, TEXTS, P_SKIP, TEXTS, 0.5).same


def test_p_skip_may_move_where_no_decision_does() -> None:
    found = compare(P_SKIP | {"b": 0.85}, TEXTS, P_SKIP, TEXTS, 0.5)
    assert found.same
    assert found.moved == pytest.approx(0.05)


def test_a_decision_in_the_band_may_differ_and_is_counted() -> None:
    found = compare(P_SKIP | {"c": 0.51}, {"a": TEXTS["a"]}, P_SKIP, TEXTS, 0.5)
    assert found.same
    assert (found.in_band, found.differ_in_band) == (1, 1)


@pytest.mark.parametrize(
    ("p_skip", "texts"),
    [
        (P_SKIP | {"a": 0.6}, TEXTS),  # another decision, outside the band
        (P_SKIP, TEXTS | {"a": "두부로 찌개 어떠세요?"}),  # another text
        ({"a": 0.1, "b": 0.9}, TEXTS),  # a pair was never decided
        (P_SKIP | {"d": 0.5}, TEXTS),  # a pair that the other does not know
    ],
)
def test_different_answers_are_not_the_same(p_skip: dict[str, float], texts: dict[str, str]) -> None:
    found = compare(p_skip, texts, P_SKIP, TEXTS, 0.5)
    assert not found.same
    assert str(found).startswith("NOT the same")


def test_where_all_are_written_there_is_no_threshold_to_be_near_to() -> None:
    high = {"a": 0.995}
    assert compare(high, {"a": "x"}, high, {"a": "y"}, 1.0).in_band == 0
    assert not compare(high, {"a": "x"}, high, {"a": "y"}, 1.0).same
