"""Deadlines, money, what-ifs, calibration: the sums of the plan."""

import datetime as dt
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from planner.asks import Shape
from planner.calibrate import CALLS, Trial, calibrate, fit, measure, measure_pause, work_of
from planner.dates import Answers
from planner.orders import predict
from planner.plan import Context, cost, recommend, simplify, workers_for
from planner.prompts import common_start, made_up, spread, stretched
from planner.roofline import Measured
from planner.whatif import instruction, offload, retries, to_border
from tasks.engine import ALONE, Call, Completion, KvRoom, Request, Sampling, load_engine
from tasks.errors import EngineError, UsageError
from tasks.settings import Settings
from tests.shop import make_run, make_source

NIGHT = dt.datetime(2026, 11, 28, 4, 30, tzinfo=dt.UTC)
SHAPE = Shape(1000, 16, 1, 64, 2048)
CLOCK = Measured(0.01, 1e-4, 0.0, 1e-4, 0.0)
PROMPTS = made_up(600, 100, 41, 1.0, 20)


def test_as_many_workers_as_the_deadline_takes() -> None:
    assert workers_for(3600, 600, NIGHT, "06:00", None).number == 1
    assert workers_for(10 * 3600, 600, NIGHT, "06:00", None).number == 8  # 80 minutes are left for 600


def test_a_deadline_that_has_passed_is_tomorrows() -> None:
    assert workers_for(60, 60, NIGHT, "04:00", None).seconds == 23.5 * 3600


def test_a_deadline_that_cannot_be_met_says_with_how_many_workers_it_could() -> None:
    with pytest.raises(UsageError) as raised:
        workers_for(10 * 3600, 600, NIGHT, "06:00", 2)
    assert "2 worker(s)" in raised.value.what
    assert "8 workers could" in raised.value.todo


def test_a_deadline_that_no_number_of_workers_meets_is_said() -> None:
    with pytest.raises(UsageError, match="any number of workers"):
        workers_for(10, 3600, NIGHT, "05:00", None)


@pytest.mark.parametrize("wrong", ["6", "25:00", "soon"])
def test_a_time_that_is_none_is_said(wrong: str) -> None:
    with pytest.raises(UsageError, match="no time of day"):
        workers_for(10, 10, NIGHT, wrong, None)


def test_money_is_for_all_workers_until_the_end() -> None:
    prediction = predict(PROMPTS, "fused", SHAPE, Settings(), 33, lambda *_: 36.0)
    answers = Answers(1.0, [20], None, 0.5, "given")
    alone, together = (cost(prediction, answers, 360, 2.0, workers) for workers in (1, 4))
    assert alone.money is not None and together.money is not None
    assert alone.money == pytest.approx((prediction.seconds + 360) / 3600 * 2)
    assert together.money == pytest.approx(alone.money + 3 * 360 / 3600 * 2)
    assert alone.published == 300
    assert alone.per_thousand == pytest.approx(alone.money / 0.3)
    assert cost(prediction, answers, 360, None).money is None


def test_a_setting_is_changed_only_where_that_is_worth_it() -> None:
    """Where a step costs nothing but its tokens, no setting matters; where it costs much, more at a time is better."""
    settings = Settings(max_num_seqs=64, chunk_share=1.0)
    dull = Context(SHAPE, settings, 33, Measured(0.0, 1e-4, 0.0, 1e-4, 0.0))
    order, changes, faster = recommend(dull, PROMPTS)
    assert (order, changes) == ("fused", {})
    assert faster == 1.0
    steep = Context(SHAPE, settings, 33, Measured(0.1, 1e-6, 0.0, 1e-6, 0.0))
    _, changes, faster = recommend(steep, PROMPTS)
    assert changes
    assert faster > 1.02


def test_kv_groups_are_counted_as_one_only_for_very_many_pairs() -> None:
    shape = Shape(700, 16, 7, 64, 2048, sliding=6)
    assert simplify(shape, 1000) == shape
    assert simplify(shape, 135_000) == Shape(100, 16, 1, 64, 2048, sliding=1)


def test_host_memory_pays_where_it_is_faster_than_computing_again() -> None:
    slow_link = offload(1000, CLOCK, 140_000, 0.1, 1000)
    assert slow_link.recompute_seconds == pytest.approx(0.11)
    assert slow_link.saved < 0 < offload(1000, CLOCK, 140_000, 32, 1000).saved
    at_least = offload(1000, CLOCK, 140_000, slow_link.least_gb, 1000)
    assert at_least.saved == pytest.approx(0, abs=1e-9)


def test_more_tries_pass_more_texts_and_cost_little_while_the_prompt_is_cached() -> None:
    tried = retries(4, 0.6, 1.0, 0.5, large=(0.9, 5.0, 2.0))
    assert [round(one.pass_share, 4) for one in tried] == [0.6, 0.84, 0.936, 0.9744]
    assert tried[3].cost < tried[0].cost < tried[0].large_cost  # type: ignore[operator]
    assert tried[0].calls == 1
    with pytest.raises(UsageError, match="pass rate"):
        retries(4, 0.0, 1.0, 0.5)


def test_a_fixed_text_that_ends_on_a_block_border_leaves_nothing_over() -> None:
    fewer, more = to_border(PROMPTS, 16)
    assert (fewer, more) == (-9, 7)
    context = Context(SHAPE, Settings(), 33, CLOCK)
    as_it_is = context.predict(PROMPTS, "fused")
    for tokens in (fewer, more):
        changed, what = instruction(PROMPTS, 16, tokens)
        assert what.left_over == 0
        assert context.predict(changed, "fused").computed < as_it_is.computed


def test_a_fixed_text_can_only_lose_what_it_has() -> None:
    assert common_start(stretched(PROMPTS, -41)) == 0
    with pytest.raises(UsageError, match="fewer than 42"):
        stretched(PROMPTS, -42)


def test_text_lengths_lie_round_their_mean() -> None:
    assert sum(spread(30)) / len(spread(30)) == pytest.approx(30, abs=0.5)
    assert min(spread(1)) == 1


class Clockwork:
    """An engine whose steps take what is said, on a clock of its own."""

    max_model_len = 256
    room: KvRoom | None = KvRoom(16_000, 16)
    preemptions = 0

    def __init__(self, costs: Measured) -> None:
        self.costs, self.now = costs, 0.0

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        asked = next(asked for asked in CALLS if asked == _shape_of(requests))
        self.now += sum(cost * number for cost, number in zip(self.costs, work_of(asked, SHAPE), strict=True))
        return [Completion(token_ids=(1,) * request.max_tokens) for request in requests]

    def forget(self) -> None: ...

    def close(self) -> None: ...


def _shape_of(requests: Sequence[Request]) -> tuple[int, int, int]:
    return len(requests), len(requests[0].token_ids), requests[0].max_tokens


def test_calibration_finds_what_an_engines_steps_take() -> None:
    costs = Measured(0.02, 3e-4, 2e-3, 1e-3, 2e-7)
    engine = Clockwork(costs)
    trials = measure(engine, SHAPE, 100, lambda: engine.now)
    found, error = fit(trials)
    assert error < 0.01
    assert found.step == pytest.approx(costs.step, rel=0.02)
    assert found.prompt == pytest.approx(costs.prompt, rel=0.02)
    assert found.request == pytest.approx(costs.request, rel=0.05)
    assert found.answer == pytest.approx(costs.answer, rel=0.05)


def test_costs_are_never_negative_however_noisy_the_trials() -> None:
    generator = random.Random(0)
    noisy = [Trial(generator.uniform(0.5, 2.0), work_of(call, SHAPE)) for call in CALLS]
    assert min(fit(noisy)[0]) >= 0


def test_what_the_stage_takes_beside_the_engine_is_measured(tmp_path: Path) -> None:
    settings = make_run(tmp_path, make_source(tmp_path / "source.duckdb")).settings
    engine = load_engine(settings)
    assert measure_pause(settings, engine) > 0
    assert engine.seconds > 0
    assert not settings.store.exists()  # it has left nothing


def test_an_engine_without_a_kv_room_is_not_calibrated(tmp_path: Path) -> None:
    settings = make_run(tmp_path, make_source(tmp_path / "source.duckdb")).settings
    with pytest.raises(EngineError, match="recorded has no KV room"):
        calibrate(settings)


def test_an_engine_that_fails_is_not_calibrated() -> None:
    class Failing(Clockwork):
        def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
            return [Completion(error="out of memory") for _ in requests]

    with pytest.raises(EngineError, match="out of memory"):
        measure(Failing(CLOCK), SHAPE, 100, lambda: 0.0)
