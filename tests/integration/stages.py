"""A date without Prefect: the stages one after the other in this process."""

from checks.gate import Gate
from tasks.check import check_date
from tasks.decide import decide_chunk
from tasks.extract import extract_candidates
from tasks.generate import generate_chunk
from tasks.inspect import inspect_candidates
from tasks.load import Publication, load_date
from tasks.plan import plan_chunks
from tasks.rank import rank_candidates
from tasks.report import Summary, report_date
from tasks.reuse import reuse_results
from tasks.runs import Run, open_run
from tasks.screen import screen_candidates


def all_stages(asked: Run) -> tuple[Run, Gate, Publication | None, Summary]:
    """What `flows.daily` does, for tests that need the real engine but no server."""
    with open_run(asked.ds, asked.settings) as run:
        for stage in (extract_candidates, screen_candidates, inspect_candidates, reuse_results, rank_candidates):
            stage(run)
        for chunk in range(plan_chunks(run)):
            decide_chunk(run, chunk)
            generate_chunk(run, chunk)
        gate = check_date(run)
        publication = load_date(run)
        return run, gate, publication, report_date(run, gate, publication)
