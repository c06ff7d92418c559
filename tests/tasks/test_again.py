"""A text that fails its checks is asked for again: the first attempt that passes wins, and every one is stored."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest

from tasks.again import attempt_seed
from tasks.attempts import count_attempts
from tasks.chunks import chunk_name, read_chunk
from tasks.decide import decide_chunk
from tasks.engine import ALONE, Call, Completion, Request, Sampling, load_engine
from tasks.errors import EngineError, PromptError
from tasks.generate import generate_chunk
from tasks.renderer import load_renderer
from tasks.reports.summary import count_tokens
from tasks.results import find_results, read_results, write_results
from tasks.runs import Run, describe_run
from tasks.settings import OrderName
from tasks.shards import Shard, leave_account, unfinished
from tests.shop import DS, PROMPT, good_answer, make_run, prepare, record, rows_of

WRONG = "speech.not_haeyo"


def text_of(row: dict[str, Any], ending: str) -> str:
    names = [row[key].split("(")[0] for key in ("recommended_item", "reason_item")]
    return f'", "text": "{names[0]}, {names[1]} 같이 {ending}"}}'


def fails_for_lettuce(row: dict[str, Any]) -> tuple[float, str]:
    """A good text for every pair but one, which is not in 해요체."""
    p_skip, text = good_answer(row)
    return p_skip, text_of(row, "드십시오.") if "쌈배추" in row["recommended_item"] else text


def passes_at(passing: int) -> Any:
    """What is said when it is asked again: no 해요체 before that attempt."""
    return lambda row, attempt: text_of(row, "즐겨 보세요." if attempt >= passing else f"{attempt}번 드십시오.")


class Spy:
    """The run's engine, with a look at what it is asked after the first answers; it may break at one of them."""

    def __init__(self, run: Run, breaks_at: int = 0) -> None:
        self._settings, self._breaks_at = run.settings, breaks_at
        self.calls: list[tuple[Sequence[Request], Sampling]] = []

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        self.calls.append((requests, sampling))
        if len(self.calls) == self._breaks_at:
            raise EngineError("it broke", "run again")
        return load_engine(self._settings).complete(requests, sampling, call)


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Any:
    def spy_on(run: Run, breaks_at: int = 0) -> Spy:
        spy = Spy(run, breaks_at)
        monkeypatch.setattr("tasks.again.load_engine", lambda settings: spy)
        return spy

    return spy_on


def ask(run: Run, passing: int, chunks: int | None = None) -> int:
    """Every stage up to generate, where one text fails until attempt `passing`; texts written."""
    chunks = prepare(run) if chunks is None else chunks
    record(run, fails_for_lettuce, passes_at(passing))
    for chunk in range(chunks):
        decide_chunk(run, chunk)
    return sum(generate_chunk(run, chunk) for chunk in range(chunks))


def lettuce(run: Run) -> str:
    """The key of the pair whose text fails."""
    rows = run.read("reused").join(run.read("candidates"), on="candidate_id")
    return str(rows.filter(pl.col("recommended_item").str.contains("쌈배추"))["key"].item())


def stored(run: Run, kind: Any) -> pl.DataFrame:
    return find_results(run.settings.store, kind, run.read("plan")["key"], run.started_at).sort("key")


def attempts(run: Run) -> list[tuple[Any, ...]]:
    return rows_of(stored(run, "attempts").sort("attempt"), "key", "attempt", "codes")


@pytest.mark.parametrize("order", get_args(OrderName))
@pytest.mark.parametrize("passing", [2, 3])
def test_the_first_attempt_that_passes_wins(tmp_path: Path, source: Path, order: str, passing: int) -> None:
    run = make_run(tmp_path, source, order=order)
    assert ask(run, passing) == 4
    key = lettuce(run)
    (text,) = stored(run, "texts").filter(pl.col("key") == key).to_dicts()
    assert text["answer"] == '{"decision": "write", "text": "쌈배추, 청경채 같이 즐겨 보세요."}'
    assert (text["attempt"], text["passed"]) == (passing, True)
    assert attempts(run) == [*((key, attempt, WRONG) for attempt in range(1, passing)), (key, passing, "")]


def test_where_no_attempt_passes_the_first_answer_stays(run: Run) -> None:
    ask(run, passing=9)
    key = lettuce(run)
    (text,) = stored(run, "texts").filter(pl.col("key") == key).to_dicts()
    assert "같이 드십시오." in text["answer"]
    assert (text["attempt"], text["passed"]) == (1, False)
    assert attempts(run) == [(key, attempt, WRONG) for attempt in (1, 2, 3)]
    assert stored(run, "attempts").sort("attempt")["answer"].n_unique() == 3


def test_a_text_that_passes_is_asked_for_once(run: Run) -> None:
    ask(run, passing=2)
    others = stored(run, "texts").filter(pl.col("key") != lettuce(run))
    assert rows_of(others, "attempt", "passed") == [(1, True)] * 3
    assert stored(run, "attempts")["key"].unique().to_list() == [lettuce(run)]


def test_asked_once_nobody_looks(tmp_path: Path, source: Path, spy: Any) -> None:
    run = make_run(tmp_path, source, attempts=1)
    spied = spy(run)
    assert ask(run, passing=2) == 4
    assert rows_of(stored(run, "texts"), "attempt", "passed") == [(1, None)] * 4
    assert not spied.calls
    assert stored(run, "attempts").is_empty()


def test_another_answer_is_sampled_with_a_seed_of_its_pair_and_attempt(run: Run, spy: Any) -> None:
    chunks = prepare(run)
    record(run, fails_for_lettuce, passes_at(3))
    spied = spy(run)
    ask(run, passing=3, chunks=chunks)
    assert [sampling.temperature for _, sampling in spied.calls] == [run.settings.attempt_temperature] * 2
    seeds = [request.seed for requests, _ in spied.calls for request in requests]
    assert seeds == [attempt_seed(lettuce(run), 2), attempt_seed(lettuce(run), 3)]
    assert len({*seeds, attempt_seed("another key", 2)}) == 3


def test_the_prompt_is_the_first_ones_to_the_token(run: Run, spy: Any) -> None:
    chunks = prepare(run)
    spied = spy(run)
    ask(run, passing=2, chunks=chunks)
    ((request,), _) = spied.calls[0]
    prompt = run.read("plan").filter(pl.col("key") == lettuce(run))["prompt_ids"].item().to_list()
    assert list(request.token_ids) == [*prompt, load_renderer(run.settings.prompt, run.settings.model).write_id]


def test_with_feedback_the_prompt_says_why_behind_the_pair(tmp_path: Path, source: Path, spy: Any) -> None:
    run = make_run(tmp_path, source, attempt_feedback=True)
    chunks = prepare(run)
    spied = spy(run)
    ask(run, passing=2, chunks=chunks)  # what it answers to such a prompt was never recorded
    renderer = load_renderer(run.settings.prompt, run.settings.model)
    ((request,), _) = spied.calls[0]
    prompt = run.read("plan").filter(pl.col("key") == lettuce(run))["prompt_ids"].item().to_list()
    before = prompt[: len(prompt) - renderer.tokens_behind - 1]  # the JSON's last token may join what follows
    assert list(request.token_ids[: len(before)]) == before
    assert "해요체가 아니었어요. 모든 문장을 해요체로 쓰세요." in renderer.decode(request.token_ids[len(before) :])
    (text,) = stored(run, "texts").filter(pl.col("key") == lettuce(run)).to_dicts()
    assert (text["attempt"], text["passed"]) == (1, False)


def test_feedback_without_words_is_refused_before_anything_is_asked(tmp_path: Path, run: Run) -> None:
    for name in ("instruction.txt", "prompt.toml"):
        (tmp_path / name).write_bytes((PROMPT / name).read_bytes())
    settings = run.settings.model_copy(update={"prompt": tmp_path, "attempt_feedback": True})
    with pytest.raises(PromptError, match="no words for why a text failed"):
        describe_run(DS, settings)


@pytest.mark.parametrize("order", get_args(OrderName))
def test_a_chunk_that_is_asked_once_more_asks_nothing(tmp_path: Path, source: Path, order: str, spy: Any) -> None:
    run = make_run(tmp_path, source, order=order)
    ask(run, passing=9)
    before = stored(run, "attempts")
    spied = spy(run)
    assert sum(generate_chunk(run, chunk) for chunk in range(read_plan_chunks(run))) == 4
    assert not spied.calls
    assert stored(run, "attempts").equals(before)


def read_plan_chunks(run: Run) -> int:
    return run.read("plan")["chunk"].n_unique()


def test_a_crash_between_attempts_loses_none_and_asks_none_twice(run: Run, spy: Any) -> None:
    chunks = prepare(run)
    record(run, fails_for_lettuce, passes_at(3))
    spy(run, breaks_at=2)
    with pytest.raises(EngineError):
        ask(run, passing=3, chunks=chunks)
    key = lettuce(run)
    assert attempts(run) == [(key, 1, WRONG), (key, 2, WRONG)]
    assert unfinished(run, Shard(0, chunks - 1)) is not None
    spied = spy(run)
    assert sum(generate_chunk(run, chunk) for chunk in range(chunks)) == 4
    assert [request.seed for requests, _ in spied.calls for request in requests] == [attempt_seed(key, 3)]
    assert attempts(run) == [(key, 1, WRONG), (key, 2, WRONG), (key, 3, "")]
    assert unfinished(run, Shard(0, chunks - 1)) is None


def test_a_crash_before_the_mended_text_is_stored_is_put_right_without_asking(run: Run, spy: Any) -> None:
    ask(run, passing=2)
    after = stored(run, "texts")
    for chunk in range(read_plan_chunks(run)):
        name = chunk_name(run, read_chunk(run, chunk))
        texts = read_results(run.settings.store, "texts", name)
        failed = texts.with_columns(pl.lit("{}").alias("answer"), passed=False).filter(pl.col("attempt") > 1)
        write_results(run.settings.store, "texts", name, pl.concat([texts.filter(pl.col("attempt") == 1), failed]))
    spied = spy(run)
    for chunk in range(read_plan_chunks(run)):
        generate_chunk(run, chunk)
    assert not spied.calls
    assert stored(run, "texts").equals(after)


def test_once_the_engines_budget_is_spent_only_first_answers_are_asked_for(
    tmp_path: Path, source: Path, spy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    run = make_run(tmp_path, source, engine_budget_minutes=1)
    chunks = prepare(run)
    leave_account(run, "a shard", {"busy_seconds": 40.0, "preemptions": 0})
    leave_account(run, "another", {"busy_seconds": 21.0, "preemptions": 0})
    spied = spy(run)
    assert ask(run, passing=2, chunks=chunks) == 4
    assert not spied.calls
    assert "the engine's budget of 1 minutes is spent" in caplog.text
    counted = count_attempts(run, engine_seconds=61.0)
    assert (counted.budget_spent, counted.failing, counted.unasked) == (True, 1, 1)
    assert unfinished(run, Shard(0, chunks - 1)) is None  # there is nothing left to do


def test_within_the_budget_it_is_asked(tmp_path: Path, source: Path) -> None:
    run = make_run(tmp_path, source, engine_budget_minutes=1)
    chunks = prepare(run)
    leave_account(run, "a shard", {"busy_seconds": 59.0, "preemptions": 0})
    ask(run, passing=2, chunks=chunks)
    assert count_attempts(run, engine_seconds=59.0).mended == {2: 1}


def test_what_it_brought_and_took_is_counted_once(run: Run) -> None:
    ask(run, passing=3)
    decide, generate = count_tokens(run)
    counted = count_attempts(run, engine_tokens=decide.worked + generate.worked)
    again = stored(run, "attempts").filter(pl.col("attempt") > 1)
    assert (counted.mended, counted.failing, counted.failed) == ({3: 1}, 0, 1)
    assert (counted.calls, counted.prompt) == (2, again["prompt_tokens"].sum())
    assert counted.generated == again["generated_tokens"].sum()
    once = stored(run, "texts").filter(pl.col("attempt") == 1)
    first = stored(run, "attempts").filter(pl.col("attempt") == 1)
    assert generate.pairs == 4
    assert generate.prompt == counted.prompt  # the others came with their decisions
    assert generate.generated == counted.generated + sum(f["generated_tokens"].sum() for f in (once, first))
    assert counted.engine_share == pytest.approx(
        (counted.prompt + counted.generated) / (decide.prompt + generate.prompt + decide.generated + generate.generated)
    )


def test_the_length_that_is_allowed_is_a_setting(tmp_path: Path, source: Path) -> None:
    run = make_run(tmp_path, source, max_characters=18)
    chunks = prepare(run)
    record(run, good_answer)
    for chunk in range(chunks):
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    assert {code for _, _, code in attempts(run)} == {"text.too_long"}
