"""The word lists: anyone can edit them, so their form is checked here."""

import pytest

from checks.words import FOLDER, WordList, same_words, word_starts, words

NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))


@pytest.mark.parametrize("name", NAMES)
def test_a_list_says_what_it_is_for_and_holds_words(name: str) -> None:
    assert (FOLDER / f"{name}.txt").read_text("utf-8").startswith("# ")
    assert words(name)
    assert all(entry == " ".join(entry.split()) for entry in words(name))


def test_a_listed_word_is_found_at_the_beginning_of_a_word_only() -> None:
    health = WordList("health")

    def found(text: str) -> list[str]:
        return list(health.matches(text, word_starts(text)))

    assert found("몸에 좋은 당근이에요") == ["몸에 좋"]
    assert found("몸에좋은 당근, 면역력까지요") == ["몸에좋", "면역"]
    assert found("(다이어트)에 딱이에요") == ["다이어트"]
    assert found("맛 좋은 당근이에요") == []


def test_symbols_do_not_hide_profanity_and_spaces_do_not_make_it() -> None:
    profanity = WordList("profanity", hidden=True)
    assert list(profanity.matches("씨@발 맛있어요", word_starts("씨@발 맛있어요"))) == ["씨@발"]
    assert list(profanity.matches("주스 두 병 신선해요", word_starts("주스 두 병 신선해요"))) == []


def test_a_kind_names_its_members_and_not_the_other_way_round() -> None:
    assert "돼지고기" in same_words()["삼겹살"]
    assert "삼겹살" not in same_words().get("돼지고기", frozenset())
    assert "달걀" in same_words()["계란"] and "계란" in same_words()["달걀"]
