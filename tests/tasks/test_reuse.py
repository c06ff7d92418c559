"""What the store holds for a date's pairs: found only where everything is the same, and only while it counts."""

import datetime as dt
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tasks.decide import decide_chunk
from tasks.extract import extract_candidates
from tasks.generate import generate_chunk
from tasks.hits import Hits
from tasks.plan import pairs_to_ask
from tasks.rank import rank_candidates
from tasks.results import list_results
from tasks.reuse import reuse_results
from tasks.runs import Run, describe_run, open_run
from tasks.screen import screen_candidates
from tests.shop import DS, ITEMS, MODEL, PROMPT, good_answer, make_run, make_source, prepare, record

OTHER_BASKET = [2, 3, 4, 6]


def answer(run: Run, **settings: Any) -> Run:
    """Answer the five pairs of a run: four texts and a skip."""
    prepare(run)
    record(run, good_answer)
    run = changed(run, **settings)  # as it is called with this recording
    for chunk in range(prepare(run)):
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    return run


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("answered")
    return answer(make_run(folder, make_source(folder / "source.duckdb")))


@pytest.fixture(scope="module")
def kept_pairs(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("answered-pairs")
    return answer(make_run(folder, make_source(folder / "source.duckdb")), reuse_key="pair")


def copied(run: Run, store: Path) -> Run:
    """The run in a store of its own."""
    shutil.copytree(run.settings.store, store)
    return run.model_copy(update={"settings": run.settings.model_copy(update={"store": store})})


@pytest.fixture
def answered(kept: Run, tmp_path: Path) -> Run:
    """A run whose five pairs are answered."""
    return copied(kept, tmp_path / "store")


def changed(run: Run, **settings: Any) -> Run:
    """The same run with other settings, as a later command describes it."""
    return describe_run(DS, run.settings.model_copy(update=settings))


def later(run: Run, days: float, **settings: Any) -> Run:
    """The same run begun so many days later."""
    run = run.model_copy(update={"settings": run.settings.model_copy(update=settings)})
    return run.model_copy(update={"started_at": run.started_at + dt.timedelta(days=days)})


def found(run: Run) -> int:
    for stage in (extract_candidates, screen_candidates):
        stage(run)
    return reuse_results(run)


def hits(run: Run) -> dict[str, tuple[int, int, int, int]]:
    """Of each row that has pairs: all, published, skipped, rejected."""
    found(run)
    counted = Hits.model_validate(run.read_json("reuse"))
    assert counted.looked_up == run.read("reused").height
    return {row.name: (row.pairs, row.published, row.skipped, row.rejected) for row in counted.seen}


def asked(run: Run) -> dict[str, int]:
    """How many pairs are asked about, by where they begin."""
    rank_candidates(run)
    return dict(pairs_to_ask(run)["ask"].value_counts().iter_rows())


def rewrite(run: Run, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change the stored texts."""
    for file in list_results(run.settings.store, "texts"):
        change(pl.read_parquet(file)).write_parquet(file)


def reject(run: Run) -> None:
    rewrite(run, lambda texts: texts.with_columns(passed=pl.lit(False)))


# -- what must be the same


def test_a_pair_with_the_same_prompt_is_found(answered: Run) -> None:
    assert found(changed(answered)) == 5


def with_folder(name: str, source: Path, change: Callable[[Path], object]) -> Callable[[Path], dict[str, Any]]:
    """The setting `name` with a copy of its folder in which something is changed."""

    def settings(tmp_path: Path) -> dict[str, Any]:
        folder = tmp_path / "changed" / source.name
        shutil.copytree(source, folder)
        change(folder)
        return {name: folder}

    return settings


def replaced(file: str, before: str, after: str) -> Callable[[Path], object]:
    def replace(folder: Path) -> None:
        content = (folder / file).read_text(encoding="utf-8")
        assert before in content
        (folder / file).write_text(content.replace(before, after), encoding="utf-8")

    return replace


def other_weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-1] + b"!")


CHANGES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "instruction": with_folder("prompt", PROMPT, replaced("instruction.txt", "한", "두")),
    "version": with_folder("prompt", PROMPT, replaced("prompt.toml", '"v1"', '"v2"')),
    "keys": with_folder("prompt", PROMPT, replaced("prompt.toml", '"recommended_scate", ', "")),
    "opening": with_folder("prompt", PROMPT, replaced("prompt.toml", '\'{"decision": "\'', '\'{"decision":"\'')),
    "temperature": with_folder("prompt", PROMPT, replaced("prompt.toml", "temperature = 0.0", "temperature = 0.7")),
    "seed": with_folder("prompt", PROMPT, replaced("prompt.toml", "seed = 0", "seed = 1")),
    "longest text": with_folder("prompt", PROMPT, replaced("prompt.toml", "max_tokens = 64", "max_tokens = 48")),
    "weights": with_folder("model", MODEL, other_weights),
    "tokenizer": with_folder("model", MODEL, replaced("tokenizer_config.json", "}", " }")),
    "chat template": with_folder("model", MODEL, replaced("chat_template.jinja", "head=''", 'head=""')),
    "precision": lambda tmp_path: {"dtype": "float32"},
    "reuse_key": lambda tmp_path: {"reuse_key": "pair"},
    "basket": lambda tmp_path: {"source": str(make_source(tmp_path / "other.duckdb", basket=OTHER_BASKET))},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_an_old_result_is_not_found_after_a_change_of(
    tmp_path: Path, answered: Run, change: Callable[[Path], dict[str, Any]]
) -> None:
    assert found(changed(answered, **change(tmp_path))) == 0


@pytest.mark.parametrize("setting", [{"threshold": 0.4}, {"max_num_seqs": 8}, {"order": "chunked"}, {"kv_tokens": 512}])
def test_what_changes_no_answer_changes_no_key(answered: Run, setting: dict[str, Any]) -> None:
    assert found(changed(answered, **setting)) == 5


# -- the pair as the key


@pytest.fixture
def answered_pairs(kept_pairs: Run, tmp_path: Path) -> Run:
    return copied(kept_pairs, tmp_path / "store")


def test_by_pair_the_basket_does_not_matter(tmp_path: Path, answered_pairs: Run) -> None:
    source = make_source(tmp_path / "other.duckdb", basket=OTHER_BASKET)
    assert found(changed(answered_pairs, source=str(source))) == 5
    assert found(changed(answered_pairs, source=str(source), reuse_key="prompt")) == 0


@pytest.mark.parametrize(
    ("item", "left"),
    [((1, "쌈배추(팩)", "쌈채소"), 4), ((1, "쌈배추(봉)", "채소"), 4), ((2, "청경채(팩)", "잎채소"), 3)],
    ids=["recommended item", "category", "reason item"],
)
def test_by_pair_what_the_pair_is_does_matter(
    tmp_path: Path, answered_pairs: Run, item: tuple[int, str, str], left: int
) -> None:
    items = [item if item[0] == other[0] else other for other in ITEMS]
    assert found(changed(answered_pairs, source=str(make_source(tmp_path / "s.duckdb", items=items)))) == left


# -- time


def test_what_has_expired_is_asked_anew(answered: Run) -> None:
    assert found(later(answered, 29)) == 5
    run = later(answered, 31)
    assert (found(run), asked(run)) == (0, {"decide": 5})


def test_a_skip_has_a_time_of_its_own(answered: Run) -> None:
    assert hits(later(answered, 9, skipped_ttl_days=8)) == {"found_month": (4, 4, 0, 0), "expired": (1, 0, 1, 0)}
    assert hits(later(answered, 40, skipped_ttl_days=90)) == {"found_older": (1, 0, 1, 0), "expired": (4, 4, 0, 0)}


def test_a_text_that_failed_its_checks_has_a_time_of_its_own_and_its_decision_is_kept(answered: Run) -> None:
    reject(answered)
    run = later(answered, 5, rejected_ttl_days=4)
    assert hits(run) == {"found_week": (1, 0, 1, 0), "decided": (4, 0, 0, 4)}
    assert asked(run) == {"generate": 4}
    assert hits(later(answered, 40, rejected_ttl_days=90)) == {"found_older": (4, 0, 0, 4), "expired": (1, 0, 1, 0)}


def test_a_text_from_before_anybody_looked_at_texts_is_found(answered: Run) -> None:
    rewrite(answered, lambda texts: texts.drop("attempt", "passed"))
    assert hits(later(answered, 2)) == {"found_week": (5, 4, 1, 0)}
    assert found(later(answered, 29, rejected_ttl_days=1)) == 5


# -- fresh


def test_a_fresh_run_finds_nothing_from_before_it_and_everything_that_it_has_stored_itself(answered: Run) -> None:
    run = later(answered, 1, fresh=True)
    assert hits(run) == {"ignored": (5, 4, 1, 0)}
    assert asked(run) == {"decide": 5}
    assert found(run.model_copy(update={"started_at": answered.started_at})) == 5


def test_a_fresh_run_that_stops_half_way_goes_on_and_the_next_one_begins_anew(answered: Run) -> None:
    settings = answered.settings.model_copy(update={"fresh": True})
    with pytest.raises(ZeroDivisionError), open_run(DS, settings) as run:
        prepare(run)
        decide_chunk(run, 0)
        decide_chunk(run, 1)
        raise ZeroDivisionError
    with open_run(DS, settings) as run:
        assert hits(run) == {"found_today": (2, 2, 0, 0), "ignored": (3, 2, 1, 0)}
        for chunk in range(prepare(run)):
            decide_chunk(run, chunk)
        run.write_json("manifest", {})
    with open_run(DS, settings) as run:
        assert found(run) == 0
    assert found(describe_run(DS, answered.settings)) == 5


def test_what_was_stored_before_a_moment_can_be_ignored(answered: Run) -> None:
    moment = answered.started_at + dt.timedelta(hours=1)
    assert hits(later(answered, 1, fresh_since=moment)) == {"ignored": (5, 4, 1, 0)}
    assert found(later(answered, 1, fresh_since=answered.started_at)) == 5


def test_a_run_counts_its_own_results_though_the_moment_lies_ahead_of_it(answered: Run) -> None:
    run = later(answered, 0, fresh_since=answered.started_at + dt.timedelta(days=9))
    assert found(run) == 5


def test_what_has_expired_anyway_is_not_called_ignored(answered: Run) -> None:
    assert hits(later(answered, 31, fresh=True)) == {"expired": (5, 4, 1, 0)}


# -- hits by age


@pytest.mark.parametrize(
    ("days", "name"),
    [(0, "found_today"), (0.99, "found_today"), (1.01, "found_week"), (7.9, "found_week"), (8.1, "found_month"),
     (30.9, "found_month"), (31.1, "found_older")],
)  # fmt: skip
def test_what_is_found_is_counted_by_its_age(answered: Run, days: float, name: str) -> None:
    assert hits(later(answered, days, result_ttl_days=90)) == {name: (5, 4, 1, 0)}


def test_a_pair_that_was_never_asked_or_whose_text_is_missing_is_counted_too(answered: Run) -> None:
    for file in list_results(answered.settings.store, "decisions")[:1]:
        file.unlink()
    for file in list_results(answered.settings.store, "texts")[1:2]:
        file.unlink()
    assert hits(answered) == {"found_today": (3, 2, 1, 0), "decided": (1, 0, 0, 0), "never": (1, 0, 0, 0)}
