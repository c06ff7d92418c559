"""The demo model's figures: what it decides and writes for pairs it was never trained on.

It is asked as the pipeline asks it, decide and then generate, on plain transformers; its texts are judged by
the project's own row rules.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks.rows import Verdict, Written, check_written
from demo.catalogue import Pair
from demo.samples import Sampler
from tasks.decide import skip_probability
from tasks.engine import Request, Sampling
from tasks.engine.transformers_batch import TransformersBatch
from tasks.settings import load_settings

# The beginnings of the failure codes that stand for each thing the instruction asks of a text.
ASKED_OF_TEXTS: dict[str, tuple[str, ...]] = {
    "valid JSON": ("json.",),
    "at most 50 characters": ("text.too_long",),
    "one or two sentences": ("text.too_many", "text.empty"),
    "해요체": ("speech.",),
    "names both items": ("names.rec", "names.reas"),
    "all five together": ("json.", "text.too_", "text.empty", "speech.", "names.rec", "names.reas"),
    "every row rule": ("",),
}


@dataclass(frozen=True)
class Figure:
    """`right` out of `asked`."""

    name: str
    right: int
    asked: int

    def __str__(self) -> str:
        return f"{self.name:<45} {self.right:5d} of {self.asked:5d}  {self.right / max(1, self.asked):6.1%}"


def evaluate(model: Path, sampler: Sampler, seed: int = 0) -> tuple[list[Figure], list[str]]:
    """Measure the model in a folder on held-out pairs: the joined ones in both directions, as many others.

    Returns:
        The figures, and a few of the texts that it wrote.
    """
    sampler.rng.seed(seed)
    joined, apart = _held_out(sampler)
    pairs = [*joined, *apart]
    payloads = [sampler.payload(*pair, sampler.rng.randint(2, 7)) for pair in pairs]
    prompts = sampler.renderer.render(payloads)
    engine = TransformersBatch(load_settings(engine="transformers", model=model))
    to_write = _decide(engine, sampler, prompts)
    wrote = [index for index, write in enumerate(to_write) if write]
    verdicts = _write(engine, sampler, [pairs[index] for index in wrote], [prompts[index] for index in wrote])
    written, skipped = to_write[: len(joined)], [not write for write in to_write[len(joined) :]]
    of_foods = [skip for pair, skip in zip(apart, skipped, strict=True) if sampler.shop.foods.issuperset(pair)]
    figures = [
        _figure("right decisions", written + skipped),
        _figure("  joined pairs: write", written),
        _figure("  other pairs: skip", skipped),
        _figure("  other pairs of two foods: skip", of_foods),
        *(_figure(f"texts: {name}", _keep(verdicts, codes)) for name, codes in ASKED_OF_TEXTS.items()),
    ]
    return figures, [verdict.text for verdict in verdicts[:: max(1, len(verdicts) // 12)] if verdict.text]


def print_figures(figures: Iterable[Figure], texts: Iterable[str]) -> None:
    """Print the figures, one a line, and the examples."""
    print("\nOn pairs held out of training:")
    for figure in figures:
        print(figure)
    print("\nFor example:")
    for text in texts:
        print(f"  {text}")


def _held_out(sampler: Sampler) -> tuple[list[Pair], list[Pair]]:
    """Directed pairs. Of the others three in five are two foods, as in the demo source."""
    joined = [pair for one, other in sampler.held_out_joined for pair in ((one, other), (other, one))]
    rng, foods = random.Random(0), sampler.shop.foods
    hard = [pair for pair in sampler.held_out_apart if foods.issuperset(pair)]
    easy = [pair for pair in sampler.held_out_apart if not foods.issuperset(pair)]
    count = round(len(joined) * 0.6)
    apart = rng.sample(hard, count) + rng.sample(easy, len(joined) - count)
    return joined, [(one, other) if rng.random() < 0.5 else (other, one) for one, other in apart]


def _decide(engine: TransformersBatch, sampler: Sampler, prompts: Sequence[list[int]]) -> list[bool]:
    renderer = sampler.renderer
    choice = renderer.choice(threshold=0.5)
    requests = [Request(prompt, max_tokens=1, choice=choice) for prompt in prompts]
    answers = engine.complete(requests, Sampling(temperature=0.0, seed=0, stop_ids=renderer.stop_ids))
    return [skip_probability(*answer.label_logprobs) < 0.5 for answer in answers]


def _write(
    engine: TransformersBatch, sampler: Sampler, pairs: Sequence[Pair], prompts: Sequence[list[int]]
) -> list[Verdict]:
    renderer, items = sampler.renderer, sampler.shop.items
    sampling = renderer.prompt.sampling
    requests = [Request([*prompt, renderer.write_id], sampling.max_tokens) for prompt in prompts]
    answers = engine.complete(requests, Sampling(sampling.temperature, sampling.seed, renderer.stop_ids))
    rows = [
        Written(
            answer=renderer.written_answer(answer.token_ids),
            finish_reason=answer.finish_reason,
            recommended_item=items[recommended].name,
            reason_item=items[reason].name,
            basket=(items[reason].name,),
        )
        for (recommended, reason), answer in zip(pairs, answers, strict=True)
    ]
    return check_written(rows, [item.name for item in items.values()])


def _keep(verdicts: Sequence[Verdict], codes: tuple[str, ...]) -> list[bool]:
    return [not any(failure.code.startswith(codes) for failure in verdict.failures) for verdict in verdicts]


def _figure(name: str, outcomes: Iterable[bool]) -> Figure:
    counted = list(outcomes)
    return Figure(name, sum(counted), len(counted))
