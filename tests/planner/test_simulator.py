"""A cache of whole blocks with least-recently-used eviction, and what is in flight."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.asks import Ask, Outcome, Shape
from planner.prompts import Prompts
from planner.simulator import simulate
from tasks.errors import UsageError

BLOCK = 4
ALONE = Shape(blocks=40, block_size=BLOCK, groups=1, max_num_seqs=1, max_num_batched_tokens=64)

# What prompts share with the one before, and what they add to it; then which of them are asked for, in which order.
grown = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), min_size=1, max_size=12)


def prompts_of(parts: Sequence[tuple[int, int]]) -> list[tuple[list[int], int]]:
    """Prompts of at most 42 tokens in sorted order, as blocks and length."""
    lengths, shared, before = [], [], 0
    for kept, added in parts:
        shared.append(min(kept, before))
        before = shared[-1] + added
        lengths.append(before)
    return list(zip(Prompts(lengths, shared, [], []).prefixes(BLOCK), lengths, strict=True))


def ask_all(shape: Shape, prompts: Sequence[tuple[list[int], int]], answer: int = 1) -> tuple[list[Ask], Outcome]:
    asks = [Ask(prefix, length, answer) for prefix, length in prompts]
    return asks, simulate(shape, [[iter([[ask] for ask in asks])]])


def computed(asks: Sequence[Ask]) -> int:
    return sum(ask.length - ask.cached for ask in asks)


@given(grown, st.data(), st.integers(12, 40))
def test_more_room_never_computes_more_when_requests_follow_each_other(
    parts: list[tuple[int, int]], data: st.DataObject, blocks: int
) -> None:
    asked = data.draw(st.lists(st.sampled_from(prompts_of(parts)), min_size=1, max_size=40))
    small, _ = ask_all(ALONE._replace(blocks=blocks), asked)
    large, _ = ask_all(ALONE._replace(blocks=blocks + data.draw(st.integers(1, 20))), asked)
    assert computed(large) <= computed(small)


@given(grown, st.integers(12, 200), st.integers(1, 8), st.integers(8, 64), st.integers(1, 9), st.integers(1, 3))
def test_every_distinct_token_is_computed_at_least_once(
    parts: list[tuple[int, int]], blocks: int, sequences: int, step: int, answer: int, groups: int
) -> None:
    prompts = prompts_of(parts)
    shape = Shape(blocks * groups, BLOCK, groups, sequences, max(step, sequences), sliding=groups - 1)
    asks = [Ask(prefix, length, answer) for prefix, length in prompts]
    simulate(shape, [[iter([asks])]])
    before, floor = 0, 0
    for (kept, _), (_, length) in zip(parts, prompts, strict=True):
        floor += length - min(kept, before)
        before = length
    assert computed(asks) >= floor
    assert all(0 <= ask.cached < ask.length and ask.cached % BLOCK == 0 for ask in asks)


@given(grown)
def test_a_prompt_that_is_repeated_at_once_is_computed_once(parts: list[tuple[int, int]]) -> None:
    """Save for what no engine saves: the rest behind its last whole block, and the last token."""
    for prefix, length in prompts_of(parts):
        asks, _ = ask_all(ALONE, [(prefix, length)] * 3)
        assert [ask.cached for ask in asks] == [0] + [(length - 1) // BLOCK * BLOCK] * 2


@given(grown, st.integers(1, 8), st.integers(1, 12))
def test_every_prompt_is_read_once_without_a_cache(parts: list[tuple[int, int]], sequences: int, answer: int) -> None:
    shape = Shape(200, BLOCK, 1, sequences, 64, prefix_cache=False)
    asks = [Ask(prefix, length, answer) for prefix, length in prompts_of(parts)]
    done = simulate(shape, [[iter([asks])]])
    assert sum(done.steps.prompt) == computed(asks) == sum(ask.length for ask in asks)
    assert sum(done.steps.begun) == len(asks)  # an answer's first token comes with its prompt
    assert sum(done.steps.answers) == len(asks) * (answer - 1)
    assert done.preemptions == 0


def test_what_was_used_longest_ago_goes_first_and_the_end_of_a_prompt_before_its_beginning() -> None:
    room = ALONE._replace(blocks=7)
    first, second, third = ([0, 1, 2], 13), ([10, 11, 12], 13), ([20], 5)
    asks, _ = ask_all(room, [first, second, third, second, first])
    # the first prompt's whole blocks (three of seven) lie before the second's; the third one needs two blocks: the
    # empty one that was used last, and the end of the first
    assert [ask.cached for ask in asks] == [0, 0, 0, 12, 8]


def test_blocks_in_use_stay() -> None:
    shape = Shape(blocks=6, block_size=BLOCK, groups=1, max_num_seqs=4, max_num_batched_tokens=64)
    long_answer, other, again = Ask([0, 1], 9, 10), Ask([5, 6], 9, 1), Ask([0, 1], 9, 1)
    simulate(shape, [[iter([[long_answer]]), iter([[other], [again]])]])
    assert again.cached == 8


def test_an_answer_that_finds_no_room_is_interrupted_and_begun_again() -> None:
    shape = Shape(blocks=5, block_size=BLOCK, groups=1, max_num_seqs=4, max_num_batched_tokens=64)
    asks = [Ask([number], 7, 8) for number in range(2)]
    done = simulate(shape, [[iter([asks])]])
    assert done.preemptions > 0
    assert sum(done.steps.prompt) > sum(ask.length for ask in asks)


def test_every_kv_group_takes_its_own_blocks() -> None:
    prompts = [([0, 1], 9), ([5, 6], 9), ([0, 1], 9)]
    one, _ = ask_all(ALONE._replace(blocks=7), prompts)
    four, _ = ask_all(ALONE._replace(blocks=7, groups=2), [*prompts])
    assert one[2].cached == 8
    assert four[2].cached < 8


def test_a_step_reads_no_more_tokens_than_it_may_and_answers_come_first() -> None:
    shape = Shape(blocks=100, block_size=BLOCK, groups=1, max_num_seqs=3, max_num_batched_tokens=10)
    asks = [Ask([number * 10 + block for block in range(5)], 21, 6) for number in range(5)]
    steps = simulate(shape, [[iter([asks])]]).steps
    assert max(prompt + answers for prompt, answers in zip(steps.prompt, steps.answers, strict=True)) == 10
    assert max(steps.answers) <= 3


def test_callers_wait_for_their_own_answers_only() -> None:
    """One with short calls is not held up by the other's long answer."""
    shape = Shape(blocks=100, block_size=BLOCK, groups=1, max_num_seqs=8, max_num_batched_tokens=64)
    slow, quick = [[Ask([], 5, 20)]], [[Ask([], 5, 1)] for _ in range(10)]
    assert simulate(shape, [[iter(slow), iter(quick)]]).seconds == 20
    assert simulate(shape, [[iter(slow)], [iter(quick)]]).seconds == 30


def test_a_caller_pauses_after_each_call() -> None:
    asks = [[Ask([], 5, 1)] for _ in range(3)]
    assert simulate(ALONE, [[iter(asks)]], clock=lambda *_: 1.0, pause=0.5).seconds == pytest.approx(4.5)


def test_a_prompt_larger_than_the_room_is_said() -> None:
    with pytest.raises(UsageError, match="whole KV room"):
        simulate(ALONE._replace(blocks=3), [[iter([[Ask([], 13, 1)]])]])


def test_the_same_workload_gives_the_same_counts() -> None:
    generator = random.Random(0)
    parts = [(generator.randint(0, 30), generator.randint(1, 12)) for _ in range(50)]
    assert [a.cached for a in ask_all(ALONE, prompts_of(parts))[0]] == [
        a.cached for a in ask_all(ALONE, prompts_of(parts))[0]
    ]
