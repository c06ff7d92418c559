"""One text over and over: the same words for many different pairs, or the same words within a text."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import regex

from checks.failure import Failure
from checks.names import short_forms
from checks.sentences import Sentence

# One text may serve several listings of the same two things (양파 1kg, 햇 양파 3입); those count as one pair. Things
# that differ and are still named alike are rare: more than three such pairs with one text are no coincidence.
MAX_PAIRS = 3

_NOT_SAID = regex.compile(r"[^\p{L}\p{N}]+")
_STUTTER = regex.compile(r"(?<!\S)(\S{2,20})(?:\s+\1){2,}(?!\S)|(\p{Hangul}{2,6})\2{2,}|(\p{Hangul})\3{4,}")


def repeated_texts(rows: Iterable[tuple[str | None, str, str]]) -> dict[str, int]:
    """From (text, recommended item, reason item) of all rows: the words of the texts that serve more than `MAX_PAIRS`
    different pairs, with the number of those pairs."""
    pairs: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for text, recommended, reason in rows:
        if text:
            pairs[_words_of(text)].add((short_forms(recommended)[-1], short_forms(reason)[-1]))
    return {words: len(served) for words, served in pairs.items() if len(served) > MAX_PAIRS}


def repetition_failures(text: str, sentences: Sequence[Sentence], repeated: dict[str, int]) -> Iterator[Failure]:
    """Whether the text is one of the repeated ones, or repeats itself."""
    if repeated and (count := repeated.get(_words_of(text))):
        yield Failure("repetition.same_text", f"{count} pairs")
    if stutter := _STUTTER.search(text):
        yield Failure("repetition.within_text", stutter[0])
    elif len(sentences) > 1 and len({_words_of(sentence.text) for sentence in sentences}) < len(sentences):
        yield Failure("repetition.within_text", sentences[0].text)


def _words_of(text: str) -> str:
    """The text without white space, punctuation and emoji: what stays when only those differ."""
    return str(_NOT_SAID.sub("", text).lower())
