"""Which pairs are asked, in which order and chunks."""

import itertools
import math
import shutil
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.build_source import write_source
from tasks.engine import KvRoom
from tasks.plan import cut_chunks, order_prompts, pairs_to_ask, warm_up_engine
from tasks.runs import Run, describe_run, open_run
from tasks.settings import Settings
from tests.days import whole_day
from tests.shop import DS, ITEMS, good_answer, make_run, make_source, prepare, record

ANSWER = 65
lengths_of_prompts = st.lists(st.integers(min_value=1, max_value=2_000), max_size=300)
prompts_that_share = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=150), min_size=1, max_size=100)


def chunks_of(lengths: list[int], room: KvRoom | None, settings: Settings) -> list[list[int]]:
    numbers = cut_chunks(lengths, [0] * len(lengths), ANSWER, room, settings)
    return [[s for s, n in zip(lengths, numbers, strict=True) if n == chunk] for chunk in dict.fromkeys(numbers)]


@given(prompts_that_share, st.integers(min_value=256, max_value=5_000), st.sampled_from([16, 32]), st.integers(1, 3))
def test_chunks_in_flight_surely_fit_into_the_room_unless_one_is_a_single_pair(
    prompts: list[list[int]], tokens: int, block: int, in_flight: int
) -> None:
    settings = Settings(chunk_share=1.0, kv_margin=0.1, chunks_in_flight=in_flight)
    ordered = order_prompts(pl.DataFrame({"prompt_ids": prompts}, schema={"prompt_ids": pl.List(pl.Int32)}))
    lengths, shared = ordered["prompt_ids"].list.len().to_list(), ordered["shared_tokens"].to_list()
    numbers = cut_chunks(lengths, shared, ANSWER, KvRoom(tokens, block), settings)
    for chunk in set(numbers):
        inside = [ids for ids, number in zip(ordered["prompt_ids"].to_list(), numbers, strict=True) if number == chunk]
        assert blocks_taken(inside, block) <= tokens // block * 0.9 / in_flight or len(inside) == 1


def blocks_taken(prompts: list[list[int]], block: int) -> int:
    """KV blocks that a cache holds while all of these prompts are being answered at their longest."""
    whole = {tuple(ids[:end]) for ids in prompts for end in range(block, len(ids), block)}
    others = sum(math.ceil((len(ids) + ANSWER) / block) - (len(ids) - 1) // block for ids in prompts)
    return len(whole) + others


def shared_start(one: list[int], other: list[int]) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@given(prompts_that_share)
def test_each_prompt_follows_the_one_it_shares_most_with(prompts: list[list[int]]) -> None:
    ordered = order_prompts(pl.DataFrame({"prompt_ids": prompts}, schema={"prompt_ids": pl.List(pl.Int32)}))
    rows = ordered["prompt_ids"].to_list()
    for place, shared in enumerate(ordered["shared_tokens"]):
        common = [shared_start(rows[place], before) for before in rows[:place]]
        assert shared == max(common, default=0)


@given(lengths_of_prompts)
def test_every_pair_is_in_one_chunk_and_the_order_is_kept(lengths: list[int]) -> None:
    chunks = chunks_of(lengths, KvRoom(4_096, 16), Settings())
    assert [length for chunk in chunks for length in chunk] == lengths


@given(st.integers(0, 20_000))
def test_a_kill_loses_little(pairs: int) -> None:
    assert Settings().most_in_flight(pairs) <= max(Settings().chunks_in_flight, 0.04 * pairs)


@given(lengths_of_prompts)
def test_the_next_pairs_are_at_hand_and_no_chunk_is_a_large_part_of_the_date(lengths: list[int]) -> None:
    settings = Settings(chunk_share=0.04, chunks_in_flight=2)
    wanted = min(2 * settings.most_in_flight(len(lengths)), len(lengths) // 2)
    sizes = [len(chunk) for chunk in chunks_of(lengths, None, settings)]
    assert all(size == max(1, wanted) for size in sizes[:-1])


def test_without_a_room_the_fall_back_is_the_most_pairs() -> None:
    lengths = [len(chunk) for chunk in chunks_of([100] * 1_000, None, Settings(chunk_share=1.0, chunk_pairs=256))]
    assert lengths == [256, 256, 256, 232]


def test_what_neighbours_share_takes_room_once() -> None:
    lengths, room, settings = [160] * 100, KvRoom(4_096, 32), Settings(chunk_share=1.0, kv_margin=0.2)
    apart = cut_chunks(lengths, [0] * 100, ANSWER, room, settings)
    alike = cut_chunks(lengths, [0] + [96] * 99, ANSWER, room, settings)
    assert (apart.count(0), alike.count(0)) == (6, 9)  # 51 blocks: 8 for each, or 8 for the first and 5 for the others


def test_neighbours_share_what_the_json_starts_with(run: Run) -> None:
    prepare(run)
    plan = run.read("plan")
    assert plan.height == 5
    assert plan["prompt_ids"].to_list() == sorted(plan["prompt_ids"].to_list())
    with_their_pair = plan.join(run.read("reused"), on="key").join(run.read("candidates"), on="candidate_id")
    assert with_their_pair["recommended_item"].n_unique() == 5  # all that neighbours share is the fixed beginning
    assert plan["shared_tokens"].to_list()[0] == 0
    assert plan["shared_tokens"].to_list()[1:] == pytest.approx([max(plan["shared_tokens"])] * 4, abs=10)


def test_two_candidates_with_one_prompt_are_asked_once(tmp_path: Path) -> None:
    twin = (7, "쌈배추(봉)", "쌈채소")
    source = make_source(tmp_path / "s.duckdb", items=[*ITEMS, twin], pairs=[(1, 2, 0.9), (7, 2, 0.8)])
    run = make_run(tmp_path, source)
    prepare(run)
    assert run.read("candidates").height == 2
    assert run.read("plan").height == 1


TWINS = [*ITEMS, (7, "쌈배추(봉)", "쌈채소")]


@pytest.mark.parametrize("best", [1, 7])
def test_by_pair_candidates_of_one_key_are_asked_once_with_the_best_scored_basket(tmp_path: Path, best: int) -> None:
    baskets = [
        (DS, str(item), other, place) for item, last in ((1, 4), (7, 6)) for place, other in enumerate([2, last])
    ]
    pairs = [(DS, str(item), item, 2, 0.9 if item == best else 0.8) for item in (1, 7)]
    source = write_source(tmp_path / "s.duckdb", TWINS, baskets, pairs)
    run = make_run(tmp_path, source)
    assert prepare(run) == 2
    run = make_run(tmp_path, source, reuse_key="pair")
    assert prepare(run) == 1
    (asked,) = pairs_to_ask(run)["payload"]
    assert ("된장(500g)" in asked, "우유(1L)" in asked) == (best == 1, best == 7)


# -- when the engine is loaded before anybody knows whether it is needed


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of the engines that were begun to be loaded."""
    begun: list[Settings] = []
    monkeypatch.setattr("tasks.plan.load_engine_meanwhile", begun.append)
    return begun


def warm_up(run: Run, **settings: object) -> None:
    with open_run(run.ds, run.settings.model_copy(update=settings)) as opened:
        warm_up_engine(opened)


def test_a_request_that_was_not_met_before_warms_the_engine_up(run: Run, loaded: list[Settings]) -> None:
    warm_up(run)
    warm_up(run)  # the first one did not end
    assert len(loaded) == 2


def test_a_request_that_has_ended_before_does_not_unless_it_is_fresh(run: Run, loaded: list[Settings]) -> None:
    prepare(run)
    record(run, good_answer)
    whole_day(describe_run(DS, run.settings))
    warm_up(run)
    assert loaded == []
    warm_up(run, threshold=0.6)
    warm_up(run, fresh=True)
    assert [(settings.threshold, settings.fresh) for settings in loaded] == [(0.6, False), (0.5, True)]


def test_what_readers_see_was_answered_though_its_run_folder_is_gone(run: Run, loaded: list[Settings]) -> None:
    prepare(run)
    record(run, good_answer)
    whole_day(described := describe_run(DS, run.settings))
    shutil.rmtree(described.folder)
    warm_up(run)
    assert loaded == []
    run.settings.serving_file.write_bytes(b"no DuckDB file")
    shutil.rmtree(described.folder)
    warm_up(run)
    assert len(loaded) == 1


def test_nothing_to_ask_is_an_empty_plan(run: Run) -> None:
    from tasks.decide import decide_chunk
    from tasks.generate import generate_chunk

    for chunk in range(prepare(run)):
        record(run, good_answer)
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    assert prepare(run) == 0
    assert run.read("plan").is_empty()
