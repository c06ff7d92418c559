"""What stood in one basket on past dates: in how many two items met, and in how many they would be expected to.

Most pairs of items have never met, and yet some of them go with the same third items. So the table of meetings, each
divided by the root of both items' baskets, is approximated by its `AXES` strongest axes (a truncated eigenvalue
decomposition, as in latent semantic indexing): what that table says of a pair is expected of it, met or not.
"""

import datetime as dt
import logging
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
from scipy import sparse

from tasks.errors import SourceError
from tasks.extract import open_source
from tasks.prompt import clean_name
from tasks.settings import HOME

logger = logging.getLogger("sayu")

STATEMENT = HOME / "sql" / "list_past_baskets.sql"

# Few enough to be what many items have in common: with 5, 8 and 12 pairs that had not met were ranked with an AUC of
# 0.86, 0.87 and 0.85 (`python -m benchmarks.rank --axes N`).
AXES = 8
# Subspace iteration: some more axes and a few turns bring the strongest near enough, at a cost known before.
SPARE_AXES, TURNS = 8, 8

Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Baskets:
    """The baskets of some dates: (baskets, items), 1 where an item stood in a basket. Items by ascending id."""

    item_ids: Places
    names: list[str]
    contents: Any  # scipy.sparse.csc_array, float32

    def places(self, item_ids: npt.ArrayLike) -> Places:
        """The columns of items; -1 for one that stood in no basket."""
        wanted = np.asarray(item_ids, dtype=np.int64)
        if not len(self.item_ids):
            return np.full(len(wanted), -1)
        found = np.searchsorted(self.item_ids, wanted).clip(max=len(self.item_ids) - 1)
        return np.where(self.item_ids[found] == wanted, found, -1)

    def together(self, one: npt.ArrayLike, other: npt.ArrayLike) -> tuple[Numbers, Numbers]:
        """Of each pair of items, by id: in how many baskets both stood, and in how many they would by chance.

        By chance is (baskets of the one) × (baskets of the other) / (all baskets); 0 for an item that is not there.
        """
        left, right = self.places(one), self.places(other)
        counts, expected = np.zeros(len(left)), np.zeros(len(left))
        known = (left >= 0) & (right >= 0)
        if known.any():
            rows, at_row = np.unique(left[known], return_inverse=True)
            columns, at_column = np.unique(right[known], return_inverse=True)
            both = (self.contents[:, rows].T @ self.contents[:, columns]).tocsr()
            counts[known] = np.asarray(both[at_row, at_column]).ravel()
            sums = np.asarray(self.contents.sum(axis=0)).ravel()
            expected[known] = sums[left[known]] * sums[right[known]] / self.contents.shape[0]
        return counts, expected

    def expected(self, one: npt.ArrayLike, other: npt.ArrayLike, axes: int = AXES) -> Numbers:
        """Of each pair of items, by id: in how many baskets both would be expected; 0 for an item that is not there."""
        left, right = self.places(one), self.places(other)
        known = (left >= 0) & (right >= 0)
        expected = np.zeros(len(left))
        if known.any() and (self.contents.sum(axis=1) > 1).any():
            strengths, directions = self._axes(axes)
            sizes = np.sqrt(np.asarray(self.contents.sum(axis=0), dtype=np.float64).ravel())
            rows = directions * sizes[:, None]
            expected[known] = np.einsum("ij,j,ij->i", rows[left[known]], strengths, rows[right[known]])
        return expected

    def _axes(self, number: int) -> tuple[Numbers, Numbers]:
        """The strongest eigenvalues of the table of meetings, and their directions (items, axes)."""
        sums = np.asarray(self.contents.sum(axis=0), dtype=np.float64).ravel()
        scaled = self.contents.astype(np.float64) @ sparse.diags_array(1 / np.sqrt(sums + 1))
        own = sums / (sums + 1)  # an item does not meet itself

        def meet(columns: Numbers) -> Numbers:
            return np.asarray(scaled.T @ (scaled @ columns) - own[:, None] * columns)

        # The same start every time: the same baskets give the same axes.
        basis = np.random.default_rng(0).standard_normal((len(sums), min(len(sums), number + SPARE_AXES)))
        for _ in range(TURNS):
            basis = np.linalg.qr(meet(basis))[0]
        values, turned = np.linalg.eigh(basis.T @ meet(basis))
        # as many axes as items would only write the table down again
        strongest = np.argsort(-np.abs(values))[: min(number, len(sums) // 2)]
        return values[strongest], basis @ turned[:, strongest]


def read_baskets(source: str, ds: dt.date, days: int) -> Baskets:
    """The baskets of the `days` days before a date; none of the date itself, whose pairs are to be ranked.

    Raises:
        SourceError: the source can't be opened, or a table or column is missing.
    """
    values = {"ds": ds, "first_date": ds - dt.timedelta(days=days)}
    with open_source(source) as connection:
        try:
            rows = connection.sql(STATEMENT.read_text(encoding="utf-8"), params=values).pl()
        except duckdb.Error as error:
            raise SourceError(
                f"the past baskets of {source} can't be read: {str(error).splitlines()[0]}",
                f"edit {STATEMENT.name} if the shop's tables look different, or rank by names alone: "
                "--rank-by embedding",
            ) from error
    if rows.is_empty():
        logger.warning("%-9s no baskets in the %d days before %s: pairs are ranked without", "rank", days, ds)
    numbers = rows["baskets"].explode(empty_as_null=False).to_numpy().astype(np.int64)
    ends = np.concatenate([[0], rows["baskets"].list.len().to_numpy().cumsum()]).astype(np.int64)
    shape = (int(numbers.max()) + 1 if len(numbers) else 0, rows.height)
    contents = sparse.csc_array((np.ones(len(numbers), dtype=np.float32), numbers, ends), shape=shape)
    return Baskets(rows["item_id"].to_numpy().astype(np.int64), [clean_name(n) for n in rows["item_name"]], contents)
