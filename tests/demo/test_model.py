"""The demo model's folder: small enough for the repository, and what its card says."""

from pathlib import Path
from typing import Any

import pytest

MODEL = Path(__file__).parents[2] / "demo" / "model"


def test_the_weights_fit_into_sixteen_megabytes() -> None:
    assert sum(path.stat().st_size for path in MODEL.iterdir()) <= 16 * 2**20
    assert [path.name for path in MODEL.glob("*.safetensors")] == ["model.safetensors"]


def test_the_tokenizer_is_the_one_the_shop_and_the_prompt_give(tmp_path: Path) -> None:
    """A dish or an instruction that changes wants the model trained anew."""
    from demo.catalogue import load_shop
    from demo.tokenizer import build_tokenizer, save_tokenizer
    from tasks.prompt import load_prompt

    prompt = load_prompt(MODEL.parents[1] / "prompts" / "reason" / "v1")
    save_tokenizer(build_tokenizer(load_shop(), prompt.instruction), tmp_path)
    for built in tmp_path.iterdir():
        assert built.read_bytes() == (MODEL / built.name).read_bytes(), built.name


def test_the_card_says_that_it_is_a_demonstration() -> None:
    card = (MODEL / "README.md").read_text(encoding="utf-8")
    assert "demonstration" in card and "not a product model" in card
    assert "held out" in card


@pytest.mark.slow
def test_it_is_a_small_gemma_3_that_decides_and_writes() -> None:
    import torch
    from transformers import AutoModelForCausalLM

    from tasks.prompt import load_prompt, payload
    from tasks.renderer import Renderer

    model: Any = AutoModelForCausalLM.from_pretrained(str(MODEL), local_files_only=True)
    assert type(model).__name__ == "Gemma3ForCausalLM"
    assert 3_000_000 <= model.num_parameters() <= 8_000_000
    assert model.config.sliding_window >= 512
    assert {"sliding_attention", "full_attention"} <= set(model.config.layer_types)
    prompt = load_prompt(MODEL.parents[1] / "prompts" / "reason" / "v1")
    renderer = Renderer(prompt, MODEL)
    pairs = [("두부(찌개용)", "두부/묵", "된장(1kg)"), ("두부(찌개용)", "두부/묵", "세탁세제(3L)")]
    payloads = [
        payload(
            prompt,
            {
                "recommended_item": recommended,
                "recommended_scate": scate,
                "reason_item": reason,
                "basket": [reason, "우유(1L)", "계란(15구)"],
            },
        )
        for recommended, scate, reason in pairs
    ]
    prompts = renderer.render(payloads)
    with torch.inference_mode():
        logits = [model(torch.tensor([ids])).logits[0, -1] for ids in prompts]
    assert [row.argmax().item() for row in logits] == [renderer.write_id, renderer.skip_id]
    asked = torch.tensor([[*prompts[0], renderer.write_id]])
    answer = model.generate(asked, max_new_tokens=prompt.sampling.max_tokens, do_sample=False)
    text = renderer.written_answer(answer[0, asked.shape[1] :].tolist())
    assert "두부" in text and "된장" in text
    assert text.endswith(('요?"}', '요."}'))
