"""Replays stored answers: for tests, and for measuring the pipeline without a model.

A recording is a Parquet file with one row a prompt and kind of request: `prompt` (see `prompt_digest`), `max_tokens`,
`seed` (null: the likeliest answer), `token_ids`, `label_logprobs`, `finish_reason`. A prompt that was never recorded
fails alone; one that is asked with a seed of its own that was not recorded gets its likeliest answer.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from tasks.engine import ALONE, Call, Completion, Engine, KvRoom, Request, Sampling, ends
from tasks.errors import EngineError
from tasks.files import write_parquet
from tasks.records import Columns, conform
from tasks.settings import Settings

_COLUMNS: Columns = {
    "prompt": pl.Binary,
    "max_tokens": pl.Int64,
    "seed": pl.Int64,
    "token_ids": pl.List(pl.Int32),
    "label_logprobs": pl.List(pl.Float64),
    "finish_reason": pl.String,
}
RECORDING = pl.Schema(_COLUMNS)


def prompt_digest(token_ids: Sequence[int]) -> bytes:
    """16 bytes that stand for a prompt's token ids."""
    return hashlib.blake2b(np.asarray(token_ids, dtype=np.int32).tobytes(), digest_size=16).digest()


class Recorded:
    """An `Engine` (see tasks.engine) that answers from a recording, at once."""

    room: KvRoom | None = None
    preemptions = 0

    def __init__(self, settings: Settings) -> None:
        """Read the recording.

        Raises:
            EngineError: the file is missing or no recording.
        """
        self.max_model_len = settings.max_model_len
        try:
            rows = pl.read_parquet(settings.recording or "").pipe(conform, RECORDING)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise EngineError(
                f"the recording {settings.recording} can't be read: {error}", "make one with `write_recording`"
            ) from error
        self._answers = {(prompt, most, seed): tuple(rest) for prompt, most, seed, *rest in rows.iter_rows()}

    def complete(self, requests: Sequence[Request], sampling: Sampling, call: Call = ALONE) -> list[Completion]:
        """See `Engine.complete`."""
        answers = [self._answer(request) for request in requests]
        for number, answer in enumerate(answers):
            call.keep(number, answer)
        return answers

    def forget(self) -> None:
        """Nothing is cached here."""

    def close(self) -> None:
        """Forget the recording."""
        self._answers = {}

    def _answer(self, request: Request) -> Completion:
        """A choice that may go on is put together from the decision and the text that were recorded apart."""
        choice = request.choice
        first = self._find(request.token_ids, 1 if choice else request.max_tokens, request.seed)
        if choice is None or first.error is not None or request.max_tokens == 1:
            return first
        if ends(choice, first.label_logprobs):
            return replace(first, token_ids=(choice.end,), finish_reason="stop")
        rest = self._find([*request.token_ids, choice.go_on], request.max_tokens - 1, request.seed)
        tokens = (choice.go_on, *rest.token_ids)
        return replace(first, token_ids=tokens, finish_reason=rest.finish_reason, error=rest.error)

    def _find(self, token_ids: Sequence[int], max_tokens: int, seed: int | None) -> Completion:
        asked = prompt_digest(token_ids), max_tokens
        answer = self._answers.get((*asked, seed)) or self._answers.get((*asked, None))
        if answer is None:
            return Completion(error="this prompt is not in the recording")
        ids, label_logprobs, finish_reason = answer
        return Completion(tuple(ids), tuple(label_logprobs), len(token_ids), 0, finish_reason)


def record(engine: Engine, requests: Sequence[Request], sampling: Sampling) -> pl.DataFrame:
    """Ask an engine and give back what a recording needs to replay it; prompts that failed are left out."""
    answers = zip(requests, engine.complete(requests, sampling), strict=True)
    return recording_rows((request, answer) for request, answer in answers if answer.error is None)


def recording_rows(answers: Iterable[tuple[Request, Completion]]) -> pl.DataFrame:
    """Requests and their completions as rows of a recording."""
    rows = [
        (prompt_digest(r.token_ids), r.max_tokens, r.seed, list(a.token_ids), list(a.label_logprobs), a.finish_reason)
        for r, a in answers
    ]
    return pl.DataFrame(rows, schema=RECORDING, orient="row")


def write_recording(rows: pl.DataFrame, path: Path) -> None:
    """Store rows that `recording_rows` made where the engine can replay them."""
    write_parquet(rows, path)
