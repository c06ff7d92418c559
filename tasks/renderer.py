"""Renderer: from the JSON of a pair to token ids, and from token ids back to an answer.

The only file that knows chat templates and label tokens. Everything model-specific (template, special tokens, the
label tokens of `write` and `skip`) comes from the model's own tokenizer.

Names are untrusted text. The rendered chat is cut at the last control token before the user's content and at the
first one after it; what lies between is encoded by a copy of the tokenizer that has no added tokens at all. So a name
that reads `<end_of_turn>` is spelled out like any other text and can never close the turn.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tasks.engine import Choice
from tasks.errors import ModelError, PromptError
from tasks.prompt import Prompt, load_prompt, payload

# Stands for the user's content while the chat template is rendered: private-use characters, which no template holds.
PLACEHOLDER = "\ue000content\ue001"


class Renderer:
    """A prompt bound to one model's tokenizer.

    Attributes:
        write_id, skip_id: the one token that each label is, right after the opening.
        stop_ids: the tokens that end an answer (end of turn, end of sequence).
    """

    def __init__(self, prompt: Prompt, model: Path) -> None:
        """Load the tokenizer of the folder `model` and derive what depends on it.

        Raises:
            ModelError: the folder has no usable fast tokenizer or no chat template.
            PromptError: a label is several tokens, both start alike, or the prompt can't be cut into trusted and
                untrusted parts without changing its tokens.
        """
        self.prompt = prompt
        self._tokenizer = _load_tokenizer(model)
        self._plain = _without_added_tokens(self._tokenizer)
        chat = self._chat(PLACEHOLDER)
        head, before, after, tail = _cut_at_control_tokens(chat, self._control_tokens())
        self._before, self._after = before, after
        self._head_ids = self._encode(head)
        if self._stands_apart(before):  # most of a prompt: encoded once, not once a pair
            self._head_ids += self._encode_plain([before])[0]
            self._before = ""
        self._tail_ids = self._encode(tail + prompt.opening)
        self.write_id, self.skip_id = self._label_ids(tail + prompt.opening)
        self.stop_ids = self._stop_ids(tail) | _declared_stop_ids(model)
        self._check_cut()

    def render(self, payloads: Sequence[str]) -> list[list[int]]:
        """The token ids of one prompt per payload, from the first token of the chat to the opening of the answer."""
        return self._render([self._before + text + self._after for text in payloads])

    def render_again(self, payloads: Sequence[str], feedback: Sequence[str]) -> list[list[int]]:
        """The same prompts with a sentence each behind the JSON: up to there they are what `render` gives."""
        texts = [f"{text}\n{said}" if said else text for text, said in zip(payloads, feedback, strict=True)]
        return self._render([self._before + text + self._after for text in texts])

    @property
    def tokens_behind(self) -> int:
        """How many tokens of a prompt stand behind its JSON."""
        return len(self._tail_ids) + len(self._encode_plain([self._after])[0])

    def choice(self, threshold: float) -> Choice:
        """What the first token of an answer is: `write` where p_skip is below the threshold, else `skip`."""
        return Choice(go_on=self.write_id, end=self.skip_id, threshold=threshold)

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of generated tokens, without the tokens that end the answer."""
        kept = [token for token in token_ids if token not in self.stop_ids]
        return str(self._tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def encode_answer(self, text: str) -> list[int]:
        """The token ids of what follows a label, as training and recordings need them."""
        return list(self._plain.encode(text, add_special_tokens=False).ids)

    def written_answer(self, token_ids: Sequence[int]) -> str:
        """The whole answer of a pair that was written: opening, label, and what was generated after them."""
        return self.prompt.opening + self.prompt.labels.write + self.decode(token_ids)

    def _render(self, texts: Sequence[str]) -> list[list[int]]:
        return [[*self._head_ids, *middle, *self._tail_ids] for middle in self._encode_plain(texts)]

    def _chat(self, content: str) -> str:
        messages = [
            {"role": "system", "content": self.prompt.instruction},
            {"role": "user", "content": content},
        ]
        try:
            return self._apply(messages)
        except Exception:  # templates without a system role raise an error of their own making
            joined = f"{self.prompt.instruction}\n\n{content}"
            return self._apply([{"role": "user", "content": joined}])

    def _apply(self, messages: list[dict[str, str]]) -> str:
        return str(self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def _encode_plain(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._plain.encode_batch_fast(texts, add_special_tokens=False)]

    def _stands_apart(self, before: str) -> bool:
        """Whether the text before the JSON has the same tokens whatever the JSON says.

        It has if no token of the vocabulary reaches over its end, and nothing is added where a text begins.
        """
        edge = f"{before[-1:]}{{"
        inner = [token_id for token, token_id in self._plain.get_vocab().items() if "{" in token[1:]]
        sample = '{"key": "두부"}'
        alone, following, whole = self._encode_plain([before, sample, before + sample])
        return alone + following == whole and not any(edge in self._plain.decode([token_id]) for token_id in inner)

    def _control_tokens(self) -> list[str]:
        return [token.content for token in self._tokenizer.added_tokens_decoder.values() if token.content.strip()]

    def _label_ids(self, opened: str) -> tuple[int, int]:
        labels, continuations = self.prompt.labels, self.prompt.continuations
        write = self._label_id(opened, labels.write, continuations.write)
        skip = self._label_id(opened, labels.skip, continuations.skip)
        if write == skip:
            raise PromptError(
                f"the labels {labels.write!r} and {labels.skip!r} start with the same token",
                "choose labels in prompt.toml that this model's tokenizer tells apart by their first token",
            )
        return write, skip

    def _label_id(self, opened: str, label: str, continuation: str) -> int:
        before, whole = self._encode(opened), self._encode(opened + label + continuation)
        added = whole[len(before) :]
        if whole[: len(before)] != before or not added or self._tokenizer.decode(added[:1]).strip() != label:
            pieces = [self._tokenizer.decode([token]) for token in added[:4]]
            raise PromptError(
                f"the label {label!r} is not one token after {self.prompt.opening!r}; the tokenizer reads {pieces}",
                "choose labels and an opening in prompt.toml whose decision is a single token of this model",
            )
        return added[0]

    def _stop_ids(self, tail: str) -> frozenset[int]:
        """End of sequence, and the control token with which the template ends a turn."""
        ends = {self._tokenizer.eos_token_id, *self._encode(tail)[:1]} - {None}
        control = set(self._tokenizer.added_tokens_decoder)
        return frozenset(int(token) for token in ends if token in control)

    def _check_cut(self) -> None:
        """The cut must not change an ordinary prompt: same ids as the tokenizer gives for the whole chat."""
        sample = payload(
            self.prompt, {key: "두부" if key != "basket" else ["두부", "대파"] for key in self.prompt.keys}
        )
        if self.render([sample])[0] != self._encode(self._chat(sample) + self.prompt.opening):
            raise PromptError(
                "this model's tokenizer reads the prompt's parts differently from the whole",
                "use a model whose tokenizer adds nothing at the start of a text (Gemma 3, Qwen, Llama 3 do)",
            )


@lru_cache(maxsize=1)
def load_renderer(prompt: Path, model: Path) -> Renderer:
    """The prompt in the folder `prompt` bound to the model in the folder `model`; kept while the process lives."""
    return Renderer(load_prompt(prompt), model)


def _load_tokenizer(model: Path) -> Any:
    if not (model / "tokenizer.json").is_file():
        raise ModelError(
            f"{model} is no model folder with a tokenizer.json",
            "give --model a Hugging Face model folder, or run `make demo` for the demo model",
        )
    from transformers import AutoTokenizer  # imports take seconds: only when a prompt is really rendered

    tokenizer = AutoTokenizer.from_pretrained(str(model), local_files_only=True)
    if not tokenizer.chat_template:
        raise ModelError(f"the tokenizer in {model} has no chat template", "add chat_template.jinja to the folder")
    return tokenizer


def _declared_stop_ids(model: Path) -> frozenset[int]:
    """The tokens that the model's own generation defaults end with."""
    path = model / "generation_config.json"
    declared = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id") if path.exists() else None
    if declared is None:
        return frozenset()
    return frozenset(declared if isinstance(declared, list) else [declared])


def _without_added_tokens(tokenizer: Any) -> Any:
    """A copy of the fast tokenizer to which no text is a control token."""
    from tokenizers import Tokenizer

    description = json.loads(tokenizer.backend_tokenizer.to_str())
    description["added_tokens"] = []
    description["post_processor"] = None
    return Tokenizer.from_str(json.dumps(description))


def _cut_at_control_tokens(chat: str, control_tokens: Sequence[str]) -> tuple[str, str, str, str]:
    """Cut a rendered chat into head, text before the content, text after it, and tail.

    Head ends with the last control token before the placeholder, tail starts with the first one after it.
    """
    if chat.count(PLACEHOLDER) != 1:
        raise PromptError(
            "the model's chat template does not show the user's content exactly once",
            "use a model with an ordinary chat template",
        )
    before, after = chat.split(PLACEHOLDER)
    head_end = max((before.rfind(token) + len(token) for token in control_tokens if token in before), default=0)
    tail_start = min((after.find(token) for token in control_tokens if token in after), default=len(after))
    return before[:head_end], before[head_end:], after[:tail_start], after[tail_start:]
