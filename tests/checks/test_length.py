"""Characters are counted as a reader counts them."""

import unicodedata

import pytest

from checks.length import MAX_CHARACTERS, count_characters, length_failures


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("쌈배추", 3),
        ("쌈 배추!", 5),
        ("👨‍👩‍👧‍👦", 1),
        ("❤️", 1),
        ("👍🏻", 1),
        ("é", 1),
        (unicodedata.normalize("NFD", "쌈"), 1),
        ("", 0),
    ],
)
def test_one_for_each_that_a_reader_sees(text: str, characters: int) -> None:
    assert count_characters(text) == characters


def test_fifty_are_allowed_and_one_more_is_not() -> None:
    assert not list(length_failures("가" * MAX_CHARACTERS, ()))
    assert not list(length_failures("가" * (MAX_CHARACTERS - 1) + "👨‍👩‍👧‍👦", ()))
    (failure,) = length_failures("가" * (MAX_CHARACTERS + 1), ())
    assert (failure.code, failure.evidence) == ("text.too_long", "51 > 50")


def test_the_limit_can_be_another() -> None:
    assert not list(length_failures("가" * 40, (), max_characters=40))
    (failure,) = length_failures("가" * 41, (), max_characters=40)
    assert failure.evidence == "41 > 40"
