"""shard: some chunks on one worker. The engine is loaded once; decide → generate, chunk by chunk, back to back."""

import logging
import time

from prefect import flow

from flows.stages import decide, generate
from tasks.runs import Run

logger = logging.getLogger("sayu")
SECONDS_BETWEEN_LINES = 5


@flow(name="shard", flow_run_name="shard-{run.ds}", validate_parameters=False)
def shard(run: Run, chunks: list[int]) -> None:
    """Decide and write the pairs of these chunks; what is finished is in the result store, whatever happens next."""
    said = start = time.monotonic()
    decided = written = 0
    for number, chunk in enumerate(chunks, start=1):
        decided += decide(run, chunk)
        written += generate(run, chunk)
        now = time.monotonic()
        if now - said > SECONDS_BETWEEN_LINES or number == len(chunks):
            left = (now - start) / number * (len(chunks) - number)
            logger.info("%-9s chunk %d of %d: %d pairs decided, %d texts written, about %.0f s left",
                        "shard", number, len(chunks), decided, written, left)  # fmt: skip
            said = now
