"""What the demo model is trained on: no held-out pair, both labels in every batch, the pipeline's prompts."""

import json
import random
from pathlib import Path

import pytest

from demo.catalogue import load_shop
from demo.samples import COMPANIONS, Sampler, is_held_out
from demo.tokenizer import END, build_tokenizer, save_tokenizer
from tasks.prompt import load_prompt
from tasks.renderer import Renderer

SHOP = load_shop()
BY_NAME = {item.name: item.item_id for item in SHOP.items.values()}
PROMPT = load_prompt(Path(__file__).parents[2] / "prompts" / "reason" / "v1")


@pytest.fixture(scope="module")
def sampler(tmp_path_factory: pytest.TempPathFactory) -> Sampler:
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer = build_tokenizer(SHOP, PROMPT.instruction)
    save_tokenizer(tokenizer, folder)
    return Sampler(SHOP, Renderer(PROMPT, folder), tokenizer, random.Random(0))


def question(sampler: Sampler, prompt: list[int]) -> dict[str, object]:
    text = sampler.tokenizer.decode(prompt, skip_special_tokens=False)
    found = text[text.index('{"recommended_item"') : text.index(END, text.index('{"recommended_item"'))]
    asked: dict[str, object] = json.loads(found)
    return asked


def test_one_pair_in_ten_is_held_out_whichever_way_it_stands() -> None:
    pairs = [(one, other) for one in SHOP.items for other in SHOP.items if one < other]
    assert 0.08 <= sum(is_held_out(*pair) for pair in pairs) / len(pairs) <= 0.12
    assert all(is_held_out(one, other) == is_held_out(other, one) for one, other in pairs)


def test_both_labels_come_mixed_in_every_batch_and_no_held_out_pair_in_any(sampler: Sampler) -> None:
    write, skip = sampler.renderer.write_id, sampler.renderer.skip_id
    for _ in range(20):
        batch = sampler.batch(32)
        labels = [sample.decision for sample in batch]
        assert labels.count(write) == labels.count(skip) == 16
        assert labels != sorted(labels) and labels != sorted(labels, reverse=True)
        for sample in batch:
            asked = question(sampler, sample.prompt)
            pair = BY_NAME[str(asked["recommended_item"])], BY_NAME[str(asked["reason_item"])]
            assert not is_held_out(*pair)
            assert bool(SHOP.dishes_of(*pair)) == (sample.decision == write)


def test_a_basket_starts_with_the_reason_item_and_lacks_the_recommended_one(sampler: Sampler) -> None:
    for sample in sampler.batch(32):
        asked = question(sampler, sample.prompt)
        basket = asked["basket"]
        assert isinstance(basket, list)
        assert basket[0] == asked["reason_item"]
        assert asked["recommended_item"] not in basket
        assert len(set(basket)) == len(basket)
        assert len(basket) - 1 in COMPANIONS


def test_opening_and_answer_together_are_json_and_the_turn_ends_after_it(sampler: Sampler) -> None:
    for sample in sampler.batch(32):
        ending = sampler.tokenizer.token_to_id(END)
        assert sample.answer[-1] == ending and ending in sampler.renderer.stop_ids
        answer = json.loads(PROMPT.opening + sampler.renderer.decode(sample.answer))
        if sample.answer[0] == sampler.renderer.write_id:
            assert answer["decision"] == "write" and answer["text"]
        else:
            assert answer == {"decision": "skip"}


def test_copying_is_drilled_with_pairs_that_are_to_be_skipped(sampler: Sampler) -> None:
    """The answer goes on as if it were written and names both items; the right decision stays skip."""
    write, skip = sampler.renderer.write_id, sampler.renderer.skip_id
    samples = [sample for _ in range(10) for sample in sampler.batch(32)]
    drills = [sample for sample in samples if sample.decision == skip and sample.answer[0] == write]
    assert 0.3 <= len(drills) / sum(sample.decision == skip for sample in samples) <= 0.6
    assert all(sample.answer[0] == write for sample in samples if sample.decision == write)
    for sample in drills:
        asked = question(sampler, sample.prompt)
        text = sampler.renderer.decode(sample.answer)
        for key in ("recommended_item", "reason_item"):
            assert SHOP.items[BY_NAME[str(asked[key])]].short in text
