"""The stages as Prefect tasks: thin shells over the plain functions in tasks/, each timed."""

import functools
import logging
import time
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.check import check_date
from tasks.decide import decide_chunk
from tasks.extract import extract_candidates
from tasks.generate import generate_chunk
from tasks.load import load_date
from tasks.plan import plan_chunks, plan_nothing, start_engine
from tasks.rank import rank_candidates
from tasks.report import report_date
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

    shell: Any = task(name=name, cache_policy=NO_CACHE)(timed)  # the run folder is what is kept, not task results
    return shell  # type: ignore[no-any-return]


extract = stage("extract", extract_candidates, "{:,} candidates")
screen = stage("screen", screen_candidates, "{:,} turned away by rules")
reuse = stage("reuse", reuse_results, "{:,} found in the result store")
rank = stage("rank", rank_candidates, "{:,} not worth a call")
start = stage("start", start_engine, "engine needed: {}")
plan = stage("plan", plan_chunks, "{:,} chunks")
skip_plan = stage("skip plan", plan_nothing)
decide = stage("decide", decide_chunk)
generate = stage("generate", generate_chunk)
check = stage("check", check_date, "{0.verdict}")
load = stage("load", load_date)
report = stage("report", report_date)
