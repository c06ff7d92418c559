"""The row rules: which written texts may be published, and what is wrong with the others.

`check_written` reads as the table of contents: each rule is a file of this room, a pure function over the text and the
names it was written for. A rule that fails says so with a stable code and what it saw; all rules of a text are tried,
so a verdict names everything that is wrong with it. Same rows in, same verdicts out.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from checks.answer import Answer, read_answer
from checks.catalogue import Catalogue
from checks.content import content_failures
from checks.failure import Failure
from checks.length import MAX_CHARACTERS, length_failures
from checks.names import names_failures
from checks.repetition import repeated_texts, repetition_failures
from checks.script import script_failures
from checks.sentences import Sentence, split_sentences
from checks.speech import speech_failures

__all__ = ["Catalogue", "Failure", "Verdict", "Written", "check_written"]


@dataclass(frozen=True, slots=True)
class Written:
    """One written answer and what it was written for.

    `answer` is the whole answer, opening included: `{"decision": "write", "text": "…"}`. `finish_reason` is "stop", or
    "length" where the token limit ended it. The names are as they stood in the prompt.
    """

    answer: str
    finish_reason: str
    recommended_item: str
    reason_item: str
    basket: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """`text` as it would be published (NFC, stripped), None where none could be read. Without failures it may be."""

    text: str | None
    failures: tuple[Failure, ...]


def check_written(
    rows: Sequence[Written],
    catalogue: Collection[str] | Catalogue = (),
    max_characters: int = MAX_CHARACTERS,
    beside: Sequence[Written] = (),
) -> list[Verdict]:
    """Judge each row: one verdict a row, in the rows' order.

    Args:
        rows: What was written.
        catalogue: Every item name of the shop; a `Catalogue` of them where more rows are to be judged later.
        max_characters: How long a text may be.
        beside: Texts that are not judged, but that make a text of `rows` the same for many pairs.
    """
    shop = catalogue if isinstance(catalogue, Catalogue) else Catalogue(catalogue)
    judged = list(zip(rows, _read(rows), strict=True))
    others = zip(beside, _read(beside), strict=True)
    repeated = repeated_texts(
        (answer.text, row.recommended_item, row.reason_item) for row, answer in chain(judged, others)
    )
    return [
        Verdict(
            answer.text, answer.failures or tuple(_failures(row, answer.text or "", shop, max_characters, repeated))
        )
        for row, answer in judged
    ]


def _read(rows: Sequence[Written]) -> list[Answer]:
    return [read_answer(row.answer, row.finish_reason) for row in rows]


def _failures(
    row: Written, text: str, shop: Catalogue, max_characters: int, repeated: dict[str, int]
) -> Iterator[Failure]:
    if not text:
        yield Failure("text.empty", "")
        return
    items = (row.recommended_item, row.reason_item)
    sentences: list[Sentence] = split_sentences(text)
    yield from script_failures(text, items)
    yield from length_failures(text, sentences, max_characters)
    yield from speech_failures(sentences)
    yield from names_failures(text, *items)
    yield from shop.other_items(text, (*items, *row.basket))
    yield from content_failures(text, items)
    yield from repetition_failures(text, sentences, repeated)
