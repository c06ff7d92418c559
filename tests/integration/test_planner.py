"""What the planner predicts without an engine is what the engine then does."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchmarks.trial import run_trial
from planner.asks import Ask, Shape
from planner.dates import Answers, ordered_prompts, with_answers
from planner.hardware import find_gpu
from planner.machine import Timing, context_of, shape_of
from planner.model_config import read_model
from planner.prompts import Prompts, spread
from planner.roofline import Measured
from planner.simulator import simulate
from tasks.engine import close_engine
from tasks.plan import order_prompts
from tasks.settings import OrderName, Settings
from tests.integration.conftest import DS

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(900)]

PAIRS, SMALL_ROOM, SHORT = 400, 4096, 256  # the room is about a tenth of what the prompts are
ORDERS: tuple[OrderName, ...] = ("full", "chunked", "fused")
WORKLOADS = 200
SEQUENCES, STEP = 12, 200  # answers at a time and tokens a step: so few that prompts wait, and are read in parts
VOCABULARY = range(10, 3000)


def test_computed_tokens_are_predicted_within_two_percent_in_every_order(demo_source: Path, tmp_path: Path) -> None:
    """From what a planner knows: the prompts, the room, how many are written, and how long texts are on average."""
    given: dict[str, Any] = {
        "source": str(demo_source),
        "dtype": "float32",
        "kv_tokens": SMALL_ROOM,
        "max_model_len": SHORT,
        "rules": None,
    }
    settings = Settings(**given, chunk_share=1.0, store=tmp_path / "store")
    trials = {
        order: run_trial(settings.model_copy(update={"order": order}), tmp_path / order, in_order=True)
        for order in ORDERS
    }
    close_engine()
    seen = trials["full"]
    written = sum(p_skip < settings.threshold for p_skip in seen.p_skip.values()) / len(seen.p_skip)
    answers = Answers(written, spread(seen.generated_tokens / len(seen.texts)), None, written, "measured")
    prompts = with_answers(ordered_prompts(DS, settings), answers)
    assert len(prompts.lengths) == PAIRS
    assert seen.room is not None
    model = read_model(settings.model, settings.dtype)
    timed = Timing(Measured(1.0, 0.0, 0.0, 0.0, 0.0), "", find_gpu("L4"), None)
    shape = shape_of(settings, model, timed, seen.room.tokens, seen.room.block_size)
    for order, trial in trials.items():
        predicted = context_of(settings, shape, timed).predict(prompts, order)
        assert predicted.floor == trial.floor
        assert predicted.computed == pytest.approx(trial.computed_tokens, rel=0.02), order
    assert trials["full"].computed_tokens > 1.3 * trials["fused"].computed_tokens  # and there was something to lose


@pytest.fixture(scope="module")
def vllm() -> Iterator[tuple[Any, Shape]]:
    """The demo model in a small room, without our own threads around it, so that calls come when the test says."""
    from tasks.engine.vllm_local import _load

    settings = Settings(kv_tokens=1024, max_model_len=256, max_num_seqs=SEQUENCES, max_num_batched_tokens=STEP)
    llm = _load(settings)
    core = llm.llm_engine.engine_core.engine_core
    configuration = core.scheduler.kv_cache_config
    block_size = llm.llm_engine.vllm_config.cache_config.block_size
    groups = [type(group.kv_cache_spec).__name__ for group in configuration.kv_cache_groups]
    # vLLM keeps one block for itself
    blocks, sliding = configuration.num_blocks - 1, groups.count("SlidingWindowSpec")
    yield llm, Shape(blocks, block_size, len(groups), SEQUENCES, STEP, sliding=sliding)
    core.shutdown()
    close_engine()


def random_calls(seed: int) -> list[list[tuple[list[int], int]]]:
    """Some calls of prompts that begin alike in one way or another, and how long their answers are to be."""
    generator = random.Random(seed)
    starts: list[list[int]] = [[]]
    for _ in range(generator.randint(1, 6)):
        more = [generator.choice(VOCABULARY) for _ in range(generator.randint(1, 90))]
        starts.append((generator.choice(starts) + more)[:180])
    prompts = [
        generator.choice(starts) + [generator.choice(VOCABULARY) for _ in range(generator.randint(1, 40))]
        for _ in range(generator.randint(2, 25))
    ]
    return [
        [(generator.choice(prompts), generator.randint(1, 14)) for _ in range(generator.randint(1, 20))]
        for _ in range(generator.randint(1, 4))
    ]


def asked(calls: Sequence[Sequence[tuple[list[int], int]]], block_size: int) -> list[list[Ask]]:
    """The calls as the simulator takes them."""
    distinct = {tuple(prompt) for call in calls for prompt, _ in call}
    frame = pl.DataFrame({"prompt_ids": pl.Series([list(prompt) for prompt in distinct], dtype=pl.List(pl.Int32))})
    ordered = order_prompts(frame)
    lengths, shared = ordered["prompt_ids"].list.len().to_list(), ordered["shared_tokens"].to_list()
    prefixes = Prompts(lengths, shared, [], []).prefixes(block_size)
    of = {tuple(prompt): prefix for prompt, prefix in zip(ordered["prompt_ids"].to_list(), prefixes, strict=True)}
    return [[Ask(of[tuple(prompt)], len(prompt), answer) for prompt, answer in call] for call in calls]


def test_the_simulator_finds_what_vllm_finds_in_two_hundred_random_workloads(vllm: tuple[Any, Shape]) -> None:
    from vllm import SamplingParams, TokensPrompt

    llm, shape = vllm
    found = prompts = 0
    for seed in range(WORKLOADS):
        calls = random_calls(seed)
        simulated = asked(calls, shape.block_size)
        simulate(shape, [[iter(simulated)]])
        llm.reset_prefix_cache()
        for number, (call, asks) in enumerate(zip(calls, simulated, strict=True)):
            outputs = llm.generate(
                [TokensPrompt(prompt_token_ids=prompt) for prompt, _ in call],
                [SamplingParams(max_tokens=n, ignore_eos=True, detokenize=False, temperature=0) for _, n in call],
                use_tqdm=False,
            )
            real = [output.num_cached_tokens for output in outputs]
            assert [ask.cached for ask in asks] == real, f"workload {seed}, call {number}"
            found, prompts = found + sum(real), prompts + sum(len(prompt) for prompt, _ in call)
    assert 0.2 < found / prompts < 0.95  # something was found, and something was lost
