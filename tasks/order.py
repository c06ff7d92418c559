"""The order in which the engine is asked for decisions and texts. What comes out is the same, how fast is not.

- `full`: every decision, then every text. By the time the texts begin, what decide left in a small cache is gone.
- `chunked`: a chunk's decisions, then its texts, while its prompts are still in the cache.
- `fused`: chunk by chunk, one request a pair: its first token is the decision, and the text follows at once or never
  (see tasks.decide). Each prompt is read once.
"""

from collections.abc import Callable, Sequence

from tasks.settings import OrderName

Work = Callable[[int], object]  # of one chunk, by its number


def passes(order: OrderName, decide: Work, generate: Work) -> Sequence[Work]:
    """What is to be done with all chunks, one pass after the other."""
    if order == "full":
        return decide, generate

    def decide_then_generate(chunk: int) -> None:
        decide(chunk)
        generate(chunk)

    return (decide_then_generate,)
