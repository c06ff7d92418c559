"""A recording that answers every prompt of a date as a good model might, and now and then as a bad one.

What is decided and written is drawn from the pair itself, so the same pair gets the same answer every time.
"""

import datetime as dt
import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from tokenizers import Tokenizer

from checks.length import MAX_CHARACTERS
from checks.names import short_forms
from demo.catalogue import load_shop
from demo.phrases import Noun
from tasks.engine import Completion, Request
from tasks.engine.recorded import recording_rows, write_recording
from tasks.extract import clean_candidates, read_candidates
from tasks.prompt import payload
from tasks.renderer import Renderer, load_renderer
from tasks.screen import pairs_left
from tasks.settings import Settings

# {s} is the item in the basket, {r} the recommended one, {d} a dish; the letter after the colon is the particle.
TEMPLATES = (
    "{s:와} {r:로} 만드는 {d} 어떠세요?",
    "{s}에 {r:를} 더해 {d:를} 즐겨 보세요.",
    "오늘 저녁엔 {s:와} {r:로} {d:를} 차려 보세요.",
    "{r:를} 함께 담아 {s:와} {d:를} 만들어 보세요.",
    "{s:와} {r:는} {d}에 잘 어울려요.",
    "{s:와} {r:가} 있으면 {d} 준비가 끝나요.",
    "{d} 좋아하세요? {s:와} {r:면} 충분해요.",
)
# What a model does wrong now and then: speech level, length, a missing name, no text, broken JSON.
FAULTS = (
    "{s:와} {r:로} {d:를} 만든다.",
    "{s:와} {r:로} {d:를} " + "맛있게 " * 12 + "드세요.",
    "{s:로} {d} 어떠세요?",
    "",
)


def make_recording(settings: Settings, ds: dt.date, path: Path, write_share: float, bad_share: float) -> None:
    """Record an answer for every pair of `ds` that no rule turns away; `write_share` of them are to be written, and
    `bad_share` of the texts break a rule."""
    candidates = clean_candidates(read_candidates(settings.source, ds))
    left = pairs_left(candidates, settings)
    renderer = load_renderer(settings.prompt, settings.model)
    payloads = [payload(renderer.prompt, row) for row in left.select(renderer.prompt.keys).iter_rows(named=True)]
    pairs = left.select("recommended_item", "reason_item").with_columns(payload=pl.Series(payloads))
    rows = recording_rows(_answers(renderer, settings, pairs.unique("payload"), write_share, bad_share))
    write_recording(rows, path)


def _answers(
    renderer: Renderer, settings: Settings, pairs: pl.DataFrame, write_share: float, bad_share: float
) -> Iterator[tuple[Request, Completion]]:
    tokenizer = Tokenizer.from_file(str(settings.model / "tokenizer.json"))
    dishes = [dish.name for dish in load_shop().dishes]
    (end, *_) = sorted(renderer.stop_ids)
    prompts = renderer.render(pairs["payload"].to_list())
    choice = renderer.choice(threshold=0.5)
    for (recommended, reason, text), prompt in zip(pairs.iter_rows(), prompts, strict=True):
        luck = _Luck(text)
        p_skip = _spread(luck.share(), write_share)
        logprobs = (math.log1p(-p_skip), math.log(p_skip))
        label = renderer.write_id if p_skip < 0.5 else renderer.skip_id
        yield Request(prompt, 1, choice), Completion((label,), logprobs, len(prompt), 0, "length")
        if p_skip < 0.5:
            templates = FAULTS if luck.share() < bad_share else TEMPLATES
            answer = _continuation(renderer, templates, dishes, recommended, reason, luck)
            ids = (*tokenizer.encode(answer, add_special_tokens=False).ids, end)
            asked = Request([*prompt, renderer.write_id], renderer.prompt.sampling.max_tokens)
            yield asked, Completion(ids, (), len(prompt) + 1, 0, "stop")


def _spread(share: float, write_share: float) -> float:
    """p_skip over the whole of (0, 1), below 0.5 for the first `write_share` of the shares."""
    below = share < write_share
    p_skip = 0.5 * share / write_share if below else 0.5 + 0.5 * (share - write_share) / (1 - write_share)
    return min(max(p_skip, 1e-6), 1 - 1e-6)


def _continuation(
    renderer: Renderer, templates: tuple[str, ...], dishes: list[str], recommended: str, reason: str, luck: "_Luck"
) -> str:
    """What follows the label: the rest of the JSON, the first phrasing that fits into the length."""
    texts = [
        template.format(s=_noun(reason), r=_noun(recommended), d=Noun(luck.choice(dishes))) for template in templates
    ]
    text = luck.choice([text for text in texts if len(text) <= MAX_CHARACTERS or templates is FAULTS] or texts)
    whole = renderer.prompt.continuations.write + json.dumps(text, ensure_ascii=False)[1:-1] + '"}'
    return whole if text else whole[: len(whole) // 2]


class _Luck:
    """Numbers that look random and are a text's own."""

    def __init__(self, text: str) -> None:
        self._digest = hashlib.blake2b(text.encode()).digest()
        self._used = 0

    def share(self) -> float:
        """A number from 0 up to 1."""
        self._used += 4
        return int.from_bytes(self._digest[self._used - 4 : self._used]) / 2**32

    def choice(self, things: list[str]) -> str:
        """One of the things."""
        return things[int(self.share() * len(things))]


class _Name(str):
    """An item's short name where the particle's form can't be told: the form after a vowel."""

    def __format__(self, after_vowel: str) -> str:
        return str(self) + after_vowel


def _noun(name: str) -> str:
    short = short_forms(name)[-1]
    return Noun(short) if "가" <= short[-1:] <= "힣" else _Name(short)
