"""What a reason must not say: contact details, links, prices, claims about health or effect, profanity, banned words.

The words are in `words/*.txt`, editable; numbers and addresses are found by their form. A listed word that one of the
two items' names holds is no fault of the text (`효과` in a name), save for contact details, links and profanity.
"""

from collections.abc import Iterator
from functools import cache

import regex

from checks.failure import Failure
from checks.words import WordList, word_starts

_FORMS = {
    "contact": regex.compile(
        r"""(?<!\d)0\d{1,2}[-.\s)]*\d{3,4}[-.\s]*\d{4}(?!\d) | (?<!\d)1[568]\d\d-?\d{4}(?!\d)
          | (?<![\w.+-])[\w.+-]{1,64}\s?@\s?[A-Za-z0-9-]{1,63}\.[A-Za-z]+ | (?<!\w)@[A-Za-z0-9_.]{3,}
          | (?<![A-Za-z])(?:tel|kakao|insta)\b""",
        regex.VERBOSE | regex.IGNORECASE,
    ),
    "link": regex.compile(
        r"""https?: | www\.
          | (?<![A-Za-z0-9@.-])[a-z0-9-]{1,63}\.(?:com|net|org|co\.kr|kr|shop|store|app|io|me|ly|link|page)(?![a-z])""",
        regex.VERBOSE | regex.IGNORECASE,
    ),
    "price": regex.compile(
        r"""\d[\d,.]*\s*(?:천|만|백)?\s*원(?!형|색|칙|통|산)
          | (?<!\p{L})[일이삼사오육칠팔구십백천만]*[십백천만]\s?원(?:에|이면|으로|짜리|대|도|은|이|을)?(?!\p{L})
          | [₩￦$€¥]\s?\d | \d\s?[₩￦€] | \d\s*%\s*off | (?<!\d)[1-4]\s?\+\s?[1-4](?!\d)""",
        regex.VERBOSE | regex.IGNORECASE,
    ),
}
_NEVER_HAS_ONE = regex.compile(r"[\p{Hangul}\s,.!?~]*")
_KINDS = ("contact", "link", "price", "health", "profanity", "banned")
_NEVER_EXCUSED = ("contact", "link", "profanity")


@cache
def _lists() -> dict[str, WordList]:
    return {kind: WordList(kind, hidden=kind == "profanity") for kind in _KINDS}


def content_failures(text: str, items: tuple[str, str]) -> Iterator[Failure]:
    """At most one failure of each kind, with the first thing found."""
    starts = word_starts(text)
    for kind, listed in _lists().items():
        excusing = () if kind in _NEVER_EXCUSED else items
        for found in (*_formed(text, kind), *listed.matches(text, starts)):
            if not any(found in item for item in excusing):
                yield Failure(f"content.{kind}", found)
                break


def _formed(text: str, kind: str) -> Iterator[str]:
    form = _FORMS.get(kind)
    if form and ("원" in text or not _NEVER_HAS_ONE.fullmatch(text)):
        for match in form.finditer(text):
            yield match[0].strip()
