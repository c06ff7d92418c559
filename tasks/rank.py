"""rank: which of a recommended item's possible reason items are worth a model call.

In: `candidates.parquet`, `reused.parquet`, the source's past baskets, the store's vectors. Out: `ranked_out.parquet`
(records.RANKED_OUT). Without a limit every pair is worth its call, and nothing is read.

A place is one question to the model, asked today or before: at most `rank_per_item` pairs of a recommended item are
kept, and of those at most `rank_per_date` pairs of the date, the best scored. Pairs whose text is stored come first
whatever their score, since they cost nothing and a reader gains a reason. A pair that the model was known to skip
stands where its score puts it: it keeps its place, so that a date that is run again asks nothing new.
"""

import polars as pl

from tasks.records import RANKED_OUT, conform
from tasks.runs import Run
from tasks.scores import score_pairs

BEST_FIRST = ("stored", "rank_score", "score", "recommended_item_id", "reason_item_id", "candidate_id")
DESCENDING = (True, True, True, False, False, False)


def rank_candidates(run: Run) -> int:
    """Leave the pairs that are not worth a call in the run folder; returns how many there are.

    Raises:
        SourceError: the past baskets can't be read.
        ModelError: the embedding model can't be used.
    """
    ranked_out = RANKED_OUT.to_frame()
    if run.settings.ranks:
        has_text = (pl.col("p_skip") < run.settings.threshold).fill_null(False) & pl.col("has_text")
        pairs = run.read("candidates").join(
            run.read("reused").select("candidate_id", stored=has_text), on="candidate_id", maintain_order="left"
        )
        scored = pairs.with_columns(rank_score=score_pairs(pairs, run.ds, run.settings))
        ranked_out = leave_out(scored, run.settings.rank_per_item, run.settings.rank_per_date)
    run.write("ranked_out", ranked_out)
    return ranked_out.height


def leave_out(scored: pl.DataFrame, per_item: int | None, per_date: int | None) -> pl.DataFrame:
    """The pairs for which there is no place (records.RANKED_OUT): see above. Ties: the recommender's score, then ids.

    Args:
        scored: `candidate_id`, `recommended_item_id`, `reason_item_id`, `score` (may be null), `stored` (whether its
            text is), `rank_score`.
        per_item: Places of a recommended item. None: as many as it has pairs.
        per_date: Places of the date. None: as many as are left.
    """
    item = "recommended_item_id"
    ordered = scored.sort(BEST_FIRST, descending=DESCENDING, nulls_last=True).with_columns(
        rank=pl.int_range(1, pl.len() + 1).over(item), of=pl.len().over(item)
    )
    beyond_item = pl.col("rank") > (scored.height if per_item is None else per_item)
    kept = ordered.filter(~beyond_item).with_columns(rank=pl.int_range(1, pl.len() + 1), of=pl.len())
    beyond_date = pl.col("rank") > (scored.height if per_date is None else per_date)
    left_out = [
        ordered.filter(beyond_item).with_columns(limit=pl.lit("rank_per_item")).pipe(conform, RANKED_OUT),
        kept.filter(beyond_date).with_columns(limit=pl.lit("rank_per_date")).pipe(conform, RANKED_OUT),
    ]
    return pl.concat(left_out).sort("candidate_id")
