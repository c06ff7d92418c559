"""What each kind of rule sees in a date's pairs, and which of them goes on all the same."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tasks.records import CANDIDATES, RULE_HITS
from tasks.rules.file import load_rules
from tasks.rules.match import find_hits, turned_away
from tests.shop import rows_of
from tests.tasks.rules.test_file import write

Item = tuple[int | None, str, str]
TOFU: Item = (1, "두부(찌개용)", "두부")
LEEK: Item = (2, "대파 1단", "채소")
SOAP: Item = (3, "세탁세제(3L)", "세탁용품")
SMOKE: Item = (4, "전자담배 액상", "")


def candidates(*pairs: tuple[Item, Item]) -> pl.DataFrame:
    rows = [
        {
            "candidate_id": number,
            **dict(zip(("recommended_item_id", "recommended_item", "recommended_scate"), recommended, strict=True)),
            **dict(zip(("reason_item_id", "reason_item", "reason_scate"), reason, strict=True)),
            "basket": [reason[1]],
            "score": 0.5,
        }
        for number, (recommended, reason) in enumerate(pairs)
    ]
    return pl.DataFrame(rows, schema=CANDIDATES)


def hits(folder: Path, text: str, *pairs: tuple[Item, Item], sample: float = 0) -> list[tuple[Any, ...]]:
    found = find_hits(candidates(*pairs), load_rules(write(folder, text)), sample)
    assert found.schema == RULE_HITS
    return rows_of(found, "candidate_id", "rule", "effect", "evidence")


def test_without_rules_only_what_has_no_id_is_turned_away() -> None:
    pairs = candidates(((None, "두부", ""), LEEK), (TOFU, TOFU))
    found = find_hits(pairs, load_rules(None), sample=1.0)
    assert rows_of(found, "candidate_id", "rule", "effect") == [(0, "missing_id", "reject")]


def test_a_date_without_pairs_has_no_hits(tmp_path: Path) -> None:
    assert hits(tmp_path, '[[rule]]\nid = "a"\nkind = "same_item"\n') == []


def test_the_same_item_by_id_or_by_name(tmp_path: Path) -> None:
    rule = '[[rule]]\nid = "same"\nkind = "same_item"\n'
    found = hits(tmp_path, rule, (TOFU, TOFU), (TOFU, (9, TOFU[1], "")), (TOFU, (1, "두부", "")), (TOFU, LEEK))
    assert [row[0] for row in found] == [0, 1, 2]


def test_the_same_product_in_another_size(tmp_path: Path) -> None:
    rule = '[[rule]]\nid = "size"\nkind = "same_product"\n'
    milk: Item = (5, "새벽우유 1L", "우유")
    more: Item = (6, "새벽우유 2.3L", "우유")
    sizes: tuple[Item, Item] = (7, "1L", ""), (8, "2L", "")
    found = hits(tmp_path, rule, (milk, more), (milk, sizes[0]), sizes)
    assert found == [(0, "size", "reject", "새벽우유 1L / 새벽우유 2.3L")]


def test_names_that_are_none(tmp_path: Path) -> None:
    rule = '[[rule]]\nid = "none"\nkind = "no_name"\nplaceholders = ["테스트 상품", "TBD", "N/A"]\n'
    none = ("", "2026", "80%", "테스트상품", "[테스트 상품 12]", "tbd!", "n/a")
    names = ("7up", "테스트 상품권", "TBD 쿠키", "A", "가")
    found = hits(tmp_path, rule, *((TOFU, (9, name, "")) for name in (*none, *names)))
    assert [row[0] for row in found] == [*range(len(none))]
    assert found[0][3] == "두부(찌개용) / #9"


def test_what_never_goes_together_in_either_direction_and_only_with_the_other(tmp_path: Path) -> None:
    text = """
[groups.food]
categories = ["두부"]
categories_like = "^채"
[groups.detergent]
names = "세제|락스"
except_names = "과일세제"
[[rule]]
id = "never"
kind = "never_together"
one = "food"
other = ["detergent"]
"""
    fruit: Item = (8, "과일세제", "세탁용품")
    found = hits(tmp_path, text, (TOFU, SOAP), (SOAP, LEEK), (SOAP, SOAP), (TOFU, LEEK), (TOFU, fruit))
    assert [(row[0], row[3]) for row in found] == [(0, "두부 × 세제"), (1, "세제 × 채소")]


def test_blocked_items_brands_and_categories(tmp_path: Path) -> None:
    text = """
[groups.numbers]
ids = [2]
[groups.brands]
brands = ["한빛", "C+"]
[groups.smoke]
names = '(?:^|[^가-힣])담배|전자담배'
except_names = "담배상추"
categories_like = "담배"
[[rule]]
id = "blocked"
kind = "blocked"
items = ["numbers", "brands", "smoke"]
"""
    branded = ("한빛 두부", "[한빛]두부", "(한빛) 두부", "c+ 음료")
    others = ("한빛나라 두부", "두부 한빛", "담배상추", "노담배")
    items: list[Item] = [(10 + number, name, "") for number, name in enumerate((*branded, *others))]
    found = hits(tmp_path, text, (LEEK, TOFU), (TOFU, SMOKE), *((TOFU, item) for item in items))
    assert [row[0] for row in found] == [0, 1, 2, 3, 4, 5]
    assert [row[3] for row in found[:3]] == ["2", "전자담배", "한빛"]


CASCADE = """
[groups.leek]
ids = [2]
[groups.all]
names = '.'
[[rule]]
id = "early_warning"
kind = "blocked"
items = "all"
effect = "warn"
[[rule]]
id = "leek"
kind = "blocked"
items = "leek"
[[rule]]
id = "late_warning"
kind = "blocked"
items = "all"
effect = "warn"
[[rule]]
id = "same"
kind = "same_item"
"""


def test_the_first_rule_that_rejects_decides_and_warnings_go_on(tmp_path: Path) -> None:
    found = hits(tmp_path, CASCADE, (LEEK, LEEK), (TOFU, TOFU), (TOFU, SOAP))
    assert [row[:3] for row in found] == [
        (0, "early_warning", "warn"),
        (0, "leek", "reject"),
        (1, "early_warning", "warn"),
        (1, "late_warning", "warn"),
        (1, "same", "reject"),
        (2, "early_warning", "warn"),
        (2, "late_warning", "warn"),
    ]
    frame = find_hits(candidates((LEEK, LEEK), (TOFU, SOAP)), load_rules(tmp_path / "rules.toml"), 0)
    assert rows_of(turned_away(frame), "candidate_id", "rule") == [(0, "leek")]


def many(count: int) -> list[tuple[Item, Item]]:
    return [(TOFU, (100 + number, "두부(찌개용)", "두부")) for number in range(count)]


def let_through(found: list[tuple[Any, ...]]) -> list[int]:
    return [row[0] for row in found if row[2] == "let_through"]


def test_a_sample_goes_on_and_it_is_the_same_one_every_time(tmp_path: Path) -> None:
    rule = '[[rule]]\nid = "same"\nkind = "same_item"\n'
    pairs = many(2000)
    drawn = let_through(hits(tmp_path, rule, *pairs, sample=0.05))
    assert 60 <= len(drawn) <= 140
    assert let_through(hits(tmp_path, rule, *pairs, sample=0.05)) == drawn
    # by the pair, not by its place; and a larger sample holds the smaller one
    backwards = let_through(hits(tmp_path, rule, *reversed(pairs), sample=0.05))
    assert sorted(len(pairs) - 1 - place for place in backwards) == drawn
    assert set(drawn) < set(let_through(hits(tmp_path, rule, *pairs, sample=0.2)))


@pytest.mark.parametrize(
    "text",
    [
        CASCADE.replace('items = "leek"', 'items = "leek"\nsample = false'),
        CASCADE + '[[rule]]\nid = "later"\nkind = "blocked"\nitems = "leek"\nsample = false\n',
        '[[rule]]\nid = "none"\nkind = "no_name"\nplaceholders = ["대파단"]\n',
    ],
)
def test_nothing_is_let_through_that_a_firm_rule_rejects_though_another_rule_comes_first(
    tmp_path: Path, text: str
) -> None:
    found = hits(tmp_path, text, (LEEK, TOFU), sample=1.0)
    assert let_through(found) == []
    assert [row[2] for row in found if row[2] != "warn"] == ["reject"]


def test_what_has_no_id_is_never_let_through(tmp_path: Path) -> None:
    rule = '[[rule]]\nid = "same"\nkind = "same_item"\n'
    found = hits(tmp_path, rule, ((None, "두부", ""), (None, "두부", "")), (TOFU, TOFU), sample=1.0)
    assert [row[:3] for row in found] == [(0, "missing_id", "reject"), (1, "same", "let_through")]
