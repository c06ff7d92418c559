"""Build the demo shop's source: `python -m demo.build_source OUT.duckdb`.

Thirty dates of baskets and recommendations in the three tables of the source contract, the same content every
time. As in a real shop, popular pairs come back day after day, most of them in another basket. The model reads the
basket, so such a pair is asked anew; with `reuse_key = "pair"` the next day finds many of them written already.
"""

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from demo.catalogue import Pair, Shop, load_shop
from tasks.files import replacing

LAST_DATE = date(2026, 11, 28)
DATES = 30
PAIRS_A_DATE = 400
# Pairs the shop ever recommends. Four times a day's pairs: enough that each day has new ones, few enough that
# they come back.
POOL = 1_600
# What a real recommender gets right: a little more than half of its pairs belong together on a table.
JOINED_SHARE = 0.58
# Of the pairs nothing joins, how many are two foods: the hard ones, which only a model can tell.
FOODS_AMONG_UNJOINED = 0.6
# Some pairs are recommended to two baskets on one date; extraction keeps the better-scored one.
REPEATED_SHARE = 0.1
BASKET_SIZES = (3, 8)

SCHEMAS: dict[str, dict[str, Any]] = {
    "items": {"item_id": pl.Int64, "item_name": pl.String, "scate": pl.String},
    "baskets": {"ds": pl.Date, "basket_id": pl.String, "item_id": pl.Int64, "position": pl.Int32},
    "recommendations": {
        "ds": pl.Date,
        "basket_id": pl.String,
        "recommended_item_id": pl.Int64,
        "reason_item_id": pl.Int64,
        "score": pl.Float64,
    },
}


@dataclass
class Tables:
    """Rows on their way into the tables, in the order of `SCHEMAS`."""

    baskets: list[tuple[Any, ...]] = field(default_factory=list)
    recommendations: list[tuple[Any, ...]] = field(default_factory=list)


def build_source(path: Path) -> Path:
    """Write the source to `path`, beside it first, so that an interrupted build leaves what was there before.

    Returns:
        `path`. The content is the same on every call.

    Raises:
        StoreError: the file can't be written.
    """
    shop = load_shop()
    tables = _fill(shop, random.Random(20261128))
    items = [(item.item_id, item.name, item.scate) for item in shop.items.values()]
    return write_source(path, items, tables.baskets, tables.recommendations)


def write_source(path: Path, items: list[Any], baskets: list[Any], recommendations: list[Any]) -> Path:
    """Write the three tables of the source contract, rows as tuples in the order of `SCHEMAS`; returns `path`.

    Raises:
        StoreError: the file can't be written.
    """
    rows = {"items": items, "baskets": baskets, "recommendations": recommendations}
    with replacing(path) as beside, duckdb.connect(str(beside)) as connection:
        for table, schema in SCHEMAS.items():
            connection.register("frame", pl.DataFrame(rows[table], schema=schema, orient="row").to_arrow())
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM frame")
            connection.unregister("frame")
    return path


def _fill(shop: Shop, rng: random.Random) -> Tables:
    tables = Tables()
    pool = _pool(shop, rng)
    # Zipf's law with a mild exponent: the most popular pairs come nearly every day, the rarest once a month.
    weights = [1 / (rank + 20) ** 0.7 for rank in range(len(pool))]
    for days_ago in range(DATES - 1, -1, -1):
        pairs = _weighted_sample(pool, weights, PAIRS_A_DATE, rng)
        pairs += rng.sample(pairs, int(len(pairs) * REPEATED_SHARE))
        _fill_date(shop, LAST_DATE - timedelta(days=days_ago), pairs, rng, tables)
    return tables


def _pool(shop: Shop, rng: random.Random) -> list[Pair]:
    """Directed pairs (recommended, reason) in the order of their popularity."""
    everything = [(one, other) for one in shop.items for other in shop.items if one != other]
    joined = [pair for pair in everything if shop.dishes_of(*pair)]
    apart = [pair for pair in everything if not shop.dishes_of(*pair)]
    foods = [pair for pair in apart if shop.foods.issuperset(pair)]
    others = [pair for pair in apart if not shop.foods.issuperset(pair)]
    joined_count = round(POOL * JOINED_SHARE)
    foods_count = round((POOL - joined_count) * FOODS_AMONG_UNJOINED)
    chosen = rng.sample(joined, joined_count) + rng.sample(foods, foods_count)
    chosen += rng.sample(others, POOL - len(chosen))
    rng.shuffle(chosen)
    return chosen


def _weighted_sample(pool: list[Pair], weights: list[float], count: int, rng: random.Random) -> list[Pair]:
    """`count` different pairs; Efraimidis and Spirakis (2006): the greatest of u ** (1 / weight) win."""
    luck = [rng.random() ** (1 / weight) for weight in weights]
    order = sorted(range(len(pool)), key=luck.__getitem__, reverse=True)
    return [pool[index] for index in order[:count]]


def _fill_date(shop: Shop, day: date, pairs: list[Pair], rng: random.Random, tables: Tables) -> None:
    rng.shuffle(pairs)
    for number, group in enumerate(_groups(pairs, rng), start=1):
        basket_id = f"{day:%Y%m%d}-{number:04d}"
        contents = _basket(shop, group, rng)
        for position, item in enumerate(contents, start=1):
            tables.baskets.append((day, basket_id, item, position))
        for recommended, reason in group:
            score = round(rng.uniform(0.05, 0.95), 4)
            tables.recommendations.append((day, basket_id, recommended, reason, score))


def _groups(pairs: list[Pair], rng: random.Random) -> Iterator[list[Pair]]:
    """Two or three recommendations for one basket, none of which it holds already."""
    waiting = list(pairs)
    while waiting:
        size = rng.choice((2, 3))
        group: list[Pair] = []
        for pair in list(waiting):
            held = {reason for _, reason in [*group, pair]}
            if len(group) < size and pair not in group and not held & {item for item, _ in [*group, pair]}:
                group.append(pair)
                waiting.remove(pair)
            if len(group) == size:
                break
        yield group


def _basket(shop: Shop, group: list[Pair], rng: random.Random) -> list[int]:
    """The reason items of a group, and what a household buys with them: for the same dishes, or anything."""
    recommended = {item for item, _ in group}
    contents = list(dict.fromkeys(reason for _, reason in group))
    dishes = [dish for dish in shop.dishes if set(contents) & set(dish.ingredients)]
    friends = [item for dish in dishes for item in dish.ingredients]
    size = rng.randint(max(BASKET_SIZES[0], len(contents)), BASKET_SIZES[1])
    while len(contents) < size:
        source = friends if friends and rng.random() < 0.5 else list(shop.items)
        item = rng.choice(source)
        if item in recommended or item in contents:
            friends = [friend for friend in friends if friend != item]
            continue
        contents.append(item)
    rng.shuffle(contents)
    return contents


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m demo.build_source OUT.duckdb")
    print(build_source(Path(sys.argv[1])))
