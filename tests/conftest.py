"""What all tests share: fixtures over tests/shop.py, and the user's own Prefect records left alone."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tasks.engine import close_engine
from tasks.runs import Run
from tests.shop import make_run, make_source

# The same examples every time, and no limit on their time: the machine may be busy.
settings.register_profile("sayu", deadline=None, derandomize=True)
settings.load_profile("sayu")


@pytest.fixture(autouse=True, scope="session")
def _apart_from_the_users_prefect(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["PREFECT_HOME"] = str(tmp_path_factory.mktemp("prefect"))


@pytest.fixture(autouse=True)
def _engines_end_with_their_test(request: pytest.FixtureRequest) -> Any:
    yield
    if "engine" not in request.keywords:
        close_engine()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_source(tmp_path / "source.duckdb")


@pytest.fixture
def run(tmp_path: Path, source: Path) -> Run:
    """A run on the small shop that answers from a recording, yet to be made (see `record`)."""
    return make_run(tmp_path, source)
