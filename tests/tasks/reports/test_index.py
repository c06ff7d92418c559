"""The index of all dates: the latest run of each, every check, what readers see, and the days that are missing."""

import datetime as dt
import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from checks.gate import Check, Gate, Severity, judge
from tasks.reports.index import finished_runs, months, skip_rates, write_index
from tasks.reports.summary import Summary, Tokens
from tasks.settings import HOME, Settings
from tests.pages import Page, broken_links
from tests.shop import make_run, make_source


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "recording.parquet").touch()
    return Settings(store=tmp_path / "store", engine="recorded", recording=tmp_path / "recording.parquet")


def check(name: str, passed: bool = True, severity: Severity = Severity.CRITICAL, observed: str = "") -> Check:
    return Check(name=name, description=f"about {name}", severity=severity, passed=passed, observed=observed)


def finish(
    settings: Settings, ds: str, key: str = "k", number: int | None = None, *checks: Check, **fields: Any
) -> Path:
    """What a finished run leaves for the index: a manifest, `checks.json` and a report. Later calls ended later."""
    gate: Gate = judge(checks)
    values: dict[str, Any] = {
        "ds": ds, "run_key": key, "model": "m", "prompt": "p", "engine": "recorded", "threshold": 0.5, "candidates": 10,
        "outcomes": {"published": 6, "skipped": 4}, "reused": 0, "model_calls": 0, "skip_rate": 0.4,
        "decide": Tokens(), "generate": Tokens(), "seconds": {}, "verdict": gate.verdict.value, "reasons": gate.reasons,
        "publication_id": number, "serving": "", "report": "",
    }  # fmt: skip
    folder = settings.store / "runs" / f"ds={ds}" / key
    folder.mkdir(parents=True, exist_ok=True)
    rows = "".join(f'<p id="check-{place}"></p>' for place in range(len(checks)))
    (folder / "report.html").write_text(rows, encoding="utf-8")
    (folder / "checks.json").write_text(gate.model_dump_json(), encoding="utf-8")
    (folder / "manifest.json").write_text(Summary(**values | fields).model_dump_json(), encoding="utf-8")
    ended = 1_000_000_000 + len(list(settings.store.rglob("manifest.json")))
    os.utime(folder / "manifest.json", (ended, ended))
    return folder


def publish(settings: Settings, *publications: tuple[int, str, str, bool]) -> None:
    """Number, date, run key and whether it was withdrawn."""
    with duckdb.connect(str(settings.serving_file)) as connection:
        connection.execute((HOME / "sql" / "create_publications.sql").read_text(encoding="utf-8"))
        for number, ds, key, withdrawn in publications:
            connection.execute(
                "INSERT INTO publications VALUES (?, ?, ?, '', 6, 'passed', NULL, NULL, now(), ?)",
                (number, ds, key, dt.datetime.now(dt.UTC) if withdrawn else None),
            )


def index(settings: Settings) -> Page:
    return Page(write_index(settings))


def test_dates_stand_against_checks_and_each_cell_leads_to_its_check(settings: Settings) -> None:
    finish(settings, "2026-11-27", "k", None, check("json"), check("volume", passed=False))
    finish(
        settings, "2026-11-28", "k", None, check("json"), check("skip_rate", passed=False, severity=Severity.WARNING)
    )
    page = index(settings)
    assert broken_links(page) == []
    assert "runs/ds=2026-11-27/k/report.html#check-1" in page.links
    (november,) = months(finished_runs(settings))
    assert november.columns == ["skip_rate", "volume", "json"]  # what failed first
    # newest first: date, verdict, what is live, the three checks
    assert page.text.index("not published – ! · ✓") < page.text.index("2026-11-27 Held back – · ✗ ✓")


def test_the_latest_run_of_a_date_counts(settings: Settings) -> None:
    finish(settings, "2026-11-28", "first", skip_rate=0.11)
    finish(settings, "2026-11-28", "second", skip_rate=0.22)
    text = index(settings).text
    assert "22.0%" in text
    assert "11.0%" not in text


def test_what_readers_see_is_marked(settings: Settings) -> None:
    for day in (25, 26, 27):
        finish(settings, f"2026-11-{day}", "old", 10 + day)
    finish(settings, "2026-11-27", "new")
    publish(
        settings, (35, "2026-11-25", "old", False), (36, "2026-11-26", "old", True), (37, "2026-11-27", "old", False)
    )
    page = index(settings)
    for words in ("2026-11-25 Published", "#35", "2026-11-26 Withdrawn", "(#37)"):
        assert words in page.text
    assert "runs/ds=2026-11-27/old/report.html" in page.links
    assert [day.is_live for day in finished_runs(settings).values()] == [True, False, False]


def test_a_day_without_a_run_shows(settings: Settings) -> None:
    for day in ("2026-11-26", "2026-11-29", "2026-09-30", "2026-09-30"):
        finish(settings, day)
    page = index(settings)
    assert page.text.count("no finished run") == 2
    assert "2 without a finished run" in page.text
    assert [month.name for month in months(finished_runs(settings))] == ["2026-11", "2026-09"]


def test_every_day_of_a_month_has_its_place_in_the_calendar(settings: Settings) -> None:
    finish(settings, "2026-11-28")
    (november,) = months(finished_runs(settings))
    assert [date.day for week in november.weeks for date in week if date] == list(range(1, 31))
    assert november.weeks[0][6] == dt.date(2026, 11, 1)  # a Sunday


def test_a_run_that_can_not_be_read_counts_as_not_finished(settings: Settings) -> None:
    for day in ("2026-11-25", "2026-11-26", "2026-11-27", "2026-11-28"):
        finish(settings, day)
    runs = settings.store / "runs"
    (runs / "ds=2026-11-25" / "k" / "manifest.json").write_text('{"ds": "2026-', encoding="utf-8")
    (runs / "ds=2026-11-26" / "k" / "checks.json").unlink()
    (runs / "ds=2026-11-27" / "k" / "manifest.json").unlink()
    assert list(finished_runs(settings)) == [dt.date(2026, 11, 28)]


@pytest.mark.parametrize("content", [None, "no DuckDB file"])
def test_without_a_serving_file_nothing_is_live(settings: Settings, content: str | None) -> None:
    finish(settings, "2026-11-28", "k", 1)
    if content:
        settings.serving_file.write_text(content, encoding="utf-8")
    assert [day.is_live for day in finished_runs(settings).values()] == [False]


def test_a_store_without_runs_says_so(settings: Settings) -> None:
    settings.store.mkdir()
    assert "No run has finished yet" in index(settings).text


def test_html_in_checks_shows_as_text(settings: Settings) -> None:
    script = "<script>alert('두부')</script>"
    finish(settings, "2026-11-28", "k", None, check(script, passed=False, observed='"><img src=x>'))
    page = index(settings)
    assert script in page.text
    assert not page.tags & {"script", "img"}


def test_the_index_is_korean_where_the_setting_says_so(settings: Settings) -> None:
    korean = settings.model_copy(update={"language": "ko"})
    finish(korean, "2026-11-28", "k", None, check("json", passed=False))
    text = index(korean).text
    assert "추천사유: 모든 날짜" in text
    assert "보류됨" in text


def test_the_history_ends_with_the_run_itself_and_knows_what_was_published(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_source(tmp_path / "source.duckdb"))
    for day in range(20, 30):
        finish(run.settings, f"2026-11-{day}", "k", day, skip_rate=day / 100)
    publish(run.settings, *[(day, f"2026-11-{day}", "k", day == 27) for day in range(20, 30)])
    now = finished_runs(run.settings)[run.ds].summary.model_copy(update={"publication_id": None, "skip_rate": 0.9})
    history = skip_rates(run, now, dates=3)
    assert history["ds"].to_list() == ["2026-11-25", "2026-11-26", "2026-11-27", "2026-11-28"]
    assert history["rate"].to_list() == [0.25, 0.26, 0.27, 0.9]
    assert history["live"].to_list() == [True, True, False, False]
