"""What a rules file may say: groups of items, and rules of five kinds, tried in the order in which they stand.

Patterns are regular expressions of Rust's `regex`, in any case: no look-around, and none of them can take for ever.
"""

import hashlib
from functools import cached_property
from typing import Annotated, Literal

import polars as pl
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator


def _pattern(pattern: str) -> str:
    try:
        on_nothing = pl.Series([""]).str.contains(f"(?i){pattern}")[0]
    except pl.exceptions.ComputeError as error:
        said = [line.removeprefix("error: ") for line in str(error).splitlines() if line.startswith("error: ")]
        what = f"is no regular expression: {said[0] if said else str(error).splitlines()[0]}"
        raise ValueError(what, "mend it; a symbol that is meant as such is written \\( \\+ \\.") from error
    if on_nothing:
        raise ValueError("matches an empty text, and so every name", "take a `|` from its beginning or end")
    return pattern


Text = Annotated[str, Field(min_length=1)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Names = Annotated[
    tuple[Text, ...],
    BeforeValidator(lambda given: (given,) if isinstance(given, str) else given),
    Field(min_length=1),
]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Group(_Table):
    """A set of items: those that one of these says belong to it, save those that an exception matches."""

    ids: tuple[int, ...] = ()
    brands: tuple[Text, ...] = ()  # at the beginning of a name or behind a bracket, as a whole word
    categories: tuple[Text, ...] = ()  # small categories as the shop writes them
    categories_like: Pattern | None = None  # matches somewhere in the small category
    names: Pattern | None = None  # matches somewhere in the name
    except_names: Pattern | None = None
    except_categories_like: Pattern | None = None

    @model_validator(mode="after")
    def _holds_something(self) -> "Group":
        if not (self.ids or self.brands or self.categories or self.categories_like or self.names):
            raise ValueError("it holds nothing", "give it ids, brands, categories, categories_like or names")
        return self


class _Rule(_Table):
    id: Annotated[str, Field(pattern=r"^[\w-]{1,60}$")]
    effect: Literal["reject", "warn"] = "reject"
    sample: bool = True  # whether some of its pairs are let through to see what the model would have said
    why: str = ""  # for the reports


class SameItem(_Rule):
    """Both sides are the same item: by id, or by name."""

    kind: Literal["same_item"]


class SameProduct(_Rule):
    """Both sides are the same product in another size: their names are the same without sizes and counts."""

    kind: Literal["same_product"]


class NoName(_Rule):
    """A name that is none: without a letter, or, letters alone counted, one of the placeholders."""

    kind: Literal["no_name"]
    sample: Literal[False] = False  # there is nothing to ask about
    placeholders: tuple[Text, ...] = ()


class Blocked(_Rule):
    """One of the two items belongs to one of the groups."""

    kind: Literal["blocked"]
    items: Names


class NeverTogether(_Rule):
    """One item belongs to one side's groups and the other to the other's, either way round."""

    kind: Literal["never_together"]
    one: Names
    other: Names


Rule = Annotated[SameItem | SameProduct | NoName | Blocked | NeverTogether, Field(discriminator="kind")]
KINDS: dict[str, type[_Rule]] = {
    "same_item": SameItem, "same_product": SameProduct, "no_name": NoName, "blocked": Blocked,
    "never_together": NeverTogether,
}  # fmt: skip


class Rules(_Table):
    """All that a rules file says."""

    groups: dict[str, Group] = {}
    rule: tuple[Rule, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Hex digest of what the file says, whatever its comments and its layout."""
        return hashlib.blake2b(self.model_dump_json().encode(), digest_size=16).hexdigest()


NO_RULES = Rules()
