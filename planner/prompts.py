"""What the planner has to know of a date's prompts: their lengths, what neighbours share, and what becomes of them.

No token is looked at again: in the plan's order (tasks.plan.order_prompts) prompts that begin alike stand together, so
the lengths and what each shares with the one before say which blocks hold the same.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.errors import UsageError


class Prompts(NamedTuple):
    """The prompts of a date in the plan's order, and what the engine is going to answer."""

    lengths: Sequence[int]  # tokens
    shared: Sequence[int]  # tokens that the prompt before begins with as well
    writes: Sequence[bool]  # whether it is written, not skipped
    texts: Sequence[int]  # tokens of the text, its end included

    @property
    def floor(self) -> int:
        """Distinct prompt tokens: what must be computed at least."""
        return sum(self.lengths) - sum(self.shared)

    def prefixes(self, block_size: int) -> list[list[int]]:
        """A number for each whole block of each prompt, the same where they hold the same behind the same."""
        prefixes: list[list[int]] = []
        before: list[int] = []
        number = 0
        for length, shared in zip(self.lengths, self.shared, strict=True):
            kept = min(shared // block_size, len(before))
            added = length // block_size - kept
            before = [*before[:kept], *range(number, number + added)]
            number += added
            prefixes.append(before)
        return prefixes

    def first(self, number: int) -> "Prompts":
        """The first so many prompts."""
        return Prompts(self.lengths[:number], self.shared[:number], self.writes[:number], self.texts[:number])


def answered(
    lengths: Sequence[int], shared: Sequence[int], write_share: float, texts: Sequence[int], seed: int = 0
) -> Prompts:
    """Prompts of which so many are written, drawn evenly, with text lengths drawn from those that were seen.

    Raises:
        UsageError: the share is none, or no text length is given.
    """
    if not 0 <= write_share <= 1 or not texts or min(texts) < 1:
        raise UsageError("the share written must be within 0 and 1, and texts take tokens", "correct --write-share")
    generator = random.Random(seed)
    number = len(lengths)
    writing = set(generator.sample(range(number), round(write_share * number)))
    drawn = generator.choices(texts, k=number)
    return Prompts(lengths, shared, [place in writing for place in range(number)], drawn)


def made_up(pairs: int, prompt_tokens: int, shared_tokens: int, write_share: float, text_tokens: float) -> Prompts:
    """Prompts of one length that have nothing but their beginning in common.

    Raises:
        UsageError: they would share more than they are long.
    """
    if not 0 <= shared_tokens < prompt_tokens:
        raise UsageError(f"prompts of {prompt_tokens} tokens can't share {shared_tokens}", "give fewer --shared-tokens")
    shared = [0] * min(pairs, 1) + [shared_tokens] * (pairs - 1)
    return answered([prompt_tokens] * pairs, shared, write_share, spread(text_tokens))


def spread(tokens: float) -> list[int]:
    """Text lengths round a mean, where nothing else is known of them.

    A chunk waits for its longest text, so that all of one length would be too good to be true. The texts of the demo
    model, and sentences of one to two clauses in general, lie within 0.6 and 1.4 of their mean.
    """
    return [max(1, round(tokens * (0.6 + 0.1 * step))) for step in range(9)]


def stretched(prompts: Prompts, tokens: int) -> Prompts:
    """The same prompts with so many tokens more (or fewer) in the fixed text that all of them begin with.

    Raises:
        UsageError: they have not so many in common.
    """
    if min(prompts.shared[1:], default=0) + tokens < 0:
        raise UsageError(f"the prompts have fewer than {-tokens} tokens in common", "take fewer away")
    longer = [length + tokens for length in prompts.lengths]
    shared = [*prompts.shared[:1], *(common + tokens for common in prompts.shared[1:])]
    return prompts._replace(lengths=longer, shared=shared)


def common_start(prompts: Prompts) -> int:
    """Tokens that all prompts begin with."""
    return int(np.min(prompts.shared[1:])) if len(prompts.lengths) > 1 else 0
