"""Ranges of dates through the command line: what a backfill runs, what it leaves, and what it says at the end."""

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from demo.build_source import write_source
from tasks.runs import hold_date, runs_of
from tests.integration.conftest import DS, Done, sayu, served
from tests.shop import ITEMS, PAIRS, good_answer, make_run, prepare, record

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(900)]

PAIRS_A_DATE = 40
DATES = FIRST, SECOND, THIRD, FOURTH, FIFTH = [DS - dt.timedelta(days=days) for days in (4, 3, 2, 1, 0)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, demo_source: Path) -> Path:
    """The last five dates of the demo shop, cut to size."""
    folder = tmp_path_factory.mktemp("backfill")
    shutil.copyfile(demo_source, folder / "source.duckdb")
    with duckdb.connect(str(folder / "source.duckdb")) as connection:
        connection.execute(
            "CREATE OR REPLACE TABLE recommendations AS SELECT * FROM recommendations WHERE ds >= ?"
            " QUALIFY row_number() OVER (PARTITION BY ds, recommended_item_id, reason_item_id ORDER BY score DESC) = 1"
            " AND dense_rank() OVER (PARTITION BY ds ORDER BY recommended_item_id, reason_item_id) <= ?",
            [FIRST, PAIRS_A_DATE],
        )
    return folder


def backfill(folder: Path, *more: str) -> Done:
    """From the day before the first date, which has no candidates."""
    start = FIRST - dt.timedelta(days=1)
    dates = ("--start", str(start), "--end", str(FIFTH))
    return sayu(folder, "backfill", *dates, "--source", "source.duckdb", "--data-docs", "false", "--json", *more)


def states(done: Done) -> dict[str, str]:
    return {date["ds"]: date["state"] for date in done.summary["dates"][1:]}


def ran(done: Done) -> dict[str, int | None]:
    """The model calls of the dates that were run."""
    return {date["ds"]: date["model_calls"] for date in done.summary["dates"] if date["ran"]}


def calls(*dates: dt.date, pairs: int | None = PAIRS_A_DATE) -> dict[str, int | None]:
    return {str(ds): pairs for ds in dates}


@pytest.fixture(scope="module")
def broken(folder: Path) -> Done:
    """A first run in which the second date can't be written and another process works on the fourth."""
    in_the_way = runs_of(folder / "store", SECOND)
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("no folder", encoding="utf-8")
    with hold_date(folder / "store", FOURTH):
        done = backfill(folder)
    in_the_way.unlink()
    return done


@pytest.fixture(scope="module")
def repaired(folder: Path, broken: Done) -> Done:
    """The same command when nothing is in the way any more, and all that the third date left was removed."""
    shutil.rmtree(runs_of(folder / "store", THIRD))
    for file in (folder / "store" / "results").glob(f"*/{THIRD}-*.parquet"):
        file.unlink()
    return backfill(folder)


@pytest.fixture(scope="module")
def again(folder: Path, repaired: Done) -> Done:
    return backfill(folder, "--only", "all")


@pytest.mark.engine
def test_a_date_that_fails_and_one_that_another_run_holds_do_not_stop_the_others(broken: Done) -> None:
    assert broken.code == 1, broken.stderr
    assert list(states(broken).values()) == ["published", "failed", "published", "busy", "published"]
    assert broken.summary["dates"][0]["state"] == "no candidates"
    failed, busy = (broken.summary["dates"][place]["detail"] for place in (2, 4))
    assert "can't be written" in failed
    assert str(FOURTH) in busy
    assert "Traceback" not in broken.stderr


@pytest.mark.engine
def test_dates_are_run_in_order_and_the_engine_is_loaded_once(broken: Done) -> None:
    begun = [line.split()[2] for line in broken.stderr.splitlines() if line.endswith(" begins")]
    assert begun == [str(ds) for ds in DATES]
    waited = [float(line.split("waited ")[1].split()[0]) for line in broken.stderr.splitlines() if "(waited " in line]
    assert len(waited) == 3
    assert max(waited[1:]) < 2


@pytest.mark.engine
def test_the_plan_is_said_before_anything_is_run_and_comes_true(broken: Done, repaired: Done) -> None:
    assert f"5 of 6 dates to run, {5 * PAIRS_A_DATE} model calls, time unknown" in broken.stderr
    assert broken.stderr.index(" model calls, time ") < broken.stderr.index(" begins")
    assert f"3 of 6 dates to run, {3 * PAIRS_A_DATE} model calls, time about 0:0" in repaired.stderr


@pytest.mark.engine
def test_running_it_again_does_only_what_is_left(broken: Done, repaired: Done) -> None:
    assert ran(broken) == calls(FIRST, THIRD, FIFTH) | calls(SECOND, pairs=None)
    assert repaired.code == 0, repaired.stderr
    assert ran(repaired) == calls(SECOND, THIRD, FOURTH)
    assert set(states(repaired).values()) == {"published"}


@pytest.mark.engine
def test_every_date_has_its_reasons_and_its_report(folder: Path, repaired: Done) -> None:
    counts = served(folder / "store" / "serving.duckdb", "ds, count(*)", "reasons GROUP BY ds")
    assert counts == [(ds, date["published"]) for ds, date in zip(DATES, repaired.summary["dates"][1:], strict=True)]
    for date in repaired.summary["dates"][1:]:
        assert date["ds"] in Path(date["report"]).read_text(encoding="utf-8")


@pytest.mark.engine
def test_all_dates_once_more_ask_the_model_nothing_and_load_no_engine(again: Done) -> None:
    assert again.code == 0, again.stderr
    assert ran(again) == calls(*DATES, pairs=0)
    assert "  engine " not in again.stderr
    assert " load" not in again.stderr


@pytest.mark.engine
def test_nothing_is_left_and_a_dry_run_says_so_without_a_server(folder: Path, again: Done) -> None:
    done = backfill(folder, "--dry-run")
    assert done.code == 0, done.stderr
    assert [date for date in done.summary["dates"] if date["run"]] == []
    assert (done.summary["model_calls"], done.summary["seconds"]) == (0, 0.0)
    assert done.stderr == ""


@pytest.fixture
def lacking(tmp_path: Path) -> list[str]:
    """Options for two dates whose recorded engine knows the pairs of the first one, where no failure is allowed."""
    baskets = [(ds, "b1", item, place) for ds in (FOURTH, FIFTH) for place, item in enumerate([2, 3, 4])]
    pairs = [(FOURTH, "b1", *pair) for pair in PAIRS[:4]] + [(FIFTH, "b1", *pair) for pair in PAIRS]
    source = write_source(tmp_path / "source.duckdb", ITEMS, baskets, pairs)
    run = make_run(tmp_path, source, store=tmp_path / "elsewhere").model_copy(update={"ds": FOURTH})
    prepare(run)
    record(run, good_answer)
    options: dict[str, Any] = {"start": FOURTH, "end": FIFTH, "source": source, "recording": run.settings.recording}
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return ["--engine", "recorded", "--max-failed-share", "0", "--data-docs", "false", *given]


def test_a_date_that_is_held_back_does_not_stop_the_others_and_is_tried_again_when_asked(
    tmp_path: Path, lacking: list[str]
) -> None:
    first = sayu(tmp_path, "backfill", *lacking, "--json")
    assert first.code == 3, first.stderr
    assert [date["state"] for date in first.summary["dates"]] == ["published", "held back"]
    assert "failed" in first.summary["dates"][1]["detail"]
    left, tried_again = (
        sayu(tmp_path, "backfill", *lacking, "--json", "--dry-run", "--only", only).summary["dates"]
        for only in ("missing", "failed")
    )
    assert [date["ds"] for date in left if date["run"]] == []
    assert [date["ds"] for date in tried_again if date["run"]] == [str(FIFTH)]


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        ("2026-11-28", "2026-11-27", "the range ends on 2026-11-27, before it starts on 2026-11-28"),
        ("2027-01-01", "2027-01-31", "no candidates from 2027-01-01 to 2027-01-31: it holds 2026-11-24 to 2026-11-28"),
    ],
)
def test_a_range_that_makes_no_sense_is_wrong_usage(folder: Path, start: str, end: str, said: str) -> None:
    done = sayu(folder, "backfill", "--source", "source.duckdb", "--start", start, "--end", end)
    assert done.code == 2
    assert said in done.stderr
