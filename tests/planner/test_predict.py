"""What is foreseen of a run and of a backfill's dates: only of an engine that is known, and never in a run's way."""

import datetime as dt
from pathlib import Path

import pytest

from planner import plan, predict
from planner.asks import Shape
from planner.assemble import AROUND
from planner.calibration import Calibration, describe_machine, keep_calibration
from planner.plan import Context
from planner.predict import fill_in, predict_run
from planner.prompts import made_up
from planner.roofline import Measured
from tasks.model import model_fingerprint
from tasks.preview import PlannedDate, Preview
from tasks.report import latest_summary
from tasks.runs import Run, describe_run, open_run
from tasks.settings import OrderName, Settings
from tests.days import whole_day
from tests.shop import DS, make_run, make_source, prepare


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """On this machine nothing is known but what a test has calibrated."""
    monkeypatch.setattr(predict, "own_gpu", lambda: None)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    source = make_source(tmp_path / "source.duckdb")
    return Settings(source=str(source), store=tmp_path / "store", kv_tokens=4096)


@pytest.fixture
def planned(settings: Settings, tmp_path: Path) -> Run:
    """A run that is planned for vLLM without loading it."""
    recorded = make_run(tmp_path, Path(settings.source), store=tmp_path / "recorded")
    prepare(recorded)
    run = describe_run(DS, settings)
    run.folder.mkdir(parents=True)
    run.write("plan", recorded.read("plan"))
    return run


def calibrate(settings: Settings, room: int = 4096) -> None:
    calibration = Calibration(
        machine=describe_machine(), model=model_fingerprint(settings), step=0.01, prompt=1e-3, request=0.0, answer=0.0,
        context=0.0, pause=0.0, room=room, block_size=32, trials=9, error=0.1,
    )  # fmt: skip
    keep_calibration(calibration, settings)


def test_nothing_is_foreseen_of_an_engine_that_nobody_knows(planned: Run) -> None:
    assert predict_run(planned) is None
    assert not (planned.folder / "predicted.json").exists()


def test_a_planned_run_is_foreseen_on_a_calibrated_engine(planned: Run) -> None:
    calibrate(planned.settings)
    predicted = predict_run(planned)
    plan = planned.read("plan")
    distinct = int((plan["prompt_ids"].list.len() - plan["shared_tokens"]).sum())
    assert predicted is not None
    assert distinct <= predicted.computed < 1.5 * distinct
    assert predicted.engine_seconds > predicted.computed * 1e-3
    assert planned.read_json("predicted") == predicted.model_dump()
    with open_run(DS, planned.settings) as again:
        assert not (again.folder / "predicted.json").exists()  # it was the run's before


def test_servers_and_other_workers_are_not_this_machines_engine(planned: Run) -> None:
    calibrate(planned.settings)
    for elsewhere in ({"shard_deployment": "shard/shard"}, {"engine": "vllm_server", "servers": ("http://gpu-1",)}):
        assert (
            predict_run(planned.model_copy(update={"settings": planned.settings.model_copy(update=elsewhere)})) is None
        )


def test_a_run_that_can_not_be_foreseen_goes_on(planned: Run) -> None:
    settings = planned.settings.model_copy(update={"kv_tokens": None})
    calibrate(settings, room=64)  # less than a prompt
    assert predict_run(planned.model_copy(update={"settings": settings})) is None


def test_the_manifest_and_the_report_have_it_beside_what_came(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_source(tmp_path / "source.duckdb"))
    assert whole_day(run).predicted is None
    assert 'id="predicted"' not in (run.folder / "report.html").read_text(encoding="utf-8")
    run.write_json("predicted", {"computed": 1234, "engine_seconds": 56.7})
    whole_day(run)
    foreseen = latest_summary(run.settings, DS).predicted
    assert foreseen is not None
    assert (foreseen.computed, foreseen.engine_seconds) == (1234, 56.7)
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "predicted were 56.7 s and 1,234" in page


@pytest.mark.parametrize("order", ["fused", "chunked"])
def test_the_first_pairs_stand_for_all(order: OrderName, monkeypatch: pytest.MonkeyPatch) -> None:
    """In chunks of the size that all of them have."""
    monkeypatch.setattr(plan, "TRIED", 400)
    context = Context(Shape(500, 16, 1, 64, 2048), Settings(), 33, Measured(0.01, 1e-4, 1e-4, 1e-4, 0.0))
    prompts = made_up(4000, 100, 41, 0.6, 20)
    sampled, some = context.sample(prompts)
    whole, part = context.predict(prompts, order), sampled.predict(some, order)
    assert part.chunk_pairs == whole.chunk_pairs
    assert 10 * part.computed == pytest.approx(whole.computed, rel=0.02)
    assert 10 * part.seconds == pytest.approx(whole.seconds, rel=0.1)


def test_a_backfills_dates_are_foreseen_where_no_past_run_tells(settings: Settings) -> None:
    known, unknown = DS - dt.timedelta(days=1), DS
    dates = (
        PlannedDate(ds=known, state="missing", run=True, seconds=5.0),
        PlannedDate(ds=unknown, state="missing", run=True),
        PlannedDate(ds=DS + dt.timedelta(days=1), state="published", run=False),
    )
    preview = Preview(start=known, end=DS + dt.timedelta(days=1), only="missing", dates=dates)
    assert fill_in(preview, settings) == preview
    calibrate(settings)
    first, second, third = fill_in(preview, settings).dates
    assert (first, third) == (dates[0], dates[2])
    assert second.seconds is not None
    assert second.seconds > AROUND
