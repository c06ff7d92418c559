"""The answer's form: exactly one JSON object `{"decision": "write", "text": "…"}` and nothing else."""

import json
import unicodedata
from dataclasses import dataclass
from typing import Any

from checks.failure import Failure

KEYS = {"decision", "text"}


@dataclass(frozen=True, slots=True)
class Answer:
    """`text` is NFC and stripped, or None with the failure that says why no text could be read."""

    text: str | None
    failures: tuple[Failure, ...] = ()


class _DuplicateKey(ValueError):
    pass


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _DuplicateKey
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_without_duplicates)


def read_answer(answer: str, finish_reason: str) -> Answer:
    """Read the text out of an answer. What is no such object gives one failure, the first that applies."""
    answer = answer.strip()
    try:
        value, end = _DECODER.raw_decode(answer)
    except _DuplicateKey:
        return _unreadable("json.duplicate_keys", answer)
    except (ValueError, RecursionError):  # RecursionError: thousands of opened brackets
        return _unreadable("json.cut_off" if finish_reason == "length" else "json.invalid", answer)
    if not isinstance(value, dict):
        return _unreadable("json.not_an_object", answer)
    if answer[end:]:
        return _unreadable("json.trailing_text", answer[end:])
    if "decision" in value and value["decision"] != "write":
        return _unreadable("json.wrong_decision", repr(value["decision"]))
    if value.keys() != KEYS:
        return _unreadable("json.wrong_keys", ", ".join(value))
    if not isinstance(value["text"], str):
        return _unreadable("json.text_not_a_string", repr(value["text"]))
    if any("\ud800" <= character <= "\udfff" for character in value["text"]):
        # half a surrogate pair is legal in JSON, but no file can store it
        return _unreadable("json.broken_character", value["text"])
    return Answer(unicodedata.normalize("NFC", value["text"]).strip())


def _unreadable(code: str, evidence: str) -> Answer:
    """Evidence may hold anything the model wrote: halves of surrogate pairs are escaped, so that it can be stored."""
    shown = evidence.encode("utf-8", "backslashreplace").decode("utf-8")
    return Answer(None, (Failure(code, shown[:200]),))
