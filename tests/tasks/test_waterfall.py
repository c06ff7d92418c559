"""The waterfall: each candidate leaves at one step, what the engine did is booked to the token, and it all adds up."""

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.gate import judge
from flows.support.console import print_summary
from tasks.check import check_date
from tasks.costs import GENERATED_WEIGHT, AskedAgain, Average, Cost, average_pair, count_requests, first_answers
from tasks.errors import UsageError
from tasks.extract import extract_candidates
from tasks.inspect import inspect_candidates, set_aside
from tasks.plan import plan_nothing
from tasks.records import DECISIONS, OUTCOMES, REUSED, TEXTS, Outcome
from tasks.report import artifact_markdown, report_date
from tasks.reports.summary import Summary
from tasks.reports.waterfall import bars, parts, say_money, say_seconds, short
from tasks.runs import Run
from tasks.screen import screen_candidates
from tasks.settings import load_settings
from tasks.waterfall import SPARED, STEPS, Waterfall, make_waterfall, place_candidates
from tests.days import judged_day, mixed_answer, whole_day
from tests.pages import Page
from tests.shop import ITEMS, PAIRS, make_run, make_source, prepare

NOW = dt.datetime(2026, 11, 28, tzinfo=dt.UTC)
# key, outcome of each candidate; a screened one has no key
DAY = [
    (None, "screened"), (None, "screened"), ("stored 1", "published"), ("stored 2", "skipped"), ("far", "ranked_out"),
    ("near", "ranked_out"), ("a", "skipped"), ("b", "published"), ("b", "published"), ("c", "rejected"),
    ("d", "failed"), ("e", "published"), ("f", "failed"),
]  # fmt: skip
PLAN = {"a": "decide", "b": "decide", "c": "decide", "d": "decide", "e": "generate", "f": "decide"}
# prompt and cached tokens; of texts (0: it came with its decision) the generated ones as well
DECIDED = {"a": (100, 60), "b": (100, 90), "c": (100, 80), "f": (100, 70)}
WRITTEN = {"b": (0, 0, 12), "c": (0, 0, 20), "e": (101, 61, 10)}

Tokens = dict[str, tuple[int, int]]
TextTokens = dict[str, tuple[int, int, int]]


def outcomes(day: list[tuple[str | None, str]]) -> pl.DataFrame:
    rows = [{"candidate_id": number, "key": key, "outcome": outcome} for number, (key, outcome) in enumerate(day)]
    return pl.DataFrame(rows, schema=OUTCOMES)


def plan(asked: dict[str, str]) -> pl.DataFrame:
    return pl.DataFrame({"key": [*asked], "ask": [*asked.values()]}, schema={"key": pl.String, "ask": pl.String})


def decisions(tokens: Tokens) -> pl.DataFrame:
    return pl.DataFrame([(k, 0.1, 1.0, *t, NOW) for k, t in tokens.items()], schema=DECISIONS, orient="row")


def texts(tokens: TextTokens) -> pl.DataFrame:
    rows = [
        {"key": key, "prompt_tokens": prompt, "cached_tokens": cached, "generated_tokens": generated}
        for key, (prompt, cached, generated) in tokens.items()
    ]
    return pl.DataFrame(rows, schema=TEXTS)


def with_stored_decision(*candidates: int) -> pl.DataFrame:
    rows = [{"candidate_id": number, "p_skip": 0.1} for number in candidates]
    return pl.DataFrame(rows, schema=REUSED)


def waterfall(
    day: list[tuple[str | None, str]] = DAY,
    asked: dict[str, str] = PLAN,
    decided: Tokens = DECIDED,
    written: TextTokens = WRITTEN,
    busy: float = 23.2,
    again: AskedAgain = AskedAgain(),  # noqa: B008  # it is frozen
    **more: Any,
) -> Waterfall:
    placed = place_candidates(outcomes(day), plan(asked), with_stored_decision(5))
    average = average_pair(decisions(decided), texts(written), again.cost)
    requests = count_requests(decisions(decided), texts(written))
    return make_waterfall(placed, plan(asked), requests, average, busy, again, **{"fused": True} | more)


def test_every_candidate_leaves_at_one_step() -> None:
    steps = {step.name: (step.pairs, step.left) for step in waterfall().steps}
    assert steps == {
        "candidates": (0, 13), "screened": (2, 11), "reused": (2, 9), "decision_reused": (0, 9), "ranked_out": (2, 7),
        "duplicate": (1, 6), "not_asked": (0, 6), "asked": (0, 6), "skipped": (1, 5), "failed": (2, 3),
        "written": (0, 3), "asked_again": (0, 3), "rejected": (1, 2), "published": (2, 0),
    }  # fmt: skip


def test_what_became_of_reused_and_duplicate_pairs_is_said_and_they_count_as_published() -> None:
    made = waterfall()
    assert made.step("reused").outcomes == {"published": 1, "skipped": 1}
    assert made.step("duplicate").outcomes == {"published": 1}
    assert made.published == 4


def test_what_the_engine_did_is_booked_where_the_pair_left() -> None:
    made = {step.name: step.made for step in waterfall().steps if step.made.calls}
    assert {name: (cost.calls, cost.computed, cost.cached, cost.generated) for name, cost in made.items()} == {
        "skipped": (1, 40, 60, 1),
        "failed": (1, 30, 70, 1),  # decided, and then no text
        "rejected": (1, 20, 80, 21),
        "published": (2, 10 + 40, 90 + 61, 13 + 10),
    }


def test_the_measured_seconds_are_shared_out_by_tokens() -> None:
    """232 tokens, a generated one counted twice, in 23.2 seconds."""
    made = waterfall()
    assert GENERATED_WEIGHT == 2
    assert made.seconds_per_prompt_token == pytest.approx(0.1)
    assert made.seconds_per_generated_token == pytest.approx(0.2)
    assert made.step("skipped").made.engine_seconds == pytest.approx(40 * 0.1 + 1 * 0.2)
    assert made.step("published").made.engine_seconds == pytest.approx(50 * 0.1 + 23 * 0.2)
    assert made.made.engine_seconds == pytest.approx(23.2)


def test_a_pair_that_was_spared_would_have_cost_the_average_of_those_asked_from_their_decision_on() -> None:
    """a, b, c and f took 4 calls, computed 100 tokens of their prompts, found 300, and generated 36."""
    made = waterfall()
    assert made.average == Average(1, 25, 75, 9)
    saved = {name: cost for name in SPARED if (cost := made.step(name).saved)}
    assert {name: (cost.calls, cost.computed, cost.cached, cost.generated) for name, cost in saved.items()} == {
        "screened": (2, 50, 150, 18),
        "reused": (2, 50, 150, 18),
        "ranked_out": (1, 25, 75, 9),  # the other one's decision was stored: it had spared the engine already
        "duplicate": (1, 25, 75, 9),
    }
    assert saved["screened"].engine_seconds == pytest.approx(2 * (25 * 0.1 + 9 * 0.2))
    assert made.saved is not None
    assert made.saved.calls == 6


@pytest.mark.parametrize(("fused", "calls"), [(True, 0), (False, 1)])
def test_a_stored_decision_saves_its_token_and_its_call_where_decisions_are_asked_apart(
    fused: bool, calls: int
) -> None:
    step = waterfall(fused=fused).step("decision_reused")
    assert (step.pairs, step.touched, step.saved and step.saved.calls) == (0, 1, calls)
    assert step.saved is not None
    assert (step.saved.computed, step.saved.generated) == (0, 1)


def test_money_is_engine_seconds_at_the_price_of_an_hour() -> None:
    made = waterfall(price_per_hour=36.0, currency="KRW")
    assert made.step("skipped").made.money == pytest.approx(4.2 * 36 / 3600)
    assert made.made.money == pytest.approx(0.232)
    assert made.saved is not None
    assert made.saved.money == pytest.approx((6 * 4.3 + 0.2) * 36 / 3600)  # the reused decision's token
    assert made.per_published is not None
    assert made.per_published["money"] == pytest.approx(0.232 / 4)


def test_without_a_price_there_is_no_money() -> None:
    made = waterfall()
    assert {cost.money for step in made.steps for cost in (step.made, step.saved) if cost} == {None}
    assert (made.made.money, made.per_published and made.per_published["money"]) == (None, None)


def test_asking_again_is_a_step_of_its_own_and_part_of_what_a_pair_costs() -> None:
    again = AskedAgain(mended=1, still_failing=1, calls=4, prompt=404, cached=400, generated=60)
    made = waterfall(busy=35.6, again=again)
    step = made.step("asked_again")
    assert (step.pairs, step.touched, step.made.calls) == (0, 2, 4)
    assert (step.made.computed, step.made.cached, step.made.generated) == (4, 400, 60)
    assert step.made.engine_seconds == pytest.approx(0.1 * (4 + 2 * 60))
    assert made.made.calls == 5 + 4
    assert made.average == Average(2, 26, 175, 24)


def test_the_first_answer_of_a_text_that_was_asked_again_is_what_its_pair_cost() -> None:
    attempts = pl.DataFrame(
        {"key": ["b", "b", "z"], "attempt": [1, 2, 1], "prompt_tokens": [0, 101, 7], "cached_tokens": [0, 90, 7],
         "generated_tokens": [30, 14, 7]}
    )  # fmt: skip
    first = first_answers(texts({"a": (101, 90, 9), "b": (101, 90, 14)}), attempts)
    assert first.select("key", "prompt_tokens", "cached_tokens", "generated_tokens").rows() == [
        ("a", 101, 90, 9), ("b", 0, 0, 30)
    ]  # fmt: skip


def test_where_all_failed_the_engines_time_stands_there() -> None:
    made = waterfall([("a", "failed"), (None, "screened")], {"a": "decide"}, {}, {}, busy=5, price_per_hour=720)
    assert made.step("failed").made == Cost(engine_seconds=5, money=1)
    assert made.made.engine_seconds == 5
    assert made.step("screened").saved is None
    assert made.saved is None


def test_without_a_measured_time_seconds_are_not_known() -> None:
    made = waterfall(busy=0)
    assert made.made.engine_seconds is None
    assert made.saved is not None
    assert (made.saved.calls, made.saved.engine_seconds) == (6, None)


@st.composite
def days(draw: st.DrawFn) -> dict[str, Any]:
    """A date on which anything became of anything, and an engine that answered some of what it was asked."""
    keys = st.sampled_from([f"k{number}" for number in range(6)])
    day = draw(st.lists(st.tuples(st.none() | keys, st.sampled_from([*Outcome]).map(str)), max_size=30))
    asked = draw(st.dictionaries(keys, st.sampled_from(["decide", "generate"])))
    count = st.integers(0, 10**6)
    prompts = st.tuples(count, count).map(lambda both: (max(both), min(both)))
    to_decide = [key for key, ask in asked.items() if ask == "decide"]
    decided = draw(st.fixed_dictionaries({}, optional=dict.fromkeys(to_decide, prompts)))
    answer = st.tuples(prompts, count).map(lambda both: (*both[0], both[1]))
    written = draw(st.fixed_dictionaries({}, optional=dict.fromkeys(asked, answer)))
    mended, failing, calls, generated = (draw(st.integers(0, 99)) for _ in range(4))
    prompt, cached = draw(prompts)
    return {
        "day": day, "asked": asked, "decided": decided, "written": written, "busy": draw(st.floats(0, 1e6)),
        "again": AskedAgain(mended, failing, calls, prompt, cached, generated), "fused": draw(st.booleans()),
        "price_per_hour": draw(st.none() | st.floats(0, 1e6)),
    }  # fmt: skip


@given(days())
def test_all_of_it_adds_up(given: dict[str, Any]) -> None:
    made = waterfall(**given)
    assert [step.name for step in made.steps] == [*STEPS]
    # pairs: each candidate once, and with its own outcome
    left = len(given["day"])
    for step in made.steps:
        left -= step.pairs
        assert (step.left, sum(step.outcomes.values())) == (left, step.pairs)
    assert left == 0
    became = [outcome for step in made.steps for outcome, pairs in step.outcomes.items() for _ in range(pairs)]
    assert sorted(became) == sorted(outcome for _, outcome in given["day"])
    # tokens: every one that the engine read or wrote
    read, wrote, again = [*given["decided"].values()], [*given["written"].values()], given["again"]
    assert made.made.computed == sum(t[0] - t[1] for t in [*read, *wrote]) + again.prompt - again.cached
    assert made.made.cached == sum(t[1] for t in [*read, *wrote]) + again.cached
    assert made.made.generated == len(read) + sum(t[2] for t in wrote) + again.generated
    assert made.made.calls == sum(t[0] > 0 for t in [*read, *wrote]) + again.calls
    # seconds and money: all that was measured
    if made.made.engine_seconds is not None:
        assert made.made.engine_seconds == pytest.approx(given["busy"])
        if given["price_per_hour"] is not None:
            assert made.made.money == pytest.approx(given["busy"] * given["price_per_hour"] / 3600)
    else:
        assert given["busy"] == 0
    # and what was saved
    spared = [step.saved for step in made.steps]
    if made.saved is not None:
        for name in ("calls", "computed", "cached", "generated"):
            assert getattr(made.saved, name) == sum(getattr(cost, name) for cost in spared if cost)
    assert Waterfall.model_validate_json(made.model_dump_json()) == made


# -- on a run


@pytest.fixture
def twins(tmp_path: Path) -> Run:
    """A shop with a pair for a rule, and two items of one name: the same prompt twice."""
    items = [*ITEMS, (7, "쌈배추(봉)", "쌈채소")]
    pairs = [*PAIRS, (7, 2, 0.4), (2, 2, 0.3)]
    return make_run(tmp_path, make_source(tmp_path / "s.duckdb", items=items, pairs=pairs))


def leaving(summary: Summary) -> dict[str, int]:
    assert summary.waterfall is not None
    return {step.name: step.pairs for step in summary.waterfall.steps if step.pairs}


def adds_up(summary: Summary) -> bool:
    """With what the rest of the summary says."""
    made = summary.waterfall
    assert made is not None
    assert summary.attempts is not None
    became = {outcome.value: sum(step.outcomes.get(outcome, 0) for step in made.steps) for outcome in Outcome}
    decide, generate = summary.decide, summary.generate
    return (became, made.made.calls, made.made.computed, made.made.cached, made.made.generated) == (
        summary.outcomes,
        summary.model_calls + summary.attempts.calls,
        decide.computed + generate.computed,
        decide.cached + generate.cached,
        decide.generated + generate.generated,
    )


@pytest.mark.parametrize("order", ["fused", "chunked"])
def test_a_day_says_what_was_spared_and_what_was_asked(twins: Run, order: str) -> None:
    twins = twins.model_copy(update={"settings": twins.settings.model_copy(update={"order": order})})
    summary = whole_day(twins, mixed_answer)
    assert leaving(summary) == {"screened": 1, "duplicate": 1, "skipped": 1, "rejected": 1, "published": 3}
    assert summary.model_calls == (5 if order == "fused" else 9)
    assert adds_up(summary)


def test_the_next_run_reuses_all_and_knows_from_the_store_what_that_saved(twins: Run) -> None:
    first, later = whole_day(twins), whole_day(twins.model_copy(update={"started_at": dt.datetime.now(dt.UTC)}))
    assert leaving(later) == {"screened": 1, "reused": 6}
    assert adds_up(later)
    assert first.waterfall is not None
    assert later.waterfall is not None
    assert (later.waterfall.made.calls, later.waterfall.published) == (0, first.waterfall.published)
    reused = later.waterfall.step("reused").saved
    assert reused is not None
    # five distinct answers were stored, and six pairs spared
    assert reused.generated == round(first.waterfall.made.generated * 6 / 5)
    assert reused.engine_seconds is None


def test_a_date_that_is_held_back_before_the_model_adds_up(twins: Run) -> None:
    for stage in (extract_candidates, screen_candidates, inspect_candidates, set_aside):
        stage(twins)
    twins.write_json("input", {"accepted": False, "checks": []})
    summary = report_date(twins, check_date(twins), None)
    assert leaving(summary) == {"screened": 1, "not_asked": 6}
    assert adds_up(summary)


def test_a_pair_without_an_answer_is_asked_and_failed_or_after_a_recheck_not_asked(twins: Run) -> None:
    prepare(twins)
    summary = report_date(twins, check_date(twins), None)
    assert leaving(summary) == {"screened": 1, "duplicate": 1, "failed": 5}
    assert adds_up(summary)
    plan_nothing(twins)
    rechecked = report_date(twins, check_date(twins), None)
    assert leaving(rechecked) == {"screened": 1, "not_asked": 6}
    assert adds_up(rechecked)


def test_a_higher_threshold_asks_for_texts_alone(twins: Run) -> None:
    whole_day(twins)
    settings = twins.settings.model_copy(update={"threshold": 0.95})
    later = twins.model_copy(update={"settings": settings, "started_at": dt.datetime.now(dt.UTC), "key": "later"})
    later.folder.mkdir(parents=True)
    summary = whole_day(later)
    assert leaving(summary) == {"screened": 1, "reused": 5, "published": 1}
    assert adds_up(summary)
    assert summary.waterfall is not None
    assert summary.waterfall.step("decision_reused").touched == 1


# -- in words


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", ["What the model was spared", "the same is asked for another pair: published 1", "decided skip",
                "a generated one counts as 2 computed prompt tokens", "KRW"]),
        ("ko", ["모델에 묻지 않은 것과 물은 것", "같은 것을 다른 쌍이 물음: 게시 1", "건너뛰기로 결정",
                "계산한 프롬프트 토큰 2개로 셈", "KRW"]),
    ],
)  # fmt: skip
def test_the_report_tells_it_in_both_languages(twins: Run, language: str, said: list[str]) -> None:
    priced = {"language": language, "engine_price_per_hour": 1200.0, "currency": "KRW"}
    run = twins.model_copy(update={"settings": twins.settings.model_copy(update=priced)})
    judged_day(run, mixed_answer)
    run.write_json("engine", {"busy_seconds": 12.5, "preemptions": 0, "block_size": None, "room_tokens": None})
    summary = report_date(run, judge([]), None)
    text = Page(run.folder / "report.html").text
    assert [words for words in said if words not in text] == []
    assert summary.waterfall is not None
    assert summary.waterfall.made.engine_seconds == pytest.approx(12.5)
    assert summary.waterfall.made.money == pytest.approx(12.5 * 1200 / 3600)


def test_the_table_shows_steps_that_had_something_to_do_with_a_pair() -> None:
    saved, made = parts(waterfall(), "outcome_published")
    assert [line.step.name for line in saved.lines] == [
        "candidates", "screened", "reused", "decision_reused", "ranked_out", "duplicate"
    ]  # fmt: skip
    assert [line.step.name for line in made.lines] == [
        "asked", "skipped", "failed", "written", "rejected", "published"
    ]  # fmt: skip
    assert (saved.pairs, made.pairs) == (7, 6)


def test_the_chart_goes_down_from_all_that_every_candidate_would_have_taken() -> None:
    drawn = bars(waterfall(), "outcome_published", "en")
    assert drawn is not None
    (whole, *steps), title, number = drawn
    assert whole[1] == pytest.approx(23.2 + 6 * 4.3 + 0.2)
    assert sum(step[1] for step in steps) == pytest.approx(whole[1])
    assert title.startswith("Engine seconds")
    assert number == ",.1f"


def test_without_seconds_the_chart_counts_tokens() -> None:
    drawn = bars(waterfall(busy=0), "outcome_published", "en")
    assert drawn is not None
    (whole, *_), title, _ = drawn
    assert whole[1] == 232 + 6 * 43 + 2
    assert title.startswith("Tokens")


def test_a_date_without_candidates_has_no_chart() -> None:
    assert bars(waterfall([], {}, {}, {}, 0), "outcome_published", "en") is None


def test_the_short_form_says_how_many_were_spared_and_what_a_text_cost() -> None:
    made = waterfall(price_per_hour=36.0, currency="KRW")
    assert short(made, "en") == [
        "5 model calls; 7 pairs spared: screened 2, reused 2, ranked out 2, duplicate 1",
        "Each text that passed, stored ones included, cost 1.2 calls, 35.0 computed prompt tokens, 11.5 generated "
        "tokens, 5.8 engine seconds, 0.058 KRW.",
    ]
    assert "모델 호출 5건, 묻지 않은 쌍 7: 사전 제외 2" in short(made, "ko")[0]


def test_the_command_line_shows_what_was_saved_and_what_was_spent(
    twins: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    print_summary(whole_day(twins, mixed_answer), as_json=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert "candidates 7" in shown
    assert "duplicate 1 5 1" in shown
    assert "saved, about 2" in shown
    assert "spent 5 7" in shown  # the text that failed was asked for twice more


@pytest.mark.parametrize(
    ("number", "seconds", "money"),
    [(None, "–", "–"), (0, "0.0", "0.00"), (0.00123, "0.0012", "0.0012"), (1234.5, "1,234.5", "1,234.50")],
)
def test_numbers_have_digits_that_tell_something(number: float | None, seconds: str, money: str) -> None:
    assert (say_seconds(number), say_money(number)) == (seconds, money)


def test_a_price_needs_its_currency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="currency"):
        load_settings(engine_price_per_hour=1.5)
    assert load_settings(engine_price_per_hour=1.5, currency="USD").currency == "USD"


def test_a_manifest_of_before_has_no_waterfall(run: Run) -> None:
    kept = whole_day(run).model_dump(mode="json", exclude={"waterfall"})
    assert Summary.model_validate(kept).waterfall is None
    assert "spared" not in artifact_markdown(Summary.model_validate(kept))
