"""The report and the manifest: numbers that add up, and names that stay text."""

import json
from pathlib import Path
from typing import Any

import pytest

from tasks.check import check_date
from tasks.decide import decide_chunk
from tasks.errors import StoreError
from tasks.generate import generate_chunk
from tasks.load import load_date
from tasks.report import Summary, latest_summary, report_date
from tasks.runs import Run
from tests.shop import DS, ITEMS, PAIRS, good_answer, make_run, make_source, prepare, record

SCRIPT = "<script>alert('두부')</script>"


def whole_day(run: Run, answer: Any = good_answer) -> Summary:
    chunks = prepare(run)
    record(run, answer)
    for chunk in range(chunks):
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    gate = check_date(run)
    return report_date(run, gate, load_date(run))


def test_the_numbers_add_up(run: Run) -> None:
    summary = whole_day(run)
    assert summary.outcomes == {
        "published": 4, "skipped": 1, "screened": 0, "ranked_out": 0, "rejected": 0, "failed": 0
    }  # fmt: skip
    assert sum(summary.outcomes.values()) == summary.candidates == 5
    assert summary.skip_rate == pytest.approx(0.2)
    assert (summary.decide.pairs, summary.generate.pairs, summary.model_calls) == (5, 4, 9)
    assert summary.decide.generated == 5
    assert summary.generate.prompt > summary.decide.prompt * 4 / 5 - 200


def test_a_run_that_reuses_everything_made_no_call_and_read_no_token(run: Run) -> None:
    whole_day(run)
    summary = whole_day(run)
    assert (summary.reused, summary.candidates, summary.model_calls) == (5, 5, 0)
    assert (summary.decide.prompt, summary.generate.generated) == (0, 0)


def test_html_in_names_and_texts_shows_as_text(tmp_path: Path) -> None:
    items = [*ITEMS, (7, SCRIPT, "<b>두부</b>")]
    run = make_run(tmp_path, make_source(tmp_path / "s.duckdb", items=items, pairs=[*PAIRS, (7, 2, 0.3), (2, 7, 0.2)]))

    def answer(row: dict[str, Any]) -> tuple[float, str]:
        return 0.1, f'", "text": "{row["recommended_item"]} <img src=x> 어떠세요?"}}'

    whole_day(run, answer)
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert SCRIPT not in page
    assert "<img" not in page
    assert "<b>두부" not in page
    assert "&lt;script&gt;" in page


def test_the_report_needs_nothing_from_the_net(run: Run) -> None:
    whole_day(run)
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert "http" not in page
    assert "src=" not in page


def test_the_manifest_is_written_last_and_says_the_same(run: Run) -> None:
    summary = whole_day(run)
    manifest = run.folder / "manifest.json"
    assert json.loads(manifest.read_text(encoding="utf-8")) == summary.model_dump(mode="json")
    assert manifest.stat().st_mtime_ns == max(path.stat().st_mtime_ns for path in run.folder.iterdir())
    assert latest_summary(run.settings, DS) == summary


def test_a_date_without_a_finished_run_says_so(run: Run) -> None:
    with pytest.raises(StoreError, match="no finished run of 2026-11-28"):
        latest_summary(run.settings, DS)
