"""해요체 in every sentence, judged by the morphemes that end it (see `checks.sentences`)."""

from collections.abc import Iterator, Sequence

from checks.failure import Failure
from checks.sentences import Sentence, split_sentences


def speech_failures(sentences: Sequence[Sentence]) -> Iterator[Failure]:
    """One failure a text: the evidence holds the sentences that are not 해요체."""
    others = [sentence.text for sentence in sentences if not sentence.haeyo]
    if others or not sentences:
        yield Failure("speech.not_haeyo", " / ".join(others))


def is_haeyo(text: str) -> bool:
    """Whether there is a sentence in the text and every one is 해요체."""
    return not any(speech_failures(split_sentences(text)))
