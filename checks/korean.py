"""How a stretch of Korean ends: the morphological analyser (kiwipiepy), asked about a few words at a time.

The endings repeat from text to text ("… 샤브샤브 어떠세요"), and what stands before the last two words hardly changes
how they are read: never whether they are 해요체, on 4,400 sentences. So only those go to the analyser, and each
distinct stretch only once.
"""

from enum import Enum
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kiwipiepy import Kiwi, Token


class Ending(Enum):
    """How a stretch of words ends."""

    HAEYO = "해요체"
    OTHER = "a final ending of another level (합쇼체, 해체, 해라체, …)"
    FRAGMENT = "no verb, but the polite particle 요 (두부요, 저녁에요)"
    EXCLAMATION = "nothing but an interjection (짜잔, 우와)"
    OPEN = "no final ending: a noun, a particle, a connective ending"


@cache
def analyser() -> "Kiwi":
    """The analyser, loaded once a process (about a second). Its dictionaries of names and typing errors don't matter
    for endings and cost most of the loading time."""
    from kiwipiepy import Kiwi

    kiwi = Kiwi(num_workers=1, load_multi_dict=False, load_typo_dict=False)
    # the dictionary holds a song's title that reads like the question, and takes it for a noun
    kiwi.add_pre_analyzed_word("아시나요", [("알", "VV"), ("시", "EP"), ("나요", "EF")])
    return kiwi


# 맛있는걸요, 필요없는데요: the analyser takes them for the nouns 것 and 데.
_READ_AS_NOUNS = tuple(before + after for before in "는은던운쁜큰" for after in ("걸요", "데요"))


@lru_cache(maxsize=200_000)
def ending(words: str) -> Ending:
    """How these words end. Give the last two or three of a sentence, without punctuation."""
    tokens = [t for t in analyser().tokenize(words, z_coda=False) if t.tag[0] != "S" or t.tag in ("SL", "SH", "SN")]
    if not tokens:
        return Ending.OPEN
    if all(token.tag == "IC" for token in tokens):
        return Ending.EXCLAMATION
    if words.endswith(_READ_AS_NOUNS):
        return Ending.HAEYO
    return _ending_of(tokens)


def _ending_of(tokens: list["Token"]) -> Ending:
    last, before = tokens[-1], tokens[-2] if len(tokens) > 1 else None
    of_a_verb = before is not None and last.tag == "EF" and before.tag in ("VV", "VA", "VX", "XSV")  # 되요
    if last.form in ("요", "이요") and before and not of_a_verb:
        if before.tag not in ("EF", "EC"):
            return Ending.FRAGMENT
        # 좋은데요, 좋으니까요 are 해요체; 좋습니다요 is not
        return Ending.OTHER if before.tag == "EF" and before.form.endswith(("니다", "니까")) else Ending.HAEYO
    if last.tag in ("EF", "EC") and last.form[-1] in "요죠" and not last.form.endswith(("시요", "리요")):
        return Ending.HAEYO  # not 하십시요 (misspelt 합쇼체), 하리요 (archaic)
    return Ending.OTHER if last.tag == "EF" else Ending.OPEN


@lru_cache(maxsize=200_000)
def ends_sentence(before: str, word: str, after: str) -> bool:
    """Whether a sentence ends with `word`, judged in the company of its neighbours."""
    start = len(before) + 1 if before else 0
    end = start + len(word)
    tokens = analyser().tokenize(f"{before} {word} {after}".strip(), z_coda=False)
    closing = [token for token in tokens if start < token.start + token.len <= end]
    if not closing:
        return False
    last = closing[-1]
    if last.form == "요" and last.tag not in ("EF", "EC"):  # 좋은데요, but not 두부요
        return len(closing) > 1 and closing[-2].tag in ("EF", "EC")
    # an ending in 요 or 죠 is taken for a connective when another clause follows; it never is one
    return last.tag == "EF" or (last.tag == "EC" and last.form[-1] in "요죠" and last.form != "요")
