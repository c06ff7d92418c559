"""The texts the demo model learns from: recommendation reasons in many phrasings.

Every text names both items by their short names and a dish that joins them, is one or two sentences in
해요체, and has at most 50 characters. Particles follow the last sound of the word before them.
"""

import hashlib
import random

from demo.catalogue import Dish, Item

MAX_CHARACTERS = 50

# How often a dish's favourite phrasing is used. With favourites the model's greedy answers differ from dish
# to dish; were all phrasings equally likely everywhere, it would always choose the same one.
FAVOURITE_SHARE = 0.75

# {s} is the item in the basket (reason), {r} the recommended one, {d} the dish, {t} its taste, {w} how it is
# made; the letter after the colon is the particle as it follows a vowel.
TEMPLATES = (
    "{s:와} {r:로} {t} {d} 어떠세요?",
    "{r:와} {s:로} 만드는 {t} {d} 어떠세요?",
    "오늘은 {s:와} {r:로} {d} 어떠세요?",
    "담아 두신 {s}에 {r:를} 더해 {t} {d} 어떠세요?",
    "오늘 저녁은 {r:와} {s:로} 만든 {d} 어떠세요?",
    "{s:와} {r:로} {t} {d:를} {w} 보세요.",
    "{s}에 {r:를} 더해 {d:를} {w} 보세요.",
    "오늘 저녁엔 {r:와} {s:로} {d:를} {w} 보세요.",
    "{r:를} 더 담아 {s:와} 함께 {d:를} {w} 보세요.",
    "주말에는 {s:와} {r:로} {t} {d:를} {w} 보세요.",
    "{s:와} {r:는} {t} {d}에 잘 어울려요.",
    "{d}에는 {s:와} {r:가} 잘 어울려요.",
    "{r:는} {s:와} {d}에서 참 잘 어울려요.",
    "{s:와} {r:로} {t} {d:를} {w} 먹기 좋아요.",
    "{r:는} {s:와} 함께 {d:를} 만들기 좋아요.",
    "{d}에 {s:와} {r:를} 함께 쓰면 좋아요.",
    "{s}에는 {r:가} 좋아요. {t} {d:를} 만들어 보세요.",
    "{s:와} {r:면} {t} {d}에 딱이에요.",
    "{r:는} {s:로} 만드는 {d}에 딱이에요.",
    "{t} {d}에는 {r:와} {s:가} 딱이에요.",
    "{s}에 {r:를} 더하면 {t} {d:가} 완성돼요.",
    "{s:와} {r:로} {t} {d:가} 금세 완성돼요.",
    "{s:와} {r}만 있으면 {d:가} 완성돼요.",
    "{s:와} {r:를} 넣은 {d:는} 정말 맛있어요.",
    "{d:는} {s:와} {r:를} 함께 써야 더 맛있어요.",
    "{r:와} {s:로} 만든 {t} {d}, 참 맛있어요.",
    "{s:와} {r:로} {t} {d:를} {w} 볼까요?",
    "오늘은 {s}에 {r:를} 더해 {d:를} {w} 볼까요?",
    "{r:와} {s:로} {t} {d} 한번 {w} 볼까요?",
    "{d} 어떠세요? {s:와} {r:면} 충분해요.",
    "{s:와} {r:가} 만났어요. {t} {d:를} {w} 보세요.",
    "{t} {d} 생각나시죠? {s:와} {r:로} {w} 보세요.",
    "{s} 담으셨네요. {r:를} 더해 {d:를} {w} 보세요.",
    "{r:가} {s}의 맛을 살려 {d:가} 더 맛있어져요.",
    "{s}에 {r:를} 곁들이면 {t} {d:를} 즐길 수 있어요.",
    "{r}까지 담으면 {s:로} {d} 만들 준비가 끝나요.",
    "{d} 만드실 때 {s:와} {r:를} 함께 챙겨 두세요.",
    "{s:와} {r:는} {t} {d:를} 만드는 단짝이에요.",
)

# Particle after a vowel → after a consonant. 로 has a rule of its own: ㄹ counts as a vowel.
PARTICLES = {"와": "과", "를": "을", "가": "이", "는": "은", "면": "이면", "로": "으로"}


def particle(word: str, after_vowel: str) -> str:
    """The form of a particle that follows `word`, which must end in a Hangul syllable.

    A syllable's code is 0xAC00 + (initial × 21 + vowel) × 28 + final (The Unicode Standard, section 3.12);
    final 0 is none, final 8 is ㄹ.
    """
    final = (ord(word[-1]) - 0xAC00) % 28
    if final == 0 or (after_vowel == "로" and final == 8):
        return after_vowel
    return PARTICLES[after_vowel]


class Noun(str):
    """A word that takes its particle when formatted: `f"{Noun('당근'):와}"` is `당근과`."""

    def __format__(self, after_vowel: str) -> str:
        return str(self) + particle(self, after_vowel) if after_vowel else str(self)


def fill(template: str, recommended: Item, reason: Item, dish: Dish) -> str:
    """One phrasing with its words in place."""
    return template.format(s=Noun(reason.short), r=Noun(recommended.short), d=Noun(dish.name), t=dish.taste, w=dish.way)


def phrasings(recommended: Item, reason: Item, dish: Dish) -> list[str]:
    """Every phrasing that fits into the allowed length, in the order of the templates."""
    texts = (fill(template, recommended, reason, dish) for template in TEMPLATES)
    return [text for text in texts if len(text) <= MAX_CHARACTERS]


def phrase(recommended: Item, reason: Item, dish: Dish, rng: random.Random) -> str:
    """A text for the pair: mostly the favourite phrasing of dish and category, else any of them."""
    texts = phrasings(recommended, reason, dish)
    if rng.random() < FAVOURITE_SHARE:
        digest = hashlib.blake2b(f"{dish.name}|{recommended.scate}".encode(), digest_size=4).digest()
        return texts[int.from_bytes(digest) % len(texts)]
    return rng.choice(texts)
