"""In which line of a TOML text a table or a key stands. tomllib says it for broken TOML, but not for wrong values."""

import re
from collections.abc import Sequence

# Comments and texts of several lines may hold what looks like a table: they are blanked, their line ends kept.
_LITERAL = re.compile(
    r"""(?P<blank> \#[^\n]* | \"\"\"(?:\\.|[^\\])*?\"\"\" | '''.*?''' )
      | "(?:\\.|[^"\\\n])*" | '[^'\n]*' """,
    re.VERBOSE | re.DOTALL,
)


def line_of(text: str, place: Sequence[str | int]) -> int:
    """The line (from 1) of a place such as ("rule", 2, "effect") or ("groups", "food", "names").

    What does not stand there by itself (a missing key, an inline table) has the line of the table around it.
    """
    lines = _LITERAL.sub(_blank, text).splitlines()
    header, keys = _header(place)
    starts = [number for number, line in enumerate(lines) if re.match(header, line)]
    number = place[1] if len(place) > 1 and isinstance(place[1], int) else 0
    if number >= len(starts):
        return 1
    start = starts[number]
    return (_key_line(lines, start, str(keys[0])) if keys else start) + 1


def _header(place: Sequence[str | int]) -> tuple[str, Sequence[str | int]]:
    """The pattern of the table's own line, and what of the place lies within the table."""
    if len(place) > 1 and isinstance(place[1], int):
        return rf"\s*\[\[\s*{_key(place[0])}\s*\]\]", place[2:]
    if len(place) > 1:
        return rf"\s*\[\s*{_key(place[0])}\s*\.\s*{_key(place[1])}\s*\]", place[2:]
    name = _key(place[0]) if place else ""
    return rf"\s*(?:\[+\s*{name}\s*[\].]|{name}\s*[=.])" if place else "", ()


def _key(name: str | int) -> str:
    return rf"""["']?{re.escape(str(name))}["']?"""


def _key_line(lines: Sequence[str], start: int, name: str) -> int:
    """The index of the line of a key in the table that begins at `start`; `start` itself where it is not in it."""
    for number in range(start, len(lines)):
        if number > start and re.match(r"\s*\[", lines[number]):
            break
        if re.match(rf"\s*{_key(name)}\s*[=.]", lines[number]):
            return number
    return start


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n") if found["blank"] is not None else found[0]
