"""backfill: a range of dates, one after the other, in one process, so that the engine is loaded once."""

import datetime as dt

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.dates import run_date
from flows.support.parameters import SomeSettings
from flows.support.tables import done_rows, log_plan, planned_rows
from tasks.backfill import Backfilled, Only, fresh_range
from tasks.preview import preview_backfill
from tasks.settings import load_settings


@flow(name="backfill", flow_run_name="backfill-{start}-{end}")
def backfill(start: dt.date, end: dt.date, only: Only = "missing", settings: SomeSettings = None) -> State[Backfilled]:
    """Write and publish the reasons of a range of dates; one that fails or is held back does not stop the others.

    Args:
        start: The first date.
        end: The last date.
        only: Which dates: `missing` those without a result, `failed` those that failed or were held back, or `all`.
        settings: Those that are to differ, such as {"threshold": 0.6} [default: sayu.toml and SAYU_… on the worker].
    """
    settings = fresh_range(start, end, settings or load_settings())
    preview = preview_backfill(start, end, only, settings)
    log_plan(preview)
    create_table_artifact(planned_rows(preview), key="backfill-plan", description=preview.said)
    dates = [run_date(date, only, settings) for date in preview.dates]
    done = Backfilled(start=start, end=end, only=only, dates=tuple(dates))
    create_table_artifact(done_rows(done, in_browser=True), key="backfill-dates", description=done.said)
    if not done.complete:
        return Failed(name="Incomplete", message=done.said, data=done)
    return Completed(message=done.said, data=done)
