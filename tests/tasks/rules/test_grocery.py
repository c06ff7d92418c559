"""The rules that are shipped: what they are meant to see, and names that only look like it."""

from typing import Any

import pytest

from tasks.rules.file import load_rules
from tasks.rules.match import find_hits
from tasks.settings import HOME
from tests.tasks.rules.test_match import LEEK, TOFU, Item, candidates

RULES = load_rules(HOME / "rules" / "grocery.toml")


def rules_that_see(one: Item, other: Item) -> list[Any]:
    return find_hits(candidates((one, other)), RULES, sample=0)["rule"].to_list()


@pytest.mark.parametrize(
    ("name", "scate", "rule"),
    [
        ("", "", "no_name"),
        ("1234-5", "", "no_name"),
        ("상품명 없음", "", "no_name"),
        ("TEST 01", "", "no_name"),
        ("[테스트] 결제 확인", "", "test_listing"),
        ("전자담배 액상 30ml", "", "tobacco"),
        ("멘솔 20개비", "담배/라이터", "tobacco"),
        ("어린이 해열제 시럽", "", "medicine"),
        ("콘돔 10p", "", "adult_goods"),
        ("산양분유 2단계 800g", "", "infant_formula"),
        ("국내산 사과 문의 010-1234-5678", "과일", "contact_in_name"),
        ("김치 대량주문 문의전화 주세요", "김치", "contact_in_name"),
        ("수제청 sujecheong@shop.kr", "잼/꿀", "contact_in_name"),
        ("사과즙 www.apple-farm.kr", "음료", "link_in_name"),
        ("액체 세탁세제 3L", "", "food_with_household"),
        ("물티슈 100매", "", "food_with_household"),
        ("쓰레기봉투 20L", "생활용품", "food_with_household"),
        ("고양이 간식 캔", "", "food_with_pets"),
        ("닭가슴살 트릿", "반려동물용품", "food_with_pets"),
        ("촉촉 립스틱", "뷰티", "food_with_beauty"),
        ("프라이팬 28cm", "주방용품", "food_with_kitchenware"),
        ("대파 2단", "채소", "other_size"),
    ],
)
def test_what_a_rule_is_meant_to_see(name: str, scate: str, rule: str) -> None:
    assert rules_that_see((9, name, scate), LEEK) == [rule]
    assert rules_that_see(LEEK, (9, name, scate)) == [rule]


@pytest.mark.parametrize(
    ("name", "scate"),
    [
        ("7up 355ml", "음료"),
        ("오렌지100% 주스 1.5L", "음료"),
        ("참치 100g×4캔", "통조림"),
        ("담배상추 200g", "채소"),
        ("탈지분유 1kg", "가루류"),
        ("분유맛 모나카", "아이스크림"),
        ("Mr.Kim 떡볶이", "간편식"),
        ("St.Dalfour 딸기잼", "잼/꿀"),
        ("동물복지 유정란 10구 2026-11-28", "계란"),
        ("080 감자", "채소"),
        ("테스트 키친 크림파스타", "면류"),
        ("2080 한방 과자", "과자"),
        ("키친타올 4롤", "화장지/티슈"),
        ("프린스 쿠키", "과자"),
        ("두부면 100g", "두부"),
    ],
)
def test_what_only_looks_like_it(name: str, scate: str) -> None:
    assert rules_that_see((9, name, scate), TOFU) == []


def test_two_things_that_are_no_food_are_left_to_the_model() -> None:
    assert rules_that_see((8, "세탁세제 3L", "세탁용품"), (9, "고양이 모래", "반려동물")) == []


def test_nothing_that_the_law_or_a_decision_rules_out_is_let_through() -> None:
    firm = {rule.id for rule in RULES.rule if not rule.sample}
    assert firm == {"no_name", "tobacco", "medicine", "adult_goods", "infant_formula"}
