"""scores: what pairs are ranked by, as the setting `rank_by` says. The higher, the more a pair is worth a call.

- `baskets`: in how many past baskets both items stood, and in how many more they would be expected to (see
  tasks.baskets): what is bought together most.
- `lift`: in how many they stood, against chance: what is bought together more than either is bought anyway.
- `embedding`: the cosine of the two names, each less the mean of all: bare names lie close together. It ranks what is
  alike, which is not what is cooked together.
"""

import datetime as dt
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from tasks.baskets import Baskets, Places, read_baskets
from tasks.embedding import Vectors
from tasks.settings import Settings
from tasks.vectors import name_vectors

Numbers = npt.NDArray[np.float64]

# Chance counts as one meeting more than it is, on both sides: two rare items that met once are no better than two that
# met often.
LIFT_PRIOR = 1.0
# Rows of 384 numbers: tens of megabytes, not one copy of them for each of a date's pairs.
PAIRS_AT_A_TIME = 16_384


def score_pairs(pairs: pl.DataFrame, ds: dt.date, settings: Settings) -> pl.Series:
    """The score of each pair (records.CANDIDATES), in their order.

    Raises:
        SourceError: the past baskets can't be read.
        ModelError: the embedding model can't be used.
        StoreError: the vectors can't be kept.
    """
    if settings.rank_by == "embedding":
        return pl.Series(score_by_names(pairs, lambda names: name_vectors(names, settings)))
    baskets = read_baskets(settings.source, ds, settings.rank_days)
    return pl.Series((score_by_lift if settings.rank_by == "lift" else score_by_baskets)(pairs, baskets))


def score_by_baskets(pairs: pl.DataFrame, baskets: Baskets) -> Numbers:
    """Meetings of each pair, counted and expected; 0 where an item stood in no basket."""
    items = pairs["recommended_item_id"], pairs["reason_item_id"]
    counted, _ = baskets.together(*items)
    return counted + baskets.expected(*items)


def score_by_lift(pairs: pl.DataFrame, baskets: Baskets) -> Numbers:
    """The lift of each pair, drawn towards 1 where chance would hardly have let its items meet."""
    counted, by_chance = baskets.together(pairs["recommended_item_id"], pairs["reason_item_id"])
    return (counted + LIFT_PRIOR) / (by_chance + LIFT_PRIOR)


def score_by_names(pairs: pl.DataFrame, embed: Callable[[Sequence[str]], Vectors]) -> Numbers:
    """The cosine of the two names of each pair, each less the mean of all names among the pairs."""
    names = pl.concat([pairs["recommended_item"].rename("name"), pairs["reason_item"].rename("name")]).unique().sort()
    vectors = embed(names.to_list())
    centred = vectors - vectors.mean(axis=0)
    rows = centred / np.linalg.norm(centred, axis=1, keepdims=True).clip(min=1e-12)
    place = {name: number for number, name in enumerate(names)}
    one, other = (_places(pairs[column], place) for column in ("recommended_item", "reason_item"))
    parts = (slice(start, start + PAIRS_AT_A_TIME) for start in range(0, pairs.height, PAIRS_AT_A_TIME))
    products = [np.einsum("ij,ij->i", rows[one[part]], rows[other[part]]) for part in parts]
    return np.concatenate([np.empty(0), *products])


def _places(names: pl.Series, place: dict[str, int]) -> Places:
    return np.array([place[name] for name in names], dtype=np.int64)
