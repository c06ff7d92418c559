"""Names of one product in several sizes are one; another sort, share or brand is another product."""

import polars as pl
import pytest

from tasks.rules.product import product_of


def products(*names: str) -> list[str | None]:
    return pl.DataFrame({"name": names}).select(product_of(pl.col("name")))["name"].to_list()


@pytest.mark.parametrize(
    "names",
    [
        ("새벽우유 1L", "새벽우유 2.3L", "새벽우유 900ml, 2개", "새벽 우유(1리터)", "새벽우유1L"),
        ("쌈배추(봉)", "쌈배추(2입)", "쌈배추 500g"),
        ("참치 (165g*4입)", "참치 100g", "참치 150g x 3캔", "참치 97*3"),
        ("라면 4+2기획", "라면 1+1", "라면 5입", "라면 (5+1개)"),
        ("배변패드 (75 x 65cm) 60매", "배변패드 40매"),
        ("사이다 355ml 24캔", "사이다 1.5L*6", "사이다 대용량"),
        ("크래커 3번들 291g(97g＊3)", "크래커 1,020g"),
    ],
)
def test_the_same_product_in_another_size(names: tuple[str, ...]) -> None:
    assert len(set(products(*names))) == 1
    assert None not in products(*names)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("두부(찌개용) 300g", "두부(부침용) 300g"),
        ("초콜릿 72% 100g", "초콜릿 99% 100g"),
        ("[한빛] 체다치즈 200g", "[새봄] 체다치즈 200g"),
        ("3분카레 200g", "5분카레 200g"),
        ("7up 355ml", "8up 355ml"),
        ("비타500 100ml", "비타1000 100ml"),
    ],
)
def test_another_product(one: str, other: str) -> None:
    assert len(set(products(one, other))) == 2


def test_what_is_only_a_size_is_no_product() -> None:
    assert products("1.5L", "500g 2입", "") == [None, None, None]
