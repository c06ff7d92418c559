"""recheck: judge a date again without the model, after a rule or a threshold changed."""

import datetime as dt

from prefect import flow

from flows.stages import check, extract, inspect, rank, report, reuse, screen, skip_plan
from flows.support.parameters import SomeSettings, run_name
from tasks.recheck import settings_to_recheck
from tasks.report import Summary
from tasks.runs import open_run
from tasks.settings import load_settings


@flow(name="recheck", flow_run_name=run_name)
def recheck(ds: dt.date, settings: SomeSettings = None) -> Summary:
    """Check a date's stored answers again and write a new report. Publishes nothing.

    Stored answers count at any age. A pair that would need the model now (a higher threshold) counts as failed and
    says so; where answers that the date was judged by are gone, it stays as it is.

    Args:
        ds: The date.
        settings: Those that are to differ, such as {"threshold": 0.6} [default: sayu.toml and SAYU_… on the worker].
    """
    with open_run(ds, settings_to_recheck(ds, settings or load_settings())) as run:
        extract(run)
        screen(run)
        inspect(run)
        reuse(run)
        rank(run)
        skip_plan(run)
        return report(run, check(run), None)
