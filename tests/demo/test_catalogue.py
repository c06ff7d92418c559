"""The demo shop: what it sells and cooks, and that both fit together."""

from collections import Counter

import pytest

from demo.catalogue import load_shop

SHOP = load_shop()


def test_the_shop_sells_about_two_hundred_items_most_of_them_foods() -> None:
    assert 180 <= len(SHOP.items) <= 240
    assert len(SHOP.foods) >= 150
    assert len(SHOP.items) - len(SHOP.foods) >= 45


def test_short_names_are_unique_and_none_is_part_of_another() -> None:
    shorts = [item.short for item in SHOP.items.values()]
    assert len(set(shorts)) == len(shorts)
    assert [(one, other) for one in shorts for other in shorts if one != other and one in other] == []


def test_items_are_printed_as_a_shop_prints_them() -> None:
    for item in SHOP.items.values():
        assert len(item.short) >= 2
        assert item.packaging == "" or (item.packaging.startswith("(") and item.packaging.endswith(")"))
        assert item.name == item.name.strip()
        assert item.scate


def test_sixty_or_more_dishes_use_four_to_eight_different_items_each() -> None:
    assert len(SHOP.dishes) >= 60
    assert len({dish.name for dish in SHOP.dishes}) == len(SHOP.dishes)
    for dish in SHOP.dishes:
        assert 4 <= len(dish.ingredients) <= 8, dish.name
        assert len(set(dish.ingredients)) == len(dish.ingredients), dish.name
        assert dish.taste and dish.way


def test_an_ingredient_the_shop_does_not_sell_is_an_error(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "items.csv").write_text("item_id,item_name,scate\n1,두부(찌개용),두부\n", encoding="utf-8")
    (tmp_path / "dishes.csv").write_text(
        "dish,taste,way,ingredients\n된장찌개,구수한,끓여,두부|된장\n", encoding="utf-8"
    )
    with pytest.raises(KeyError, match="된장"):
        load_shop(tmp_path)


def test_a_pair_is_joined_by_the_dishes_that_use_both_in_either_order() -> None:
    ids = {item.short: item.item_id for item in SHOP.items.values()}
    dishes = SHOP.dishes_of(ids["된장"], ids["두부"])
    assert "된장찌개" in {dish.name for dish in dishes}
    assert SHOP.dishes_of(ids["두부"], ids["된장"]) == dishes
    assert SHOP.dishes_of(ids["두부"], ids["세탁세제"]) == ()


def test_most_pairs_of_foods_are_joined_by_nothing() -> None:
    """A shop where all goes with all would leave the model nothing to decide."""
    possible = len(SHOP.foods) * (len(SHOP.foods) - 1) / 2
    assert 800 <= len(SHOP.joins) <= 0.15 * possible


def test_no_dish_is_named_twice_for_a_pair() -> None:
    for pair, dishes in SHOP.joins.items():
        assert Counter(dishes).most_common(1)[0][1] == 1, pair
