"""A rules file: what it may say, and what whoever wrote it is told, with the line."""

from pathlib import Path

import pytest

from tasks.errors import RulesError
from tasks.rules.file import load_rules, rule_lines, unknown_categories
from tasks.rules.lines import line_of
from tasks.rules.schema import NO_RULES
from tasks.settings import HOME

GOOD = """
# [[rule]] in a comment is none
[groups.food]
categories = ["채소"]

[groups."세제"]
names = '''
세제'''

[[rule]]
id = "same_item"
kind = "same_item"

[[rule]]
id = "food_with_detergent"
kind = "never_together"
one = "food"
other = ["세제"]
effect = "warn"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_rules_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert [(rule.id, rule.effect) for rule in load_rules(path).rule] == [
        ("same_item", "reject"),
        ("food_with_detergent", "warn"),
    ]
    assert rule_lines(path) == {"same_item": 10, "food_with_detergent": 14}


def test_no_path_is_no_rules() -> None:
    assert load_rules(None) is NO_RULES


def test_comments_and_layout_make_no_other_rules_a_value_does(tmp_path: Path) -> None:
    digest = load_rules(write(tmp_path, GOOD)).digest
    assert load_rules(write(tmp_path, GOOD.replace('"채소"', ' "채소", ') + "\n# more")).digest == digest
    assert load_rules(write(tmp_path, GOOD.replace('"warn"', '"reject"'))).digest != digest


SAME_ITEM = '[[rule]]\nid = "a"\nkind = "same_item"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[groups.a]\nids = [1\n\n[[rule]]", r"is no TOML: .*line \d"),
        ("[[rule]\n", r"is no TOML: .*line 1"),
        ("a = [\n1", r"is no TOML: .*line 2, the end"),
        ("[groups.a]\nids = [1]\nnames = '('\n", r"line 3: group `a`: `names` is no regular .*: unclosed group"),
        ("[groups.a]\nnames = 'x(?=y)'\n", r"line 2: .*look-ahead"),
        ("[groups.a]\nnames = '담배|'\n", r"line 2: group `a`: `names` matches an empty text"),
        ("[groups.a]\n", r"line 1: group `a`: it holds nothing → give it ids, brands"),
        ("[groups.a]\nnmes = 'x'\n", r"line 2: group `a`: unknown field `nmes` → write one of .*\(ids, .*names"),
        ("[groups.a]\ncategories = '채소'\n", r"line 2: group `a`: `categories`"),
        ("[[rules]]\nid = 'a'\n", r"line 1: the file: unknown field `rules`"),
        (SAME_ITEM + "efect = 'warn'\n", r"line 4: rule `a`: unknown field `efect` → write one of .*\(id, effect"),
        (SAME_ITEM + "effect = 'refuse'\n", r"line 4: rule `a`: `effect`: .*'reject' or 'warn'"),
        (SAME_ITEM * 2, r"line 5: rule 1 of the file has the id `a` already → give each rule an id of its own"),
        (SAME_ITEM.replace('"a"', '"missing_id"'), r"line 2: sayu's own check has the id `missing_id`"),
        (SAME_ITEM.replace('"a"', '"a b"'), r"line 2: rule `a b`: that is no id → write letters"),
        ("\n\n[[rule]]\nkind = 'same_item'\n", r"line 3: rule 1: `id` is missing → add `id = …`"),
        ("[[rule]]\nid = 'a'\n", r"line 1: rule `a`: `kind` is missing → the kinds are same_item, same_product"),
        ("[[rule]]\nid = 'a'\nkind = 'same'\n", r"line 3: rule `a`: unknown kind `same`"),
        ("[[rule]]\nid = 'a'\nkind = 'blocked'\nitems = 'tobaco'\n", r"line 4: rule `a`: there is no group `tobaco`"),
        ("[[rule]]\nid = 'a'\nkind = 'blocked'\nitems = []\n", r"line 4: rule `a`: `items`"),
        ("[[rule]]\nid = 'a'\nkind = 'no_name'\nsample = true\n", r"line 4: rule `a`: `sample`"),
        ("rule = 3\n", r"line 1: the file: `rule`"),
        ("rule = [3]\n", r"line 1: rule 1"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_with_its_line_and_what_to_do(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RulesError, match=said) as caught:
        load_rules(write(tmp_path, text))
    assert caught.value.what.startswith(str(tmp_path / "rules.toml"))
    assert caught.value.todo


def test_all_mistakes_are_said_at_once_in_the_order_of_their_lines(tmp_path: Path) -> None:
    with pytest.raises(RulesError) as caught:
        load_rules(write(tmp_path, SAME_ITEM + "x = 1\n" + "[groups.a]\nnames = '['\n" + SAME_ITEM + "effect = 'no'\n"))
    lines = caught.value.what.splitlines()
    assert [line.partition("line ")[2][:2] for line in lines] == ["4:", "6:", "10"]
    assert "mend these 3 mistakes" in caught.value.todo


def test_a_file_that_is_not_there_says_how_to_do_without(tmp_path: Path) -> None:
    with pytest.raises(RulesError, match=r'nowhere\.toml can\'t be read: No such file .*--rules ""'):
        load_rules(tmp_path / "nowhere.toml")


def test_a_category_that_the_shop_has_not_is_named_with_its_line_and_what_may_be_meant(tmp_path: Path) -> None:
    path = write(tmp_path, '[groups.a]\ncategories = [\n  "채소",\n  "세탁용픔",\n]\n')
    (unknown,) = unknown_categories(path, ["채소", "세탁용품"])
    assert (unknown.group, unknown.category, unknown.line, unknown.meant) == ("a", "세탁용픔", 4, "세탁용품")
    assert unknown.said("rules.toml") == (
        "rules.toml, line 4: the shop has no category 세탁용픔 (group `a`); is 세탁용품 meant?"
    )
    assert unknown_categories(None, []) == []


def test_what_looks_like_a_table_within_a_text_is_none() -> None:
    text = 'x = """\n[[rule]]\nid = "a # b"\n"""  # [[rule]]\n[[rule]]\nid = "b"\n'
    assert line_of(text, ("rule", 0)) == 5
    assert line_of(text, ("rule", 0, "id")) == 6
    assert line_of(text, ("rule", 0, "kind")) == 5
    assert line_of(text, ("rule", 7, "kind")) == 1


def test_the_file_that_is_shipped_holds_together() -> None:
    assert len(load_rules(HOME / "rules" / "grocery.toml").rule) > 10
