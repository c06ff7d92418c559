"""A rules file: what a merchandiser writes, checked before anything is started.

In: TOML, as `schema.py` has it. Out: `Rules`. Every mistake is said with its line and with what to do about it.
"""

import tomllib
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tasks.errors import RulesError
from tasks.rules.lines import line_of
from tasks.rules.schema import KINDS, NO_RULES, Group, Rules

MISSING_ID = "missing_id"  # the one rule that is code: what has no id can't be served, whatever a file says
Place = tuple[str | int, ...]


class Unknown(BaseModel):
    """A category that a group names and the shop has not: the rule that means it does nothing."""

    model_config = ConfigDict(frozen=True)
    group: str
    category: str
    line: int
    meant: str  # the shop's category that is written nearly so; "" where there is none

    def said(self, path: str) -> str:
        """The sentence for a log."""
        meant = f"; is {self.meant} meant?" if self.meant else ""
        return f"{path}, line {self.line}: the shop has no category {self.category} (group `{self.group}`){meant}"


def load_rules(path: Path | None) -> Rules:
    """Read a rules file; without one there are no rules.

    Raises:
        RulesError: the file is missing or no TOML, or holds a mistake: all of them are named, each with its line.
    """
    if path is None:
        return NO_RULES
    text = _read(path)
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error).replace("at end of document", f"at line {text.count(chr(10)) + 1}, the end of the file")
        raise RulesError(f"{path} is no TOML: {said}", "mend that line: is a quote or a bracket missing?") from error
    try:
        rules = Rules.model_validate(given)
    except ValidationError as error:
        mistakes = [_said(each["loc"], each, given) for each in error.errors()]
    else:
        mistakes = [*_mistakes(rules)]
        if not mistakes:
            return rules
    placed = sorted((line_of(text, place), what, todo) for place, what, todo in mistakes)
    if len(placed) == 1:
        ((line, what, todo),) = placed
        raise RulesError(f"{path}, line {line}: {what}", todo)
    raise RulesError(
        "\n".join(f"{path}, line {line}: {what} → {todo}" for line, what, todo in placed),
        f"mend these {len(placed)} mistakes; `sayu rules show --rules {path}` looks again",
    )


def unknown_categories(path: Path | None, shops: Sequence[str]) -> list[Unknown]:
    """The categories that a file's groups name and that are none of the shop's."""
    found: list[Unknown] = []
    if path is None:
        return found
    for name, group in load_rules(path).groups.items():
        for category in group.categories:
            if category not in shops:
                meant = get_close_matches(category, shops, 1, 0.5)
                line = _line_of_category(_read(path), name, category)
                found.append(Unknown(group=name, category=category, line=line, meant=meant[0] if meant else ""))
    return found


def _line_of_category(text: str, group: str, category: str) -> int:
    start = line_of(text, ("groups", group, "categories"))
    lines = text.splitlines()[start - 1 :]
    return start + next((number for number, line in enumerate(lines) if category in line), 0)


def rule_lines(path: Path) -> dict[str, int]:
    """The line at which each rule of a file begins, by its id."""
    text = _read(path)
    return {rule.id: line_of(text, ("rule", number)) for number, rule in enumerate(load_rules(path).rule)}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise RulesError(
            f"the rules file {path} can't be read: {reason}",
            'give --rules a TOML file like rules/grocery.toml, or --rules "" for no rules',
        ) from error


def _mistakes(rules: Rules) -> Iterator[tuple[Place, str, str]]:
    """What is wrong between tables: place, what it is, and what to do."""
    seen = {MISSING_ID: "sayu's own check"}
    for number, rule in enumerate(rules.rule):
        if rule.id in seen:
            taken = f"{seen[rule.id]} has the id `{rule.id}` already"
            yield ("rule", number, "id"), taken, "give each rule an id of its own"
        seen.setdefault(rule.id, f"rule {number + 1} of the file")
        for field in ("items", "one", "other"):
            for name in getattr(rule, field, ()):
                if name not in rules.groups:
                    known = ", ".join(rules.groups) or "none"
                    what = f"rule `{rule.id}`: there is no group `{name}`"
                    yield ("rule", number, field), what, f"name one of the file's groups ({known}), or add it"


def _said(location: Place, error: Any, given: dict[str, Any]) -> tuple[Place, str, str]:
    """One of pydantic's errors in the words of the file: place, what it is, and what to do."""
    has_kind = location[0] == "rule" and len(location) > 2 and location[2] in KINDS  # between its number and its field
    place = location[:2] + location[3:] if has_kind else location
    table, field, rule = place[:2], str(place[2] if len(place) > 2 else place[-1]), _table(place, given)
    named = _name(place, rule)
    match error["type"]:
        case "extra_forbidden":
            fields = ", ".join(_fields(place, rule))
            return place, f"{named}: unknown field `{field}`", f"write one of its fields ({fields}), or take it out"
        case "missing":
            return table, f"{named}: `{field}` is missing", f"add `{field} = …`"
        case "union_tag_invalid" | "union_tag_not_found":
            seen = f"unknown kind `{rule['kind']}`" if "kind" in rule else "`kind` is missing"
            return (*table, "kind"), f"{named}: {seen}", f"the kinds are {', '.join(KINDS)}"
        case "value_error":
            what, todo = error["ctx"]["error"].args
            return place, f"{named}: {f'`{field}` ' if len(place) > 2 else ''}{what}", todo
        case "string_pattern_mismatch":
            return place, f"{named}: that is no id", "write letters, digits, `_` and `-`, at most 60"
        case _:
            return place, f"{named}: `{field}`: {error['msg']}", f"correct `{field}`"


def _table(place: Place, given: dict[str, Any]) -> dict[str, Any]:
    """The rule that a place lies in, as it was written; empty where it is none."""
    if place[0] == "rule" and len(place) > 1 and isinstance(place[1], int):
        rule = given["rule"][place[1]]
        return rule if isinstance(rule, dict) else {}
    return {}


def _name(place: Place, rule: dict[str, Any]) -> str:
    if len(place) == 1:
        return "the file"
    if place[0] == "groups":
        return f"group `{place[1]}`"
    return f"rule `{rule['id']}`" if "id" in rule else f"rule {int(place[1]) + 1}"


def _fields(place: Place, rule: dict[str, Any]) -> Sequence[str]:
    if place[0] == "groups":
        return [*Group.model_fields]
    kind = KINDS.get(str(rule.get("kind")))
    return [*kind.model_fields] if kind else ["[groups.NAME]", "[[rule]]"]
