"""What layouts give: the region where splitting prefill from decode pays comes out of the model's sums."""

from pathlib import Path

import pytest

from planner.hardware import find_gpu
from planner.model_config import read_model
from planner.pareto import SPLIT_PAYS, Load, choose, frontier, gain, points
from planner.roofline import Roofline
from planner.whatif import ratio
from tests.planner.models import GEMMA_4B, LLAMA_8B, folder

# Milliseconds a token of one request, from faster than anything can be to so slow that nobody waits.
TARGETS = [4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 40, 60, 100, 200, 400, 1000]
ANSWER = 500.0
LINK = 50.0  # GB/s between GPUs of different hosts
PAYS = 1.15


@pytest.fixture(scope="module")
def h100(tmp_path_factory: pytest.TempPathFactory) -> Roofline:
    return Roofline(read_model(folder(tmp_path_factory.mktemp("gemma"), GEMMA_4B)), find_gpu("H100"))


def gains(roofline: Roofline, prompt: float, answer: float = ANSWER) -> list[tuple[float, float]]:
    found = points(roofline, Load(prompt, prompt, answer), 16, LINK)
    tried = [(target, gain(found, target / 1e3)) for target in TARGETS]
    return [(target, gained) for target, gained in tried if gained is not None]


@pytest.mark.parametrize("prompt", [2000, 8000, 32_000])
def test_splitting_pays_for_long_prompts_in_the_middle_and_at_neither_end(h100: Roofline, prompt: float) -> None:
    swept = gains(h100, prompt)
    pays = [place for place, (_, gained) in enumerate(swept) if gained > PAYS]
    assert pays, swept
    assert max(gained for _, gained in swept) > 1.5
    assert pays[-1] < len(swept) - 3  # where nobody waits it gains nothing
    assert all(gained < 1.05 for _, gained in swept[-3:])
    # the fastest that is to be had, is had on all GPUs together
    assert frontier(points(h100, Load(prompt, prompt, ANSWER), 16, LINK))[0].kind == "together"


@pytest.mark.parametrize("prompt", [50, 100])
def test_splitting_gains_nothing_where_prompts_are_short_beside_their_answers(h100: Roofline, prompt: float) -> None:
    assert all(gained < 1.05 for _, gained in gains(h100, prompt))


def test_the_longer_the_prompt_the_more_splitting_gains(h100: Roofline) -> None:
    most = [max(gained for _, gained in gains(h100, prompt)) for prompt in (100, 500, 2000, 8000)]
    assert most[0] < most[1] < min(most[2:])


def test_a_slow_link_takes_the_gain(h100: Roofline) -> None:
    load = Load(8000, 8000, ANSWER)
    fast, slow = (gain(points(h100, load, 16, link), 0.015) for link in (50.0, 1.0))
    assert fast is not None and slow is not None
    assert fast > PAYS
    assert slow < 1.0


def test_the_nightly_job_is_told_not_to_split(tmp_path: Path) -> None:
    roofline = Roofline(read_model(folder(tmp_path, GEMMA_4B)), find_gpu("L4"))
    found = points(roofline, Load(153, 89, 33), 8, 32)
    gained, chosen = gain(found, None), choose(found, None)
    assert gained is not None and chosen is not None
    assert gained < 1.1
    assert chosen.kind != "split"  # also where it would give a little more
    assert frontier(found)[-1].per_gpu < SPLIT_PAYS * chosen.per_gpu


def test_no_point_beats_one_of_the_frontier(h100: Roofline) -> None:
    found = points(h100, Load(500, 500, 100), 4, LINK)
    best = frontier(found)
    for one in best:
        assert not any(other.speed > one.speed and other.per_gpu > one.per_gpu for other in found)
    assert [point.per_gpu for point in best] == sorted(point.per_gpu for point in best)


def test_the_chosen_point_is_the_cheapest_that_is_fast_enough(h100: Roofline) -> None:
    found = points(h100, Load(500, 500, 100), 4, LINK)
    chosen = choose(found, 0.02)
    assert chosen is not None
    assert chosen.second_a_token <= 0.02
    fast = [point for point in found if point.second_a_token <= 0.02]
    assert SPLIT_PAYS * chosen.per_gpu >= max(point.per_gpu for point in fast)
    assert chosen.per_gpu >= max(point.per_gpu for point in fast if point.kind != "split")
    assert choose(found, 1e-6) is None


def test_a_model_too_large_for_one_gpu_is_laid_out_on_several(tmp_path: Path) -> None:
    config = LLAMA_8B | {"num_hidden_layers": 80, "hidden_size": 8192, "intermediate_size": 28672}
    roofline = Roofline(read_model(folder(tmp_path, config | {"num_attention_heads": 64})), find_gpu("H100"))
    kinds = {(point.kind, point.gpus) for point in points(roofline, Load(500, 500, 100), 8, LINK)}
    assert {gpus for kind, gpus in kinds if kind == "together"} >= {4, 8}
    assert not any(kind == "one" for kind, _ in kinds)


def test_longer_prompts_need_more_gpus_that_read_and_longer_texts_more_that_write(h100: Roofline) -> None:
    plain = ratio(h100, Load(500, 500, 100), 128)
    assert ratio(h100, Load(1000, 1000, 100), 128) > 1.5 * plain
    assert ratio(h100, Load(500, 500, 200), 128) < 0.6 * plain
