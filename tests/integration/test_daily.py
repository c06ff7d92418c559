"""A day of the demo shop through the command line: what a person who types `sayu demo` gets, and what comes after."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import regex

from tasks.engine import close_engine
from tasks.engine.recorded import write_recording
from tasks.runs import Run
from tasks.settings import HOME
from tests.integration.conftest import DS, Done, sayu, served

pytestmark = [pytest.mark.engine, pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(1200)]


# What a person gets who gives no rules: those that are shipped.
DEMO = ("demo", "--json", "--rules", str(HOME / "rules" / "grocery.toml"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo-day")


@pytest.fixture(scope="module")
def first(folder: Path) -> Done:
    return sayu(folder, *DEMO)


@pytest.fixture(scope="module")
def second(folder: Path, first: Done) -> Done:
    return sayu(folder, *DEMO)


def outcomes_of(folder: Path, done: Done) -> pl.DataFrame:
    return pl.read_parquet(folder / "store" / "runs" / f"ds={DS}" / done.summary["run_key"] / "outcomes.parquet")


def test_the_day_ends_well_and_says_so_without_noise(first: Done) -> None:
    assert first.code == 0, first.stderr
    assert first.summary["verdict"] in {"passed", "warned"}
    noise = [line for line in first.stderr.splitlines() if not regex.match(r"\d\d:\d\d:\d\d  \w", line)]
    assert noise == []


def test_progress_goes_to_standard_error_in_the_order_of_the_stages(first: Done) -> None:
    said = ["extract", "screen", "reuse", "rank", "engine", "plan", "shard", "check"]
    at = [first.stderr.find(f"  {stage} ") for stage in said]
    assert -1 not in at, first.stderr
    assert at == sorted(at)


def test_outcomes_add_up_to_the_candidates(folder: Path, first: Done) -> None:
    summary = first.summary
    outcomes = outcomes_of(folder, first)
    assert sum(summary["outcomes"].values()) == summary["candidates"] == outcomes.height == 400
    counted = dict(outcomes["outcome"].value_counts().iter_rows())
    assert {name: count for name, count in summary["outcomes"].items() if count} == counted
    assert summary["outcomes"]["failed"] == 0


def test_the_rules_spare_the_model_what_is_no_pair(folder: Path, first: Done) -> None:
    screened = outcomes_of(folder, first).filter(outcome="screened")
    assert 0 < screened.height == sum(rule["calls_saved"] for rule in first.summary["rules"]) < 100
    assert set(screened["detail"]) <= {rule["rule"] for rule in first.summary["rules"]}


def test_every_pair_is_decided_and_those_below_the_threshold_are_written(folder: Path, first: Done) -> None:
    summary = first.summary
    below = outcomes_of(folder, first).filter(pl.col("p_skip") < 0.5).height
    asked = 400 - summary["outcomes"]["screened"]
    assert summary["decide"]["pairs"] == summary["decide"]["generated"] == asked
    assert summary["generate"]["pairs"] == below
    assert below <= summary["generate"]["generated"] <= 64 * below


def test_the_serving_table_holds_exactly_the_published_rows(folder: Path, first: Done) -> None:
    published = outcomes_of(folder, first).filter(pl.col("outcome") == "published")
    columns = ("recommended_item_id", "reason_item_id", "text")
    assert served(folder / "store" / "serving.duckdb", ", ".join(columns)) == sorted(published.select(columns).rows())
    assert Path(first.summary["serving"]) == folder / "store" / "serving.duckdb"


def test_a_pair_is_one_call_and_what_could_be_found_in_the_cache_was(first: Done) -> None:
    cache = first.summary["cache"]
    assert first.summary["model_calls"] == 400 - first.summary["outcomes"]["screened"]
    assert cache["found"] >= 0.9 * cache["hoped_for"] > 0
    assert cache["preemptions"] == 0
    parts = [cache[part] for part in ("cached", "evicted", "remainder", "first_time")]
    # texts that failed were asked for again, each time with its prompt
    assert sum(parts) == cache["prompt"] == first.summary["decide"]["prompt"] + first.summary["generate"]["prompt"]


def test_the_report_is_a_page_of_its_own(first: Done) -> None:
    page = Path(first.summary["report"]).read_text(encoding="utf-8")
    HTMLParser().feed(page)
    assert str(DS) in page
    assert "http://" not in page and "https://" not in page


def test_the_second_run_asks_the_model_nothing_and_publishes_nothing_new(first: Done, second: Done) -> None:
    assert second.code == 0, second.stderr
    assert second.summary["model_calls"] == 0
    assert second.summary["outcomes"] == first.summary["outcomes"]
    assert second.summary["publication_id"] == first.summary["publication_id"]
    assert second.summary["reused"] == first.summary["model_calls"]
    assert "  engine " not in second.stderr  # none is loaded


def test_show_says_what_the_run_said(folder: Path, second: Done) -> None:
    shown = sayu(folder, "show", "--ds", str(DS), "--json")
    assert shown.code == 0
    assert shown.summary == second.summary


def test_a_new_threshold_costs_no_decision(folder: Path, second: Done) -> None:
    """Raised so far that half of the skipped pairs are written after all; then everything is taken back."""
    p_skip = outcomes_of(folder, second)["p_skip"]
    raised = float(p_skip.filter(p_skip >= 0.5).median() or 0.0)  # type: ignore[arg-type]
    newly = int(((p_skip >= 0.5) & (p_skip < raised)).sum())
    assert newly > 0
    third = sayu(folder, *DEMO, "--threshold", str(raised))
    assert third.code == 0, third.stderr
    assert third.summary["decide"]["pairs"] == 0
    assert third.summary["generate"]["pairs"] == third.summary["model_calls"] == newly
    assert third.summary["publication_id"] != second.summary["publication_id"]
    taken_back = sayu(folder, "rollback", "--ds", str(DS), "--json")
    assert taken_back.code == 0, taken_back.stderr
    assert taken_back.summary["withdrawn"]["publication_id"] == third.summary["publication_id"]
    assert taken_back.summary["live"]["publication_id"] == second.summary["publication_id"]
    live = served(folder / "store" / "serving.duckdb", "DISTINCT run_key")
    assert live == ([(second.summary["run_key"],)] if second.summary["outcomes"]["published"] else [])


def test_too_many_failed_pairs_hold_the_date_back(tmp_path: Path, published: Run) -> None:
    """A recording that lacks one prompt stands for an engine that fails on it."""
    before = served(published.settings.serving_file)
    assert before
    recording = tmp_path / "lacking.parquet"
    rows = pl.read_parquet(published.settings.recording or "")
    write_recording(rows.filter(pl.col("prompt") != rows["prompt"][0]), recording)
    options: dict[str, Any] = {"source": published.settings.source, "store": published.settings.store}
    done = sayu(
        tmp_path, "daily", "--ds", str(DS), "--json", "--engine", "recorded", "--recording", str(recording),
        "--max-failed-share", "0", *(text for name, value in options.items() for text in (f"--{name}", str(value))),
    )  # fmt: skip
    assert done.code == 3, done.stderr
    assert done.summary["verdict"] == "held back"
    assert done.summary["outcomes"]["failed"] == 1
    assert done.summary["publication_id"] is None
    assert "failed" in done.summary["reasons"][0]
    assert served(published.settings.serving_file) == before
    close_engine()
