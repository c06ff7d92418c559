"""Does the text name another item of the shop, one that is neither in the pair nor in the basket?

Careful on purpose, since Korean dish names are made of item names (감자샐러드, 두부조림): only a whole word with a
particle behind it, or one in a list of things, counts (`두부와`, `두부,`), never part of a word, a single syllable, a
dish or an everyday word (`words/not_items.txt`), nor anything that overlaps with a name of the input.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache

import regex

from checks.failure import Failure
from checks.names import content_words, particles, short_forms
from checks.words import words

_LISTED = regex.compile(r"[,，、+·/]$")
_WORD = regex.compile(r"\p{L}[\p{L}\p{N}]*[,，、+·/]?")
_LONGEST = 3  # words of a name that are tried together: 방울 토마토, 국산 콩 두부


class Catalogue:
    """The item names of a shop by what they are called, without sizes, brands and brackets."""

    def __init__(self, names: Collection[str]) -> None:
        """Read 10,000 names in a few tenths of a second."""
        called = {called.lower() for name in names for called in _called(content_words(name))}
        self._items = frozenset(name for name in called if len(name) > 1 and not _is_no_item(name))

    def other_items(self, text: str, allowed: Sequence[str]) -> Iterator[Failure]:
        """One failure for a text that names items beyond the allowed ones (names as in the prompt)."""
        if not self._items:
            return
        named = dict.fromkeys(item for item in self._named_in(text.lower()) if not _overlaps(item, allowed))
        if named:
            yield Failure("names.other_item", ", ".join(named))

    def _named_in(self, text: str) -> Iterator[str]:
        found = _WORD.findall(text)
        for end, last in enumerate(found, start=1):
            for item in _before_particle(last):
                joined = ""
                for start in range(end - 1, max(end - 1 - _LONGEST, -1), -1):
                    joined = (found[start] if start < end - 1 else item) + joined
                    if joined in self._items:
                        yield joined


def _called(content: tuple[str, ...]) -> Iterator[str]:
    """What a text would call the item: its whole name, and its last word where that is a known one (국산콩 두부)."""
    yield "".join(content[-_LONGEST:])
    if content and content[-1] in words("grocery"):
        yield content[-1]


@lru_cache(maxsize=200_000)
def _before_particle(word: str) -> tuple[str, ...]:
    """What the word may be without its particle; nothing where it has none and is in no list."""
    if _LISTED.search(word):
        return (word[:-1],)
    return tuple(word[: -len(end)] for end in particles() if word.endswith(end) and len(word) > len(end))


@cache
def _dish_endings() -> tuple[str, ...]:
    return tuple(word[1:] for word in words("not_items") if word.startswith("-"))


def _is_no_item(name: str) -> bool:
    listed = (words("not_items"), words("generic"), words("packaging"))
    return any(name in words_of for words_of in listed) or name.endswith(_dish_endings())


def _overlaps(item: str, allowed: Sequence[str]) -> bool:
    for name in allowed:
        forms = _spaceless_forms(name)
        if item in forms or any(item in form or (len(form) > 1 and form in item) for form in forms):
            return True
    return False


@lru_cache(maxsize=100_000)
def _spaceless_forms(name: str) -> frozenset[str]:
    return frozenset(form.replace(" ", "").lower() for form in short_forms(name))
