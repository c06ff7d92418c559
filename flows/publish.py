"""publish: take a date's publication back."""

import datetime as dt

from prefect import flow

from tasks.load import Publication, roll_back
from tasks.runs import hold_date
from tasks.settings import Settings, load_settings


@flow(name="rollback", flow_run_name="rollback-{ds}")
def rollback(ds: dt.date, settings: Settings | None = None) -> tuple[Publication, Publication | None]:
    """Withdraw a date's live publication; the one before it, if there is one, is live again.

    Args:
        ds: The date.
        settings: What to work with [default: sayu.toml and SAYU_… in the environment].
    """
    settings = settings or load_settings()
    with hold_date(settings.store, ds):
        return roll_back(settings.serving_file, ds)
