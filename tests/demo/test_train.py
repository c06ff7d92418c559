"""Training: what is saved by sharing the prompts' head changes nothing, and a step learns."""

import random
from pathlib import Path
from typing import Any

import pytest

from demo.catalogue import load_shop
from demo.samples import Sampler
from demo.tokenizer import build_tokenizer, save_tokenizer
from tasks.prompt import load_prompt
from tasks.renderer import Renderer

PROMPT = load_prompt(Path(__file__).parents[2] / "prompts" / "reason" / "v1")


@pytest.fixture(scope="module")
def sampler(tmp_path_factory: pytest.TempPathFactory) -> Sampler:
    folder = tmp_path_factory.mktemp("tokenizer")
    shop = load_shop()
    tokenizer = build_tokenizer(shop, PROMPT.instruction)
    save_tokenizer(tokenizer, folder)
    return Sampler(shop, Renderer(PROMPT, folder), tokenizer, random.Random(0))


def untrained(sampler: Sampler) -> Any:
    import torch
    from transformers import Gemma3ForCausalLM

    from demo.train import configuration

    torch.manual_seed(0)
    return Gemma3ForCausalLM(configuration(sampler.tokenizer.get_vocab_size()))


@pytest.mark.slow
def test_the_loss_is_the_same_whether_the_head_is_shared_or_not(sampler: Sampler) -> None:
    import torch

    from demo.train import answer_loss, common_head

    model, batch = untrained(sampler).eval(), sampler.batch(4)
    head, write_id = common_head(batch), sampler.renderer.write_id
    assert len(head) >= 64
    with torch.inference_mode():
        shared = answer_loss(model, batch, head, write_id)
        unshared = answer_loss(model, batch, head[:1], write_id)
    assert torch.allclose(torch.stack(shared), torch.stack(unshared), atol=1e-4)


@pytest.mark.slow
def test_a_few_steps_on_one_batch_lower_its_loss(sampler: Sampler) -> None:
    import torch

    from demo.train import answer_loss, common_head, optimizer_for

    model, batch = untrained(sampler), sampler.batch(4)
    head, optimizer, write_id = common_head(batch), optimizer_for(model), sampler.renderer.write_id
    losses = []
    for _ in range(6):
        loss, _ = answer_loss(model, batch, head, write_id)
        torch.autograd.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_the_rate_warms_up_and_falls_to_a_hundredth() -> None:
    from demo.train import PEAK_RATE, WARM_UP, rate_at

    assert rate_at(0, 0.0) == pytest.approx(PEAK_RATE / WARM_UP)
    assert rate_at(WARM_UP, 0.0) == pytest.approx(PEAK_RATE)
    assert rate_at(10_000, 1.0) == pytest.approx(PEAK_RATE / 100)
