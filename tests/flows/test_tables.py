"""The tables of a backfill: one row a date, for the console, for machines and for the Prefect UI."""

import datetime as dt
import json
import logging

import pytest

from flows.support.tables import done_rows, log_plan, planned_rows, print_done, print_plan
from tasks.backfill import Backfilled, DoneDate
from tasks.preview import PlannedDate, Preview

FIRST, LAST = dt.date(2026, 11, 1), dt.date(2026, 11, 6)
DAYS = [FIRST + dt.timedelta(days=days) for days in range(6)]
LONG = "/shop/store/runs/ds=2026-11-01/0123456789ab/" + "deep/" * 20 + "report.html"

PREVIEW = Preview(
    start=FIRST,
    end=LAST,
    only="missing",
    dates=(
        PlannedDate(ds=DAYS[0], state="published", run=False),
        *(PlannedDate(ds=ds, state="no candidates", run=False) for ds in DAYS[1:4]),
        PlannedDate(ds=DAYS[4], state="missing", run=True, candidates=1_234, reused=0, model_calls=1_200, seconds=75.4),
        PlannedDate(ds=DAYS[5], state="failed", run=True),
    ),
)
DONE = Backfilled(
    start=FIRST,
    end=LAST,
    only="missing",
    dates=(
        DoneDate(ds=DAYS[0], state="published", published=700, report=LONG, link="https://shop/report (1).html"),
        *(DoneDate(ds=ds, state="no candidates") for ds in DAYS[1:4]),
        DoneDate(ds=DAYS[4], state="published", ran=True, published=0, model_calls=1_200, seconds=61),
        DoneDate(ds=DAYS[5], state="failed", ran=True, seconds=0.2, detail="[두부](https://evil) [red]is missing"),
    ),
)


def test_dates_without_candidates_that_follow_one_another_share_a_row() -> None:
    dates = ["2026-11-01", "2026-11-02 to 2026-11-04", "2026-11-05", "2026-11-06"]
    assert [row["date"] for row in planned_rows(PREVIEW)] == dates
    assert [row["date"] for row in done_rows(DONE)] == dates


def test_a_planned_date_says_what_it_takes_and_nothing_where_nothing_is_known() -> None:
    *_, missing, failed = planned_rows(PREVIEW)
    assert (missing["candidates"], missing["reused"], missing["model-calls"], missing["about"]) == (
        "1,234", "0", "1,200", "0:01:15"
    )  # fmt: skip
    assert (failed["run"], failed["candidates"], failed["about"]) == ("yes", "", "")


def test_a_report_is_a_link_in_the_browser_and_a_path_on_the_console() -> None:
    assert done_rows(DONE, in_browser=True)[0]["report"] == "[report](<https://shop/report (1).html>)"
    assert done_rows(DONE)[0]["report"] == LONG
    assert done_rows(DONE, in_browser=True)[1]["report"] == ""


def test_what_went_wrong_is_text_and_no_link() -> None:
    """Prefect takes every cell for Markdown."""
    assert done_rows(DONE, in_browser=True)[-1]["why"] == r"\[두부\](https://evil) \[red\]is missing"
    assert done_rows(DONE)[-1]["why"] == "[두부](https://evil) [red]is missing"


def test_rows_are_what_the_prefect_ui_takes() -> None:
    """Text only, and keys that are lower-case with dashes."""
    for row in [*planned_rows(PREVIEW), *done_rows(DONE, in_browser=True)]:
        assert all(isinstance(cell, str) for cell in row.values())
        assert all(key.replace("-", "").isalpha() and key == key.lower() for key in row)


def test_the_console_shows_every_row_whole(capsys: pytest.CaptureFixture[str]) -> None:
    print_done(DONE, as_json=False)
    shown = capsys.readouterr().out
    assert LONG in shown
    assert "[red]is missing" in shown
    assert shown.rstrip().endswith("2 of 6 dates run; 2 published, 3 no candidates, 1 failed")
    print_plan(PREVIEW, as_json=False)
    assert "2 of 6 dates to run, 1,200 model calls, time unknown" in capsys.readouterr().out


def test_machines_get_every_date(capsys: pytest.CaptureFixture[str]) -> None:
    print_done(DONE, as_json=True)
    done = json.loads(capsys.readouterr().out)
    assert [date["ds"] for date in done["dates"]] == [str(ds) for ds in DAYS]
    assert done["states"] == {"published": 2, "no candidates": 3, "failed": 1}
    print_plan(PREVIEW, as_json=True)
    plan = json.loads(capsys.readouterr().out)
    assert (plan["model_calls"], plan["seconds"], len(plan["dates"])) == (1_200, None, 6)


def test_the_log_says_what_is_going_to_be_run(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="sayu"):
        log_plan(PREVIEW)
    assert [record.getMessage().removeprefix("plan").strip() for record in caplog.records] == [
        "2026-11-05 missing: 1,234 candidates, 0 reused, 1,200 model calls, time 0:01:15",
        "2026-11-06 failed: unknown candidates, unknown reused, unknown model calls, time unknown",
        PREVIEW.said,
    ]
