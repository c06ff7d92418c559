"""The stages as Prefect tasks: thin shells over the plain functions in tasks/, each timed."""

import functools
import logging
import time
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from prefect import task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from checks.gate import Gate
from planner.predict import predict_run
from tasks.check import check_date
from tasks.decide import decide_chunk
from tasks.extract import extract_candidates
from tasks.generate import generate_chunk
from tasks.inspect import inspect_candidates
from tasks.inspect import set_aside as set_candidates_aside
from tasks.load import Publication, load_date
from tasks.plan import plan_chunks, plan_nothing, warm_up_engine
from tasks.rank import rank_candidates
from tasks.report import Summary, artifact_markdown, report_date
from tasks.reuse import reuse_results
from tasks.runs import Run
from tasks.screen import screen_candidates

logger = logging.getLogger("sayu")
P = ParamSpec("P")
R = TypeVar("R")


def stage(name: str, function: Callable[Concatenate[Run, P], R], said: str = "") -> Callable[Concatenate[Run, P], R]:
    """A Prefect task that runs `function`, records its seconds in the run, and says what it returned."""

    @functools.wraps(function)
    def timed(run: Run, *args: P.args, **kwargs: P.kwargs) -> R:
        start = time.perf_counter()
        result = function(run, *args, **kwargs)
        seconds = time.perf_counter() - start
        run.add_seconds(name, seconds)
        if said:
            logger.info("%-9s %s (%.1f s)", name, said.format(result), seconds)
        return result

    return _as_task(name, timed, name)  # type: ignore[no-any-return]


def plan_and_predict(run: Run) -> int:
    """Plan the run, and say beforehand what it will take where that is known; returns how many chunks there are."""
    chunks = plan_chunks(run)
    if chunks and (predicted := predict_run(run)):
        logger.info("%-9s the engine will take about %.0f s", "predict", predicted.engine_seconds)
    return chunks


def report_and_show(run: Run, gate: Gate, publication: Publication | None) -> Summary:
    """Write the report, and show its short form in the Prefect UI."""
    summary = report_date(run, gate, publication)
    markdown = artifact_markdown(summary, run.settings.language)
    create_markdown_artifact(markdown, key=f"reasons-{run.ds}", description=f"Recommendation reasons of {run.ds}")
    return summary


def _as_task(name: str, function: Any, run_name: str) -> Any:
    # the run folder is what is kept, not task results
    return task(name=name, task_run_name=run_name, cache_policy=NO_CACHE)(function)


warm_up = stage("warm up", warm_up_engine)
extract = stage("extract", extract_candidates, "{:,} candidates")
inspect = stage("inspect", inspect_candidates, "candidates accepted: {}")
set_aside = stage("set aside", set_candidates_aside)
screen = stage("screen", screen_candidates, "{:,} turned away by rules")
reuse = stage("reuse", reuse_results, "{:,} found in the result store")
rank = stage("rank", rank_candidates, "{:,} not worth a call")
plan = stage("plan", plan_and_predict, "{:,} chunks")
skip_plan = stage("skip plan", plan_nothing)
# A task run for each chunk and stage, which costs some 4 ms here and 10 ms in the server; chunks overlap, so the shard
# times them together.
decide: Callable[[Run, int], int] = _as_task("decide", decide_chunk, "decide-{chunk}")
generate: Callable[[Run, int], int] = _as_task("generate", generate_chunk, "generate-{chunk}")
check = stage("check", check_date, "{0.verdict}")
load = stage("load", load_date)
report = stage("report", report_and_show)
