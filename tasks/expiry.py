"""expiry: which stored results still count. Nothing else decides that, for a run, its checks, a preview or `prune`.

A result counts until it is as old as its outcome allows: a pair that was skipped, a text that passed its checks, a text
that failed them. Which of the three it is the row itself says, so that a result that counts no more may be removed at
any time, and nothing is found that was not found before.
"""

import datetime as dt
from typing import NamedTuple

import polars as pl

from tasks.settings import Settings

# A century: a result as old as that is older than sayu.
ANY_AGE_DAYS = 36_500


class Oldest(NamedTuple):
    """The moments before which results are too old, by their outcome; `threshold` tells a skip from a text to write."""

    threshold: float
    published: dt.datetime
    skipped: dt.datetime
    rejected: dt.datetime

    @classmethod
    def at(cls, now: dt.datetime, settings: Settings) -> "Oldest":
        """What is too old at a moment by these settings."""
        days = settings.result_ttl_days, settings.skipped_ttl_days, settings.rejected_ttl_days
        return cls(settings.threshold, *(now - dt.timedelta(days=ttl or settings.result_ttl_days) for ttl in days))

    @classmethod
    def all_from(cls, moment: dt.datetime) -> "Oldest":
        """Whatever a result says, it counts from this moment on."""
        return cls(1.0, moment, moment, moment)

    def but_from(self, moment: dt.datetime) -> "Oldest":
        """The same, and nothing from before this moment either."""
        times = self.published, self.skipped, self.rejected
        return Oldest(self.threshold, *(max(time, moment) for time in times))

    @property
    def first(self) -> dt.datetime:
        """What is older than this is too old whatever it says."""
        return min(self.published, self.skipped, self.rejected)

    def counts(self, kind: str) -> pl.Expr:
        """Whether a row of this kind of results still counts.

        A decision to write serves a text that passed as well as one that failed, so it counts as long as either.
        """
        either = min(self.published, self.rejected)
        no, yes = {
            "decisions": (self.skipped, either),
            "texts": (self.rejected, self.published),
            "attempts": (either, either),
        }[kind]
        return pl.col("finished_at") >= pl.when(self.says_no(kind)).then(pl.lit(no)).otherwise(pl.lit(yes))

    def says_no(self, kind: str) -> pl.Expr:
        """Whether a row is a skip, or a text that failed: results of one key that expire in different times."""
        if kind == "decisions":
            return pl.col("p_skip") >= self.threshold
        return pl.col("passed").eq_missing(pl.lit(False)) if kind == "texts" else pl.lit(False)


def at_any_age(settings: Settings) -> Settings:
    """The same settings with which every stored result counts, however old."""
    times = dict.fromkeys(("result_ttl_days", "skipped_ttl_days", "rejected_ttl_days"), ANY_AGE_DAYS)
    return settings.model_copy(update={**times, "fresh": False, "fresh_since": None})
