"""rank: which of a recommended item's possible reason items are worth a model call.

In: `reused.parquet`. Out: `ranked_out.parquet` (records.RANKED_OUT). For now every pair is worth its call.
"""

from tasks.records import RANKED_OUT
from tasks.runs import Run


def rank_candidates(run: Run) -> int:
    """Leave the pairs that are not worth a call in the run folder; returns how many there are: none."""
    ranked_out = RANKED_OUT.to_frame()
    run.write("ranked_out", ranked_out)
    return ranked_out.height
