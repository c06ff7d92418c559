"""INT4 weights in GPTQ's layout stand for what they were, to half a step."""

import torch

from benchmarks.quantise import GROUP, PER_WORD, ZERO, quantise


def unpacked(packed: dict[str, torch.Tensor]) -> torch.Tensor:
    """The weight matrix (outputs, inputs) that a reader of GPTQ's layout makes of it."""
    words = packed["qweight"].to(torch.int64) & 0xFFFFFFFF
    steps = (words.unsqueeze(1) >> (4 * torch.arange(PER_WORD)).view(1, -1, 1)) & 0xF
    steps = steps.reshape(-1, words.shape[1])
    return ((steps - ZERO) * packed["scales"][packed["g_idx"].long()]).t()


def test_a_weight_is_rounded_to_the_nearest_of_its_groups_steps() -> None:
    weight = torch.randn(32, 3 * GROUP, generator=torch.Generator().manual_seed(0))
    packed = quantise(weight)
    half_a_step = packed["scales"].t().repeat_interleave(GROUP, dim=1) / 2
    assert ((unpacked(packed) - weight).abs() <= half_a_step * 1.0001).all()


def test_the_largest_weight_of_a_group_stays_what_it_was() -> None:
    weight = torch.zeros(32, GROUP)
    weight[:, 5] = -3.5
    assert torch.allclose(unpacked(quantise(weight)), weight)


def test_the_shapes_are_gptqs() -> None:
    packed = quantise(torch.ones(64, 2 * GROUP, dtype=torch.bfloat16))
    shapes = {name: tuple(tensor.shape) for name, tensor in packed.items()}
    assert shapes == {"qweight": (2 * GROUP // 8, 64), "scales": (2, 64), "qzeros": (2, 8), "g_idx": (2 * GROUP,)}
    assert packed["scales"].dtype == torch.bfloat16
