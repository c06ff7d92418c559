"""Plain batch generation with Hugging Face transformers: the baseline, and good enough for a few thousand pairs.

It has no prefix cache: every prompt is read whole each time.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tasks.engine import ALONE, Call, Choice, Completion, KvRoom, Request, Sampling, ends, seed_of
from tasks.errors import EngineError
from tasks.settings import Settings

# What fits beside a small model on one GPU or in a laptop's memory with prompts of a few hundred tokens.
BATCH = 32


class TransformersBatch:
    """An `Engine` (see tasks.engine) on `AutoModelForCausalLM.generate`."""

    room: KvRoom | None = None
    preemptions = 0

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
        self._one_caller = threading.Lock()  # batches of two callers would only slow each other down

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        """See `Engine.complete`. Where a batch fails, its prompts are tried one by one."""
        handed_over = time.perf_counter()
        done: list[Completion] = []
        for start in range(0, len(requests), BATCH):
            with self._one_caller:
                answers = self._batch(requests[start : start + BATCH], sampling)
            for answer in answers:
                done.append(replace(answer, seconds=time.perf_counter() - handed_over))
                call.keep(len(done) - 1, done[-1])
        return done

    def forget(self) -> None:
        """Nothing is cached here."""

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
        torch.manual_seed(seed_of(requests[0], sampling) or 0)  # one generator draws for the whole batch
        first = _FirstToken(torch, [request.choice for request in requests], longest, pad)
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
                logits_processor=[first],
            )
        generated = output[:, longest:].tolist()
        return [
            _completion(request, row, logprobs, sampling)
            for request, row, logprobs in zip(requests, generated, first.logprobs, strict=True)
        ]


class _FirstToken:
    """Makes each row's choice at its first token, and ends rows that are not to go on. See tasks.engine.Choice."""

    def __init__(self, torch: Any, choices: Sequence[Choice | None], prompt_length: int, end_token: int) -> None:
        self.logprobs: list[tuple[float, ...]] = [() for _ in choices]
        self._torch, self._choices = torch, choices
        self._prompt_length, self._end_token = prompt_length, end_token
        self._ended: list[int] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """`scores` is (rows, vocabulary): the logits of the next token."""
        if input_ids.shape[1] == self._prompt_length:
            self._choose(scores)
        for row in self._ended:
            if input_ids.shape[1] > self._prompt_length:
                self._leave_only(scores, row, self._end_token)
        return scores

    def _choose(self, scores: Any) -> None:
        logprobs = self._torch.log_softmax(scores.float(), dim=-1)
        for row, choice in enumerate(self._choices):
            if choice is None:
                continue
            self.logprobs[row] = float(logprobs[row, choice.go_on]), float(logprobs[row, choice.end])
            ended = ends(choice, self.logprobs[row])
            self._leave_only(scores, row, choice.end if ended else choice.go_on)
            self._ended += [row] if ended else []

    def _leave_only(self, scores: Any, row: int, token: int) -> None:
        scores[row] = -self._torch.inf
        scores[row, token] = 0.0


def _completion(request: Request, row: list[int], logprobs: tuple[float, ...], sampling: Sampling) -> Completion:
    row = row[: request.max_tokens]
    if request.choice and row[0] == request.choice.end:
        row = row[:1]  # what follows is there only because the batch goes on
    stops = sampling.stop_ids | ({request.choice.end} if request.choice and len(row) == 1 else set())
    end = next((i for i, token in enumerate(row) if token in stops), None)
    return Completion(
        token_ids=tuple(row if end is None else row[: end + 1]),
        label_logprobs=logprobs,
        prompt_tokens=len(request.token_ids),
        finish_reason="length" if end is None else "stop",
    )
