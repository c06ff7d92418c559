"""Plain batch generation with Hugging Face transformers: the baseline, and good enough for a few thousand pairs.

It has no prefix cache: every prompt is read whole each time.
"""

from collections.abc import Sequence
from typing import Any

from tasks.engine import Completion, KvRoom, Request, Sampling
from tasks.errors import EngineError
from tasks.settings import Settings

# What fits beside a small model on one GPU or in a laptop's memory with prompts of a few hundred tokens.
BATCH = 32


class TransformersBatch:
    """An `Engine` (see tasks.engine) on `AutoModelForCausalLM.generate`."""

    room: KvRoom | None = None

    def __init__(self, settings: Settings) -> None:
        """Load the model.

        Raises:
            EngineError: transformers or torch are not installed, or the model can't be loaded.
        """
        try:
            import torch
            from transformers import AutoModelForCausalLM
            from transformers.utils import logging

            logging.disable_progress_bar()  # type: ignore[no-untyped-call]
            device = "cuda" if torch.cuda.is_available() else "cpu"
            model: Any = AutoModelForCausalLM.from_pretrained(
                str(settings.model), dtype=settings.dtype, local_files_only=True
            )
        except Exception as error:
            raise EngineError(
                f"transformers could not load {settings.model}: {error}", "check the model folder and the installation"
            ) from error
        self._model: Any = model.to(device).eval()
        self._torch = torch
        self.max_model_len = settings.max_model_len

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """See `Engine.complete`. Where a batch fails, its prompts are tried one by one."""
        done: list[Completion] = []
        for start in range(0, len(requests), BATCH):
            done += self._batch(requests[start : start + BATCH], sampling)
        return done

    def close(self) -> None:
        """Give back the model's memory."""
        del self._model

    def _batch(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        try:
            return self._generate(requests, sampling)
        except (RuntimeError, IndexError, ValueError) as error:
            if len(requests) == 1:
                return [Completion(error=f"{type(error).__name__}: {error}")]
            return [completion for request in requests for completion in self._batch([request], sampling)]

    def _generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        torch = self._torch
        longest = max(len(request.token_ids) for request in requests)
        most = max(request.max_tokens for request in requests)
        if longest + most > self.max_model_len:
            raise ValueError(f"{longest} prompt tokens and {most} of answer exceed max_model_len {self.max_model_len}")
        pad = min(sampling.stop_ids, default=0)
        rows = [[pad] * (longest - len(request.token_ids)) + list(request.token_ids) for request in requests]
        mask = [[0] * (longest - len(r.token_ids)) + [1] * len(r.token_ids) for r in requests]
        device = self._model.device
        torch.manual_seed(sampling.seed)
        with torch.inference_mode():
            output = self._model.generate(
                torch.tensor(rows, device=device),
                attention_mask=torch.tensor(mask, device=device),
                max_new_tokens=most,
                do_sample=sampling.temperature > 0,
                temperature=sampling.temperature if sampling.temperature > 0 else None,
                top_k=None,
                top_p=None,
                eos_token_id=sorted(sampling.stop_ids),
                pad_token_id=pad,
                output_logits=True,
                return_dict_in_generate=True,
            )
        first = torch.log_softmax(output.logits[0].float(), dim=-1)
        generated = output.sequences[:, longest:].tolist()
        return [
            _completion(request, row, first[i], sampling)
            for i, (request, row) in enumerate(zip(requests, generated, strict=True))
        ]


def _completion(request: Request, row: list[int], first: Any, sampling: Sampling) -> Completion:
    row = row[: request.max_tokens]
    end = next((i for i, token in enumerate(row) if token in sampling.stop_ids), None)
    return Completion(
        token_ids=tuple(row if end is None else row[: end + 1]),
        label_logprobs=tuple(float(first[label]) for label in request.label_ids),
        prompt_tokens=len(request.token_ids),
        finish_reason="length" if end is None else "stop",
    )
