"""A source of any size in the demo shop's shape, for measuring: its items in more packages, its dishes as they are.

The same arguments give the same content. `demo.build_source` builds the shop itself; that one is too small here.
"""

import datetime as dt
import random
from pathlib import Path

from demo.build_source import write_source
from demo.catalogue import load_shop

DATE = dt.date(2026, 11, 28)
# 12 packages of about 200 items: 2,400 names, so that 135,000 pairs are a small part of the possible ones.
PACKAGES = ("", "유기농 ", "무농약 ", "친환경 ", "산지직송 ", "GAP ")
SIZES = ("", " 2입")
PAIRS_A_BASKET = (1, 3)
BASKET_SIZES = (3, 10)


def build_large_source(path: Path, pairs: int, reasons_per_item: int | None = None) -> Path:
    """Write a source with one date of `pairs` distinct (recommended, reason) pairs to `path`, and return it.

    A recommended item stands with about `reasons_per_item` reason items. Without it any of the 2,400 items is
    recommended: 56 reason items each among 135,000 pairs, and hardly ever two among some hundred.
    """
    rng = random.Random(pairs)
    names = [
        (f"{package}{item.name}{size}", item.scate)
        for item in load_shop().items.values()
        for package in PACKAGES
        for size in SIZES
    ]
    items = [(number, name, scate) for number, (name, scate) in enumerate(names, start=1)]
    numbers = range(1, len(items) + 1)
    wanted = -(-pairs // reasons_per_item) if reasons_per_item else len(items)
    recommended = rng.sample(numbers, wanted) if wanted < len(items) else numbers
    baskets: list[tuple[object, ...]] = []
    recommendations: list[tuple[object, ...]] = []
    seen: set[tuple[int, int]] = set()
    while len(seen) < pairs:
        basket_id = f"{DATE:%Y%m%d}-{len(baskets):07d}"
        contents = rng.sample(numbers, rng.randint(*BASKET_SIZES))
        baskets += [(DATE, basket_id, item, position) for position, item in enumerate(contents, start=1)]
        for reason in contents[: rng.randint(*PAIRS_A_BASKET)]:
            pair = (rng.choice(recommended), reason)
            if pair[0] not in contents and pair not in seen and len(seen) < pairs:
                seen.add(pair)
                recommendations.append((DATE, basket_id, *pair, round(rng.random(), 4)))
    return write_source(path, items, baskets, recommendations)
