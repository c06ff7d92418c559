"""Expectations of our own, where the core ones don't say what is meant: each a core one with a name and a plain word.

They run inside Great Expectations' validate like any other, and its Data Docs show them. What they are measured
against (the trailing dates) comes as limits, worked out by the suites.
"""

from great_expectations.expectations.core.expect_column_max_to_be_between import ExpectColumnMaxToBeBetween
from great_expectations.expectations.core.expect_column_mean_to_be_between import ExpectColumnMeanToBeBetween
from great_expectations.expectations.core.expect_column_quantile_values_to_be_between import (
    ExpectColumnQuantileValuesToBeBetween,
)
from great_expectations.expectations.core.expect_table_row_count_to_be_between import ExpectTableRowCountToBeBetween


class ExpectShareToStayWithin(ExpectColumnMeanToBeBetween):
    """A share: the mean of a column that holds 1 where something is so, 0 where it is not, null where it can't be."""


class ExpectSkipRateToMatchReference(ExpectShareToStayWithin):
    """The share of skipped pairs lies in the band that the trailing published dates and today's mix foretell."""

    column: str = "skipped"


class ExpectPSkipToMatchReference(ExpectShareToStayWithin):
    """The share of pairs below some p_skip, the one where today differs most, lies in the band foretold for it."""

    column: str = "p_skip_below_cut"


class ExpectFewMissingCategories(ExpectShareToStayWithin):
    """The share of recommended items without a small category is not far above that of the trailing dates."""

    column: str = "category_missing"


class ExpectVolumeNearTrailingMedian(ExpectTableRowCountToBeBetween):
    """The number of candidates is near the median of the trailing published dates."""


class ExpectNoRuleToTakeTooMany(ExpectTableRowCountToBeBetween):
    """The candidates are so many that what the largest rule turns away is no more than its share of them."""


class ExpectDateNotInTheFuture(ExpectColumnMaxToBeBetween):
    """The date has begun in the shop's time zone; a later one is a mistyped date or a clock that is wrong."""

    column: str = "days_ahead"


class ExpectTextLengthsToBeUsual(ExpectColumnQuantileValuesToBeBetween):
    """Texts are as long as reasons are, neither cut short nor all at the limit; in characters as a reader counts."""

    column: str = "characters"
