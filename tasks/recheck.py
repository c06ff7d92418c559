"""recheck: a date is judged again by what is stored, however old that is. The model is not asked.

In: the outcomes of the same request, the result store. Nothing is written here.
"""

import datetime as dt

import polars as pl

from tasks.errors import StoreError
from tasks.expiry import at_any_age
from tasks.results import find_results
from tasks.runs import describe_run
from tasks.settings import Settings


def settings_to_recheck(ds: dt.date, settings: Settings) -> Settings:
    """The settings with which a date is judged again: stored answers count at any age.

    Raises:
        StoreError: answers that the date was judged by are gone. Its outcomes stay as they are.
    """
    run = describe_run(ds, at_any_age(settings))
    outcomes = run.folder / "outcomes.parquet"
    if not outcomes.exists():
        return run.settings
    answered = pl.read_parquet(outcomes, columns=["key", "p_skip", "answer"]).filter(pl.col("p_skip").is_not_null())
    written = answered.filter(pl.col("answer").is_not_null())
    kept = find_results(run.settings.store, "decisions", answered["key"], run.oldest_result)["key"].implode()
    texts = find_results(run.settings.store, "texts", written["key"], run.oldest_result)["key"].implode()
    is_kept = pl.col("key").is_in(kept) & (pl.col("answer").is_null() | pl.col("key").is_in(texts))
    if lost := answered.filter(~is_kept).height:
        raise StoreError(
            f"{lost:,} of {answered.height:,} answers of {ds} are no longer in the result store, most likely pruned",
            f"the date stays as it was judged; `sayu daily --ds {ds}` asks the model for them anew",
        )
    return run.settings
