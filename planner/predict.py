"""Seconds of a date for others that plan: a backfill's preview where no past run tells how long a date takes."""

import datetime as dt

from planner import dates
from planner.asked import Asked
from planner.assemble import AROUND
from planner.calibrate import load_calibration
from planner.machine import context_of, shape_of, timing
from planner.model_config import read_model
from tasks.errors import SayuError
from tasks.preview import Preview
from tasks.settings import Settings


def predict_seconds(ds: dt.date, settings: Settings) -> float | None:
    """The engine's seconds for a date, in the order that is set; None where this machine was not calibrated.

    Raises:
        SourceError, PromptError, ModelError: as the pipeline's own stages raise them.
    """
    if load_calibration(settings) is None:
        return None
    model = read_model(settings.model, settings.dtype)
    timed = timing(settings, model, Asked())
    answers = dates.expected_answers(dates.last_run(settings), None, None)
    prompts = dates.with_answers(dates.ordered_prompts(ds, settings), answers)
    shape = shape_of(settings, model, timed, None)
    return context_of(settings, shape, timed).predict(prompts, settings.order).seconds


def fill_in(preview: Preview, settings: Settings) -> Preview:
    """The preview with predicted seconds for dates of which no past run tells.

    A date is predicted as if it were the next to run: what an earlier date of the range will have stored is not known.
    """
    filled = []
    for date in preview.dates:
        if date.run and date.seconds is None:
            try:
                seconds = predict_seconds(date.ds, settings)
            except SayuError:  # its run says why
                seconds = None
            date = date.model_copy(update={"seconds": None if seconds is None else round(AROUND + seconds, 1)})
        filled.append(date)
    return preview.model_copy(update={"dates": tuple(filled)})
