"""How well the 해요체 rule agrees with labelled sentences, beside a plain regex on the final letter.

    python -m benchmarks.speech_level SENTENCES.csv

The file has a column `sentence`, one text a row, and a column `level`, `해요체` or any other label. Printed are
precision, recall and F1 of both, and each text where rule and label disagree, with the sentences that the rule saw in
it, for a person to say which is wrong. Mind how the labels were made: where they come from the last letter (a text of
two levels labelled by its end), the regex is right by construction.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import regex

from checks.korean import analyser
from checks.sentences import split_sentences
from checks.speech import is_haeyo

HAEYO = "해요체"
_FINAL_LETTER = regex.compile(r"[요죠][^\p{L}\p{N}]*$")


@dataclass(frozen=True)
class Score:
    """Agreement with the labels; `disagreements` are (label, sentence)."""

    precision: float
    recall: float
    f1: float
    disagreements: list[tuple[str, str]]


def score(labelled: list[tuple[str, str]], judge: Callable[[str], bool]) -> Score:
    """Score a judge on (level, sentence) pairs. F1 is the harmonic mean of precision and recall."""
    judged = [(level, sentence, judge(sentence)) for level, sentence in labelled]
    hits = sum(said and level == HAEYO for level, _, said in judged)
    said_so = sum(said for _, _, said in judged)
    are_so = sum(level == HAEYO for level, _, _ in judged)
    wrong = [(level, sentence) for level, sentence, said in judged if said != (level == HAEYO)]
    return Score(hits / max(said_so, 1), hits / max(are_so, 1), 2 * hits / max(said_so + are_so, 1), wrong)


def ends_in_yo(text: str) -> bool:
    """The plain regex: the last letter is 요 or 죠."""
    return bool(_FINAL_LETTER.search(text))


def main() -> None:
    """Read the file, score both, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", type=Path)
    path: Path = parser.parse_args().sentences
    labelled = pl.read_csv(path).select("level", "sentence").drop_nulls().rows()
    analyser()  # loading it is not what is timed
    started = time.perf_counter()
    rule = score(labelled, is_haeyo)
    seconds = time.perf_counter() - started
    for level, sentence in rule.disagreements:
        seen = " | ".join(f"{part.text} [{HAEYO if part.haeyo else 'other'}]" for part in split_sentences(sentence))
        print(f"{level}\t{seen}")
    print(f"\n{len(labelled)} sentences, {len(labelled) / seconds:,.0f} a second")
    for name, result in (("rule", rule), ("regex", score(labelled, ends_in_yo))):
        print(
            f"{name:6} precision {result.precision:.4f}  recall {result.recall:.4f}  F1 {result.f1:.4f}"
            f"  disagreements {len(result.disagreements)}"
        )


if __name__ == "__main__":
    main()
