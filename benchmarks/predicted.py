"""What `sayu plan` foresees of the ways that `sayu bench` measures, to be put beside what came."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.source import DATE
from benchmarks.trial import Trial
from benchmarks.variants import Variant
from planner.asked import Asked
from planner.calibration import load_calibration
from planner.dates import Answers, ordered_prompts, with_answers
from planner.machine import context_of, offload_of, shape_of, timing
from planner.model_config import read_model
from planner.prompts import spread
from tasks.settings import Settings


def predict_ways(settings: Settings, variants: Sequence[Variant], seen: Trial, work: Path) -> dict[str, float]:
    """Seconds of each way by its name, from the prompts, and from how many texts there are and how long they are.

    Only of ways in the plan's order, on an engine that `sayu plan calibrate` has measured.

    Args:
        settings: Those of the bench; the calibration lies in its store.
        variants: The ways.
        seen: A trial of one of them, for the answers.
        work: A folder without stored results.
    """
    known = [one for one in variants if one.in_order and load_calibration(one.apply(settings))]
    written = len(seen.texts) / len(seen.p_skip)
    answers = Answers(written, spread(seen.generated_tokens / max(1, len(seen.texts))), None, written, "measured")
    return {variant.name: _predict(variant.apply(settings), answers, work) for variant in known}


def _predict(settings: Settings, answers: Answers, work: Path) -> float:
    prompts = with_answers(ordered_prompts(DATE, settings.model_copy(update={"store": work / "nothing"})), answers)
    model = read_model(settings.model, settings.dtype)
    timed = timing(settings, model, Asked())
    predicted = context_of(settings, shape_of(settings, model, timed, None), timed).predict(prompts, settings.order)
    saved = offload_of(predicted, timed, model).saved if settings.kv_offload_gib else 0.0
    return predicted.seconds - saved
