"""A plan that is made: all there is to say, for planner.report, planner.page and machines."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from planner.dates import Answers
from planner.orders import Prediction
from planner.pareto import SPLIT_PAYS, Load, Point, frontier
from planner.plan import Cost, Workers
from planner.whatif import Offload, Retry


class Layouts(NamedTuple):
    """The frontier on a GPU, and what it says of splitting."""

    gpu: str
    gpus: int
    load: Load
    points: list[Point]
    chosen: Point | None
    gain: float | None  # of the best split over the best layout without one, at the speed that is asked for
    # a factor on the prompt's length and one on the answer's, and GPUs that read for each GPU that writes
    ratios: list[tuple[float, float, float]]

    @property
    def advice(self) -> str:
        """Whether to split, in a sentence."""
        if self.gain is None:
            return "Splitting prefill from decode: can't be compared, since one of the two can't reach this speed."
        if self.gain < SPLIT_PAYS:
            return f"Splitting prefill from decode: don't. It gives {self.gain:.2f} × the throughput of not splitting."
        return f"Splitting prefill from decode gives {self.gain:.2f} × the throughput of not splitting."


class Fixed(NamedTuple):
    """A change of the fixed text, and the order's time with it."""

    tokens: int
    shared: int
    left_over: int
    computed: float  # prompt tokens a pair
    seconds: float


class Plan(NamedTuple):
    """All there is to say."""

    what: str
    model: str
    time_model: str
    error: str
    answers: Answers
    text_tokens: float
    room: int
    block_size: int
    groups: int
    notes: list[str]
    predictions: Sequence[tuple[str, Prediction]]
    order: str
    settings: dict[str, int]  # the best, by name
    changed: list[str]  # of them, those that are not what was set
    faster: float  # than as they were set
    cost: Cost
    workers: Workers | None
    layouts: Layouts | None
    offload: Offload | None
    retries: list[Retry]
    fixed: list[Fixed]
    write_shares: list[tuple[float, float, float]]

    @property
    def best(self) -> Prediction:
        """Of the recommended order."""
        return next(prediction for name, prediction in self.predictions if name == self.order)


# Of every point, step and pair there are too many.
LEFT_OUT = {"points", "steps", "texts"}


def as_json(plan: Plan) -> dict[str, Any]:
    """The plan as plain values; of the layouts the frontier only, and no single steps."""
    value: dict[str, Any] = _plain(plan)
    value["predictions"] = [
        {
            "name": name,
            **_plain(prediction),
            "computed": prediction.computed,
            "times_floor": prediction.times_floor,
            "decide_cached_share": prediction.decide.share,
            "generate_cached_share": prediction.generate.share,
        }
        for name, prediction in plan.predictions
    ]
    if plan.layouts:
        value["layouts"]["frontier"] = [_plain(point) for point in frontier(plan.layouts.points)]
        value["layouts"]["advice"] = plan.layouts.advice
    return value


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items() if name not in LEFT_OUT}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
