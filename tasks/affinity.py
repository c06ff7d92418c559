"""affinity: how well two names go together, learned from past baskets.

Near names are alike (two brands of milk); what is wanted is what stands in one basket. So the cosine is replaced by a
bilinear form that baskets teach: the W for which 1 + x'Wy comes nearest to the lift of all pairs of items with the
vectors x and y, each pair weighted by how often it would meet by chance (least squares: W = S⁻¹ G S⁻¹ with S the
vectors' covariance and G that of two items of one basket). It knows names that no basket has seen yet.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tasks.embedding import Vectors

Numbers = npt.NDArray[np.float64]

# What is added to the covariance, as a share of its trace: directions in which names hardly differ teach nothing.
RIDGE = 3e-3
BASKETS_AT_A_TIME = 65_536


@dataclass(frozen=True)
class Affinity:
    """The learned form: 1 + sum over k of weights[k] · f(x)[k] · f(y)[k], where f(x) = (x − mean) · axes."""

    mean: Numbers
    axes: Numbers  # (length of a vector, number of axes)
    weights: Numbers

    def features(self, vectors: Vectors) -> Vectors:
        """One row a name: the lift to expect of two is 1 and their product, one of the rows times `weights`."""
        return np.asarray((vectors - self.mean) @ self.axes, dtype=np.float32)


def learn_affinity(vectors: Vectors, contents: Any) -> Affinity:
    """The affinity that the baskets teach: `contents` as in Baskets, `vectors` one row a column of it."""
    rows = contents.tocsr()
    sizes = np.asarray(rows.sum(axis=1)).ravel()
    meetings = np.asarray(rows.T @ (sizes - 1), dtype=np.float64).ravel()  # with other items, an item
    total = meetings.sum()
    mean = (meetings @ vectors) / total
    centred = (vectors - mean).astype(np.float32)
    together = -(centred * np.asarray(rows.sum(axis=0)).ravel()[:, None]).T @ centred.astype(np.float64)
    for start in range(0, rows.shape[0], BASKETS_AT_A_TIME):
        sums = rows[start : start + BASKETS_AT_A_TIME] @ centred
        together += (sums.T @ sums).astype(np.float64)
    spread = (centred * (meetings / total)[:, None]).T @ centred.astype(np.float64)
    values, directions = np.linalg.eigh(spread)
    whiten = (directions / np.sqrt(values.clip(min=0) + RIDGE * values.sum())) @ directions.T
    weights, turned = np.linalg.eigh(whiten @ (together / total) @ whiten)
    return Affinity(mean, whiten @ turned, weights)
