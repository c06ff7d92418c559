"""A flow run from the command line, in this process: on the configured Prefect server, or on one of its own.

Prefect, the flows and what they need are imported only when one is run.
"""

import importlib
import logging
import os
import sys
from typing import Any

DAILY = ("great_expectations", "transformers")
LIBRARIES = {"daily": DAILY, "backfill": DAILY, "recheck": ("great_expectations",)}

# The run's log, on the console and in the UI, is what sayu says; of what Prefect says of itself only the warnings (two
# records a task run are a thousand a day).
ENVIRONMENT = {
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "sayu",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # A server that is gone is waited for: 2 + 4 + … + 256 seconds. (Prefect's own five tries end after a minute.)
    "PREFECT_CLIENT_MAX_RETRIES": "8",
}


def in_prefect(flow: str, **arguments: Any) -> Any:
    """Run a flow in this process; its result, or the error that ended it."""
    os.environ.update({name: value for name, value in ENVIRONMENT.items() if name not in os.environ})
    log_to_stderr()
    from flows.support.local_server import prefect_server

    with prefect_server(meanwhile=lambda: _import_libraries(flow)):
        from flows.backfill import backfill
        from flows.daily import daily
        from flows.prune import prune
        from flows.publish import approve, rollback
        from flows.recheck import recheck

        flows: tuple[Any, ...] = (daily, backfill, recheck, approve, rollback, prune)
        result = {one.name: one for one in flows}[flow](**arguments, return_state=True).result(raise_on_failure=False)
    if isinstance(result, BaseException):
        raise result
    return result


def _import_libraries(flow: str) -> None:
    """Import what takes seconds and this flow needs sooner or later, while there is nothing else to do."""
    for library in ("flows.daily", *LIBRARIES.get(flow, ())):
        importlib.import_module(library)


def log_to_stderr() -> None:
    """Say on standard error what sayu logs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s  %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("sayu")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
