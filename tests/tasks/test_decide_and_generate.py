"""A chunk's way through the engine: what is stored, what fails alone, and what a new threshold costs."""

import datetime as dt
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest

from tasks.chunks import chunk_name, read_chunk
from tasks.decide import decide_chunk, skip_probability
from tasks.engine import Call, Completion, Request, Sampling, load_engine
from tasks.generate import generate_chunk
from tasks.reports.summary import count_tokens
from tasks.results import find_results, read_results, write_results
from tasks.runs import Run
from tasks.settings import OrderName
from tests.shop import good_answer, make_run, prepare, record, rows_of

ORDERS = get_args(OrderName)


def ask(run: Run) -> tuple[int, int]:
    """Every stage up to generate; pairs decided and texts written."""
    chunks = prepare(run)
    record(run, good_answer)
    return sum(decide_chunk(run, c) for c in range(chunks)), sum(generate_chunk(run, c) for c in range(chunks))


def stored(run: Run, kind: Any) -> pl.DataFrame:
    return find_results(run.settings.store, kind, run.read("reused")["key"], run.oldest_result)


def test_p_skip_is_the_softmax_over_the_two_labels() -> None:
    assert skip_probability(math.log(0.3), math.log(0.1)) == pytest.approx(0.25)
    assert skip_probability(0.0, -1_000.0) == pytest.approx(0.0)
    assert skip_probability(-1_000.0, 0.0) == pytest.approx(1.0)


@pytest.mark.parametrize("order", ORDERS)
def test_every_pair_is_decided_and_those_to_be_written_are_written(tmp_path: Path, source: Path, order: str) -> None:
    run = make_run(tmp_path, source, order=order)
    assert ask(run) == (5, 4)
    decisions = stored(run, "decisions").join(run.read("reused").drop("p_skip"), on="key")
    assert {round(p, 3) for p in decisions["p_skip"]} == {0.1, 0.9}
    answers = stored(run, "texts")["answer"].to_list()
    assert '{"decision": "write", "text": "쌈배추, 청경채 같이 드셔 보세요."}' in answers


@pytest.mark.parametrize("order", ORDERS)
def test_a_second_run_asks_nothing(tmp_path: Path, source: Path, order: str) -> None:
    run = make_run(tmp_path, source, order=order)
    ask(run)
    assert ask(run) == (0, 0)


def test_what_one_order_has_written_no_other_asks_again(run: Run) -> None:
    ask(run)
    settings = run.settings.model_copy(update={"order": "chunked"})
    assert ask(run.model_copy(update={"settings": settings})) == (0, 0)


def test_fused_asks_once_a_pair_and_the_prompt_counts_once(run: Run) -> None:
    ask(run)
    assert stored(run, "texts")["prompt_tokens"].to_list() == [0] * 4
    assert min(stored(run, "decisions")["prompt_tokens"]) > 0


def test_a_text_that_fused_did_not_bring_is_asked_for_by_generate(run: Run) -> None:
    """As where the decision lies so close to the threshold that it comes out on the other side once it is stored."""
    chunks = prepare(run)
    record(run, good_answer)
    for chunk in range(chunks):
        decide_chunk(run, chunk)
        name = chunk_name(run, read_chunk(run, chunk))
        write_results(run.settings.store, "texts", name, read_results(run.settings.store, "texts", name).clear())
    assert stored(run, "texts").is_empty()
    assert sum(generate_chunk(run, chunk) for chunk in range(chunks)) == 4
    assert stored(run, "texts").height == 4


def test_a_higher_threshold_costs_only_the_texts(run: Run) -> None:
    ask(run)
    bolder = run.model_copy(update={"settings": run.settings.model_copy(update={"threshold": 0.95})})
    assert ask(bolder) == (0, 1)
    assert stored(bolder, "texts").height == 5


def test_a_lower_threshold_costs_nothing(run: Run) -> None:
    ask(run)
    stricter = run.model_copy(update={"settings": run.settings.model_copy(update={"threshold": 0.05})})
    assert ask(stricter) == (0, 0)


def test_decisions_survive_a_crash_before_the_texts(tmp_path: Path, source: Path) -> None:
    run = make_run(tmp_path, source, order="chunked")
    chunks = prepare(run)
    record(run, good_answer)
    for chunk in range(chunks):
        decide_chunk(run, chunk)
    assert ask(run) == (0, 4)


def test_a_prompt_that_fails_fails_alone_and_is_asked_again(run: Run) -> None:
    chunks = prepare(run)
    rows = run.read("reused")
    run.write("reused", rows.head(3))  # the recording lacks two pairs
    record(run, good_answer)
    run.write("reused", rows)
    assert sum(decide_chunk(run, chunk) for chunk in range(chunks)) == 3
    failures = pl.concat([pl.read_parquet(file) for file in (run.folder / "failures").glob("*.parquet")])
    assert rows_of(failures, "stage", "error") == [("decide", "this prompt is not in the recording")] * 2
    assert ask(run)[0] == 2


@pytest.mark.parametrize("order", ORDERS)
def test_a_chunk_that_is_asked_once_more_in_the_same_run_asks_nothing(
    tmp_path: Path, source: Path, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when its worker died after it, or two workers have it."""
    run = make_run(tmp_path, source, order=order)
    assert ask(run) == (5, 4)
    monkeypatch.setattr("tasks.chunks.load_engine", None)
    assert sum(decide_chunk(run, chunk) for chunk in range(5)) == 5
    assert sum(generate_chunk(run, chunk) for chunk in range(5)) == 4


def test_of_a_half_finished_chunk_only_the_rest_is_asked(tmp_path: Path, source: Path) -> None:
    run = make_run(tmp_path, source, chunk_share=1.0, chunks_in_flight=1, chunk_pairs=5)
    assert prepare(run) == 1
    record(run, good_answer)
    decide_chunk(run, 0)
    name = chunk_name(run, read_chunk(run, 0))
    for kind in ("decisions", "texts"):
        write_results(run.settings.store, kind, name, read_results(run.settings.store, kind, name).head(2))
    assert decide_chunk(run, 0) == 5
    assert (stored(run, "decisions").height, stored(run, "texts").height) == (5, 4)


def test_a_clock_that_is_set_back_loses_nothing(run: Run) -> None:
    """By then the run has begun in the future, and its results must not look like those of an earlier one."""
    later = run.model_copy(update={"started_at": run.started_at + dt.timedelta(hours=2)})
    assert ask(later) == (5, 4)
    assert min(stored(later, "decisions")["finished_at"]) >= later.started_at
    assert count_tokens(later)[0].pairs == 5


class Killed(Exception):
    pass


class Dying:
    """The run's engine, whose worker is killed after some answers: its journal stays as it was then."""

    def __init__(self, run: Run, after: int) -> None:
        self._run, self._after = run, after

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call) -> list[Completion]:
        answers = load_engine(self._run.settings).complete(requests, sampling)
        for number, answer in enumerate(answers[: self._after]):
            call.keep(number, answer)
        (journal,) = (self._run.folder / "journal").iterdir()
        shutil.copy(journal, journal.with_name(f"{call.group}.killed.jsonl"))
        raise Killed


def decide_and_die(run: Run, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("tasks.chunks.load_engine", lambda settings: Dying(run, after))
        with pytest.raises(Killed):
            decide_chunk(run, 0)


@pytest.mark.parametrize("order", ORDERS)
def test_what_was_answered_before_a_kill_is_not_asked_again(
    tmp_path: Path, source: Path, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its chunk was not finished, and the next run cuts other chunks."""
    run = make_run(tmp_path, source, order=order, chunk_share=1.0, chunks_in_flight=1, chunk_pairs=5)
    assert prepare(run) == 1
    record(run, good_answer)
    decide_and_die(run, 3, monkeypatch)
    shutil.rmtree(run.settings.store / "results")
    assert prepare(run) == 1
    assert stored(run, "decisions").height == 3
    written = stored(run, "texts").height
    assert written == (0 if order != "fused" else 3 - (stored(run, "decisions")["p_skip"] > 0.5).sum())
    assert decide_chunk(run, 0) == 2
    generate_chunk(run, 0)
    assert (stored(run, "decisions").height, stored(run, "texts").height) == (5, 4)


def test_a_chunk_that_killed_its_worker_is_taken_up_from_its_other_end(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should one of its pairs have done it, those behind that one are answered before it does it again."""
    run = make_run(tmp_path, source, chunk_share=1.0, chunks_in_flight=1, chunk_pairs=5)
    prepare(run)
    record(run, good_answer)
    decide_and_die(run, 1, monkeypatch)
    decide_and_die(run, 1, monkeypatch)
    keys = run.read("plan")["key"]
    assert set(stored(run, "decisions")["key"]) == {keys[0], keys[-1]}
