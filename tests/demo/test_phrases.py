"""The texts the demo model learns from are what a good recommendation reason is."""

import random

import pytest

from checks.rows import Written, check_written
from demo.catalogue import Dish, Item, load_shop
from demo.phrases import MAX_CHARACTERS, TEMPLATES, Noun, fill, particle, phrase, phrasings

SHOP = load_shop()
TOFU = Item(1, "두부(찌개용)", "두부")
ONION = Item(2, "대파(단)", "양념채소")
STEW = Dish("된장찌개", "구수한", "끓여", (1, 2))


@pytest.mark.parametrize(
    ("word", "after_vowel", "expected"),
    [
        ("두부", "와", "와"),
        ("당근", "와", "과"),
        ("두부", "를", "를"),
        ("당근", "를", "을"),
        ("두부", "로", "로"),
        ("당근", "로", "으로"),
        ("나물", "로", "로"),  # ㄹ counts as a vowel, but only before 로
        ("나물", "를", "을"),
        ("두부", "가", "가"),
        ("당근", "가", "이"),
        ("두부", "는", "는"),
        ("당근", "는", "은"),
        ("두부", "면", "면"),
        ("당근", "면", "이면"),
    ],
)
def test_a_particle_follows_the_last_sound(word: str, after_vowel: str, expected: str) -> None:
    assert particle(word, after_vowel) == expected


def test_a_noun_takes_its_particle_when_it_is_formatted() -> None:
    assert f"{Noun('당근'):와} {Noun('두부'):로} {Noun('국')}" == "당근과 두부로 국"


def test_a_phrasing_names_both_items_and_the_dish() -> None:
    assert fill(TEMPLATES[0], TOFU, ONION, STEW) == "대파와 두부로 구수한 된장찌개 어떠세요?"


def test_there_are_thirty_or_more_different_phrasings_with_many_endings() -> None:
    assert len(set(TEMPLATES)) == len(TEMPLATES) >= 30
    endings = [template.split()[-1] for template in TEMPLATES]
    common = (
        "어떠세요?",
        "보세요.",
        "어울려요.",
        "좋아요.",
        "딱이에요.",
        "완성돼요.",
        "맛있어요.",
        "볼까요?",
    )
    for ending in common:
        assert endings.count(ending) >= 2, ending


def test_every_phrasing_of_every_joined_pair_is_short_names_both_items_and_ends_politely() -> None:
    for (one, other), dishes in SHOP.joins.items():
        for recommended, reason in ((one, other), (other, one)):
            texts = phrasings(SHOP.items[recommended], SHOP.items[reason], dishes[0])
            assert len(texts) >= 30
            for text in texts:
                assert len(text) <= MAX_CHARACTERS
                assert SHOP.items[recommended].short in text and SHOP.items[reason].short in text
                assert text.endswith(("요.", "요?"))


def test_phrases_pass_the_row_rules() -> None:
    rng = random.Random(0)
    rows = []
    for (recommended, reason), dishes in rng.sample(sorted(SHOP.joins.items(), key=lambda entry: entry[0]), 120):
        names = SHOP.items[recommended].name, SHOP.items[reason].name
        text = phrase(SHOP.items[recommended], SHOP.items[reason], dishes[0], rng)
        rows.append(Written(f'{{"decision": "write", "text": "{text}"}}', "stop", *names, (names[1],)))
    verdicts = check_written(rows, [item.name for item in SHOP.items.values()])
    assert [(verdict.text, verdict.failures) for verdict in verdicts if verdict.failures] == []


def test_each_dish_has_favourites_and_other_phrasings_too() -> None:
    rng = random.Random(0)
    texts = [phrase(TOFU, ONION, STEW, rng) for _ in range(300)]
    favourite = max(set(texts), key=texts.count)
    assert 0.6 <= texts.count(favourite) / len(texts) <= 0.9
    assert len(set(texts)) > 20
