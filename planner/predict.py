"""What the planner foresees for those that run: of a run, before its engine is asked; of dates in a backfill's preview.

Only where the engine is known: calibrated on this machine, or on a GPU of this machine that has a data sheet.
"""

import datetime as dt

import polars as pl

from planner import dates
from planner.asked import Asked
from planner.assemble import AROUND
from planner.calibration import load_calibration
from planner.machine import context_of, own_gpu, shape_of, timing
from planner.model_config import read_model
from tasks.errors import SayuError
from tasks.model import model_fingerprint
from tasks.preview import Preview
from tasks.reports.summary import Predicted
from tasks.room import expected_room
from tasks.runs import Run
from tasks.settings import Settings


def predict_run(run: Run) -> Predicted | None:
    """Foresee a planned run, and leave it in the run folder as `predicted.json`; None where the engine is not known."""
    try:
        if not knows_engine(run.settings):
            return None
        predicted = _predict(run.read("plan").select("prompt_ids", "shared_tokens"), run.settings)
    except SayuError:  # no run is to fail for want of a prediction
        return None
    run.write_json("predicted", predicted.model_dump())
    return predicted


def fill_in(preview: Preview, settings: Settings) -> Preview:
    """The preview with predicted seconds for dates of which no past run tells.

    A date is predicted as if it were the next to run: what an earlier date of the range will have stored is not known.
    """
    filled = [
        date.model_copy(update={"seconds": _seconds(date.ds, settings)}) if date.run and date.seconds is None else date
        for date in preview.dates
    ]
    return preview.model_copy(update={"dates": tuple(filled)})


def knows_engine(settings: Settings) -> bool:
    """Whether the engine is in this process, and what it takes is known.

    Raises:
        ModelError: the model folder can't be read.
    """
    here = settings.engine == "vllm_local" and not settings.shard_deployment
    return here and bool(load_calibration(settings) or own_gpu())


def _seconds(ds: dt.date, settings: Settings) -> float | None:
    try:
        if not knows_engine(settings):
            return None
        ordered = dates.ordered_prompts(ds, settings)
        return round(AROUND + (_predict(ordered, settings).engine_seconds if ordered.height else 0.0), 1)
    except SayuError:  # its run says why
        return None


def _predict(ordered: pl.DataFrame, settings: Settings) -> Predicted:
    """With answers as the last run's. Chunk follows chunk in the same way, so that of very many pairs the first stand
    for all; not so where all decisions come first, and evict one another."""
    past = dates.last_finished(settings, model_fingerprint(settings))
    prompts = dates.with_answers(ordered, dates.expected_answers(past.summary if past else None))
    model = read_model(settings.model, settings.dtype)
    timed, room = timing(settings, model, Asked()), expected_room(settings)
    shape = shape_of(settings, model, timed, room.tokens if room else None, room.block_size if room else None)
    context = context_of(settings, shape, timed)
    sampled, some = (context, prompts) if settings.order == "full" else context.sample(prompts)
    predicted = sampled.predict(some, settings.order)
    times = len(prompts.lengths) / max(1, len(some.lengths))
    return Predicted(computed=round(times * predicted.computed), engine_seconds=round(times * predicted.seconds, 1))
