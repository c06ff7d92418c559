"""A real Prefect server beside the tests, workers of its pools, and commands that use it."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from flows.support.processes import Beside, beside
from tasks.settings import HOME
from tests.integration.conftest import SECONDS, Done
from tests.shop import RULES

PREFECT = (sys.executable, "-m", "prefect", "--no-prompt")


@dataclass
class Server:
    """A Prefect server at `url` (with the `/api`) that runs as `running`."""

    url: str
    folder: Path
    running: Beside

    def environment(self, **variables: str) -> dict[str, str]:
        """For processes that use it, with no settings of this machine's own."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SAYU_", "PREFECT_"))}
        prefect = {"PREFECT_API_URL": self.url, "PREFECT_HOME": os.environ["PREFECT_HOME"]}
        return clean | prefect | {"PYTHONPATH": str(HOME), "PWD": str(HOME), "SAYU_RULES": str(RULES)} | variables

    def prefect(self, *arguments: str) -> None:
        """`prefect …`, from the project's root."""
        done = subprocess.run(
            [*PREFECT, *arguments], cwd=HOME, env=self.environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @contextlib.contextmanager
    def worker(self, pool: str, name: str, **variables: str) -> Iterator[Beside]:
        """A worker that takes one flow run at a time."""
        command = (*PREFECT, "worker", "start", "--pool", pool, "--name", name, "--limit", "1")
        log = self.folder / f"worker-{name}.log"
        with beside(name, command, log, cwd=HOME, env=self.environment(**variables)) as running:
            yield running

    def sayu(self, folder: Path, *arguments: str, program: str = "flows", **variables: str) -> Done:
        """`sayu …` run to its end in `folder`."""
        process = self.start_sayu(folder, *arguments, program=program, **variables)
        stdout, stderr = process.communicate(timeout=SECONDS)
        return Done(process.returncode, stdout, stderr)

    def start_sayu(
        self, folder: Path, *arguments: str, program: str = "flows", **variables: str
    ) -> "subprocess.Popen[str]":
        """`sayu …`, or another program that takes its arguments, in `folder`."""
        return subprocess.Popen(
            [sys.executable, "-m", program, *arguments],
            cwd=folder,
            env=self.environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@contextlib.contextmanager
def prefect_server(folder: Path, port: int | None = None, **variables: str) -> Iterator[Server]:
    """A server while the block runs; its log lies in `folder`."""
    port = port or _free_port()
    command = (*PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(port))
    quiet = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    with beside("server", command, folder / f"server-{port}.log", env=_environment(quiet | variables)) as running:
        server = Server(f"http://127.0.0.1:{port}/api", folder, running)
        deadline = time.monotonic() + SECONDS
        while not _answers(server.url):
            running.check()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield server


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return dict(os.environ) | dict(variables)


def _answers(url: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{url}/health", timeout=2).is_success
    return False


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
