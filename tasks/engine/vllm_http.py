"""What goes over HTTP between us and a `vllm serve`: requests made, answers and metrics read."""

import contextlib
import datetime as dt
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from prometheus_client.samples import Sample

from tasks.engine import Choice, Completion, KvRoom, Request, Sampling, seed_of

LONGEST_WAIT = 60.0  # seconds
# What a server takes from the model's `generation_config.json` where a request does not say.
PLAIN_SAMPLING = {
    "top_p": 1.0, "top_k": 0, "min_p": 0.0,
    "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0,
}  # fmt: skip


def completion_body(request: Request, sampling: Sampling) -> dict[str, Any]:
    """A request as `/v1/completions` takes it, but for the name of the model."""
    body: dict[str, Any] = {
        "prompt": list(request.token_ids),
        "max_tokens": request.max_tokens,
        "temperature": sampling.temperature,
        "seed": seed_of(request, sampling),
        "stop_token_ids": sorted(sampling.stop_ids),
        "return_token_ids": True,
        **PLAIN_SAMPLING,
    }
    if request.choice:
        labels = [request.choice.go_on, request.choice.end]
        body |= {"logprobs": 0, "logprob_token_ids": labels, "return_tokens_as_token_ids": True}
    return body


def completion_of(answer: Any, choice: Choice | None) -> Completion:
    """What `/v1/completions` answered; what is missing raises a LookupError or TypeError."""
    choices, usage = answer["choices"][0], answer["usage"]
    label_logprobs: tuple[float, ...] = ()
    if choice:
        logprobs = choices["logprobs"]["top_logprobs"][0]
        label_logprobs = logprobs[f"token_id:{choice.go_on}"], logprobs[f"token_id:{choice.end}"]
    return Completion(
        token_ids=tuple(choices["token_ids"]),
        label_logprobs=label_logprobs,
        prompt_tokens=usage["prompt_tokens"],
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
        finish_reason=choices["finish_reason"] or "length",
    )


def kv_room(metrics: Sequence[Sample]) -> KvRoom | None:
    """KV room by vLLM's own count, which knows that models with sliding windows keep every token several times over.

    (blocks × block size would overstate it by that factor.) Of several engines behind one address the smallest counts.
    """
    rooms = []
    for sample in metrics:
        if sample.name == "vllm:cache_config_info":
            with contextlib.suppress(KeyError, ValueError):  # a label is missing, or "None"
                rooms.append(KvRoom(int(sample.labels["kv_cache_size_tokens"]), int(sample.labels["block_size"])))
    return min(rooms, key=lambda room: room.tokens, default=None)


def preemptions_counted(metrics: Sequence[Sample]) -> int:
    """How many answers a server has preempted since it was started."""
    return int(sum(sample.value for sample in metrics if sample.name == "vllm:num_preemptions_total"))


def broken_off(answer: Any) -> bool:
    """Whether the server gave up half-way, as it does with what is in flight when it is told to stop."""
    return bool(answer["choices"][0]["finish_reason"] == "abort")


def message(response: httpx.Response) -> str:
    """What the server says is wrong."""
    try:
        said = response.json()["error"]["message"]
    except (ValueError, LookupError, TypeError):
        said = response.text[:200] or response.reason_phrase
    return f"{response.status_code} {said}"


def seconds_to_wait(response: httpx.Response) -> float | None:
    """The seconds that the server asks to wait (RFC 9110, 10.2.3: a number, or a date)."""
    asked = response.headers.get("Retry-After", "")
    try:
        seconds = (
            float(asked)
            if asked.isdigit()
            else (parsedate_to_datetime(asked) - dt.datetime.now(dt.UTC)).total_seconds()
        )
    except (ValueError, TypeError):
        return None
    return min(LONGEST_WAIT, max(0.0, seconds))


def words(error: Exception) -> str:
    """What an error says, or its name where it says nothing."""
    return str(error) or type(error).__name__
