"""Data Docs: a page for each suite of the last runs, and no more."""

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from checks.docs import build_data_docs, keep_result
from checks.gate import Severity
from checks.suites import validate_input, validate_outcomes
from checks.validation import Validation, expectation, validate
from tests.checks.test_suites import OUTCOMES, TODAY, VOLUMES, drift, large_day, pairs

START = dt.datetime(2026, 11, 1, 3, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def found() -> Validation:
    from checks.expectations import ExpectVolumeNearTrailingMedian

    said = ("the volume is usual", "평소 수준임")
    asked = expectation(ExpectVolumeNearTrailingMedian, "volume", Severity.WARNING, said, min_value=5)
    return validate("input", pl.DataFrame({"any": [1]}), [asked])


def run_days(folder: Path, found: Validation, count: int, last_runs: int = 30) -> list[str]:
    for day in range(count):
        keep_result(folder, found, f"day-{day}", START + dt.timedelta(days=day))
        keep_result(
            folder, Validation("outcomes", found.checks, found.result), f"day-{day}", START + dt.timedelta(days=day)
        )
        assert build_data_docs(folder, last_runs) == folder / "site" / "index.html"
    pages = folder.glob("site/validations/*/*/*/*.html")
    return sorted("/".join(page.parts[-4:-2]) for page in pages)


def test_each_suite_of_a_run_has_a_page_that_the_index_links_to(tmp_path: Path, found: Validation) -> None:
    assert run_days(tmp_path, found, 1) == ["input/day-0", "outcomes/day-0"]
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    (page,) = tmp_path.glob("site/validations/input/day-0/*/*.html")
    assert str(page.relative_to(tmp_path / "site")) in index
    assert "__none__" not in index
    text = page.read_text(encoding="utf-8")
    assert "the volume is usual" in text
    assert "Failed" in text


def test_what_is_older_than_the_last_runs_is_taken_away(tmp_path: Path, found: Validation) -> None:
    assert run_days(tmp_path, found, 4, last_runs=2) == [
        "input/day-2",
        "input/day-3",
        "outcomes/day-2",
        "outcomes/day-3",
    ]
    assert "day-1" not in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert len([*tmp_path.glob("results/**/*.json")]) == 4


def test_the_results_of_both_suites_can_be_stored(tmp_path: Path) -> None:
    keep_result(tmp_path, validate_input(pairs(), TODAY, VOLUMES, today=TODAY), "a-run", START)
    outcomes = validate_outcomes(large_day(), 2000, OUTCOMES, 0.05, drift(0.1, 0.3), drift(0.1, 0.9, cut=0.5))
    keep_result(tmp_path, outcomes, "a-run", START)
    build_data_docs(tmp_path)
    (page,) = tmp_path.glob("site/validations/outcomes/a-run/*/*.html")
    text = page.read_text(encoding="utf-8")
    assert all(check.description.replace("%", "")[:20] in text.replace("%", "") for check in outcomes.checks)


def test_pages_that_are_there_are_not_built_again(tmp_path: Path, found: Validation) -> None:
    run_days(tmp_path, found, 1)
    (page,) = tmp_path.glob("site/validations/input/day-0/*/*.html")
    before = page.stat().st_mtime_ns
    run_days(tmp_path, found, 0)
    build_data_docs(tmp_path)
    assert page.stat().st_mtime_ns == before
    keep_result(tmp_path, found, "day-0", START)  # the same run, judged again
    build_data_docs(tmp_path)
    assert page.stat().st_mtime_ns > before
