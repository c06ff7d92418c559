"""scores: what pairs are ranked by, as the setting `rank_by` says. The higher, the more a pair is worth a call.

- `lift`: how often both items stood in one past basket, against chance.
- `embedding`: the cosine of the two names, each less the mean of all: bare names lie close together.
- `both`: the same lift, and where two items have hardly met, the one that past baskets teach to expect of their names.
"""

import datetime as dt
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from tasks.affinity import learn_affinity
from tasks.baskets import Baskets, Places, read_baskets
from tasks.embedding import Vectors
from tasks.settings import Settings
from tasks.vectors import name_vectors

Numbers = npt.NDArray[np.float64]
Embed = Callable[[Sequence[str]], Vectors]

# What is expected weighs as much as this many meetings by chance: few enough for a dozen real ones to outweigh it.
PRIOR_MEETINGS = 1.0
# The learned form goes below 0 where names are far apart; a lift does not.
LEAST_LIFT = 0.01
# Rows of 384 numbers: tens of megabytes, not one copy of them for each of a date's pairs.
PAIRS_AT_A_TIME = 16_384


def score_pairs(pairs: pl.DataFrame, ds: dt.date, settings: Settings) -> pl.Series:
    """The score of each pair (records.CANDIDATES), in their order.

    Raises:
        SourceError: the past baskets can't be read.
        ModelError: the embedding model can't be used.
        StoreError: the vectors can't be kept.
    """

    def embed(names: Sequence[str]) -> Vectors:
        return name_vectors(names, settings)

    if settings.rank_by == "embedding":
        return pl.Series(score_by_names(pairs, embed))
    baskets = read_baskets(settings.source, ds, settings.rank_days)
    if settings.rank_by == "lift":
        return pl.Series(score_by_lift(pairs, baskets))
    return pl.Series(score_by_both(pairs, baskets, embed) if len(baskets.names) else score_by_names(pairs, embed))


def score_by_names(pairs: pl.DataFrame, embed: Embed) -> Numbers:
    """The cosine of the two names of each pair, each less the mean of all names among the pairs."""
    names, (one, other) = _distinct(pairs["recommended_item"], pairs["reason_item"])
    vectors = embed(names)
    centred = vectors - vectors.mean(axis=0)
    rows = centred / np.linalg.norm(centred, axis=1, keepdims=True).clip(min=1e-12)
    return _products(rows, rows, one, other)


def score_by_lift(pairs: pl.DataFrame, baskets: Baskets) -> Numbers:
    """The lift of each pair, drawn towards 1 where chance would hardly have let its items meet."""
    return _lift(pairs, baskets, np.ones(pairs.height))


def score_by_both(pairs: pl.DataFrame, baskets: Baskets, embed: Embed) -> Numbers:
    """The lift of each pair, drawn towards what baskets teach to expect of its names (see tasks.affinity)."""
    columns = pl.Series(baskets.names, dtype=pl.String), pairs["recommended_item"], pairs["reason_item"]
    names, (sold, one, other) = _distinct(*columns)
    vectors = embed(names)
    affinity = learn_affinity(vectors[sold], baskets.contents)
    features = affinity.features(vectors)
    expected = 1 + _products(features * affinity.weights.astype(np.float32), features, one, other)
    return _lift(pairs, baskets, expected.clip(min=LEAST_LIFT))


def _lift(pairs: pl.DataFrame, baskets: Baskets, expected: Numbers) -> Numbers:
    counted, by_chance = baskets.together(pairs["recommended_item_id"], pairs["reason_item_id"])
    return (counted + PRIOR_MEETINGS * expected) / (by_chance + PRIOR_MEETINGS)


def _distinct(*columns: pl.Series) -> tuple[list[str], list[Places]]:
    """Each name of the columns once, and where each row's name stands among them."""
    names = pl.concat([column.rename("name") for column in columns]).unique().sort().to_list()
    place = {name: number for number, name in enumerate(names)}
    return names, [np.array([place[name] for name in column], dtype=np.int64) for column in columns]


def _products(left: Vectors, right: Vectors, one: Places, other: Places) -> Numbers:
    """The product of row one[i] of `left` and row other[i] of `right`, for all i; some thousand at a time."""
    starts = range(0, len(one), PAIRS_AT_A_TIME)
    parts = (slice(start, start + PAIRS_AT_A_TIME) for start in starts)
    products = [np.einsum("ij,ij->i", left[one[part]], right[other[part]]) for part in parts]
    return np.concatenate(products).astype(np.float64) if products else np.empty(0)
