"""Prompts: what a version's folder says, and from a candidate to the JSON that the model reads.

The tokenizer's part (chat template, label tokens, token ids) is `renderer.py`.
"""

import hashlib
import json
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.errors import PromptError


class Labels(BaseModel):
    """One text for each decision."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    write: str
    skip: str


class Sampling(BaseModel):
    """How an answer is drawn; part of the key under which a result is stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    temperature: float
    seed: int
    max_tokens: int


class Prompt(BaseModel):
    """One version of a prompt, as its folder says it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    task: str
    version: str
    instruction: str
    keys: tuple[str, ...]
    basket_items: int
    opening: str
    labels: Labels
    continuations: Labels
    sampling: Sampling
    # No part of the digest: a text that passes its checks is as good whatever it was asked with, and a prompt stays the
    # version that it is when it learns to say why a text failed.
    feedback: dict[str, str] = Field(default={}, exclude=True)

    @property
    def name(self) -> str:
        """`reason/v1`: how publications and reports call it."""
        return f"{self.task}/{self.version}"

    @cached_property
    def digest(self) -> str:
        """Hex digest over everything in the folder that can change an answer."""
        return hashlib.blake2b(self.model_dump_json().encode(), digest_size=16).hexdigest()


def load_prompt(folder: Path) -> Prompt:
    """Read `instruction.txt`, `prompt.toml` and, where there is one, `feedback.toml` of one prompt version.

    Raises:
        PromptError: a file is missing, is not TOML, or a setting is missing, unknown or of the wrong type.
    """
    try:
        instruction = (folder / "instruction.txt").read_text(encoding="utf-8").strip()
        words = folder / "feedback.toml"
        said = tomllib.loads(words.read_text(encoding="utf-8")) if words.exists() else {}
        settings = tomllib.loads((folder / "prompt.toml").read_text(encoding="utf-8"))
        return Prompt(instruction=instruction, feedback=said, **settings)
    except (OSError, tomllib.TOMLDecodeError, ValidationError, TypeError) as error:
        raise PromptError(
            f"the prompt in {folder} can't be read: {error}",
            "give --prompt a folder with instruction.txt and prompt.toml, like prompts/reason/v1",
        ) from error


def clean_name(name: str | None) -> str:
    """A name as the prompt and the key see it: NFC, every run of white space one space, none at the ends.

    Format characters (category Cf, such as the zero-width space) are dropped: nobody sees them, yet they would make
    two names of one. A missing name becomes the empty string.
    """
    composed = unicodedata.normalize("NFC", name or "")
    visible = "".join(letter for letter in composed if unicodedata.category(letter) != "Cf")
    return " ".join(visible.split())


def feedback(prompt: Prompt, codes: Sequence[str], max_characters: int) -> str:
    """What the model is told of the checks that its text has failed: a sentence for each, in the codes' order.

    A code has its own sentence or that of its group, the part before the dot; without either it says nothing.
    """
    told = (prompt.feedback.get(code) or prompt.feedback.get(code.split(".")[0]) or "" for code in codes)
    sentences = " ".join(sentence for sentence in dict.fromkeys(told) if sentence)
    return sentences.replace("{limit}", str(max_characters))


def payload(prompt: Prompt, candidate: Mapping[str, Any]) -> str:
    """The JSON object that the model reads for one candidate, keys in the prompt's order, names as they are given."""
    values = {key: candidate[key] for key in prompt.keys}
    if "basket" in values:
        values["basket"] = list(values["basket"])[: prompt.basket_items]
    return json.dumps(values, ensure_ascii=False)
