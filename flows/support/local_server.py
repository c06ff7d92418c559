"""A Prefect server of the command line's own, for machines where none is configured.

It keeps its records in the user's own Prefect database, so that `prefect server start` shows the runs afterwards. It
ends with the process that started it, however that ends: it watches a pipe which the operating system closes.
(Prefect's built-in temporary server lives on when its client is killed.)
"""

import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tasks.errors import SayuError

START_SECONDS = 120
logger = logging.getLogger("sayu")


@contextmanager
def prefect_server(meanwhile: Callable[[], None]) -> Iterator[None]:
    """Use the configured Prefect server, or one of one's own while the block runs.

    Such a server needs seconds to come up, on a core of its own; `meanwhile` is called in that time.

    Raises:
        SayuError: the server of one's own did not come up.
    """
    import httpx
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogHandler
    from prefect.settings import PREFECT_API_URL, temporary_settings

    if PREFECT_API_URL.value():
        meanwhile()
        yield
        return
    logger.info("%-9s starting a local server for this run (PREFECT_API_URL is not set)", "prefect")
    port = _free_port()
    # A session of its own: Ctrl-C is for the run, which must still be able to tell the server how it ended.
    command = [sys.executable, "-m", __name__, str(port)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        meanwhile()
        url = f"http://127.0.0.1:{port}/api"
        deadline = time.monotonic() + START_SECONDS
        while not _answers(httpx, url):
            if server.poll() is not None or time.monotonic() > deadline:
                raise SayuError(
                    "Prefect's local server did not start", "see its messages above, or set PREFECT_API_URL"
                )
            time.sleep(0.1)
        with temporary_settings({PREFECT_API_URL: url}):
            yield
    finally:
        # Log records and events are sent in the background: the last ones before the server ends.
        APILogHandler().flush()
        EventsWorker.drain_all(timeout=5)
        server.terminate()
        server.wait()


def _answers(httpx: object, url: str) -> bool:
    try:
        return bool(httpx.get(f"{url}/health", timeout=2).status_code == 200)  # type: ignore[attr-defined]
    except Exception:  # not up yet
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    """Serve until the parent is gone."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    import uvicorn
    from prefect.server.api.server import create_app

    uvicorn.run(create_app(ephemeral=True), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")


if __name__ == "__main__":
    main()
