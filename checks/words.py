"""The word lists of this room: text files in `words/` that anyone can edit, one entry a line, `#` begins a comment."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import regex

FOLDER = Path(__file__).parent / "words"


@cache
def words(name: str) -> frozenset[str]:
    """The entries of `words/<name>.txt`."""
    lines = (line.split("#")[0].strip() for line in (FOLDER / f"{name}.txt").read_text("utf-8").splitlines())
    return frozenset(line for line in lines if line)


class WordList:
    """Finds the entries of `words/<name>.txt` in a text: at the beginning of a word, in any case. A space in an entry
    is white space or none; with `hidden`, symbols between the letters don't hide it (씨.발)."""

    def __init__(self, name: str, *, hidden: bool = False) -> None:
        entries = sorted(words(name), key=lambda entry: (-len(entry), entry))
        between = r"[^\p{L}\s]*" if hidden else ""
        spaced = (r"\s*".join(between.join(map(regex.escape, part)) for part in entry.split()) for entry in entries)
        self._pattern = regex.compile(rf"(?<![\p{{L}}\p{{N}}])(?:{'|'.join(spaced)})", regex.IGNORECASE)
        self._starts = frozenset(entry.split()[0][: 1 if hidden else 2].lower() for entry in entries)

    def matches(self, text: str, starts: frozenset[str]) -> Iterator[str]:
        """What of the list stands in the text, in order. `starts` is `word_starts(text)`: nearly every text is done
        with that, at a tenth of the cost of the search."""
        if not self._starts.isdisjoint(starts):
            for match in self._pattern.finditer(text):
                yield match[0]


_WORD = regex.compile(r"[\p{L}\p{N}]+|[^\p{L}\p{N}\s]+")


def word_starts(text: str) -> frozenset[str]:
    """The first and the first two letters of each word of a text, small."""
    found = _WORD.findall(text.lower())
    return frozenset(word[:length] for word in found for length in (1, 2))


@cache
def same_words() -> dict[str, frozenset[str]]:
    """For each word the others that it may be called by: those of its group, and the kind that it is of."""
    others: dict[str, frozenset[str]] = {}
    for line in words("same_words"):
        kind, colon, members = line.partition(":")
        group = frozenset(members.split() if colon else line.split())
        for word in group:
            others[word] = others.get(word, frozenset()) | (frozenset({kind}) if colon else group - {word})
    return others
