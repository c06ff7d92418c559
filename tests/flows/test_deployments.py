"""prefect.yaml on a real server: every deployment is taken, its form has the right fields, its schedule makes runs."""

import datetime as dt
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from flows.support.parameters import day_before
from flows.support.processes import beside
from flows.support.server import answers, deploy
from tasks.settings import HOME
from tests.flows.test_ui import free_port

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(600)]

FORMS = {
    "daily": {"ds": "date?", "settings": "object?"},
    "backfill": {"start": "date", "end": "date", "only": "missing|failed|all", "settings": "object?"},
    "recheck": {"ds": "date", "settings": "object?"},
    "approve": {"ds": "date", "reason": "string", "who": "string?", "settings": "object?"},
    "rollback": {"ds": "date", "settings": "object?"},
    "prune": {"dry_run": "boolean", "settings": "object?"},
    "shard": {"ds": "date", "run_key": "string", "first": "integer", "last": "integer", "store": "path?"},
}


class Api:
    """The server's REST interface."""

    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, path: str, **body: Any) -> Any:
        return httpx.post(f"{self.url}{path}", json=body, timeout=60).raise_for_status().json()

    def deployment(self, name: str) -> Any:
        return httpx.get(f"{self.url}/deployments/name/{name}/{name}", timeout=60).raise_for_status().json()

    def flow_run(self, key: str) -> Any:
        return httpx.get(f"{self.url}/flow_runs/{key}", timeout=60).raise_for_status().json()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server with a database of its own, the pools, and everything in prefect.yaml."""
    folder = tmp_path_factory.mktemp("server")
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "SAYU_"))}
    environment |= {"PREFECT_HOME": str(folder), "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with beside("the server", command, folder / "server.log", env=environment) as server:
        api = Api(f"http://127.0.0.1:{port}/api")
        until(lambda: answers(api.url), server.check)
        deploy(environment | {"PREFECT_API_URL": api.url}, {})
        yield api


def until(true: Any, meanwhile: Any = lambda: None, seconds: float = 180) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := true()):
        meanwhile()
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.3)
    return value


def field(schema: dict[str, Any]) -> str:
    """A form's field in short: its kind, the choices, a question mark where it may stay empty."""
    kinds = [one for one in schema.get("anyOf", [schema]) if one["type"] != "null"]
    (kind,) = kinds
    name = "|".join(kind["enum"]) if "enum" in kind else kind.get("format") or kind["type"]
    return name + "?" * ("anyOf" in schema)


@pytest.mark.parametrize("name", FORMS)
def test_every_deployment_has_a_form_of_few_typed_fields(api: Api, name: str) -> None:
    deployment = api.deployment(name)
    fields = deployment["parameter_openapi_schema"]["properties"]
    assert {key: field(value) for key, value in fields.items()} == FORMS[name]
    assert all(value.get("description") for value in fields.values())
    assert deployment["description"]
    assert deployment["work_pool_name"] == ("sayu-gpu" if name == "shard" else "sayu-cpu")


def test_nothing_else_is_deployed(api: Api) -> None:
    assert {deployment["name"] for deployment in api.post("/deployments/filter")} == set(FORMS)


def test_a_choice_that_is_none_is_refused_by_the_server(api: Api) -> None:
    form = {"start": "2026-11-27", "end": "2026-11-28", "only": "some"}
    path = f"/deployments/{api.deployment('backfill')['id']}/create_flow_run"
    answer = httpx.post(f"{api.url}{path}", json={"parameters": form}, timeout=60)
    assert answer.status_code == 409
    assert "'some' is not one of" in answer.text


def test_the_schedule_makes_runs_at_half_past_four_in_seoul(api: Api) -> None:
    # under SQLAlchemy 2.1 the scheduler makes none, and says nothing of it
    deployments = {"deployments": {"id": {"any_": [api.deployment("daily")["id"]]}}}
    runs = until(lambda: api.post("/flow_runs/filter", sort="EXPECTED_START_TIME_ASC", **deployments))
    times = [dt.datetime.fromisoformat(run["expected_start_time"]) for run in runs]
    assert [time.strftime("%H:%M") for time in times] == ["19:30"] * len(times)  # UTC
    assert all(run["auto_scheduled"] for run in runs)
    assert times[0] - dt.datetime.now(dt.UTC) < dt.timedelta(days=1)


def test_a_run_that_starts_late_does_its_scheduled_date(api: Api, tmp_path: Path) -> None:
    scheduled = "2026-11-20T19:30:00Z"  # the 21st in Seoul, 04:30
    state = {"type": "SCHEDULED", "state_details": {"scheduled_time": scheduled}}
    path = f"/deployments/{api.deployment('daily')['id']}/create_flow_run"
    run = api.post(path, state=state, parameters={"settings": {"source": str(tmp_path / "nowhere.duckdb")}})
    work(api, tmp_path)
    late = api.flow_run(run["id"])
    assert late["name"] == "daily-2026-11-20"
    assert late["state"]["type"] == "FAILED"
    assert "nowhere.duckdb does not exist → give --source" in late["state"]["message"]
    (event,) = events(api, "sayu.date.2026-11-20")
    assert event["event"] == "sayu.date.failed"
    assert "nowhere.duckdb does not exist" in event["payload"]["message"]


def test_a_date_that_is_none_fails_at_once_and_says_so(api: Api, tmp_path: Path) -> None:
    path = f"/deployments/{api.deployment('recheck')['id']}/create_flow_run"
    run = api.post(path, parameters={"ds": "28.11.2026"})
    work(api, tmp_path)
    state = api.flow_run(run["id"])["state"]
    assert state["type"] == "FAILED"
    assert "ds: Input should be a valid date" in state["message"]


def work(api: Api, folder: Path) -> None:
    """Let a worker of the CPU pool do what is due, then end."""
    environment = dict(os.environ) | {"PREFECT_API_URL": api.url, "SAYU_STORE": str(folder / "store")}
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "sayu-cpu", "--run-once"]
    done = subprocess.run(command, cwd=HOME, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def events(api: Api, resource: str) -> list[Any]:
    """The events about something; the server takes them in a moment later."""
    asked = {"filter": {"resource": {"id": [resource]}}}
    found: list[Any] = until(lambda: api.post("/events/filter", **asked)["events"])
    return found


@pytest.mark.parametrize(
    ("moment", "date"),
    [
        ("2026-11-28T19:30:00+00:00", "2026-11-28"),  # 04:30 on the 29th in Seoul
        ("2026-11-28T14:59:59+00:00", "2026-11-27"),  # a second before midnight there
        ("2026-11-28T15:00:00+00:00", "2026-11-28"),
        ("2026-11-28T15:00:00-05:00", "2026-11-28"),
    ],
)
def test_the_day_before_is_that_of_the_shop(moment: str, date: str) -> None:
    assert str(day_before(dt.datetime.fromisoformat(moment))) == date


def test_the_automations_are_loaded(api: Api) -> None:
    loaded = {automation["name"]: automation for automation in api.post("/automations/filter")}
    assert set(loaded) == {"sayu: no reasons by 09:00", "sayu: a date is held back"}
    late = loaded["sayu: no reasons by 09:00"]["trigger"]
    assert (late["posture"], late["within"]) == ("Proactive", 4.5 * 3600)
    assert json.dumps(late).count("sayu.date.published") == 1
