"""By what a text may call an item, and when it names one that it should not."""

import pytest

from checks.catalogue import Catalogue
from checks.names import names_item, short_forms


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("쌈배추(봉)", ["쌈배추"]),
        ("[KF365] 백다다기오이 3입", ["백다다기오이", "오이"]),
        ("햇 양파 1.5kg", ["햇 양파", "햇양파", "양파"]),
        ("1+1 서울우유 900mL", ["서울우유", "서울 우유", "우유"]),
        ("알배기 배추 1봉 (1/2통 * 2개입)", ["알배기 배추", "배추"]),
        ("국산콩 두부 300g", ["국산콩 두부", "두부"]),
        ("데리야끼소스 325g", ["데리야끼소스", "데리야끼 소스"]),
        ("아보카도 엑스트라버진 오일 2종 (택1)", ["엑스트라버진 오일"]),
        ("맛있는 두유, 1,020ml, 24개", ["두유"]),
        ("깐마늘500g", ["깐마늘", "마늘"]),
        ("3분카레", ["3분카레", "카레"]),
        ("7up", ["7up"]),
        ("구운마늘&amp;양파 드레싱 120G*5입", ["양파 드레싱"]),
        ("무 1개", ["무"]),
        ("계란 15구", ["계란", "달걀"]),
        ("한돈 삼겹살 600g", ["삼겹살", "돼지고기"]),
        ("(봉)", ["(봉)", "봉"]),
        ("🥬", ["🥬"]),
    ],
)
def test_a_text_may_use_a_recognisable_short_form(name: str, forms: list[str]) -> None:
    for form in forms:
        assert names_item(f"{form}와 함께 드셔 보세요", name), form
        assert names_item(f"오늘은 ‘{form}’, 어때요?", name), form
    assert set(short_forms(name)) >= {name}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("배추 1통", "양배추와 함께 드셔 보세요"),
        ("양파 1.5kg", "대파와 함께 드셔 보세요"),
        ("파 1단", "파스타와 함께 드셔 보세요"),
        ("파 1단", "양파를 볶아 보세요"),
        ("무 1개", "나무와 무척 어울려요"),
        ("김 10매", "김치와 함께 드셔 보세요"),
        ("데리야끼소스 325g", "소스와 함께 드셔 보세요"),
        ("아보카도 오일 500ml", "아보카도와 함께 드셔 보세요"),
        ("삼겹살 600g", "목살과 함께 드셔 보세요"),
        ("[KF365] 백다다기오이 3입", "KF365와 함께 3입 드셔 보세요"),
        ("1+1 서울우유 900mL", "두유와 함께 드셔 보세요"),
        ("유기농 당근 1kg", "유기농으로 드셔 보세요"),
        ("", "아무것도 없어요"),
    ],
)
def test_what_is_not_the_item_does_not_name_it(name: str, text: str) -> None:
    assert not names_item(text, name)


def test_a_name_of_one_syllable_needs_its_particle() -> None:
    assert names_item("무를 넣고 끓여요", "무 1개")
    assert names_item("시원한 무, 두부와 끓여요", "무 1개")
    assert not names_item("무척 시원해요", "무 1개")


SHOP = Catalogue(
    [
        "두부 300g",
        "국산콩 순두부 400g",
        "감자(1kg)",
        "모짜렐라 치즈 200g",
        "떡볶이 1팩",
        "김치 1kg",
        "가지 3입",
        "파 1단",
        "햇 양파",
    ]
)


@pytest.mark.parametrize(
    "text",
    [
        "쌈배추에 두부를 넣어 보세요",
        "쌈배추와 순두부로 끓여 보세요",
        "쌈배추, 감자, 청경채를 볶아요",
        "쌈배추 위에 모짜렐라 치즈를 올려요",
        "모짜렐라치즈와 쌈배추를 구워요",
        "양파도 함께 볶아요",
    ],
)
def test_another_item_of_the_shop_is_noticed(text: str) -> None:
    assert [failure.code for failure in SHOP.other_items(text, ("쌈배추(봉)", "청경채(봉)"))] == ["names.other_item"]


@pytest.mark.parametrize(
    "text",
    [
        "쌈배추로 감자탕 어때요",
        "쌈배추와 두부조림을 드셔 보세요",
        "쌈배추로 감자 샐러드를 만들어요",
        "쌈배추로 떡볶이를 만들어요",
        "쌈배추로 김치를 담가 보세요",
        "쌈배추를 여러 가지로 즐겨요",
        "쌈배추로 파스타를 만들어요",
        "쌈배추와 감자칩을 드셔 보세요",
    ],
)
def test_dishes_everyday_words_and_parts_of_words_are_no_other_item(text: str) -> None:
    assert not list(SHOP.other_items(text, ("쌈배추(봉)", "청경채(봉)")))


def test_an_item_of_the_input_is_no_other_item_whatever_its_form() -> None:
    assert not list(SHOP.other_items("두부를 쌈배추와 드세요", ("쌈배추(봉)", "몽글몽글 순두부 1모", "부침 두부")))
    assert not list(SHOP.other_items("감자를 드세요", ("햇감자 2kg",)))


def test_without_a_catalogue_nothing_is_another_item() -> None:
    assert not list(Catalogue(()).other_items("두부를 넣어 보세요", ()))
