"""Great Expectations' own pages of a run: a second view of its checks, beside the report."""

import logging

from checks.docs import build_data_docs, keep_result
from checks.validation import Validation
from tasks.runs import Run

logger = logging.getLogger("sayu")


def add_to_data_docs(run: Run, validation: Validation) -> None:
    """Add a suite's result to the pages, where they are wanted. What goes wrong there holds no date back."""
    folder = run.settings.data_docs_folder
    if not run.settings.data_docs:
        return
    try:
        keep_result(folder, validation, f"{run.ds}-{run.key}", run.started_at)
        build_data_docs(folder)
    except Exception as error:
        logger.warning("Great Expectations' Data Docs were not built in %s: %s", folder, error)
