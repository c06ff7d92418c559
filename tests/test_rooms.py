"""Imports go one way: flows → planner → tasks → checks; and each library stays in its room."""

import ast
from pathlib import Path

import pytest

from tasks.settings import HOME

ROOMS = {
    "checks": {"prefect", "vllm", "torch", "duckdb", "tasks", "flows", "demo", "transformers", "planner"},
    "tasks": {"prefect", "flows", "demo", "benchmarks", "planner"},
    "flows": {"vllm", "torch", "transformers", "duckdb", "polars", "benchmarks"},
    "planner": {"prefect", "vllm", "torch", "transformers", "flows", "demo"},
}
# The command line has a command for everything.
MAY_STILL = {"flows/support/measuring.py": {"benchmarks"}}
FILES = [path for room in ROOMS for path in sorted((HOME / room).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_a_file_imports_only_what_its_room_may(path: Path) -> None:
    name = path.relative_to(HOME)
    assert imported(path) & ROOMS[name.parts[0]] - MAY_STILL.get(str(name), set()) == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_only_the_engine_room_knows_an_inference_library(path: Path) -> None:
    if path.parent != HOME / "tasks" / "engine":
        assert imported(path) & {"vllm", "torch"} == set()
