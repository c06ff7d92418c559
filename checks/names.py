"""Does the text name both items? By the whole name, or by a short form that a reader recognises.

A shop prints more than a name: `[KF365] 백다다기오이 3입` is 백다다기오이, and 오이. What a short form leaves out is
brackets, sizes and quantities, promotion, and the words of `words/packaging.txt`; `words/grocery.txt` says which words
are recognised at the end of a longer one.
"""

import html
from collections.abc import Iterator
from functools import cache, lru_cache

import regex

from checks.failure import Failure
from checks.words import same_words, words

_BRACKETS = regex.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|<[^<>]*>|【[^】]*】|（[^）]*）|★[^★]*★")
_UNIT = (
    r"(?:kg|g|mg|ml|cl|l|cc|cm|mm|m|oz|ea|ps?|pcs?|인분|리터|개입|개월|개|입|팩|봉지|봉|병|캔|매|롤|구|종|박스|포기|포|장|알|통|단|"
    r"줄|묶음|송이|미|마리|세트|겹|년산|등급|과|모|손|근|컵|티백|스틱|번들|여|ℓ|㎖|㎏|％|%)(?![\p{Hangul}a-z])"
)
_SIZE = regex.compile(
    rf"""약?\s*(?<![A-Za-z\d.])\d+(?:[.,/~+]\d+)*\s*{_UNIT}(?:\s*[+xX×*/~]\s*\d+\s*(?:{_UNIT})?)*
       | (?<![\p{{L}}\d])\d+(?:\s*[+xX×*/~-]\s*\d+)+
       | (?<![A-Za-z])[xX×*]\s*\d+\s*(?:{_UNIT})?
       | (?<!\S)[\d.,/~+%]+(?!\S)""",
    regex.VERBOSE | regex.IGNORECASE,
)
_BESIDE_A_NAME = regex.compile(r"[^\p{L}\p{N}.'’%-]+")
_LETTER = regex.compile(r"\p{L}")


def content_words(name: str) -> tuple[str, ...]:
    """The words of an item name that say what it is; never none where the name holds a letter."""
    name = html.unescape(name)
    outside, previous = name, ""
    while outside != previous:  # brackets in brackets
        previous, outside = outside, _BRACKETS.sub(" ", outside)
    for core in (regex.split(r",(?!\d)", outside)[0], outside, name):
        kept = _SIZE.sub(" ", core)
        kept = kept if _LETTER.search(kept) else core  # 7up is no size
        found = [word for word in (part.strip(".'-%") for part in _BESIDE_A_NAME.split(kept)) if _LETTER.search(word)]
        if found:
            return tuple(word for word in found if word not in words("packaging")) or tuple(found)
    return tuple(name.split())


@lru_cache(maxsize=200_000)
def short_forms(name: str) -> tuple[str, ...]:
    """The forms by which a reader recognises the item, the longest first; the name itself is one of them."""
    content = content_words(name)
    without_brackets = " ".join(_BRACKETS.sub(" ", name).split())
    forms = {name, without_brackets, " ".join(content)}
    forms |= {" ".join(content[i:]) for i in range(len(content) - 1)}
    forms |= {word for word in content[-1:] if _says_it(word)}
    known = [i for i, word in enumerate(content) if grocery_word(word)]
    if known and (known[-1] == len(content) - 1 or _says_it(content[-1])):  # 아보카도 오일 is no 아보카도
        last = known[-1]  # the last known word says what it is: 그래놀라 크랜베리 볼
        forms |= {" ".join(content[i : last + 1]) for i in range(last + 1)} | {grocery_word(content[last])}
    if not known:  # a brand, a snack: any word of it that is one of its own
        forms |= {word for word in content if len(word) > 1 and _says_it(word)}
    forms |= {other for form in forms for other in same_words().get(form, ())}
    return tuple(sorted((form for form in forms if form), key=lambda form: (-len(form), form))) or (name,)


def _says_it(word: str) -> bool:
    return word not in words("generic") and word not in words("packaging")


def grocery_word(word: str) -> str:
    """The longest known grocery word of two or more syllables that the word ends in, or an empty string."""
    known = words("grocery")
    return next((word[i:] for i in range(len(word) - 1) if word[i:] in known), word if word in known else "")


def names_item(text: str, name: str) -> bool:
    """Whether the text names the item: a form of it begins a word there, whatever the spacing and the case."""
    return _names(_Spaceless(text), name)


def names_failures(text: str, recommended_item: str, reason_item: str) -> Iterator[Failure]:
    """One failure for each of the two items that the text does not name."""
    spaceless = _Spaceless(text)
    if not _names(spaceless, recommended_item):
        yield Failure("names.recommended_missing", recommended_item)
    if not _names(spaceless, reason_item):
        yield Failure("names.reason_missing", reason_item)


class _Spaceless:
    """A text in small letters without spaces, which knows where its words begin and end."""

    def __init__(self, text: str) -> None:
        self.letters = text.lower().replace(" ", "")
        self.starts: set[int] = set()
        self.spaced_at: list[int] = []  # where each of the letters stands in the text
        self.text = text.lower()
        beginning = True
        for position, letter in enumerate(self.text):
            if letter != " ":
                if beginning:
                    self.starts.add(len(self.spaced_at))
                self.spaced_at.append(position)
            beginning = not letter.isalnum()

    def begins_a_word(self, position: int) -> bool:
        if position in self.starts:
            return True
        before = words("before_names")
        return any(self.letters[start:position] in before for start in self.starts if start < position)

    def stands_alone(self, position: int) -> bool:
        return bool(_particle().match(self.text, self.spaced_at[position] + 1))


@cache
def particles() -> tuple[str, ...]:
    """What a text puts behind a name, the longest first."""
    return tuple(sorted(words("particles"), key=lambda particle: (-len(particle), particle)))


@cache
def _particle() -> "regex.Pattern[str]":
    return regex.compile(rf"(?:{'|'.join(particles())})?(?![\p{{L}}\p{{N}}])")


def _names(text: _Spaceless, name: str) -> bool:
    return any(_stands_in(text, form) for form in _spaceless_forms(name))


def _stands_in(text: _Spaceless, form: str) -> bool:
    position = text.letters.find(form)
    while position >= 0:
        if text.begins_a_word(position) and (len(form) > 1 or text.stands_alone(position)):
            return True
        position = text.letters.find(form, position + 1)
    return False


@lru_cache(maxsize=200_000)
def _spaceless_forms(name: str) -> tuple[str, ...]:
    forms = dict.fromkeys("".join(form.lower().split()) for form in reversed(short_forms(name)))
    return tuple(form for form in forms if form)
