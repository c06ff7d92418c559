"""shard: some chunks on one worker. The engine is loaded once; decide → generate chunk by chunk, back to back.

A few chunks are in flight at a time, each in a thread of its own: while one waits for its last answers the engine reads
the next, and what a chunk reads, stores and tells Prefect costs the engine nothing.
"""

from prefect import flow

from flows.stages import decide, generate
from flows.threads import in_flight
from tasks.engine import load_engine
from tasks.order import passes
from tasks.progress import Progress
from tasks.runs import Run


@flow(name="shard", flow_run_name="shard-{run.ds}", validate_parameters=False)
def shard(run: Run, chunks: list[int]) -> None:
    """Decide and write the pairs of these chunks; what is finished is in the result store, whatever happens next."""
    engine = load_engine(run.settings)
    with Progress(run, engine, len(chunks)) as progress:

        def decide_pairs(chunk: int) -> None:
            progress.decided(decide(run, chunk))

        def write_texts(chunk: int) -> None:
            progress.written(generate(run, chunk))

        for work in passes(run.settings.order, decide_pairs, write_texts):
            in_flight(work, chunks, run.settings.chunks_in_flight)
