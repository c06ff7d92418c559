"""The demo shop in memory: its items, its dishes, and which items a dish joins.

Reads `demo/shop/items.csv` and `demo/shop/dishes.csv`. Two items are *joined* when one dish uses both.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

import polars as pl

SHOP = Path(__file__).parent / "shop"

Pair = tuple[int, int]


@dataclass(frozen=True)
class Item:
    """What the shop sells. `name` is what it prints, with packaging in brackets: `당근(봉)`."""

    item_id: int
    name: str
    scate: str

    @property
    def short(self) -> str:
        """The name as people say it."""
        return self.name.split("(")[0]

    @property
    def packaging(self) -> str:
        """The bracket that follows the short name, or nothing."""
        return self.name[len(self.short) :]


@dataclass(frozen=True)
class Dish:
    """A home dish: how it tastes (얼큰한), how it is made (끓여) and the ids of its ingredients."""

    name: str
    taste: str
    way: str
    ingredients: tuple[int, ...]


@dataclass(frozen=True)
class Shop:
    """All items by id, and all dishes."""

    items: dict[int, Item]
    dishes: tuple[Dish, ...]

    @cached_property
    def joins(self) -> dict[Pair, tuple[Dish, ...]]:
        """The dishes that join two items, by ids in ascending order; pairs that nothing joins are absent."""
        found: dict[Pair, tuple[Dish, ...]] = {}
        for dish in self.dishes:
            for pair in combinations(sorted(dish.ingredients), 2):
                found[pair] = (*found.get(pair, ()), dish)
        return found

    @cached_property
    def foods(self) -> frozenset[int]:
        """The items that some dish uses."""
        return frozenset(item_id for dish in self.dishes for item_id in dish.ingredients)

    def dishes_of(self, one: int, other: int) -> tuple[Dish, ...]:
        """The dishes that use both items, in either order; empty when nothing joins them."""
        return self.joins.get((min(one, other), max(one, other)), ())


def load_shop(folder: Path = SHOP) -> Shop:
    """Read the shop's two tables.

    Raises:
        KeyError: a dish uses an ingredient that the shop does not sell.
    """
    rows = pl.read_csv(folder / "items.csv").iter_rows(named=True)
    items = {row["item_id"]: Item(row["item_id"], row["item_name"], row["scate"]) for row in rows}
    by_short = {item.short: item.item_id for item in items.values()}
    dishes = []
    for row in pl.read_csv(folder / "dishes.csv").iter_rows(named=True):
        ingredients = tuple(by_short[name] for name in row["ingredients"].split("|"))
        dishes.append(Dish(row["dish"], row["taste"], row["way"], ingredients))
    return Shop(items, tuple(dishes))
