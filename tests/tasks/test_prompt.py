"""What a prompt's folder says: the JSON's keys and names, and the digest that a change of it changes."""

import json
from pathlib import Path

import pytest

from tasks.errors import PromptError
from tasks.prompt import Prompt, clean_name, feedback, load_prompt, payload
from tasks.reports.words import RULES
from tests.shop import CANDIDATE, PROMPT


def test_the_json_has_the_prompts_keys_in_order_and_korean_as_it_is() -> None:
    text = payload(load_prompt(PROMPT), CANDIDATE)
    assert text == (
        '{"recommended_item": "쌈배추(봉)", "recommended_scate": "쌈채소", "reason_item": "청경채(봉)",'
        ' "basket": ["청경채(봉)", "두부(찌개용)"]}'
    )


def test_a_long_basket_is_cut_to_the_prompts_limit() -> None:
    prompt = load_prompt(PROMPT)
    text = payload(prompt, CANDIDATE | {"basket": [f"상품{i}" for i in range(50)]})
    assert json.loads(text)["basket"] == [f"상품{i}" for i in range(prompt.basket_items)]


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("  우유  1L ", "우유 1L"),
        ("우유\t1L\n", "우유 1L"),
        ("우유\u00a01L", "우유 1L"),
        ("우\u200b유", "우유"),
        ("\u110b\u116e\u110b\u1172", "우유"),
        (None, ""),
        ("   ", ""),
        ("【특가】 ½ 😀", "【특가】 ½ 😀"),
    ],
)
def test_clean_name(raw: str | None, clean: str) -> None:
    assert clean_name(raw) == clean


def changed(**values: object) -> Prompt:
    return load_prompt(PROMPT).model_copy(update=values)


def test_a_prompt_folder_that_is_missing_or_wrong_says_so(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="can't be read"):
        load_prompt(tmp_path / "v9")
    (tmp_path / "instruction.txt").write_text("쓰세요", encoding="utf-8")
    (tmp_path / "prompt.toml").write_text('task = "reason"\nversoin = "v1"\n', encoding="utf-8")
    with pytest.raises(PromptError, match="versoin"):
        load_prompt(tmp_path)


def test_whatever_can_change_an_answer_changes_the_digest() -> None:
    digests = {
        changed(instruction="다른 지시문").digest,
        changed(keys=("recommended_item", "reason_item")).digest,
        changed(opening='{"결정": "').digest,
        changed(sampling=load_prompt(PROMPT).sampling.model_copy(update={"temperature": 0.7})).digest,
        load_prompt(PROMPT).digest,
    }
    assert len(digests) == 5


def test_why_a_text_failed_is_said_once_a_reason_in_the_codes_order() -> None:
    prompt = changed(feedback={"json": "JSON만 쓰세요.", "text.too_long": "{limit}자 이내로 쓰세요."})
    assert feedback(prompt, ["text.too_long"], 40) == "40자 이내로 쓰세요."
    assert (
        feedback(prompt, ["json.invalid", "text.too_long", "json.cut_off"], 50) == "JSON만 쓰세요. 50자 이내로 쓰세요."
    )
    assert feedback(prompt, ["names.other_item", ""], 50) == ""


def test_words_for_why_a_text_failed_leave_the_version_what_it_is(tmp_path: Path) -> None:
    for name in ("instruction.txt", "prompt.toml"):
        (tmp_path / name).write_bytes((PROMPT / name).read_bytes())
    without = load_prompt(tmp_path)
    (tmp_path / "feedback.toml").write_text('json = "JSON만 쓰세요."', encoding="utf-8")
    assert load_prompt(tmp_path).feedback == {"json": "JSON만 쓰세요."}
    assert load_prompt(tmp_path).digest == without.digest == load_prompt(PROMPT).digest
    (tmp_path / "feedback.toml").write_text("json = 1", encoding="utf-8")
    with pytest.raises(PromptError, match="feedback"):
        load_prompt(tmp_path)


def test_every_sentence_about_a_failed_text_is_for_a_rule_that_there_is() -> None:
    groups = {code.split(".")[0] for code in RULES}
    assert set(load_prompt(PROMPT).feedback) <= groups | set(RULES)
