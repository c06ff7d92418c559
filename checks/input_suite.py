"""The input suite: what must hold of a date's candidates before any GPU time is spent on them."""

import datetime as dt
import math
import zoneinfo
from typing import Any, NamedTuple

import polars as pl

from checks.gate import Severity
from checks.validation import Validation, expectation, validate

SHOP_TIME = zoneinfo.ZoneInfo("Asia/Seoul")

# A nameless item is screened and costs nothing; one in a hundred is worth a look, one in five a broken export.
SOME_EMPTY_NAMES, MANY_EMPTY_NAMES = 0.01, 0.2
MORE_MISSING_CATEGORIES = 0.1  # ten points above the trailing median
# Half a day's candidates are worth publishing too, and when the rest comes, a new run asks only about the rest.
LOW_VOLUME, HIGH_VOLUME = 0.8, 2.0  # times the trailing median
RUNAWAY_VOLUME = 10.0  # a join gone wrong, and days of GPU time
MIN_DATES = 3  # a median of fewer dates is one of them


class LargestRule(NamedTuple):
    """Of the rules that turn pairs away before the model the one that turns most away, and what is bearable."""

    name: str  # and where it stands
    pairs: int
    most: float  # share of the date's pairs


def validate_input(
    candidates: pl.DataFrame,
    ds: dt.date,
    volumes: pl.DataFrame,
    largest_rule: LargestRule | None = None,
    today: dt.date | None = None,
) -> Validation:
    """Validate the candidates of one date.

    Args:
        candidates: one row a pair, with `recommended_item_id`, `reason_item_id`, `recommended_item`, `reason_item`
            and `recommended_scate`.
        ds: the date; `today`: what day it is [default: by the clock, in Asia/Seoul].
        volumes: the trailing published dates, one row each: `candidates` (pairs), `missing_share` (0 to 1).
        largest_rule: None where no rule turns a pair away.
    """
    ahead = (ds - (today or dt.datetime.now(SHOP_TIME).date())).days
    frame = candidates.select(
        "recommended_item_id",
        "reason_item_id",
        name_missing=(_is_empty("recommended_item") | _is_empty("reason_item")).cast(pl.Float64),
        category_missing=_is_empty("recommended_scate").cast(pl.Float64),
        days_ahead=pl.lit(ahead),
    )
    rules = _rules(frame, largest_rule)
    suite = [*_keys(), *_names(), _categories(frame, volumes), *_volume(frame, volumes), rules, _date(ahead)]
    return validate("input", frame, suite)


def _is_empty(column: str) -> pl.Expr:
    return pl.col(column).fill_null("").str.strip_chars() == ""


def _keys() -> list[Any]:
    from great_expectations import expectations as core

    gxe: Any = core
    said = {
        "recommended_item_id": ("pairs have a recommended item", "쌍에 추천 상품이 있음"),
        "reason_item_id": ("pairs have a reason item", "쌍에 사유 상품이 있음"),
    }
    return [
        *(
            expectation(
                gxe.ExpectColumnValuesToNotBeNull, f"{column}_present", Severity.CRITICAL, what, column=column,
                mostly=1 - MANY_EMPTY_NAMES,
            )
            for column, what in said.items()
        ),
        expectation(
            gxe.ExpectCompoundColumnsToBeUnique, "pairs_unique", Severity.CRITICAL,
            ("no pair of items comes twice", "같은 상품 쌍이 두 번 나오지 않음"), column_list=[*said],
        ),
    ]  # fmt: skip


def _names() -> list[Any]:
    from checks.expectations import ExpectShareToStayWithin

    return [
        expectation(
            ExpectShareToStayWithin, name, severity,
            (f"at most {most:.0%} of the pairs lack a name", f"이름이 빈 쌍은 {most:.0%} 이하"),
            column="name_missing", max_value=most,
        )
        for name, severity, most in (
            ("names_readable", Severity.CRITICAL, MANY_EMPTY_NAMES),
            ("names_complete", Severity.WARNING, SOME_EMPTY_NAMES),
        )
    ]  # fmt: skip


def _categories(frame: pl.DataFrame, volumes: pl.DataFrame) -> Any:
    from checks.expectations import ExpectFewMissingCategories

    missing = float(_number(frame["category_missing"].mean()))
    seen = f"{missing:.1%}"
    usual = _median(volumes, "missing_share")
    most = 1.0 if usual is None else min(1.0, usual + MORE_MISSING_CATEGORIES)
    return expectation(
        ExpectFewMissingCategories, "categories_present", Severity.WARNING,
        ("categories are missing about as often as usual", "카테고리 누락이 평소 수준임"),
        _compared(seen, seen, None if usual is None else f"{usual:.1%}", volumes.height),
        max_value=most,
    )  # fmt: skip


def _volume(frame: pl.DataFrame, volumes: pl.DataFrame) -> list[Any]:
    from checks.expectations import ExpectVolumeNearTrailingMedian

    usual = _median(volumes, "candidates")
    shown = None if usual is None else f"{usual:,.0f}"
    observed = _compared(f"{frame.height:,} pairs", f"{frame.height:,}쌍", shown, volumes.height)
    low, high, most = 1, None, None
    if usual is not None:
        low, high, most = int(LOW_VOLUME * usual), int(HIGH_VOLUME * usual), int(RUNAWAY_VOLUME * usual)
    return [
        expectation(
            ExpectVolumeNearTrailingMedian, "volume_bearable", Severity.CRITICAL,
            (f"at most {RUNAWAY_VOLUME:.0f} times the usual pairs", f"쌍 수가 평소의 {RUNAWAY_VOLUME:.0f}배 이하"),
            observed, min_value=1, max_value=most,
        ),
        expectation(
            ExpectVolumeNearTrailingMedian, "volume_usual", Severity.WARNING,
            (f"{LOW_VOLUME:.0%} to {HIGH_VOLUME:.0%} of the usual pairs",
             f"쌍 수가 평소의 {LOW_VOLUME:.0%}~{HIGH_VOLUME:.0%}"),
            observed, min_value=low, max_value=high,
        ),
    ]  # fmt: skip


def _rules(frame: pl.DataFrame, largest: LargestRule | None) -> Any:
    from checks.expectations import ExpectNoRuleToTakeTooMany

    gone = largest.pairs if largest else 0
    seen = f"{largest.name}: {gone:,} / {frame.height:,} ({gone / max(frame.height, 1):.1%})" if largest else "–"
    fewest = math.ceil(round(gone / largest.most, 6)) if largest else 0
    return expectation(
        ExpectNoRuleToTakeTooMany, "rules_bearable", Severity.CRITICAL,
        ("no rule turns away more pairs than it may", "한 규칙이 허용된 것보다 많은 쌍을 제외하지 않음"),
        (seen, seen), min_value=fewest,
    )  # fmt: skip


def _date(ahead: int) -> Any:
    from checks.expectations import ExpectDateNotInTheFuture

    when = ("today", "오늘") if not ahead else (f"{-ahead} days ago", f"{-ahead}일 전")
    return expectation(
        ExpectDateNotInTheFuture, "date_begun", Severity.WARNING,
        ("the date has begun in the shop's time zone", "날짜가 쇼핑몰 시간대에서 시작됨"),
        (f"in {ahead} days", f"{ahead}일 후") if ahead > 0 else when,
        max_value=0,
    )  # fmt: skip


def _compared(seen: str, seen_ko: str, usual: str | None, dates: int) -> tuple[str, str]:
    """What is seen against what is usual, in both languages."""
    if usual is None:
        return f"{seen}, no reference yet", f"{seen_ko}, 아직 비교할 기준이 없습니다"
    return f"{seen} against a median of {usual} over {dates} dates", f"{seen_ko}, 직전 {dates}일 중앙값 {usual}"


def _median(volumes: pl.DataFrame, column: str) -> float | None:
    return None if volumes.height < MIN_DATES else float(_number(volumes[column].median()))


def _number(value: Any) -> float:
    return float(value or 0)
