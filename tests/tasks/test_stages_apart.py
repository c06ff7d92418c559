"""What spares the model work can be switched on and off, and a pair that reaches the model gets the same either way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.check import check_date
from tasks.decide import decide_chunk
from tasks.generate import generate_chunk
from tasks.records import Outcome
from tasks.runs import Run
from tasks.settings import HOME
from tests.days import judged_day, mixed_answer
from tests.shop import PAIRS, good_answer, make_run, make_source, prepare, record

OFF: dict[str, Any] = {"rules": None, "rank_per_item": None, "attempts": 1, "fresh": True}
MORE = [*PAIRS, (1, 3, 0.4), (1, 4, 0.3), (6, 2, 0.2)]

Became = dict[tuple[str, str], tuple[str, str | None]]
Shop = Callable[..., Run]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Runs on one source, each with a store of its own unless one is given."""
    source = make_source(tmp_path / "source.duckdb", pairs=MORE)
    return lambda name, **options: make_run(tmp_path, source, **OFF | {"store": tmp_path / name} | options)


def became(run: Run) -> Became:
    """Each pair's outcome and text."""
    columns = ("recommended_item", "reason_item", "outcome", "text")
    return {(item, reason): (said, text) for item, reason, said, text in run.read("outcomes").select(columns).rows()}


@pytest.fixture
def first(shop: Shop) -> Run:
    run = shop("off")
    judged_day(run, mixed_answer)
    return run


@pytest.fixture
def plain(first: Run) -> Became:
    return became(first)


def test_the_shop_has_every_outcome_of_the_model(plain: Became) -> None:
    assert len(plain) == len(MORE)
    assert {outcome for outcome, _ in plain.values()} == {Outcome.PUBLISHED, Outcome.SKIPPED, Outcome.REJECTED}


@pytest.mark.parametrize(
    ("options", "taken", "pairs"),
    [
        ({"rules": HOME / "rules" / "grocery.toml", "screen_sample": 0.0}, Outcome.SCREENED, 1),
        ({"rank_per_item": 1}, Outcome.RANKED_OUT, 3),
        ({"rank_per_date": 5}, Outcome.RANKED_OUT, 3),
    ],
)
def test_rules_and_places_only_take_pairs_away(
    shop: Shop, plain: Became, options: dict[str, Any], taken: Outcome, pairs: int
) -> None:
    run = shop("on", **options)
    judged_day(run, mixed_answer)
    seen = became(run)
    gone = {pair for pair, (outcome, _) in seen.items() if outcome == taken}
    assert len(gone) == pairs
    assert {pair: said for pair, said in seen.items() if pair not in gone} == {
        pair: said for pair, said in plain.items() if pair not in gone
    }


def test_what_is_reused_is_what_would_be_asked(shop: Shop, first: Run, plain: Became) -> None:
    run = shop("off", fresh=False).model_copy(update={"model": first.model})  # a recording is a model: the same one
    assert prepare(run) == 0
    check_date(run)
    assert became(run) == plain


def test_asking_again_changes_only_texts_that_failed(shop: Shop, plain: Became) -> None:
    run = shop("on", attempts=2)
    chunks = prepare(run)
    record(run, mixed_answer, again=lambda row, _: good_answer(row)[1])
    for chunk in range(chunks):
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    check_date(run)
    seen = became(run)
    failed = {pair for pair, (outcome, _) in plain.items() if outcome == Outcome.REJECTED}
    assert {seen[pair][0] for pair in failed} == {Outcome.PUBLISHED}
    assert {pair: said for pair, said in seen.items() if pair not in failed} == {
        pair: said for pair, said in plain.items() if pair not in failed
    }
