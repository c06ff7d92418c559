"""What became of every prompt token, by vLLM's rules: whole blocks only, and the last token is always computed."""

import datetime as dt

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tasks.cache import account_cache, account_requests
from tasks.records import DECISIONS, PLAN, TEXTS
from tasks.runs import Run
from tests.shop import good_answer, prepare, record

BLOCK = 32
NOW = dt.datetime(2026, 11, 28, tzinfo=dt.UTC)


def plan(prompts: dict[str, tuple[int, int]], ask: str = "decide") -> pl.DataFrame:
    """`prompts`: length and shared tokens of each key."""
    rows = [(0, key, ask, None, [1] * length, shared) for key, (length, shared) in prompts.items()]
    return pl.DataFrame(rows, schema=PLAN, orient="row")


def decisions(cached: dict[str, tuple[int, int]]) -> pl.DataFrame:
    """Prompt and cached tokens of each key."""
    return pl.DataFrame([(k, 0.1, 1.0, p, c, NOW) for k, (p, c) in cached.items()], schema=DECISIONS, orient="row")


def texts(cached: dict[str, tuple[int, int]]) -> pl.DataFrame:
    return pl.DataFrame(
        [(k, "", "stop", p, c, 9, NOW, 1, None) for k, (p, c) in cached.items()], schema=TEXTS, orient="row"
    )


def account(frame: pl.DataFrame, stage: str) -> dict[str, int]:
    (row,) = frame.filter(stage=stage).drop("chunk", "stage").to_dicts()
    return {name: value for name, value in row.items() if value}


def test_what_neighbours_share_is_found_in_whole_blocks() -> None:
    done = account_requests(plan({"a": (150, 80)}), decisions({"a": (150, 64)}), texts({}), BLOCK)
    assert account(done, "decide") == {
        "prompt": 150, "cached": 64, "remainder": 16, "first_time": 70, "hoped_for": 64
    }  # fmt: skip


def test_whole_blocks_that_are_not_found_again_were_evicted() -> None:
    done = account_requests(plan({"a": (150, 80)}), decisions({"a": (150, 32)}), texts({}), BLOCK)
    assert account(done, "decide")["evicted"] == 32


def test_a_text_has_seen_all_that_its_decision_read() -> None:
    done = account_requests(plan({"a": (150, 0)}), decisions({"a": (150, 0)}), texts({"a": (151, 128)}), BLOCK)
    assert account(done, "generate") == {
        "prompt": 151, "cached": 128, "remainder": 22, "first_time": 1, "hoped_for": 128
    }  # fmt: skip


def test_a_text_whose_decision_was_stored_has_seen_what_its_neighbour_has() -> None:
    done = account_requests(plan({"a": (150, 80)}, "generate"), decisions({}), texts({"a": (151, 64)}), BLOCK)
    assert account(done, "generate") == {
        "prompt": 151, "cached": 64, "remainder": 16, "first_time": 71, "hoped_for": 64
    }  # fmt: skip


def test_a_text_that_came_with_its_decision_made_no_request() -> None:
    done = account_requests(plan({"a": (150, 0)}), decisions({"a": (150, 0)}), texts({"a": (0, 0)}), BLOCK)
    assert done["stage"].to_list() == ["decide"]


def test_the_last_token_is_always_computed() -> None:
    done = account_requests(plan({"a": (64, 64)}), decisions({"a": (64, 32)}), texts({}), BLOCK)
    assert account(done, "decide") == {"prompt": 64, "cached": 32, "remainder": 32, "hoped_for": 32}


@given(st.integers(1, 400), st.integers(0, 400), st.integers(0, 12))
def test_the_causes_add_up_to_the_prompt(length: int, shared: int, blocks: int) -> None:
    cached = min(blocks * BLOCK, (length - 1) // BLOCK * BLOCK)  # an engine kept warm may find more than was shared
    one = plan({"a": (length, min(shared, length))})
    done = account(account_requests(one, decisions({"a": (length, cached)}), texts({}), BLOCK), "decide")
    parts = [done.get(name, 0) for name in ("cached", "evicted", "remainder", "first_time")]
    assert sum(parts) == length
    assert min(parts) >= 0


def test_a_run_adds_its_chunks_up(run: Run) -> None:
    chunks = prepare(run)
    record(run, good_answer)
    from tasks.decide import decide_chunk

    for chunk in range(chunks):
        decide_chunk(run, chunk)
    assert account_cache(run) is None  # a recording has no cache
    run.write_json("engine", {"block_size": BLOCK, "room_tokens": 4096, "preemptions": 0})
    cache = account_cache(run)
    assert cache is not None
    assert cache.prompt == cache.computed == cache.evicted + cache.remainder + cache.first_time
    assert cache.share == 0.0  # the recording found nothing of what it could have
    assert cache.is_lost(expected=0.9)
    assert run.read("cache")["prompt"].sum() == cache.prompt
