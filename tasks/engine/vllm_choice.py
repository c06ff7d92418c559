"""The first token of an answer as a choice between two labels, made inside vLLM's sampler.

So one request decides a pair and writes it, or ends at once, and nobody waits between the two. It also costs less than
vLLM's own logprobs, which are worked out over the whole vocabulary for every running answer at every step: here only
rows at their first token are looked at.
"""

from typing import TYPE_CHECKING, Any, ClassVar

import torch
from vllm.v1.sample.logits_processor import BatchUpdate, LogitsProcessor
from vllm.v1.sample.logits_processor.builtin import process_dict_updates

from tasks.engine import Choice, ends

if TYPE_CHECKING:
    from vllm import SamplingParams
    from vllm.config import VllmConfig

NAME = "sayu_choice"  # under which a request carries its number and its choice in `extra_args`


class LabelChoice(LogitsProcessor):
    """A vLLM logits processor. Requests without a choice pass through untouched.

    Attributes:
        logprobs: what the labels' logprobs were, by the number of the request; whoever reads one takes it out. The
            engine runs in this process, so that both sides see the same dictionary.
    """

    logprobs: ClassVar[dict[int, tuple[float, float]]] = {}

    def __init__(self, vllm_config: "VllmConfig", device: torch.device, is_pin_memory: bool) -> None:
        """As vLLM calls it, once for an engine."""
        self._at_first: dict[int, tuple[int, Choice, list[int]]] = {}

    def is_argmax_invariant(self) -> bool:
        """No: it changes which token is the likeliest."""
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        """Follow the requests as they come, go and change rows; those beyond their first token are done with."""
        process_dict_updates(self._at_first, batch_update, _entry)
        for row in [row for row, (_, _, written) in self._at_first.items() if written]:
            del self._at_first[row]

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        """Note the labels' logprobs and leave only the chosen one possible. `logits` is (rows, vocabulary)."""
        # A prompt that is read in parts is seen more than once; the last time counts.
        asked = [(row, number, choice) for row, (number, choice, written) in self._at_first.items() if not written]
        if not asked:
            return logits
        rows = torch.tensor([row for row, _, _ in asked], device=logits.device)
        labels = torch.tensor([[choice.go_on, choice.end] for _, _, choice in asked], device=logits.device)
        first = logits[rows].float()
        label_logprobs = (first.gather(1, labels) - first.logsumexp(dim=1, keepdim=True)).tolist()
        chosen = []
        for (_, number, choice), (go_on, end) in zip(asked, label_logprobs, strict=True):
            LabelChoice.logprobs[number] = go_on, end
            chosen.append(choice.end if ends(choice, (go_on, end)) else choice.go_on)
        logits[rows] = -torch.inf
        logits[rows, torch.tensor(chosen, device=logits.device)] = 0.0
        return logits


def _entry(
    params: "SamplingParams", _prompt: list[int] | None, written: list[int]
) -> tuple[int, Choice, list[int]] | None:
    asked: Any = (params.extra_args or {}).get(NAME)
    return None if asked is None or written else (*asked, written)
