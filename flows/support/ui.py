"""ui: Prefect's server and what sayu needs around it, on this machine, until Ctrl-C.

A server (unless PREFECT_API_URL names one), the work pools, the deployments of prefect.yaml, the automations of
automations.yaml, one worker a pool, and the store served to browsers, so that links to reports open. Where no source is
set it is the demo shop's, and the forms are filled in with its dates.
"""

import functools
import http.server
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from flows.support.processes import Beside, beside
from flows.support.server import POOLS, PREFECT, answers, configured_server, deploy
from tasks.errors import SayuError, UsageError
from tasks.settings import HOME, Settings, load_settings

HOST = "127.0.0.1"
START_SECONDS = 180
# Runs at a time. A GPU holds one engine.
LIMITS = {"sayu-cpu": 4, "sayu-gpu": 1}
# The demo shop has thirty dates up to this one; runs that name no date would ask for yesterday's.
DEMO_DATE = "2026-11-28"
DEMO_FORMS = {
    **{flow: {"ds": DEMO_DATE} for flow in ("daily", "recheck", "approve", "rollback")},
    "backfill": {"start": "2026-11-24", "end": DEMO_DATE},
}
logger = logging.getLogger("sayu")


def run_ui(port: int, reports_port: int) -> None:
    """Bring everything up, say where to click, and keep it up until it is interrupted.

    Raises:
        SayuError: a port is taken, or something did not start or has ended.
    """
    for end in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # Ctrl-C, a service manager, a terminal that is closed
        signal.signal(end, signal.default_int_handler)
    os.chdir(HOME)  # where prefect.yaml and sayu.toml lie, and where the deployments run
    settings = load_settings()
    logs = settings.store / "ui"
    logs.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ) | {"PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    is_demo = not (HOME / "sayu.toml").exists() and "SAYU_SOURCE" not in os.environ
    if is_demo:
        environment["SAYU_SOURCE"] = str(_demo_source(settings))
    with ExitStack() as stack:
        environment["SAYU_REPORTS_URL"] = settings.reports_url or stack.enter_context(_served(settings, reports_port))
        running = []
        if url := configured_server():
            environment["PREFECT_API_URL"] = url
        else:
            running.append(stack.enter_context(_server(port, environment, logs)))
        _say("deploy", "pools, deployments and automations")
        deploy(environment, DEMO_FORMS if is_demo else {})
        for pool in POOLS:
            options = ("--pool", pool, "--type", "process", "--name", "here", "--limit", str(LIMITS[pool]))
            command = (*PREFECT, "worker", "start", *options)
            process = beside(f"the worker of {pool}", command, logs / f"{pool}.log", env=environment)
            running.append(stack.enter_context(process))
        _say_where(environment, is_demo, logs)
        with suppress(KeyboardInterrupt):
            while True:
                for one in running:
                    one.check()
                time.sleep(1)
        click.echo("sayu: ending; workers first, so that they can say what became of their runs (some seconds)")


def _demo_source(settings: Settings) -> Path:
    from demo.build_source import build_source

    source = (settings.store / "demo-shop.duckdb").absolute()
    return source if source.exists() else build_source(source)


@contextmanager
def _served(settings: Settings, port: int) -> Iterator[str]:
    """The store, served to browsers on this machine; its address."""
    check_port(port, "--reports-port")
    handler = functools.partial(_Quiet, directory=str(settings.store))
    with http.server.ThreadingHTTPServer((HOST, port), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{HOST}:{port}"
        finally:
            server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing of each page."""


def check_port(port: int, option: str) -> None:
    """See that nobody listens on a port.

    Raises:
        UsageError: somebody does.
    """
    with socket.socket() as probe:
        if probe.connect_ex((HOST, port)) == 0:
            raise UsageError(
                f"port {port} is taken on this machine",
                f"end what listens there, or give another with {option}; to use a Prefect server that runs already, "
                "set PREFECT_API_URL to its address, such as http://127.0.0.1:4200/api",
            )


@contextmanager
def _server(port: int, environment: dict[str, str], logs: Path) -> Iterator[Beside]:
    """A Prefect server of this command's own; `environment` gets its address."""
    check_port(port, "--port")
    url = environment["PREFECT_API_URL"] = environment["PREFECT_UI_API_URL"] = f"http://{HOST}:{port}/api"
    command = (*PREFECT, "server", "start", "--host", HOST, "--port", str(port))
    _say("prefect", f"starting the server on port {port}")
    with beside("Prefect's server", command, logs / "server.log", env=environment) as server:
        deadline = time.monotonic() + START_SECONDS
        while not answers(url):
            server.check()
            if time.monotonic() > deadline:
                raise SayuError("Prefect's server did not come up", f"see {server.log}")
            time.sleep(0.2)
        yield server


def _say(what: str, text: str) -> None:
    logger.info("%-9s %s", what, text)


def _say_where(environment: Mapping[str, str], is_demo: bool, logs: Path) -> None:
    url = environment["PREFECT_API_URL"].removesuffix("/api")
    shop = f"the demo shop ({DEMO_DATE} and the 29 days before it)" if is_demo else "the shop that sayu.toml names"
    click.secho(f"\nsayu is up, for {shop}:\n", bold=True)
    click.echo(f"  {url}/deployments        daily → Run → Quick run; then its run → Artifacts → report.html")
    click.echo(f"  {environment['SAYU_REPORTS_URL']}/index.html   all dates against all checks")
    click.echo(f"  {logs}/                       logs of the server and the workers")
    click.echo(f"\nIn another terminal: export PREFECT_API_URL={url}/api   Here: Ctrl-C ends it all.\n")
