"""shard: some chunks on one worker. The engine is loaded once; decide → generate chunk by chunk, back to back.

A few chunks are in flight at a time, each in a thread of its own: while one waits for its last answers the engine reads
the next, and what a chunk reads, stores and tells Prefect costs the engine nothing.
"""

import datetime as dt
from pathlib import Path

from prefect import flow
from prefect.runtime import flow_run

from flows.stages import decide, generate
from flows.support.progress_bar import progress_bar
from flows.support.threads import in_flight
from tasks.engine import load_engine
from tasks.order import Work, passes
from tasks.progress import Progress
from tasks.renderer import load_renderer
from tasks.room import remember_room
from tasks.runs import Run
from tasks.settings import load_settings
from tasks.shards import Shard, alone, find_request, signs_of_life


@flow(name="shard", flow_run_name="shard-{ds}-{first}-{last}")
def shard(ds: dt.date, run_key: str, first: int, last: int, store: Path | None = None) -> None:
    """Decide and write the pairs of these chunks; what is finished is in the result store, whatever happens next.

    Chunks that are finished already, before a crash or by another worker, are not asked again.

    Args:
        ds: The date.
        run_key: Its run: the name of the run's folder.
        first: The number of the first chunk.
        last: The number of the last chunk.
        store: The store's folder, as this worker sees it [default: the worker's setting].
    """
    run = find_request(ds, run_key, store or load_settings().store)
    chunks = Shard(first, last).chunks
    bar = progress_bar(f"shard-{ds}-{first}-{last}", f"{ds}: chunks {first} to {last}")
    with signs_of_life(run, flow_run.id), bar as shown:
        engine = load_engine(run.settings)
        remember_room(run.settings, engine.room)
        load_renderer(run.settings.prompt, run.settings.model)  # not in two threads at once: its imports break then
        with Progress(run, engine, len(chunks), flow_run.id, shown.show) as progress:

            def decide_pairs(chunk: int) -> None:
                progress.decided(decide(run, chunk))

            def write_texts(chunk: int) -> None:
                progress.written(generate(run, chunk))

            for work in passes(run.settings.order, decide_pairs, write_texts):
                in_flight(_alone(run, work), chunks, run.settings.chunks_in_flight)


def _alone(run: Run, work: Work) -> Work:
    """The work on a chunk, while no other worker is at it."""

    def work_alone(chunk: int) -> None:
        with alone(run, chunk):
            work(chunk)

    return work_alone
