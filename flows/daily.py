"""daily: one date, all stages, from the source to the serving table."""

import datetime as dt

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.shards import ask_engine
from flows.stages import check, extract, inspect, load, plan, rank, report, reuse, screen, set_aside, warm_up
from flows.support.events import tell
from flows.support.parameters import SomeSettings, date_of_run, run_name
from tasks.report import Summary
from tasks.runs import open_run
from tasks.settings import load_settings


@flow(name="daily", flow_run_name=run_name, on_completion=[tell], on_failure=[tell], on_crashed=[tell])
def daily(ds: dt.date | None = None, settings: SomeSettings = None) -> State[Summary]:
    """Write and publish the reasons of one date.

    Args:
        ds: The date [default: the day before the run's scheduled time, in Asia/Seoul].
        settings: Those that are to differ, such as {"threshold": 0.6} [default: sayu.toml and SAYU_… on the worker].
    """
    with open_run(ds or date_of_run(), settings or load_settings()) as run:
        warm_up(run)
        extract(run)
        screen(run)
        if inspect(run):
            reuse(run)
            rank(run)
            if chunks := plan(run):
                ask_engine(run, chunks)
        else:
            set_aside(run)
        gate = check(run)
        publication = load(run)
        summary = report(run, gate, publication)
    if publication is None:
        return Failed(name="HeldBack", message=f"held back: {'; '.join(gate.reasons)}", data=summary)
    return Completed(name="Published", message=f"{publication.reason_count} reasons published", data=summary)
