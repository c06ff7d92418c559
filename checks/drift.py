"""Drift: is today's skip rate, and its distribution of p_skip, like that of the trailing published dates?

Both are judged by the same prediction band (`bands.py`, with the sources of the method), so both know small dates from
large ones, and a shifted input mix from a model that decides otherwise. A new threshold moves the skip rate alone.

Frames here have one row a date and small category: `ds`, `scate` ("" for none), `decided`, `skipped`, `bins` (counts of
p_skip in twenty steps of 0.05), `model`, `prompt`. Pure: which dates are the trailing ones is the caller's to say.
"""

from dataclasses import dataclass
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict

from checks.bands import Band, Counts, count_by_category, prediction_band

BINS = 20
# A steady shop is held back in error on one date in a hundred at most, which costs an approval. Shewhart's 0.0027
# misses three in ten jumps of twenty points that come after five dates of 400 pairs; this finds nineteen in twenty.
ALPHA = 0.01
# With fewer, the spread between dates is anyone's guess: t alone is near six.
MIN_DATES = 5
# Pairs of one item or basket stand and fall together, so a dozen pairs may be worth no more than one.
MIN_PAIRS = 30
# A move that nobody would look into, however sure it is: five points of the skip rate are one pair in twenty.
SMALLEST_MOVE = 0.05
# p_skip moves more freely than the decision: a shift that stays on one side of the threshold changes no text.
SMALLEST_SHIFT = 0.1
MOST_CATEGORIES = 5  # named as having moved it; a reader looks at the first few


class Part(BaseModel):
    """What moved the rate: a category, or a model or prompt other than the reference dates'.

    `share` is the category's part of the movement: Kitagawa's rate component at today's mix, below 0 where it moved
    the other way. A model or prompt moves every category, so it has no share of its own.
    """

    model_config = ConfigDict(frozen=True)
    kind: Literal["category", "model", "prompt"]
    name: str
    observed: float
    expected: float
    pairs: int
    share: float | None


class Drift(BaseModel):
    """Whether a date is like the trailing ones. Rates from 0 to 1; `expected` is for today's mix of categories.

    The date drifted where `observed` lies outside `low` to `high`. `cut` is the p_skip below which pairs are counted
    (`p_skip_drift` only).
    """

    model_config = ConfigDict(frozen=True)
    status: Literal["no reference yet", "steady", "drifted"]
    observed: float | None = None
    expected: float | None = None
    low: float | None = None
    high: float | None = None
    dates: int
    cut: float | None = None
    sentence: str
    sentence_ko: str
    parts: tuple[Part, ...] = ()


def skip_rate_drift(
    today: pl.DataFrame,
    reference: pl.DataFrame,
    *,
    alpha: float = ALPHA,
    min_dates: int = MIN_DATES,
    smallest_move: float = SMALLEST_MOVE,
) -> Drift:
    """Is the share of skipped pairs that of the reference dates, for today's mix?

    Args:
        today: the rows of one date; `reference`: those of the trailing published dates.
        alpha: probability of calling a steady date drifted.
        min_dates: reference dates below which nothing is judged; two or more.
        smallest_move: a difference of rates up to which nothing is called drift.
    """
    compared = _compare(today, reference, pl.col("decided"), pl.col("skipped"))
    if early := compared.too_early(min_dates):
        return early
    return compared.judge(prediction_band(compared.now, compared.before, alpha), smallest_move)


def p_skip_drift(
    today: pl.DataFrame,
    reference: pl.DataFrame,
    *,
    alpha: float = ALPHA,
    min_dates: int = MIN_DATES,
    smallest_move: float = SMALLEST_SHIFT,
) -> Drift:
    """Is p_skip distributed as on the reference dates, for today's mix? Arguments as for `skip_rate_drift`.

    The greatest distance between the two cumulative distributions at the bins' edges (Kolmogorov and Smirnov's), each
    distance in its own band at alpha / 19 (Bonferroni). A population stability index knows no sample size, and a
    chi-square test no differences between dates; both forget that the bins have an order.
    """
    bins, judged = pl.col("bins").list, []
    for number in range(1, BINS):
        compared = _compare(today, reference, bins.sum(), bins.head(number).list.sum(), cut=number / BINS)
        if early := compared.too_early(min_dates):
            return early
        band = prediction_band(compared.now, compared.before, alpha / (BINS - 1))
        judged.append((band.move / max(band.margin, smallest_move), compared, band))
    _, compared, band = max(judged, key=lambda judgement: judgement[0])
    return compared.judge(band, smallest_move)


def bin_of(p_skip: pl.Expr) -> pl.Expr:
    """The number of the bin, 0 to 19, in which a p_skip is counted."""
    return (p_skip * BINS).floor().clip(0, BINS - 1).cast(pl.Int64)


def _compare(
    today: pl.DataFrame, reference: pl.DataFrame, pairs: pl.Expr, hits: pl.Expr, cut: float | None = None
) -> "_Compared":
    categories = sorted({*today["scate"], *reference["scate"]})
    now = count_by_category(today, pairs, hits, categories)
    before = count_by_category(reference, pairs, hits, categories)
    return _Compared(today, reference, categories, Counts(now.hits.sum(0), now.pairs.sum(0)), before, cut)


@dataclass(frozen=True, slots=True)
class _Compared:
    """One rate, of today and of the reference dates, by category; and how it is judged and told."""

    today: pl.DataFrame
    reference: pl.DataFrame
    categories: list[str]
    now: Counts
    before: Counts
    cut: float | None

    def too_early(self, min_dates: int) -> Drift | None:
        """What is said of a date that can't be judged, None if it can."""
        dates, pairs = len(self.before.pairs), int(self.now.pairs.sum())
        if not pairs:
            none, none_ko = "no pair was decided", "결정된 쌍이 없습니다"
            return Drift(status="steady", dates=dates, sentence=none, sentence_ko=none_ko)
        observed = None if self.cut else float(self.now.hits.sum() / pairs)
        seen = "p_skip" if observed is None else f"skip rate {_percent(observed)} %"
        seen_ko = "p_skip" if observed is None else f"건너뛴 비율 {_percent(observed)}%"
        if dates < min_dates:
            why = f"no reference yet ({dates} of {min_dates} dates)"
            why_ko = f"아직 비교할 기준이 없습니다({min_dates}일 중 {dates}일)"
        elif pairs < MIN_PAIRS:
            why, why_ko = f"too few pairs to judge ({pairs})", f"판단하기에 쌍이 너무 적습니다({pairs}쌍)"
        else:
            return None
        status: Literal["no reference yet", "steady"] = "no reference yet" if dates < min_dates else "steady"
        return Drift(status=status, observed=observed, dates=dates, sentence=f"{seen}, {why}",
                     sentence_ko=f"{seen_ko}, {why_ko}")  # fmt: skip

    def judge(self, band: Band, smallest_move: float) -> Drift:
        """The verdict, with the parts that moved the rate if it drifted."""
        margin = max(band.margin, smallest_move)
        drifted = band.move > margin
        dates = len(self.before.pairs)
        seen, expected, around = (_percent(rate) for rate in (band.observed, band.expected, margin))
        name = f"pairs with p_skip below {self.cut:.2f}:" if self.cut else "skip rate"
        name_ko = f"p_skip {self.cut:.2f} 미만" if self.cut else "건너뛴 비율"
        return Drift(
            status="drifted" if drifted else "steady",
            observed=band.observed,
            expected=band.expected,
            low=max(0.0, band.expected - margin),
            high=min(1.0, band.expected + margin),
            dates=dates,
            cut=self.cut,
            sentence=f"{name} {seen} % against {expected} ± {around} % over {dates} dates",
            sentence_ko=f"{name_ko} {seen}%, 직전 {dates}일 기준 {expected} ± {around}%",
            parts=(*self._categories(band), *self._versions(band)) if drifted else (),
        )

    def _categories(self, band: Band) -> list[Part]:
        """The categories that moved the rate most, in its direction."""
        moved = band.observed - band.expected
        parts = [
            Part(kind="category", name=name, observed=hits / pairs, expected=rate, pairs=int(pairs), share=part / moved)
            for name, hits, pairs, rate, part in zip(
                self.categories, self.now.hits, self.now.pairs, band.rates, band.contributions, strict=True
            )
            if pairs
        ]
        return sorted(parts, key=lambda part: -(part.share or 0))[:MOST_CATEGORIES]

    def _versions(self, band: Band) -> list[Part]:
        """The model and the prompt, where any reference date had another one: that one is named as well."""
        parts = []
        kinds: tuple[Literal["model", "prompt"], ...] = ("model", "prompt")
        for kind in kinds:
            now = ", ".join(sorted(self.today[kind].drop_nulls().unique()))
            dates = self.reference.select("ds", kind).unique().drop_nulls().group_by(kind).len().sort(kind)
            if set(dates[kind]) - {now}:
                before = ", ".join(f"{version} ({count} dates)" for version, count in dates.iter_rows())
                parts.append(
                    Part(kind=kind, name=f"{now}; reference: {before}", observed=band.observed, expected=band.expected,
                         pairs=int(self.now.pairs.sum()), share=None)
                )  # fmt: skip
        return parts


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f}"
