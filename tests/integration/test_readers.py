"""Applications read the serving file while a day is published, and two runs of one date keep off each other."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.runs import Run, hold_date
from tests.integration.conftest import DS, sayu, served
from tests.integration.stages import all_stages
from tests.shop import good_answer, make_run, make_source, prepare, record

# A reader of its own: opens the file, says what it sees, and again whenever it is told to.
READER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
for line in sys.stdin:
    if line.strip() == "open again":
        connection.close()
        connection = duckdb.connect(sys.argv[1], read_only=True)
    print(connection.execute("SELECT count(*), min(ds) FROM reasons").fetchone(), flush=True)
"""


@pytest.fixture
def reader(published: Run) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", READER, str(published.settings.serving_file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def ask(reader: "subprocess.Popen[str]", line: str) -> str:
    assert reader.stdin and reader.stdout
    reader.stdin.write(f"{line}\n")
    reader.stdin.flush()
    return reader.stdout.readline().strip()


def test_an_open_reader_keeps_the_old_day_and_sees_the_new_one_on_opening_again(
    tmp_path: Path, published: Run, reader: "subprocess.Popen[str]"
) -> None:
    before = ask(reader, "read")
    assert before == str((4, DS))
    (tmp_path / "new").mkdir()
    source = make_source(tmp_path / "new" / "source.duckdb", pairs=[(1, 2, 0.9), (3, 4, 0.8)])
    newer = make_run(tmp_path / "new", source, serving=published.settings.serving_file)
    prepare(newer)
    record(newer, good_answer)
    _, _, publication, _ = all_stages(newer)
    assert publication is not None and publication.reason_count == 2
    assert ask(reader, "read") == before
    assert ask(reader, "open again") == str((2, DS))


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_second_of_two_runs_of_a_date_is_told_so_and_changes_nothing(tmp_path: Path, published: Run) -> None:
    settings = published.settings
    before = served(settings.serving_file)
    options = {"source": settings.source, "store": settings.store, "engine": "recorded"}
    options |= {"recording": str(settings.recording), "ds": str(DS)}
    with hold_date(settings.store, DS):
        done = sayu(tmp_path, "daily", *(text for name, value in options.items() for text in (f"--{name}", str(value))))
    assert done.code == 1
    assert f"another run is working on {DS}" in done.stderr
    assert "wait until it has ended" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert served(settings.serving_file) == before
