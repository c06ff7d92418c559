"""The text's size: so many characters as a reader counts them, in one or two sentences."""

from collections.abc import Iterator, Sequence

import regex

from checks.failure import Failure
from checks.sentences import Sentence

MAX_CHARACTERS = 50  # as the prompt's instruction asks
MAX_SENTENCES = 2


def count_characters(text: str) -> int:
    """Extended grapheme clusters (Unicode UAX #29) of an NFC text: an emoji family or an accented letter is one."""
    return len(regex.findall(r"\X", text))


def length_failures(
    text: str, sentences: Sequence[Sentence], max_characters: int = MAX_CHARACTERS
) -> Iterator[Failure]:
    """The code points bound the clusters from above, so most texts need no counting."""
    if len(text) > max_characters and (characters := count_characters(text)) > max_characters:
        yield Failure("text.too_long", f"{characters} > {max_characters}")
    if len(sentences) > MAX_SENTENCES:
        yield Failure("text.too_many_sentences", f"{len(sentences)} > {MAX_SENTENCES}")
