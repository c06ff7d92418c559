"""What is said of each rule: its hits, the calls it saved, and whether its sample says that it is wrong."""

from pathlib import Path
from typing import Any

import pytest

from tasks.rules.account import RuleCount
from tests.days import whole_day
from tests.pages import Page
from tests.shop import good_answer, make_run, make_source
from tests.tasks.rules.test_file import write

ITEMS = [(number, f"두부 {number}호", "두부") for number in range(1, 9)]
PAIRS = [(number, 8, 0.5) for number in range(1, 9)]
RULES = """
[groups.first]
ids = [1, 2, 3, 4, 5]
[groups.sixth]
ids = [6]
[[rule]]
id = "first"
kind = "blocked"
items = "first"
[[rule]]
id = "sixth"
kind = "blocked"
items = "sixth"
effect = "warn"
why = "눈여겨볼 것"
[[rule]]
id = "same"
kind = "same_item"
sample = false
[[rule]]
id = "never"
kind = "same_product"
"""


def day(tmp_path: Path, sample: float, answer: Any = good_answer) -> Any:
    source = make_source(tmp_path / "s.duckdb", items=ITEMS, pairs=PAIRS, basket=[8])
    # with the sample the input suite counts what would be turned away: five of eight
    run = make_run(tmp_path, source, rules=write(tmp_path, RULES), screen_sample=sample, max_rule_share=0.7)
    return run, whole_day(run, answer)


def test_each_rule_says_what_it_did(tmp_path: Path) -> None:
    _, summary = day(tmp_path, sample=0)
    counts = {rule.rule: rule for rule in summary.rules}
    assert [*counts] == ["first", "sixth", "same", "never"]
    assert (counts["first"].hits, counts["first"].calls_saved, counts["first"].sample) == (5, 5, 0)
    assert (counts["sixth"].hits, counts["sixth"].calls_saved, counts["sixth"].write_share) == (1, 0, 1.0)
    assert (counts["same"].calls_saved, counts["never"].hits) == (1, 0)
    assert counts["sixth"].why == "눈여겨볼 것"
    saved = sum(rule.calls_saved for rule in summary.rules)
    assert saved == summary.outcomes["screened"] == summary.candidates - summary.decide.pairs == 6


def test_a_rule_whose_sample_is_written_is_something_to_look_at(tmp_path: Path) -> None:
    run, summary = day(tmp_path, sample=1)
    first = summary.rules[0]
    assert (first.hits, first.calls_saved, first.sample, first.decided, first.write_share) == (5, 0, 5, 5, 1.0)
    assert first.says_write
    assert summary.outcomes["screened"] == 1  # of the rule that lets nothing through
    text = Page(run.folder / "report.html").text
    assert "of 5 pairs that the rule first would turn away the model wrote 100%" in text
    assert text.index("What to look at") < text.index("of 5 pairs that the rule first") < text.index("Rules before the")


def test_a_sample_that_the_model_skips_says_nothing(tmp_path: Path) -> None:
    run, summary = day(tmp_path, sample=1, answer=lambda row: (0.9, ""))
    assert summary.rules[0].write_share == 0.0
    assert not summary.rules[0].says_write
    assert "would turn away the model wrote" not in Page(run.folder / "report.html").text


@pytest.mark.parametrize(
    ("written", "decided", "effect", "says"),
    [
        (4, 4, "reject", False),  # one in sixteen by chance
        (5, 5, "reject", True),
        (5, 5, "warn", False),  # which turns nothing away
        (13, 20, "reject", False),
        (15, 20, "reject", True),
        (500, 1000, "reject", False),
        (540, 1000, "reject", True),
        (0, 0, "reject", False),
    ],
)
def test_mostly_written_means_beyond_chance(written: int, decided: int, effect: str, says: bool) -> None:
    share = written / decided if decided else None
    count = RuleCount(
        rule="a", effect=effect, hits=9, calls_saved=0, sample=decided, decided=decided, write_share=share
    )
    assert count.says_write == says


def test_no_rules_no_account(tmp_path: Path) -> None:
    source = make_source(tmp_path / "s.duckdb", items=ITEMS, pairs=PAIRS, basket=[8])
    run = make_run(tmp_path, source, rules="")
    assert whole_day(run).rules == ()
    assert "No rule was applied." in Page(run.folder / "report.html").text
