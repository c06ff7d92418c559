"""kill -9 at three points of a real run, each followed by the same command: nothing lost, nothing twice, no rest.

One date of the demo shop is run four times: killed while an early chunk is written, killed in the middle, killed when
its checks are done and nothing is published yet, and then left alone. What a kill costs is at most the texts that were
being written.
"""

import itertools
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import polars as pl
import psutil  # type: ignore[import-untyped]  # comes with vLLM
import pytest

from tasks.engine import close_engine
from tasks.results import SCHEMAS
from tasks.runs import hold_date
from tasks.settings import Settings
from tests.integration.conftest import DS, SECONDS, Done, sayu, start_sayu, trim_source
from tests.integration.stages import all_stages
from tests.shop import good_answer, make_run, make_source, prepare, record

pytestmark = [pytest.mark.engine, pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(1800)]

PAIRS = 120
Seen = tuple[tuple[int, int], ...]


@dataclass
class Shop:
    """A store and a serving file that many commands work on one after the other."""

    folder: Path
    source: Path
    serving: Path
    seen: set[Seen] = field(default_factory=set)  # what the reader saw

    @property
    def command(self) -> tuple[str, ...]:
        """Every pair is written, so that there is something to lose, and stages apart, so that a kill can come between.

        Four pairs are in flight at a time, and eight make a chunk.
        """
        options = {"ds": DS, "source": self.source, "serving": self.serving, "threshold": 1.0, "order": "chunked"}
        return ("daily", "--json", *(text for name, value in options.items() for text in (f"--{name}", str(value))))

    def stored(self, kind: str) -> pl.DataFrame:
        """Every stored row, also the same key twice."""
        files = (self.folder / "store" / "results" / kind).glob("*.parquet")
        return pl.concat([SCHEMAS[kind].to_frame(), *(pl.read_parquet(file.read_bytes()) for file in files)])

    def journaled(self, kind: str) -> set[str]:
        """The keys of answers that lie in the journals of unfinished chunks."""
        keys = set()
        for journal in (self.folder / "store" / "runs").glob("ds=*/*/journal/*.jsonl"):
            with suppress(FileNotFoundError):  # its chunk is finished by now
                lines = journal.read_text(encoding="utf-8").split("\n")[:-1]
                keys |= {row[kind][0] for row in map(json.loads, lines) if kind in row}
        return keys

    def answered(self, kind: str) -> set[str]:
        """The keys of all answers that have come."""
        return self.journaled(kind) | set(self.stored(kind)["key"])

    def run_folder(self) -> Path:
        (folder,) = (self.folder / "store" / "runs" / f"ds={DS}").iterdir()
        return folder


IN_FLIGHT = Settings().most_in_flight(PAIRS)


@dataclass(frozen=True)
class Killed:
    """What a kill left behind."""

    decided: set[str]
    written: set[str]
    journaled: set[str]  # of the written ones, those whose chunk was not finished
    plan: pl.DataFrame
    left_processes: list[str]
    published: Seen

    @property
    def in_flight(self) -> set[str]:
        """The keys of the texts that were being written: they are begun in the plan's order."""
        return set(self.plan.filter(~pl.col("key").is_in(list(self.written)))["key"].head(IN_FLIGHT))


def kill_when(shop: Shop, ready: Callable[[], bool]) -> Killed:
    """Start the command, kill it as soon as `ready` says so, and look at what is left."""
    process = start_sayu(shop.folder, *shop.command)
    deadline = time.monotonic() + SECONDS
    while not ready():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    children = set(psutil.Process(process.pid).children(recursive=True))
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(children, timeout=20)
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    with hold_date(shop.folder / "store", DS):  # no lock is left
        pass
    decided, written = (shop.answered(kind) for kind in ("decisions", "texts"))
    plan = pl.read_parquet(shop.run_folder() / "plan.parquet")
    left_processes = [str(child) for child in alive]
    return Killed(decided, written, shop.journaled("texts"), plan, left_processes, publications(shop.serving))


def publications(serving: Path) -> Seen:
    """What a reader sees: how many reasons of which publication are live."""
    statement = (
        "SELECT publication_id, reason_count, count(text) FROM publications LEFT JOIN reasons USING (ds, run_key)"
        " WHERE publication_id = (SELECT max(publication_id) FROM publications) GROUP BY ALL"
    )
    with duckdb.connect(str(serving), read_only=True) as connection:
        rows = connection.execute(statement).fetchall()
    assert all(promised == there for _, promised, there in rows), rows
    return tuple((number, there) for number, _, there in rows)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, demo_source: Path) -> Iterator[Shop]:
    """The demo shop, cut to size, with an older publication of the date, and a reader that never stops looking."""
    folder = tmp_path_factory.mktemp("kill")
    source = folder / "source.duckdb"
    source.write_bytes(demo_source.read_bytes())
    shop = Shop(folder, trim_source(source, PAIRS), folder / "serving.duckdb")
    older = folder / "older"
    older.mkdir()
    run = make_run(older, make_source(older / "source.duckdb"), serving=shop.serving)
    prepare(run)
    record(run, good_answer)
    all_stages(run)
    close_engine()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            shop.seen.add(publications(shop.serving))
            time.sleep(0.1)

    reader = threading.Thread(target=read)
    reader.start()
    yield shop
    done.set()
    reader.join()


@pytest.fixture(scope="module")
def killed(shop: Shop) -> list[Killed]:
    """Three kills: when the first texts have come, when half of them have, and between check and load."""
    early = kill_when(shop, lambda: len(shop.journaled("texts")) >= 2)
    middle = kill_when(shop, lambda: len(shop.answered("texts")) >= PAIRS / 2)
    checks = shop.run_folder() / "checks.json"
    late = kill_when(shop, checks.exists)
    return [early, middle, late]


@pytest.fixture(scope="module")
def last(shop: Shop, killed: list[Killed]) -> Done:
    return sayu(shop.folder, *shop.command)


def test_the_kills_came_where_they_were_meant(killed: list[Killed]) -> None:
    early, middle, late = (len(kill.written) for kill in killed)
    assert 0 < early < PAIRS / 4 < middle < late == PAIRS
    assert killed[0].journaled


def test_a_kill_leaves_no_process_behind(killed: list[Killed]) -> None:
    assert [kill.left_processes for kill in killed] == [[], [], []]


def test_what_was_finished_is_not_asked_again(killed: list[Killed]) -> None:
    """A plan holds only what had no text, and asks only for the text where the decision was stored."""
    for before, after in itertools.pairwise(killed):
        assert not set(after.plan["key"]) & before.written
        assert set(after.plan.filter(pl.col("ask") == "decide")["key"]).isdisjoint(before.decided)


def test_killed_and_finished_runs_together_cost_at_most_a_twentieth_more(shop: Shop, killed: list[Killed]) -> None:
    """A decision is one token; what was being written when a run was killed counts as lost, all of it."""
    texts = shop.stored("texts")
    assert texts["key"].is_unique().all()
    decisions = shop.stored("decisions")
    assert decisions["key"].is_unique().all()
    cost = dict(texts.select("key", pl.col("generated_tokens") + 1).iter_rows())
    one_run = sum(cost.values())
    for kill in killed:
        assert sum(cost[key] for key in kill.in_flight) <= 0.05 * one_run


def test_no_journal_is_left(shop: Shop, last: Done) -> None:
    assert last.code == 0, last.stderr
    assert not (shop.run_folder() / "journal").exists()


def test_the_last_run_asks_nothing_and_every_candidate_has_an_outcome(shop: Shop, last: Done) -> None:
    assert last.code == 0, last.stderr
    assert last.summary["model_calls"] == 0
    outcomes = pl.read_parquet(shop.run_folder() / "outcomes.parquet")
    assert outcomes.height == last.summary["candidates"] == PAIRS
    assert outcomes["outcome"].null_count() == 0
    assert outcomes.filter(pl.col("outcome") == "failed").is_empty()


def test_readers_saw_the_old_day_or_the_new_one_and_nothing_else(shop: Shop, killed: list[Killed], last: Done) -> None:
    old = killed[0].published
    new = publications(shop.serving)
    assert new != old
    assert new[0][1] == last.summary["outcomes"]["published"]
    assert {kill.published for kill in killed} <= {old, new}
    assert shop.seen == {old, new}
