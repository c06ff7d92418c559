"""Sentences, also where the full stop is missing, and whether each is 해요체.

Where a text pauses, punctuation says how surely a sentence ends there: `. ! ?` always end one; hearts, emoji, ㅎㅎ and
emoticons do after any final ending; `~` and `…` only after one that can't be a connective (끓여~ 드세요). Between
pauses the analyser is asked about each word that looks like an ending (국물이 시원하다 같이 드세요).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from checks.korean import Ending, ending, ends_sentence


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as written, without the punctuation that ends it."""

    text: str
    haeyo: bool


# What a speaker quotes has a level of its own: ‘역시 이 맛이다’라고, "끝!"이라고.
_QUOTE = regex.compile(r"""["“‘「『'][^"“”‘’「」『』']{1,40}["”’」』'](?=\p{Hangul}|\s(?:싶|하|라))""")
_TAG = regex.compile(r"</?[A-Za-z|][^<>]*>")  # markup is another rule's matter
_PAUSE = r"""(?P<firm> [!?。！？\n] | (?<![A-Za-z0-9.])\.(?=\s|[^\p{L}\p{N}.]|$) | (?<=[요죠다까])\.(?![.\d])
                | (?<=[A-Za-z0-9])\.\s*$ )
      | (?P<soft> <3 | (?<!\d)[:;=][-']?[)(DPp3*/]+ | \^[-_.oㅇ]?\^+ | [>＞][-_.][<＜]
                | [(（][^()（）\p{L}\p{N}]{2,9}[)）] | [ㅎㅋㅠㅜ]+ | [♡♥❤☆★♪♬]\uFE0F?
                | (?!\d)\p{Emoji}(?:\p{EMod}|\uFE0F|\u200D\p{Emoji})* )
      | (?P<weak> (?<!\d)[~∼〜～] | [~∼〜～](?!\d) | … | \.{2,} )"""
_PAUSES = regex.compile(rf"(?![가-힣 ,])(?:(?:{_PAUSE})\s*)+", regex.VERBOSE)
_NO_WORD = " \t\"'“”‘’「」『』()[]（）,，、·:;-—+&/"
_LETTER = regex.compile(r"[\p{Hangul}\p{Han}A-Za-z]")
# Last syllables of endings that close a sentence in mid-text. -아/-어 (국물이 시원해 자꾸 생각나요) is not among
# them: there it nearly always says "because" or "and then".
_LIKE_AN_ENDING = tuple("다요죠까네냐군자야")


def split_sentences(text: str) -> list[Sentence]:
    """The sentences of an NFC text in order. Interjections alone (짜잔!) and what holds no word are none."""
    sentences: list[Sentence] = []
    for words in _between_firm_pauses(_QUOTE.sub("말", _TAG.sub(" ", text))):
        sentences += _judge(words)
    return sentences


def _between_firm_pauses(text: str) -> Iterator[list[str]]:
    words: list[str] = []
    start = 0
    for pause in _PAUSES.finditer(text):
        words += _words(text[start : pause.start()])
        start = pause.end()
        if words and _closes(words, pause):
            yield words
            words = []
    words += _words(text[start:])
    if words:
        yield words


def _words(stretch: str) -> list[str]:
    return [word for part in stretch.split() if (word := part.strip(_NO_WORD))]


def _closes(words: list[str], pause: "regex.Match[str]") -> bool:
    if pause["firm"]:
        return True
    how = ending(" ".join(words[-2:]))
    if pause["soft"]:
        return how in (Ending.HAEYO, Ending.OTHER)
    return how is Ending.HAEYO or (how is Ending.OTHER and words[-1].endswith(_LIKE_AN_ENDING))


def _judge(words: list[str]) -> list[Sentence]:
    """The sentences between two pauses. A polite fragment that follows a 해요체 sentence is its afterthought
    (드셔 보세요 오늘 저녁에요), and belongs to it."""
    sentences: list[Sentence] = []
    for part in _split_at_endings(words):
        how = ending(" ".join(part[-2:]))
        text = " ".join(part)
        if how is Ending.EXCLAMATION or not _LETTER.search(text):
            continue
        if how is Ending.FRAGMENT and sentences and sentences[-1].haeyo:
            sentences[-1] = Sentence(f"{sentences[-1].text} {text}", True)
        else:
            sentences.append(Sentence(text, how is Ending.HAEYO))
    return sentences


def _split_at_endings(words: list[str]) -> Iterator[list[str]]:
    start = 0
    for i in range(len(words) - 1):
        if words[i].endswith(_LIKE_AN_ENDING):
            before = words[i - 1] if i > start else ""
            if ends_sentence(before, words[i], words[i + 1]):
                yield words[start : i + 1]
                start = i + 1
    yield words[start:]
