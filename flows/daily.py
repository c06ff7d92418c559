"""daily: one date, all stages, from the source to the serving table."""

import datetime as dt

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.states import Completed, Failed

from flows.shard import shard
from flows.stages import check, extract, inspect, load, plan, rank, report, reuse, screen, set_aside, warm_up
from tasks.report import Summary
from tasks.runs import open_run, yesterday
from tasks.settings import Settings, load_settings


def _run_name() -> str:
    return f"daily-{flow_run.parameters.get('ds') or yesterday()}"


@flow(name="daily", flow_run_name=_run_name)
def daily(ds: dt.date | None = None, settings: Settings | None = None) -> State[Summary]:
    """Write and publish the reasons of one date.

    Args:
        ds: The date [default: yesterday in Asia/Seoul].
        settings: What to work with [default: sayu.toml and SAYU_… in the environment].
    """
    with open_run(ds or yesterday(), settings or load_settings()) as run:
        warm_up(run)
        extract(run)
        screen(run)
        if inspect(run):
            reuse(run)
            rank(run)
            if chunks := plan(run):
                shard(run, list(range(chunks)))
        else:
            set_aside(run)
        gate = check(run)
        publication = load(run)
        summary = report(run, gate, publication)
    if publication is None:
        return Failed(name="HeldBack", message=f"held back: {'; '.join(gate.reasons)}", data=summary)
    return Completed(name="Published", message=f"{publication.reason_count} reasons published", data=summary)
