"""What the integration tests share: the command line in a process of its own, and one small shop from the demo shop."""

import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from demo.build_source import build_source
from tasks.runs import Run
from tasks.settings import HOME
from tests.integration.stages import all_stages
from tests.shop import RULES, good_answer, prepare, record

DS = dt.date(2026, 11, 28)
SECONDS = 600  # a command that takes longer hangs, also on a busy machine


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def summary(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.stdout)
        return value


def start_sayu(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """`sayu …` as a user starts it in `folder`, with no settings of this machine's own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SAYU_", "PREFECT_"))}
    # PREFECT_HOME is the session's temporary folder (tests/conftest.py): its database is set up once for all commands
    environment |= {"PYTHONPATH": str(HOME), "PREFECT_HOME": os.environ["PREFECT_HOME"], "SAYU_RULES": str(RULES)}
    return subprocess.Popen(
        [sys.executable, "-m", "flows", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def sayu(folder: Path, *arguments: str) -> Done:
    """`sayu …` run to its end."""
    process = start_sayu(folder, *arguments)
    try:
        stdout, stderr = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Done(process.returncode, stdout, stderr)


def served(serving: Path, columns: str = "*", table: str = "reasons") -> list[tuple[Any, ...]]:
    """What a reader of the serving file sees, in a stable order."""
    with duckdb.connect(str(serving), read_only=True) as connection:
        return connection.execute(f"SELECT {columns} FROM {table} ORDER BY ALL").fetchall()


def trim_source(source: Path, pairs: int, others: Sequence[tuple[int, str | None, str | None]] = ()) -> Path:
    """Keep the first `pairs` recommendations of the last date, and add items that are recommended for one another."""
    with duckdb.connect(str(source)) as connection:
        connection.execute(
            "CREATE OR REPLACE TABLE recommendations AS SELECT * FROM recommendations WHERE ds = ?"
            " QUALIFY row_number() OVER (PARTITION BY recommended_item_id, reason_item_id ORDER BY score DESC) = 1"
            " ORDER BY recommended_item_id, reason_item_id LIMIT ?",
            [DS, pairs],
        )
        for number, (item_id, name, scate) in enumerate(others):
            before = others[number - 1][0]
            connection.execute("INSERT INTO items VALUES (?, ?, ?)", [item_id, name, scate])
            connection.execute("INSERT INTO baskets VALUES (?, ?, ?, 1)", [DS, f"other-{number}", before])
            connection.execute(
                "INSERT INTO recommendations VALUES (?, ?, ?, ?, 0.5)", [DS, f"other-{number}", item_id, before]
            )
    return source


@pytest.fixture(scope="session")
def demo_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo shop's source, whole."""
    return build_source(tmp_path_factory.mktemp("demo") / "demo-shop.duckdb")


@pytest.fixture
def published(run: Run) -> Run:
    """The small shop with every prompt recorded, published."""
    prepare(run)
    record(run, good_answer)
    all_stages(run)
    return run
