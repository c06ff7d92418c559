"""What operators are told of a run: its events, its progress bar, its log."""

import datetime as dt
import logging
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect.client.schemas.objects import State
from prefect.logging.handlers import APILogHandler
from prefect.states import Completed, Crashed, Failed

from flows.publish import rollback
from flows.recheck import recheck
from flows.support import events, logs, progress_bar


def event_of(monkeypatch: pytest.MonkeyPatch, flow: str, state: State[Any], **run: Any) -> dict[str, Any]:
    """The event that a run which ended like this emits."""
    emitted: list[dict[str, Any]] = []
    monkeypatch.setattr(events, "emit_event", lambda event, **given: emitted.append({"event": event, **given}))
    given = {"parameters": {"ds": "2026-11-28"}, "expected_start_time": None, "deployment_id": uuid4()} | run
    events.tell(SimpleNamespace(name=flow), SimpleNamespace(id=uuid4(), name="run", **given), state)  # type: ignore[arg-type]
    return emitted[0]


@pytest.mark.parametrize(
    ("flow", "state", "name"),
    [
        ("daily", Completed(name="Published", message="226 reasons published"), "sayu.date.published"),
        ("daily", Failed(name="HeldBack", message="held back: why"), "sayu.date.held-back"),
        ("daily", Failed(message="the source is gone"), "sayu.date.failed"),
        ("daily", Crashed(message="killed"), "sayu.date.failed"),
        ("approve", Completed(), "sayu.date.published"),
        ("approve", Failed(message="not held back"), "sayu.date.failed"),
        ("rollback", Completed(), "sayu.date.withdrawn"),
    ],
)
def test_the_event_says_what_became_of_the_date(
    monkeypatch: pytest.MonkeyPatch, flow: str, state: State[Any], name: str
) -> None:
    event = event_of(monkeypatch, flow, state)
    assert event["event"] == name
    assert event["resource"]["prefect.resource.id"] == "sayu.date.2026-11-28"
    assert event["payload"]["message"] == (state.message or "")


def test_the_event_is_related_to_the_deployment_that_automations_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    related = event_of(monkeypatch, "daily", Completed())["related"]
    assert {(one["prefect.resource.role"], one["prefect.resource.name"]) for one in related} == {
        ("flow-run", "run"),
        ("deployment", "daily"),
    }


def test_a_run_that_was_given_no_date_tells_of_the_day_before_its_scheduled_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scheduled = dt.datetime(2026, 11, 28, 19, 30, tzinfo=dt.UTC)
    event = event_of(monkeypatch, "daily", Completed(), parameters={}, expected_start_time=scheduled)
    assert event["resource"]["prefect.resource.id"] == "sayu.date.2026-11-28"


def test_only_flows_that_change_what_readers_see_tell() -> None:
    assert rollback.on_completion_hooks == [events.tell]
    assert not recheck.on_completion_hooks


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the server was told of the bar."""
    told: list[float] = []

    def create(percent: float, **_: str) -> UUID:
        told.append(percent)
        return uuid4()

    monkeypatch.setattr(progress_bar, "create_progress_artifact", create)
    monkeypatch.setattr(progress_bar, "update_progress_artifact", lambda _, percent: told.append(percent))
    return told


def test_the_bar_ends_with_the_last_share(shown: list[float]) -> None:
    with progress_bar.progress_bar("shard", "a shard") as bar:
        for chunk in range(100):
            bar.show((chunk + 1) / 100)
    assert shown[-1] == 100
    assert shown == sorted(shown)


def test_a_server_that_hangs_does_not_hold_up_the_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    monkeypatch.setattr(progress_bar, "create_progress_artifact", lambda *_, **__: answered.wait())
    monkeypatch.setattr(progress_bar, "LAST_SECONDS", 0.1)
    begun = time.monotonic()
    with progress_bar.progress_bar("shard", "a shard") as bar:
        bar.show(0.5)
    assert time.monotonic() - begun < 2
    answered.set()


def test_a_server_that_is_away_costs_a_line_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionError("nobody there")

    monkeypatch.setattr(progress_bar, "create_progress_artifact", refuse)
    with progress_bar.progress_bar("shard", "a shard") as bar:
        bar.show(1)
    assert "can't be shown: nobody there" in caplog.text


@pytest.fixture
def restored() -> Iterator[None]:
    names = ("sayu", *logs.LEVELS)
    before = {name: logging.getLogger(name).level for name in names}
    handlers = {handler: list(handler.filters) for handler in logging.getLogger("prefect.extra").handlers}
    yield
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)
    for handler, filters in handlers.items():
        handler.filters = filters


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize(
    ("logger", "level", "kept"),
    [
        ("sayu", logging.INFO, True),
        ("great_expectations.data_context", logging.INFO, False),
        ("great_expectations.data_context", logging.WARNING, True),
        ("vllm.config.vllm", logging.WARNING, False),  # loading: a dozen of these, of nothing to act on
        ("vllm.v1.core.kv_cache_utils", logging.WARNING, True),
        ("vllm.engine", logging.ERROR, True),
    ],
)
def test_the_log_has_what_matters_of_the_libraries(logger: str, level: int, kept: bool) -> None:
    logs.follow()
    assert logging.getLogger(logger).isEnabledFor(level) == kept


@pytest.mark.usefixtures("restored")
def test_records_of_a_thread_that_knows_no_run_go_to_the_run_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    run = str(uuid4())
    monkeypatch.setenv("PREFECT__FLOW_RUN_ID", run)
    logs.follow()
    (handler,) = (one for one in logging.getLogger("prefect.extra").handlers if isinstance(one, APILogHandler))
    record = logging.makeLogRecord({"name": "vllm", "msg": "out of memory"})
    assert handler.filter(record)
    assert record.__dict__["flow_run_id"] == run
