"""How long an engine's step takes: measured on the engine at hand, or worked out from a GPU's data sheet.

Worked out (a roofline, kernel by kernel): the matrices take the longer of their arithmetic, 2 × parameters × tokens,
and of reading the weights once; attention reads the KV of everybody who gets a token, and its arithmetic on prompts
comes on top; scheduling and launching take a constant. Measured: costs of the same kind, fitted to a minute of trials.
"""

import math
from typing import NamedTuple, Protocol

from planner.hardware import Gpu
from planner.model_config import Model
from tasks.errors import ModelError

# What vLLM keeps of a GPU's memory for activations and CUDA graphs, in GiB: about this much with its defaults.
ACTIVATIONS_GIB = 1.5
# Two all-reduces a layer; each takes some microseconds whatever it carries.
ALL_REDUCE_SECONDS = 10e-6


class TimeModel(Protocol):
    """Seconds of a step."""

    def __call__(self, prompt: int, begun: int, answers: int, context: int, /) -> float:
        """Of computing `prompt` tokens of prompts, behind which so many answers have `begun`, and a further token for
        each of `answers`, which attend to `context` tokens."""
        ...


class Measured(NamedTuple):
    """Seconds by fit: a step, a prompt token, a request (handed over, and its first token chosen), a further token of
    an answer, a token of context that it attends to."""

    step: float
    prompt: float
    request: float
    answer: float
    context: float

    def __call__(self, prompt: float, begun: float, answers: float, context: float, /) -> float:
        """See `TimeModel`."""
        asked = self.prompt * prompt + self.request * begun
        return self.step + asked + self.answer * answers + self.context * context


class Roofline(NamedTuple):
    """One model on some GPUs that work on each step together (tensor parallel)."""

    model: Model
    gpu: Gpu
    gpus: int = 1

    def __call__(self, prompt: float, begun: float, answers: float, context: float, /) -> float:
        """See `TimeModel`; all may be means."""
        model, gpu, gpus = self.model, self.gpu, self.gpus
        tokens = prompt + answers
        if tokens <= 0:
            return 0.0
        operations = 2 * model.parameters * tokens + 2 * model.head_parameters * (begun + answers)
        matrices = max(operations / gpu.flops, model.weight_bytes / gpu.bandwidth) / gpus
        attention = self._read(context, answers) / gpu.bandwidth / gpus
        return gpu.step_ms / 1e3 + matrices + attention + self._all_reduce(tokens)

    def prefill(self, tokens: float, length: float) -> float:
        """Seconds of attention's arithmetic on `tokens` prompt tokens that each attend to `length` on average."""
        layers = self.model.layers - self.model.sliding_layers
        windowed = self.model.sliding_layers * min(1.0, self.model.window / length) if length else 0.0
        operations = 4 * self.model.query_size * (layers + windowed) * tokens * length
        return operations / self.gpu.flops / self.gpus

    def room(self, share: float = 0.9) -> int:
        """Tokens of KV that find room beside the weights, in a GPU's memory of which the engine gets `share`.

        Raises:
            ModelError: the weights alone are too large.
        """
        free = self._free_bytes(share)
        if free <= self.model.kv_bytes * 256:
            raise does_not_fit(self, share)
        return int(free // self.model.kv_bytes)

    def fits(self, share: float = 0.9) -> bool:
        """Whether there is room for the weights and a few prompts."""
        return self._free_bytes(share) > self.model.kv_bytes * 256

    def _free_bytes(self, share: float) -> float:
        return self.gpus * (self.gpu.memory_gib * share - ACTIVATIONS_GIB) * 2**30 - self.model.weight_bytes

    def _read(self, context: float, answers: float) -> float:
        each = context / answers if answers else 0.0
        return answers * self.model.kv_bytes_of(math.ceil(each))

    def _all_reduce(self, tokens: float) -> float:
        if self.gpus == 1:
            return 0.0
        sent = 2 * (self.gpus - 1) / self.gpus * tokens * self.model.hidden * 2
        return 2 * self.model.layers * (ALL_REDUCE_SECONDS + sent / (self.gpu.link_gb * 1e9))


def does_not_fit(roofline: Roofline, share: float, others: tuple[Gpu, ...] = ()) -> ModelError:
    """By how much a model is too large for a GPU, and what it would fit."""
    model, gpu = roofline.model, roofline.gpu
    gib = (model.weight_bytes + model.kv_bytes * 256) / 2**30
    has = roofline.gpus * (gpu.memory_gib * share - ACTIVATIONS_GIB)
    larger = [other.name for other in others if Roofline(model, other, roofline.gpus).fits(share)]
    number = next((n for n in (2, 4, 8, 16) if Roofline(model, gpu, n).fits(share)), None)
    ways = [f"a larger GPU ({', '.join(larger)})"] if larger else []
    ways += [f"{number} × {gpu.name} together"] if number and number > roofline.gpus else []
    quantised = Roofline(model._replace(weight_bytes=model.weight_bytes // 4), gpu)
    ways += ["weights of 4 bits"] if quantised.fits(share) else []
    return ModelError(
        f"{model.name} needs {gib:.1f} GiB and {roofline.gpus} × {gpu.name} has {has:.1f} GiB for it: "
        f"{gib - has:.1f} GiB too few",
        f"it would fit {' or '.join(ways)}" if ways else "take a smaller model",
    )
