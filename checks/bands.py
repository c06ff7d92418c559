"""How far from the trailing dates a rate may lie by chance: a prediction band for today, adjusted for today's mix.

The rate is a share of pairs (of those decided: the skipped ones), counted by small category and date.

1. Each category's rate, from all reference dates, drawn towards the rate of all pairs as far as the category is rare
   and as the categories are alike (empirical Bayes for proportions by moments: Kleinman 1973, JASA 68:46-54). What is
   expected of a date is those rates weighted by its own mix (direct standardisation; Kitagawa 1955, JASA 50:1168-1194),
   so a shift of the mix moves the expectation and not the residual.
2. Dates differ by more than the binomial error of their pairs, so a band of that error alone would alarm on every
   large date (the reason for Laney's p' chart, 2002, Quality Engineering 14:531-537). The variance between dates comes
   from the reference dates' residuals by the method of moments (DerSimonian & Laird 1986, Controlled Clinical Trials
   7:177-188), which takes dates of any size.
3. Today lies within expected ± t · sqrt(between dates + binomial error of today + uncertainty of the reference)
   with probability 1 - alpha, t of (dates - 1) degrees of freedom (the prediction interval of a random-effects
   meta-analysis: Higgins, Thompson & Spiegelhalter 2009, JRSS A 172:137-159). Few pairs make the second term large, few
   dates make t large, a category never seen before makes the third one large.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtrit

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Counts:
    """`hits` of `pairs`, by category: (categories,) for one date, (dates, categories) for several."""

    hits: Array
    pairs: Array


@dataclass(frozen=True, slots=True)
class Band:
    """What a date shows and what was expected of it, as rates; expected ± margin may reach beyond 0 and 1.

    `rates` are the categories' expected rates, and `contributions` what each adds to observed - expected.
    """

    observed: float
    expected: float
    margin: float
    rates: Array
    contributions: Array

    @property
    def move(self) -> float:
        """How far the rate lies from what was expected, up or down."""
        return abs(self.observed - self.expected)


def count_by_category(rows: pl.DataFrame, pairs: pl.Expr, hits: pl.Expr, categories: Sequence[str]) -> Counts:
    """The counts of a frame with one row a `ds` and `scate`, as (dates, categories); dates in order.

    Dates without any pair are left out.
    """
    columns = {category: number for number, category in enumerate(categories)}
    lines = {date: number for number, date in enumerate(sorted(set(rows["ds"])))}
    where = [lines[date] for date in rows["ds"]], [columns[category] for category in rows["scate"]]
    placed = np.zeros((2, len(lines), len(columns)))
    for plane, values in zip(placed, rows.select(hits=hits, pairs=pairs).cast(pl.Float64), strict=True):
        np.add.at(plane, where, values.to_numpy())
    used = placed[1].sum(axis=1) > 0
    return Counts(placed[0][used], placed[1][used])


def prediction_band(today: Counts, reference: Counts, alpha: float) -> Band:
    """The band that a date like the reference's leaves with probability `alpha`, for the pairs that today has.

    Needs at least two reference dates, and pairs on each date.
    """
    rates, uncertainty = _category_rates(reference.hits.sum(axis=0), reference.pairs.sum(axis=0))
    spread = rates * (1 - rates)
    sizes = reference.pairs.sum(axis=1)
    residuals = (reference.hits.sum(axis=1) - reference.pairs @ rates) / sizes
    between, level, level_variance = _random_effects(residuals, reference.pairs @ spread / sizes**2)
    size = today.pairs.sum()
    mix = today.pairs / size
    variance = between + mix @ spread / size + mix**2 @ uncertainty + level_variance
    observed = float(today.hits.sum() / size)
    return Band(
        observed=observed,
        expected=float(mix @ rates + level),
        margin=float(stdtrit(len(sizes) - 1, 1 - alpha / 2) * np.sqrt(variance)),
        rates=rates,
        contributions=today.hits / size - mix * rates,
    )


def _category_rates(hits: Array, pairs: Array) -> tuple[Array, Array]:
    """The categories' rates and the variances of what is known of them: a beta prior over categories, by moments."""
    total = pairs.sum()
    mean = (hits.sum() + 0.5) / (total + 1)  # Jeffreys' half a pair keeps a rate of nothing or of all from being sure
    seen = pairs > 0
    chance = mean * (1 - mean)
    deviations = (pairs[seen] * (hits[seen] / pairs[seen] - mean) ** 2).sum()
    room = total - (pairs**2).sum() / total  # 0 where there is one category only
    between = (deviations - (seen.sum() - 1) * chance) / room if room > 0 else 0.0
    # The prior weighs as much as this many pairs: 1 where categories always skip or always write, all pairs where
    # categories do not differ.
    weight = np.clip(chance / between - 1, 1, total) if between > 0 else total
    rates = (hits + weight * mean) / (pairs + weight)
    return rates, rates * (1 - rates) / (pairs + weight + 1)


def _random_effects(residuals: Array, variances: Array) -> tuple[float, float, float]:
    """Of values with known error variances: the variance between them, their mean, and the mean's variance."""
    weights = 1 / variances
    mean = weights @ residuals / weights.sum()
    heterogeneity = weights @ (residuals - mean) ** 2 - (len(residuals) - 1)
    between = max(0.0, float(heterogeneity / (weights.sum() - (weights**2).sum() / weights.sum())))
    weights = 1 / (variances + between)
    return between, float(weights @ residuals / weights.sum()), float(1 / weights.sum())
