"""Whether two ways of asking gave the same answers: faster counts for nothing where they did not."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

# A cache hit, a batch or a kernel moves p_skip a little; decisions this close to the threshold may go either way.
BAND = 0.02


class Sameness(BaseModel):
    """How the answers of one way compare with those of another, over the same pairs."""

    model_config = ConfigDict(frozen=True)
    pairs: int
    missing: int  # pairs that only one of the two decided
    differ: int  # decisions that differ outside the band: none may
    in_band: int  # decisions within the band of the threshold, which may differ
    differ_in_band: int
    moved: float  # how far p_skip moved at most
    texts: int  # pairs that both wrote, outside the band
    same_texts: int

    @property
    def same(self) -> bool:
        """Whether the two may be called equal."""
        return not self.missing and not self.differ and self.texts == self.same_texts

    def __str__(self) -> str:
        """In a few words, for a table."""
        if self.same:
            return f"same ({self.differ_in_band} of {self.in_band} in the band differ, p_skip ± {self.moved:.3f})"
        return (
            f"NOT the same: {self.missing} pairs missing, {self.differ} decisions differ, "
            f"{self.texts - self.same_texts} of {self.texts} texts differ, p_skip ± {self.moved:.3f}"
        )


def compare(
    p_skip: Mapping[str, float],
    texts: Mapping[str, str],
    reference_p_skip: Mapping[str, float],
    reference_texts: Mapping[str, str],
    threshold: float,
) -> Sameness:
    """Compare p_skip and texts, by pair, with those of a reference."""
    both = p_skip.keys() & reference_p_skip.keys()
    in_band = {key for key in both if abs(reference_p_skip[key] - threshold) <= BAND and threshold < 1}
    differing = {key for key in both if (p_skip[key] < threshold) != (reference_p_skip[key] < threshold)}
    written = (texts.keys() & reference_texts.keys() & both) - in_band - differing
    return Sameness(
        pairs=len(both),
        missing=len(p_skip.keys() ^ reference_p_skip.keys()),
        differ=len(differing - in_band),
        in_band=len(in_band),
        differ_in_band=len(differing & in_band),
        moved=max((abs(p_skip[key] - reference_p_skip[key]) for key in both), default=0.0),
        texts=len(written),
        same_texts=sum(texts[key] == reference_texts[key] for key in written),
    )
