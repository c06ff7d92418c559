"""A run's log: what sayu says, and of vLLM and Great Expectations what matters.

Prefect sends the records of the loggers named in PREFECT_LOGGING_EXTRA_LOGGERS to the run they belong to (prefect.yaml
sets it for the deployments), but leaves their levels alone, and knows the run only in threads that it has begun itself.
"""

import logging
import os

# vLLM warns a dozen times while it loads, of nothing that a user could act on; what it says of its KV cache matters.
LEVELS = {"vllm": logging.ERROR, "vllm.v1.core": logging.WARNING, "great_expectations": logging.WARNING}


def follow() -> None:
    """Set the levels, and let records of the engine's thread find their run."""
    sayu = logging.getLogger("sayu")
    if sayu.level == logging.NOTSET:
        sayu.setLevel(logging.INFO)
    for name, level in LEVELS.items():
        logging.getLogger(name).setLevel(level)
    if run := os.environ.get("PREFECT__FLOW_RUN_ID"):  # a process that a worker has made for one run
        for handler in logging.getLogger("prefect.extra").handlers:
            handler.addFilter(_OfRun(run))


class _OfRun(logging.Filter):
    """Says which run a record belongs to, where its thread doesn't know."""

    def __init__(self, run: str) -> None:
        super().__init__()
        self._run = run

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, with its run."""
        from prefect.context import FlowRunContext, TaskRunContext  # not before: `sayu --help` does without Prefect

        if not (FlowRunContext.get() or TaskRunContext.get()):
            record.flow_run_id = self._run
        return True
