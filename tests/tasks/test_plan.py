"""Which pairs are asked, in which order and chunks."""

import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tasks.engine import KvRoom
from tasks.plan import cut_chunks
from tasks.runs import Run
from tasks.settings import Settings
from tests.shop import ITEMS, good_answer, make_run, make_source, prepare, record

sizes_of_prompts = st.lists(st.integers(min_value=1, max_value=2_000), max_size=300)


def chunks_of(sizes: list[int], room: KvRoom | None, settings: Settings) -> list[list[int]]:
    numbers = cut_chunks(sizes, room, settings)
    return [[s for s, n in zip(sizes, numbers, strict=True) if n == chunk] for chunk in dict.fromkeys(numbers)]


@given(sizes_of_prompts, st.integers(min_value=64, max_value=20_000), st.sampled_from([16, 32]))
def test_a_chunk_surely_fits_into_the_room_unless_it_is_one_pair(sizes: list[int], tokens: int, block: int) -> None:
    settings = Settings(chunk_share=1.0, kv_margin=0.1)
    for chunk in chunks_of(sizes, KvRoom(tokens, block), settings):
        blocks = sum(math.ceil(size / block) for size in chunk)
        assert blocks * block <= tokens * 0.9 or len(chunk) == 1


@given(sizes_of_prompts)
def test_every_pair_is_in_one_chunk_and_the_order_is_kept(sizes: list[int]) -> None:
    chunks = chunks_of(sizes, KvRoom(4_096, 16), Settings())
    assert [size for chunk in chunks for size in chunk] == sizes


@given(sizes_of_prompts)
def test_a_crash_in_one_chunk_loses_little(sizes: list[int]) -> None:
    for chunk in chunks_of(sizes, None, Settings(chunk_share=0.04)):
        assert len(chunk) <= max(1, 0.04 * len(sizes))


def test_without_a_room_the_fall_back_is_the_most_pairs() -> None:
    lengths = [len(chunk) for chunk in chunks_of([100] * 1_000, None, Settings(chunk_share=1.0, chunk_pairs=256))]
    assert lengths == [256, 256, 256, 232]


def test_neighbours_share_what_the_json_starts_with(run: Run) -> None:
    prepare(run)
    payloads = run.read("plan").join(run.read("reused"), on="key", maintain_order="left")["payload"].to_list()
    assert payloads == sorted(payloads)
    assert len(payloads) == 5


def test_two_candidates_with_one_prompt_are_asked_once(tmp_path: Path) -> None:
    twin = (7, "쌈배추(봉)", "쌈채소")
    source = make_source(tmp_path / "s.duckdb", items=[*ITEMS, twin], pairs=[(1, 2, 0.9), (7, 2, 0.8)])
    run = make_run(tmp_path, source)
    prepare(run)
    assert run.read("candidates").height == 2
    assert run.read("plan").height == 1


def test_nothing_to_ask_is_an_empty_plan(run: Run) -> None:
    from tasks.decide import decide_chunk
    from tasks.generate import generate_chunk

    for chunk in range(prepare(run)):
        record(run, good_answer)
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    assert prepare(run) == 0
    assert run.read("plan").is_empty()
