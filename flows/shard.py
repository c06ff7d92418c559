"""shard: some chunks on one worker. The engine is loaded once; decide → generate, chunk by chunk, back to back."""

import logging
import time

from prefect import flow

from flows.stages import decide, generate
from tasks.engine import load_engine
from tasks.runs import Run

logger = logging.getLogger("sayu")
SECONDS_BETWEEN_LINES = 5


@flow(name="shard", flow_run_name="shard-{run.ds}", validate_parameters=False)
def shard(run: Run, chunks: list[int]) -> None:
    """Decide and write the pairs of these chunks; what is finished is in the result store, whatever happens next."""
    said = started = time.monotonic()
    decided = written = 0
    deciding = writing = 0.0
    busy = load_engine(run.settings).seconds
    for number, chunk in enumerate(chunks, start=1):
        before = time.monotonic()
        decided += decide(run, chunk)
        between = time.monotonic()
        written += generate(run, chunk)
        now = time.monotonic()
        deciding, writing = deciding + between - before, writing + now - between
        if now - said > SECONDS_BETWEEN_LINES or number == len(chunks):
            left = (now - started) / number * (len(chunks) - number)
            progress = (number, len(chunks), decided, written, left)
            logger.info("shard     chunk %d of %d: %d pairs decided, %d texts written, about %.0f s left", *progress)
            said = now
    run.add_seconds("decide", deciding)
    run.add_seconds("generate", writing)
    run.write_json("engine", {"busy_seconds": round(load_engine(run.settings).seconds - busy, 3)})
