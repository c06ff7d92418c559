"""What the demo model is shown: prompts exactly as the pipeline renders them, and their right answers.

One pair of items in ten is held out by a hash of its ids, in both directions and with both labels: the model
is never trained on such a pair, and its figures are measured on nothing else.
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from tokenizers import Tokenizer

from demo.catalogue import Pair, Shop
from demo.phrases import phrase
from demo.tokenizer import END
from tasks.prompt import payload
from tasks.renderer import Renderer

HELD_OUT_SHARE = 10  # one in ten

# Whence the pairs to skip come. Half of them hold each item as often as joined pairs hold it: otherwise
# "onions are joined with much" would already be a fair guess, and the model would stop there.
ALIKE_SHARE, FOODS_SHARE = 0.5, 0.35

# How often the answer to a pair that nothing joins goes on as if it were written, though its right decision is skip.
# Copying two names is learned from thousands of pairs then: with joined pairs alone the model names what usually goes
# into the dish, and one pair in seven that it never saw gets a wrong name.
DRILL_SHARE = 0.5

# How often a companion in the basket is from one of the reason item's dishes, and not just anything.
RELATED_SHARE = 0.4
# How many companions there are, few more often than many: a longer basket takes longer to learn from.
COMPANIONS = (2, 2, 2, 3, 3, 4, 5, 6, 7)


@dataclass(frozen=True)
class Sample:
    """Token ids of a prompt and of the answer after it: the label's token first, the end of the turn last.

    `decision` is the label that is right. It differs from the answer's first token in a drill of copying.
    """

    prompt: list[int]
    answer: list[int]
    decision: int


def is_held_out(one: int, other: int) -> bool:
    """Whether a pair of item ids, in either order, is kept out of training."""
    low, high = sorted((one, other))
    digest = hashlib.blake2b(f"{low}-{high}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) % HELD_OUT_SHARE == 0


class Sampler:
    """Draws pairs of the shop, (recommended, reason), and makes samples of them."""

    def __init__(self, shop: Shop, renderer: Renderer, tokenizer: Tokenizer, rng: random.Random) -> None:
        self.shop = shop
        self.renderer = renderer
        self.tokenizer = tokenizer
        self.rng = rng
        everything = list(combinations(sorted(shop.items), 2))
        self.joined = [pair for pair in everything if pair in shop.joins and not is_held_out(*pair)]
        self.held_out_joined = [pair for pair in everything if pair in shop.joins and is_held_out(*pair)]
        self.held_out_apart = [pair for pair in everything if pair not in shop.joins and is_held_out(*pair)]
        self._joined_ends = [item_id for pair in self.joined for item_id in pair]
        self._foods = sorted(shop.foods)
        self._items = sorted(shop.items)

    def batch(self, size: int) -> list[Sample]:
        """As many samples to write as to skip, shuffled; baskets of one length, so that little is padding."""
        companions = self.rng.choice(COMPANIONS)
        pairs = [self._either_way(self.rng.choice(self.joined)) for _ in range(size // 2)]
        pairs += [self._apart() for _ in range(size - len(pairs))]
        self.rng.shuffle(pairs)
        prompts = self.renderer.render([self.payload(*pair, companions) for pair in pairs])
        return [self._sample(prompt, *pair) for prompt, pair in zip(prompts, pairs, strict=True)]

    def payload(self, recommended: int, reason: int, companions: int) -> str:
        """The JSON the model reads, with a basket of the reason item and some companions."""
        items = self.shop.items
        basket = [reason, *self._companions(recommended, reason, companions)]
        return payload(
            self.renderer.prompt,
            {
                "recommended_item": items[recommended].name,
                "recommended_scate": items[recommended].scate,
                "reason_item": items[reason].name,
                "basket": [items[item_id].name for item_id in basket],
            },
        )

    def _sample(self, prompt: list[int], recommended: int, reason: int) -> Sample:
        labels, continuations = self.renderer, self.renderer.prompt.continuations
        dishes = self.shop.dishes_of(recommended, reason)
        decision = labels.write_id if dishes else labels.skip_id
        if not dishes and self.rng.random() < DRILL_SHARE:
            dishes = tuple(dish for dish in self.shop.dishes if {recommended, reason} & set(dish.ingredients))
        if not dishes:
            return Sample(prompt, self._ids(labels.skip_id, continuations.skip), decision)
        items = self.shop.items
        text = phrase(items[recommended], items[reason], self.rng.choice(dishes), self.rng)
        return Sample(prompt, self._ids(labels.write_id, continuations.write + text + continuations.skip), decision)

    def _ids(self, label: int, continuation: str) -> list[int]:
        ending = self.tokenizer.encode(continuation + END, add_special_tokens=False).ids
        return [label, *ending]

    def _apart(self) -> Pair:
        """A pair that nothing joins and that may be trained on."""
        draw = self.rng.random()
        ends: Sequence[int] = self._items
        if draw < ALIKE_SHARE:
            ends = self._joined_ends
        elif draw < ALIKE_SHARE + FOODS_SHARE:
            ends = self._foods
        while True:
            one, other = self.rng.choice(ends), self.rng.choice(ends)
            if one != other and not self.shop.dishes_of(one, other) and not is_held_out(one, other):
                return one, other

    def _either_way(self, pair: Pair) -> Pair:
        return pair if self.rng.random() < 0.5 else (pair[1], pair[0])

    def _companions(self, recommended: int, reason: int, count: int) -> list[int]:
        dishes = [dish for dish in self.shop.dishes if reason in dish.ingredients]
        related = [item for dish in dishes for item in dish.ingredients]
        chosen: list[int] = []
        while len(chosen) < count:
            item = self.rng.choice(related if related and self.rng.random() < RELATED_SHARE else self._items)
            if item in (recommended, reason, *chosen):
                related = [other for other in related if other != item]
                continue
            chosen.append(item)
        return chosen
