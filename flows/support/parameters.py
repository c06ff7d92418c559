"""What flows are asked for: the types behind their forms in the Prefect UI, and the date that a run means.

A scheduled run means the day before the time it was scheduled for, in the shop's time zone: started late, or again, it
still does its own date. A run that somebody starts by hand is scheduled for that moment.
"""

import datetime as dt
from typing import Annotated

from prefect.runtime import flow_run
from pydantic import WithJsonSchema

from tasks.runs import SHOP_TIME
from tasks.settings import Settings

# Forty settings would bury the two or three fields that matter: in the form they are one JSON object, and what it
# leaves out comes from sayu.toml and SAYU_… where the run is made.
SomeSettings = Annotated[Settings | None, WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "null"}]})]


def day_before(moment: dt.datetime) -> dt.date:
    """The last whole day at this moment in the shop's time zone."""
    return moment.astimezone(SHOP_TIME).date() - dt.timedelta(days=1)


def date_of_run() -> dt.date:
    """The date that the running flow means when it was given none: the day before its scheduled time."""
    return day_before(flow_run.scheduled_start_time)


def run_name() -> str:
    """A flow run's name: the flow's, and the date as it was asked for."""
    return f"{flow_run.flow_name}-{flow_run.parameters.get('ds') or date_of_run()}"
