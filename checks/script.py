"""What the text is made of: no control characters, no markup, no left-over of a template, no foreign script."""

import unicodedata
from collections.abc import Iterator
from functools import cache

import regex

from checks.failure import Failure
from checks.words import WordList, word_starts

_HIDDEN = regex.compile(  # a zero-width joiner belongs between the parts of an emoji, and nowhere else
    r"[\p{Cc}\p{Co}\p{Cn}\p{Zl}\p{Zp}\uFFFD]|(?![\u200D])\p{Cf}|(?<![\p{Extended_Pictographic}\p{EMod}\uFE0F])\u200D"
)
_CHAT_TOKEN = regex.compile(
    r"</?(?:start_of_turn|end_of_turn|bos|eos|pad|unk|mask|s|im_start|im_end|unused\d+)>|<\|[^<>]*\|?>",
    regex.IGNORECASE,
)
_MARKUP = regex.compile(
    r"</?[A-Za-z][^<>]*>|<!--|&(?:[a-z]{2,8}|\#\d+);|\*\*|__\w|`|^\s*(?:\#+|[-*>]|\d+[.)])\s|\]\(|\\[nrtu\"]",
    regex.IGNORECASE,
)
_LEFT_OVER = regex.compile(
    rf"""{_CHAT_TOKEN.pattern} | [{{}}] | \[[^\[\]]*\] | [○◯●□]{{2,}} | _{{2,}}
       | (?<![A-Za-z])(?:recommended_item|recommended_scate|reason_item|basket|decision|skip|text)(?![A-Za-z])
       | (?<![A-Za-z])(?:null|none|undefined|nan|todo|n/a|tbd|lorem|[xo]{{2,3}})(?![A-Za-z])""",
    regex.VERBOSE | regex.IGNORECASE,
)
_FOREIGN = regex.compile(r"(?![\p{Hangul}\p{Latin}])\p{L}")
_EMOTICON_PART = regex.compile(r"[(（][^()（）\p{Hangul}A-Za-z]{2,9}[)）]")
_PLAIN = regex.compile(r"[가-힣ㅎㅋㅠㅜ ,.!?~…♥]*")  # most texts: nothing below can be in them but listed words


@cache
def _left_over_words() -> WordList:
    return WordList("leftover")


def script_failures(text: str, items: tuple[str, str]) -> Iterator[Failure]:
    """One failure for each kind. What the items' own names hold (`大`, `[KF365]`) is not held against the text."""
    plain = bool(_PLAIN.fullmatch(text))
    if not plain:
        yield from _hidden_and_foreign(text, items)
    found = [
        *(() if plain else (m[0] for m in _LEFT_OVER.finditer(text))),
        *_left_over_words().matches(text, word_starts(text)),
    ]
    if left := next((part for part in found if not any(part in item for item in items)), None):
        yield Failure("text.left_over", left)


def _hidden_and_foreign(text: str, items: tuple[str, str]) -> Iterator[Failure]:
    if hidden := _HIDDEN.search(text):
        yield Failure("text.control_character", f"U+{ord(hidden[0]):04X} {unicodedata.name(hidden[0], '')}".strip())
    if markup := _MARKUP.search(_CHAT_TOKEN.sub("", text)):
        yield Failure("text.markup", markup[0].strip())
    letters = (m[0] for m in _FOREIGN.finditer(_EMOTICON_PART.sub("", text)))
    if foreign := "".join(letter for letter in letters if not any(letter in item for item in items)):
        yield Failure("text.foreign_script", foreign)
