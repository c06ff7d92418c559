"""The report and the manifest: numbers that add up, rows that can be found, and names that stay text."""

import ast
import datetime as dt
import io
import json
import re
import string
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.drift import Drift
from checks.gate import Check, Severity, judge
from flows.support.console import reuse_line
from tasks.check import check_date
from tasks.errors import StoreError
from tasks.load import Publication, load_date
from tasks.report import artifact_markdown, latest_summary, report_date
from tasks.reports.page import mark_evidence
from tasks.reports.words import RULES, WORDS
from tasks.runs import Run
from tasks.settings import HOME
from tests.days import SCRIPT, judged_day, mixed_answer, whole_day
from tests.pages import Page, broken_links
from tests.shop import DS, ITEMS, PAIRS, make_run, make_source, prepare, record

HELD_BACK = judge(
    [
        Check(name="a", description="b <i>", severity=Severity.WARNING, passed=False, observed="1 | 2"),
        Check(name="c", description="skip rate", severity=Severity.CRITICAL, passed=False, observed=SCRIPT),
    ]
)


def pages(run: Run) -> list[Page]:
    return [Page(path) for path in [run.settings.store / "index.html", *sorted(run.folder.rglob("*.html"))]]


def test_the_numbers_add_up(run: Run) -> None:
    summary = whole_day(run)
    assert summary.outcomes == {
        "published": 4, "skipped": 1, "screened": 0, "ranked_out": 0, "rejected": 0, "failed": 0
    }  # fmt: skip
    assert sum(summary.outcomes.values()) == summary.candidates == 5
    assert summary.skip_rate == pytest.approx(0.2)
    assert (summary.decide.pairs, summary.generate.pairs, summary.model_calls) == (5, 4, 5)
    assert summary.decide.generated == 5
    assert (summary.decide.calls, summary.generate.calls, summary.generate.prompt) == (5, 0, 0)


def test_a_run_that_reuses_everything_made_no_call_and_read_no_token(run: Run) -> None:
    whole_day(run)
    summary = whole_day(run)
    assert (summary.reused, summary.candidates, summary.model_calls) == (5, 5, 0)
    assert (summary.decide.prompt, summary.generate.generated) == (0, 0)


def test_what_was_found_in_the_store_is_said_by_its_age_and_by_what_it_was(run: Run) -> None:
    first = whole_day(run, mixed_answer)
    assert first.reuse is not None
    assert [(row.name, row.pairs) for row in first.reuse.seen] == [("never", 5)]
    settings = run.settings.model_copy(update={"reuse_key": "prompt", "rejected_ttl_days": 2})
    later = run.model_copy(update={"settings": settings, "started_at": run.started_at + dt.timedelta(days=3)})
    summary = whole_day(later, mixed_answer)
    assert summary.reuse is not None
    found, failed = summary.reuse.seen
    assert (found.name, found.pairs, found.published, found.skipped) == ("found_week", 4, 3, 1)
    assert (failed.name, failed.pairs) == ("decided", 1)  # its text failed, and is too old by now
    text = " ".join(Page(run.folder / "report.html").text.split())
    assert "4 of 5 pairs needed nothing from the model." in text
    assert "found, 1 to 7 days 4 3 1 –" in text
    assert reuse_line(summary.reuse).startswith("result store   4 found, 1 to 7 days; 1 decided before")


def test_a_fresh_day_by_pair_says_so(tmp_path: Path, source: Path) -> None:
    run = make_run(tmp_path, source, reuse_key="pair", fresh=True, language="ko")
    whole_day(run)
    text = " ".join(Page(run.folder / "report.html").text.split())
    assert "5쌍 중 0쌍은 모델에 물을 필요가 없었음. 장바구니는 무관(reuse_key = pair)" in text
    assert f"{run.started_at:%Y-%m-%d %H:%M} UTC 전의 결과는 쓰지 않음" in text


def test_the_verdict_stands_first_then_what_to_look_at(run: Run) -> None:
    gate = judged_day(run, mixed_answer)
    report_date(run, gate, load_date(run))
    text = Page(run.folder / "report.html").text
    order = [
        "Published",
        "3 reasons passed of 5",
        "What to look at",
        "1 of 4 written texts (25.0%) fail speech.not_haeyo",
    ]
    places = [text.index(words) for words in [*order, "What became of every candidate", "Checks of the date"]]
    assert places == sorted(places)


def test_a_held_back_date_says_why_and_what_can_be_done(run: Run) -> None:
    judged_day(run)
    report_date(run, HELD_BACK, None)
    text = Page(run.folder / "report.html").text
    assert text.index("Held back") < text.index("sayu approve --ds 2026-11-28") < text.index("critical")
    assert text.index(f"skip rate (seen: {SCRIPT})") < text.index("b <i> (seen: 1 | 2)")
    assert "To read: texts that passed" in text
    assert "To read: published texts" not in text


def test_an_approved_date_says_who_approved_it_and_why(run: Run) -> None:
    gate = judged_day(run)
    publication = load_date(run)
    assert publication is not None
    approved = Publication(**publication.model_dump() | {"approved_by": "Kim <b>", "approval_reason": "김장철"})
    summary = report_date(run, HELD_BACK, approved)
    assert gate != HELD_BACK
    assert (summary.approved_by, summary.approval_reason) == ("Kim <b>", "김장철")
    text = Page(run.folder / "report.html").text
    assert "Published by approval" in text
    assert "Approved by Kim <b>: 김장철" in text


def test_a_failed_rule_is_shown_with_the_text_its_inputs_and_what_the_rule_saw(run: Run) -> None:
    whole_day(run, mixed_answer)
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    section = page[page.index('id="rule-r0"') : page.index('id="read"')]
    assert "speech.not_haeyo" in section
    assert "된장, 두부 같이 드십시오." in section
    for shown in ("된장(500g)", "두부(찌개용)", "장류"):
        assert shown in section


def test_every_link_of_every_page_leads_somewhere_and_every_row_is_reached(run: Run) -> None:
    whole_day(run, mixed_answer)
    found = pages(run)
    assert [broken_links(page) for page in found] == [[]] * 5
    assert {page.path.name for page in found} == {
        "index.html", "report.html", "published.html", "skipped.html", "rejected.html"
    }  # fmt: skip
    rows = [row for page in found for row in page.ids if re.fullmatch(r"c\d+", row)]
    assert sorted(rows) == sorted(f"c{candidate}" for candidate in run.read("outcomes")["candidate_id"])


@pytest.mark.parametrize(("language", "sentence"), [("en", "61 % <b>"), ("ko", "스킵률 61%")])
def test_the_report_says_how_the_skip_rate_stands_to_its_reference(run: Run, language: Any, sentence: str) -> None:
    run = run.model_copy(update={"settings": run.settings.model_copy(update={"language": language})})
    judged_day(run)
    drift = Drift(
        status="steady", observed=0.61, low=0.3, high=0.7, dates=9, sentence="61 % <b>", sentence_ko="스킵률 61%"
    )
    run.write_json("drift", {"skip_rate": drift.model_dump(mode="json")})
    assert report_date(run, HELD_BACK, None).drift == drift
    assert sentence in Page(run.folder / "report.html").text


def test_the_rows_of_an_outcome_that_a_later_run_has_not_are_taken_away(run: Run) -> None:
    whole_day(run, mixed_answer)
    report_date(run, HELD_BACK, None)
    assert (run.folder / "rows" / "rejected.zip").exists()
    whole = run.read("outcomes")
    run.write("outcomes", whole.filter(pl.col("outcome") != "rejected"))
    report_date(run, HELD_BACK, None)
    assert {path.name for path in (run.folder / "rows").iterdir()} == {
        "published.html", "published.zip", "skipped.html", "skipped.zip"
    }  # fmt: skip


def test_the_csv_file_holds_every_row_and_no_name_is_a_formula_in_it(tmp_path: Path) -> None:
    items = [*ITEMS, (7, "=SUM(A1)", "두부")]
    run = make_run(tmp_path, make_source(tmp_path / "s.duckdb", items=items, pairs=[*PAIRS, (7, 2, 0.3), (2, 7, 0.2)]))
    whole_day(run, lambda row: (0.9, ""))
    with zipfile.ZipFile(run.folder / "rows" / "skipped.zip") as archive:
        content = archive.read("2026-11-28-skipped.csv")
    rows = pl.read_csv(io.BytesIO(content))
    assert content.startswith("\ufeff".encode())
    assert rows.height == 7
    assert set(rows["recommended_item"]) == {"쌈배추(봉)", "두부(찌개용)", "된장(500g)", "세탁세제(3L)", "우유(1L)",
                                             "'=SUM(A1)", "청경채(봉)"}  # fmt: skip


def test_an_error_is_one_reason_whatever_commas_it_holds(run: Run) -> None:
    prepare(run)
    record(run, lambda row: (0.1, ""))
    check_date(run)
    failed = pl.col("candidate_id") == 0
    outcomes = run.read("outcomes").with_columns(
        outcome=pl.when(failed).then(pl.lit("failed")).otherwise("outcome"),
        detail=pl.when(failed).then(pl.lit("decide: too long, by 3")).otherwise("detail"),
    )
    run.write("outcomes", outcomes)
    report_date(run, HELD_BACK, None)
    assert "1 pairs got no answer: decide: too long, by 3" in Page(run.folder / "report.html").text


def test_html_in_names_texts_and_checks_shows_as_text_on_every_page(tmp_path: Path) -> None:
    items = [*ITEMS, (7, SCRIPT, "<b>두부</b>")]
    run = make_run(tmp_path, make_source(tmp_path / "s.duckdb", items=items, pairs=[*PAIRS, (7, 2, 0.3), (2, 7, 0.2)]))

    def answer(row: dict[str, Any]) -> tuple[float, str]:
        return 0.1, f'", "text": "{row["recommended_item"]} <img src=x> 어떠세요?"}}'

    judged_day(run, answer)
    run.write_json("checks", HELD_BACK.model_dump(mode="json"))
    report_date(run, HELD_BACK, None)
    for page in pages(run):
        assert not page.tags & {"script", "img", "b", "i", "iframe", "object"}
    assert SCRIPT in Page(run.folder / "report.html").text
    assert SCRIPT in Page(run.folder / "rows" / "rejected.html").text


def test_the_pages_need_nothing_from_the_net_and_no_script(run: Run) -> None:
    whole_day(run)
    for page in pages(run):
        source = page.path.read_text(encoding="utf-8")
        assert not re.findall(r"https?://|src=|@import|url\(", source)
        assert "default-src 'none'" in source
        assert "script" not in page.tags


def test_the_report_is_korean_where_the_setting_says_so(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_source(tmp_path / "s.duckdb"), language="ko")
    whole_day(run, mixed_answer)
    for page in pages(run):
        assert '<html lang="ko">' in page.path.read_text(encoding="utf-8")
    text = Page(run.folder / "report.html").text
    assert "게시됨 – 후보 5건 중 3건 통과." in text
    assert "해요체가 아닌 문장" in text
    assert not re.search(r"\b(published|skipped|rejected|ranked|What|rows)\b", text)


def test_both_languages_say_the_same_with_the_same_numbers() -> None:
    def fields(sentence: str) -> list[str]:
        return sorted(name for _, name, _, _ in string.Formatter().parse(sentence) if name)

    for name, (english, korean) in {**WORDS, **RULES}.items():
        assert english.strip(), name
        assert korean.strip(), name
        assert fields(english) == fields(korean), name


def test_every_code_of_a_row_rule_has_a_meaning() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted((HOME / "checks").glob("*.py"))]
    literals = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    rooms = "json|text|speech|names|content|repetition"
    codes = {code for code in literals if isinstance(code, str) and re.fullmatch(rf"({rooms})\.[a-z_]+", code)}
    assert len(codes) > 15
    assert codes <= RULES.keys()


def test_what_a_rule_saw_is_marked_in_the_text() -> None:
    assert mark_evidence("두부는 010-1234-5678로", "두부; 010-1234-5678") == [
        ("두부는 ", False), ("010-1234-5678", True), ("로", False)
    ]  # fmt: skip
    assert mark_evidence("두부는 어때", "53 > 50") == [("두부는 어때", False)]


@given(st.text(), st.one_of(st.none(), st.text()))
def test_marking_what_a_rule_saw_changes_no_letter(text: str, evidence: str | None) -> None:
    assert "".join(piece for piece, _ in mark_evidence(text, evidence)) == text
    assert "".join(piece for piece, _ in mark_evidence(f"{text}x{evidence}", evidence)) == f"{text}x{evidence}"


def test_the_manifest_is_written_last_and_says_the_same(run: Run) -> None:
    summary = whole_day(run)
    manifest = run.folder / "manifest.json"
    assert json.loads(manifest.read_text(encoding="utf-8")) == summary.model_dump(mode="json")
    assert manifest.stat().st_mtime_ns == max(path.stat().st_mtime_ns for path in run.folder.rglob("*.*"))
    assert latest_summary(run.settings, DS) == summary


def test_the_short_form_has_the_counts_the_reasons_and_a_link_that_opens(tmp_path: Path) -> None:
    run = make_run(tmp_path, make_source(tmp_path / "s.duckdb"), reports_url="http://reports.example/")
    judged_day(run)
    short = artifact_markdown(report_date(run, HELD_BACK, None))
    assert short.startswith("## 2026-11-28: Held back")
    assert "| passed | 4 |" in short
    assert "| skipped | 1 |" in short
    assert "| **candidates** | **5** |" in short
    assert "<script>" not in short
    assert r"1 \| 2" in short
    assert f"(<http://reports.example/runs/ds=2026-11-28/{run.key}/report.html>)" in short


def test_without_an_address_the_link_is_the_file(run: Run) -> None:
    summary = whole_day(run)
    assert summary.link == Path(summary.report).as_uri()


def test_a_date_without_a_finished_run_says_so(run: Run) -> None:
    with pytest.raises(StoreError, match="no finished run of 2026-11-28"):
        latest_summary(run.settings, DS)


@pytest.mark.parametrize("candidates", [0, 5])
def test_a_date_without_any_answer_has_a_report_too(run: Run, candidates: int) -> None:
    judged_day(run)
    nothing = {name: pl.lit(None, dtype=kind) for name, kind in [("p_skip", pl.Float64), ("text", pl.String)]}
    outcomes = run.read("outcomes").with_columns(outcome=pl.lit("failed"), detail=pl.lit("not asked"), **nothing)
    run.write("outcomes", outcomes.head(candidates))
    run.write_json("checks", HELD_BACK.model_dump(mode="json"))
    summary = report_date(run, HELD_BACK, None)
    assert (summary.candidates, summary.skip_rate) == (candidates, None)
    found = pages(run)
    assert [broken_links(page) for page in found] == [[]] * len(found)
    assert ("5 pairs got no answer: not asked" in Page(run.folder / "report.html").text) == (candidates == 5)
