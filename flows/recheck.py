"""recheck: judge a date again without the model, after a rule or a threshold changed."""

import datetime as dt

from prefect import flow

from flows.stages import check, extract, inspect, rank, report, reuse, screen, skip_plan
from tasks.report import Summary
from tasks.runs import open_run
from tasks.settings import Settings, load_settings


@flow(name="recheck", flow_run_name="recheck-{ds}")
def recheck(ds: dt.date, settings: Settings | None = None) -> Summary:
    """Check a date's stored answers again and write a new report. Publishes nothing.

    A pair that would need the model now (a higher threshold, an expired result) counts as failed and says so.

    Args:
        ds: The date.
        settings: What to work with [default: sayu.toml and SAYU_… in the environment].
    """
    with open_run(ds, settings or load_settings()) as run:
        extract(run)
        inspect(run)
        screen(run)
        reuse(run)
        rank(run)
        skip_plan(run)
        return report(run, check(run), None)
