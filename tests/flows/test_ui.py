"""`sayu ui`: everything comes up with one command, and ends with it."""

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]  # comes with vLLM
import pytest

from flows.support.ui import check_port
from tasks.errors import UsageError
from tasks.settings import HOME
from tests.shop import DS, make_source

READY = "Ctrl-C ends it all"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Ui:
    """`sayu ui` as a user starts it, with a store and a Prefect database of its own."""

    def __init__(self, folder: Path) -> None:
        self.port, self.reports_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}/api"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SAYU_", "PREFECT_"))}
        source = folder / "source.duckdb"
        if not source.exists():
            make_source(source)
        environment |= {"PREFECT_HOME": str(folder / "prefect"), "SAYU_STORE": str(folder / "store")}
        environment |= {"SAYU_SOURCE": str(source), "PYTHONPATH": str(HOME)}
        ports = ["--port", str(self.port), "--reports-port", str(self.reports_port)]
        self.out = folder / "out.txt"
        with self.out.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "flows", "ui", *ports], cwd=HOME, env=environment, stdout=out, stderr=out
            )

    def said(self) -> str:
        return self.out.read_text(encoding="utf-8")

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + 240
        while READY not in self.said():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.3)

    def post(self, path: str, **body: Any) -> Any:
        return httpx.post(f"{self.url}{path}", json=body, timeout=60).raise_for_status().json()


@pytest.fixture
def ui(tmp_path: Path) -> Iterator[Ui]:
    ui = Ui(tmp_path)
    yield ui
    for process in reversed([ui.process, *family(ui.process.pid)]):
        process.kill()
    ui.process.wait()


def state_in_database(folder: Path, run: str) -> Any:
    with contextlib.closing(sqlite3.connect(folder / "prefect" / "prefect.db")) as connection:
        return connection.execute("SELECT state_type FROM flow_run WHERE id = ?", [run]).fetchone()[0]


def family(pid: int) -> list[psutil.Process]:
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_one_command_brings_everything_up_and_ctrl_c_ends_it_all(ui: Ui, tmp_path: Path) -> None:
    ui.wait_until_ready()
    pools = {pool["name"]: pool["status"] for pool in ui.post("/work_pools/filter")}
    assert set(pools) == {"sayu-cpu", "sayu-gpu"}
    assert "daily" in {deployment["name"] for deployment in ui.post("/deployments/filter")}
    assert len(ui.post("/automations/filter")) == 2
    (tmp_path / "store" / "page.html").write_text("a report", encoding="utf-8")
    assert httpx.get(f"http://127.0.0.1:{ui.reports_port}/page.html").text == "a report"
    assert f"http://127.0.0.1:{ui.port}/deployments" in ui.said()

    deployment = httpx.get(f"{ui.url}/deployments/name/daily/daily", timeout=60).json()["id"]
    run = ui.post(f"/deployments/{deployment}/create_flow_run", parameters={"ds": str(DS)})["id"]
    while httpx.get(f"{ui.url}/flow_runs/{run}", timeout=60).json()["state"]["type"] != "RUNNING":
        time.sleep(0.2)
    processes = family(ui.process.pid)
    assert len(processes) >= 4  # the server, two workers, and the run
    ui.process.send_signal(signal.SIGINT)
    assert ui.process.wait(timeout=90) == 0
    assert [process for process in processes if process.is_running()] == []
    assert "Traceback" not in ui.said()
    assert state_in_database(tmp_path, run) == "CRASHED"  # and not running for ever


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_command_leaves_no_process_behind(ui: Ui) -> None:
    ui.wait_until_ready()
    processes = family(ui.process.pid)
    ui.process.kill()
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert alive == []


def test_a_port_that_is_taken_is_said_with_the_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=rf"port {port} is taken .* give another with --port"):
            check_port(port, "--port")
