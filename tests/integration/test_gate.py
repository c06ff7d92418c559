"""A date at the gate, through the command line: held back, judged again, approved, taken back."""

import getpass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.integration.conftest import Done, sayu
from tests.shop import DS, good_answer, make_run, make_source, prepare, record

pytestmark = pytest.mark.server


@pytest.fixture
def lacking(tmp_path: Path) -> list[str]:
    """Options of a date whose recorded engine fails on one pair of five, where no failure is allowed."""
    source = make_source(tmp_path / "source.duckdb")
    run = make_run(tmp_path, source)
    prepare(run)
    rows = run.read("reused")
    run.write("reused", rows.head(4))
    record(run, good_answer)
    options = {"source": source, "store": tmp_path / "store", "recording": run.settings.recording}
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return ["--ds", str(DS), "--engine", "recorded", "--max-failed-share", "0", *given]


def published(tmp_path: Path) -> list[dict[str, Any]]:
    with duckdb.connect(str(tmp_path / "store" / "serving.duckdb"), read_only=True) as connection:
        rows: list[dict[str, Any]] = (
            connection.sql("SELECT * FROM publications ORDER BY publication_id").pl().to_dicts()
        )
    return rows


def test_what_is_held_back_can_be_judged_again_approved_and_taken_back(tmp_path: Path, lacking: list[str]) -> None:
    def run(command: str, *more: str) -> Done:
        return sayu(tmp_path, command, *lacking, *more)

    held = run("daily")
    assert held.code == 3, held.stderr
    assert "held back" in held.stdout
    assert not (tmp_path / "store" / "serving.duckdb").exists()

    again = run("recheck", "--json")
    assert again.code == 3, again.stderr
    assert again.summary["model_calls"] == 0
    relaxed = sayu(tmp_path, "recheck", *lacking, "--max-failed-share", "0.5", "--json")
    assert relaxed.code == 0, relaxed.stderr
    assert relaxed.summary["verdict"] != "held back"
    assert not (tmp_path / "store" / "serving.duckdb").exists()  # recheck publishes nothing

    assert run("approve", "--reason", "too early").code == 1  # the last judgement holds nothing back
    assert run("daily").code == 3
    approved = run("approve", "--reason", "one pair of five is fine today")
    assert approved.code == 0, approved.stderr
    (publication,) = published(tmp_path)
    assert publication["approved_by"] == getpass.getuser()
    assert publication["approval_reason"] == "one pair of five is fine today"
    assert publication["reason_count"] == 3

    assert run("rollback").code == 0
    assert published(tmp_path)[0]["withdrawn_at"] is not None
