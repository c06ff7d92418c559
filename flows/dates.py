"""dates: one date of a range, run to its end, however that is."""

import logging
import time
from typing import Any

from flows.daily import daily
from tasks.backfill import RUN, DoneDate, Only, ended, leave, state_of, wait_until_free
from tasks.engine import close_engine
from tasks.errors import BusyError, EngineError, SayuError
from tasks.preview import PlannedDate
from tasks.settings import Settings

logger = logging.getLogger("sayu")


def run_date(planned: PlannedDate, only: Only, settings: Settings) -> DoneDate:
    """Run a date; not where it is not to be run, where another run holds it, or where one has done it meanwhile."""
    ds = planned.ds
    if not planned.run:
        return leave(ds, planned.state, settings)
    logger.info("%-9s %s begins", "backfill", ds)
    begun = time.perf_counter()
    result: Any
    try:
        if not wait_until_free(settings.store, ds):
            raise BusyError(f"another run is working on {ds}", "run the backfill again when it has ended")
        if (state := state_of(ds, settings)) not in RUN[only]:
            return leave(ds, state, settings)
        result = daily(ds=ds, settings=settings, return_state=True).result(raise_on_failure=False)
    except SayuError as error:
        result = error
    if isinstance(result, EngineError):
        close_engine()  # what broke stays broken: the next date loads a new one
    done = ended(ds, result, time.perf_counter() - begun)
    logger.info("%-9s %s", "backfill", " ".join((str(ds), done.state, done.detail)).rstrip())
    return done
