"""Every candidate has exactly one outcome, and the gate sees all of them."""

from pathlib import Path
from typing import Any

from checks.gate import Verdict
from tasks.check import check_date
from tasks.decide import decide_chunk
from tasks.generate import generate_chunk
from tasks.load import load_date
from tasks.records import OUTCOMES
from tasks.runs import Run
from tests.shop import PAIRS, good_answer, make_run, make_source, prepare, record, rows_of


def mixed_answer(row: dict[str, Any]) -> tuple[float, str]:
    """One of each: a skip, a text that is not 해요체, an answer that is no JSON, and good ones."""
    p_skip, text = good_answer(row)
    if row["recommended_item"] == "된장(500g)":
        text = '", "text": "된장과 두부로 찌개를 끓여라."}'
    if row["recommended_item"] == "우유(1L)":
        text = '", "text": "우유와 된장'
    return p_skip, text


def ask_and_check(run: Run, answer: Any) -> Verdict:
    chunks = prepare(run)
    record(run, answer)
    for chunk in range(chunks):
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    return check_date(run).verdict


def test_each_candidate_has_the_outcome_that_its_answer_deserves(tmp_path: Path) -> None:
    source = make_source(tmp_path / "s.duckdb", pairs=[*PAIRS, (3, 3, 0.1)])
    run = make_run(tmp_path, source)
    assert ask_and_check(run, mixed_answer) is Verdict.WARNED  # three of four answers are JSON
    outcomes = run.read("outcomes")
    assert outcomes.schema == OUTCOMES
    assert rows_of(outcomes, "recommended_item_id", "reason_item_id", "outcome") == [
        (1, 2, "published"),
        (3, 3, "screened"),
        (3, 4, "published"),
        (4, 3, "rejected"),
        (5, 2, "skipped"),
        (6, 4, "rejected"),
    ]
    detail = dict(zip(outcomes["recommended_item_id"], outcomes["detail"], strict=True))
    assert "speech" in detail[4]
    assert "json" in detail[6]
    assert outcomes.filter(outcome="published")["text"].to_list()[0] == "쌈배추, 청경채 같이 드셔 보세요."


def test_a_text_that_names_another_item_of_the_shop_is_rejected_though_the_date_does_not_mention_it(
    tmp_path: Path,
) -> None:
    items = [(1, "쌈배추(봉)", "쌈채소"), (2, "청경채(봉)", "잎채소"), (3, "샤인머스캣(팩)", "과일")]
    run = make_run(tmp_path, make_source(tmp_path / "s.duckdb", items=items, pairs=[(1, 2, 0.9)], basket=[2]))
    ask_and_check(run, lambda row: (0.1, '", "text": "쌈배추와 청경채에 샤인머스캣을 곁들여 보세요."}'))
    assert run.read("outcomes")["detail"].to_list() == ["names.other_item"]


def test_how_long_a_text_may_be_is_a_setting(tmp_path: Path, source: Path) -> None:
    run = make_run(tmp_path, source, max_characters=18)
    ask_and_check(run, good_answer)
    assert set(run.read("outcomes").filter(outcome="rejected")["detail"]) == {"text.too_long"}
    assert run.read("outcomes").filter(outcome="rejected").height == 1


def test_what_was_rejected_or_skipped_has_its_reason_and_nothing_to_serve(run: Run) -> None:
    ask_and_check(run, mixed_answer)
    rejected = run.read("outcomes").filter(outcome="rejected")
    assert rejected["detail"].null_count() == 0
    skipped = run.read("outcomes").filter(outcome="skipped")
    assert skipped["text"].null_count() == skipped.height


def test_reused_says_which_results_this_run_did_not_ask_for(run: Run) -> None:
    ask_and_check(run, good_answer)
    assert not run.read("outcomes")["reused"].any()
    ask_and_check(run, good_answer)
    assert run.read("outcomes")["reused"].all()


def test_a_pair_without_an_answer_is_failed_with_its_error_and_too_many_hold_the_date_back(run: Run) -> None:
    prepare(run)
    record(run, good_answer)
    decide_chunk(run, 0)  # the run stops here: the other chunks were never asked
    gate = check_date(run)
    outcomes = run.read("outcomes")
    assert outcomes["outcome"].to_list().count("failed") == 4
    assert outcomes.filter(outcome="failed")["detail"].unique().to_list() == ["the engine gave no answer"]
    assert gate.verdict is Verdict.HELD_BACK
    assert any("pairs failed" in reason for reason in gate.reasons)


def test_outcomes_that_are_written_anew_have_no_manifest_until_the_report(run: Run) -> None:
    run.folder.mkdir(parents=True, exist_ok=True)
    run.write_json("manifest", {})
    ask_and_check(run, good_answer)
    assert not (run.folder / "manifest.json").exists()


def test_one_failed_pair_is_one_failed_pair(tmp_path: Path, source: Path) -> None:
    run = make_run(tmp_path, source, max_failed_share=0.5)
    chunks = prepare(run)
    rows = run.read("reused")
    run.write("reused", rows.head(4))
    record(run, good_answer)
    run.write("reused", rows)
    for chunk in range(chunks):
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    assert check_date(run).verdict is Verdict.PASSED
    failed = run.read("outcomes").filter(outcome="failed")
    assert failed["detail"].to_list() == ["decide: this prompt is not in the recording"]


def test_a_date_that_has_reasons_is_not_emptied(run: Run) -> None:
    ask_and_check(run, good_answer)
    load_date(run)
    again = run.model_copy(update={"key": "another", "model": "another"})  # its results are its own
    assert ask_and_check(again, lambda row: (0.1, '", "text": "맛있다."}')) is Verdict.HELD_BACK
    assert "at least one reason is published" in check_date(again).reasons[0]
