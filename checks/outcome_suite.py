"""The outcome suite: what must hold of a date's outcomes before they are loaded."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from checks.drift import BINS, Drift, bin_of
from checks.gate import Severity
from checks.length import count_characters
from checks.validation import Validation, expectation, validate

# The form is what a fine-tuned model is surest of: the demo model breaks it in none of a thousand answers.
MIN_JSON_SHARE = 0.9
# How many texts may break a rule. A good model breaks one of form in one text of a hundred, and small models are worst
# at names; what customers must never read the rules keep from them, but a model that writes it is not the one we chose.
FORM, NAMES, NEVER = 0.05, 0.2, 0.01
MAX_FAILURES = {
    **dict.fromkeys(("text.too_long", "text.too_many_sentences", "speech.not_haeyo"), FORM),
    **dict.fromkeys(("names.other_item", "repetition.same_text", "repetition.within_text"), FORM),
    **dict.fromkeys(("names.recommended_missing", "names.reason_missing"), NAMES),
    **dict.fromkeys((f"text.{what}" for what in ("empty", "markup", "control_character", "left_over")), NEVER),
    "text.foreign_script": NEVER,
    **dict.fromkeys((f"content.{what}" for what in ("contact", "link", "price", "health", "profanity")), NEVER),
    "content.banned": NEVER,
}
FEW_TEXTS = 3  # failures that warn of nothing, however few texts there are
MAX_REJECTED = 0.3  # a usual date, and each rule at half its ceiling
# One text in twenty may be shorter or longer than the outer ones, the median lies between the middle ones: in
# characters. A reason that names two items and a dish has about 15 at least, and 50 at most.
USUAL_LENGTHS = {"quantiles": [0.05, 0.5, 0.95], "value_ranges": [[10, None], [15, 45], [None, 60]]}
ENOUGH = 30  # texts or decisions below which a distribution says nothing
MIN_P_SKIP_SPREAD = 0.02  # of one standard deviation: below it the model says the same of every pair


def validate_outcomes(
    outcomes: pl.DataFrame,
    candidates: int,
    allowed: Sequence[str],
    max_failed_share: float,
    skip_rate: Drift | None = None,
    p_skip: Drift | None = None,
    replaces: bool = False,
) -> Validation:
    """Validate the outcomes of one date.

    Args:
        outcomes: one row a candidate, with `candidate_id`, `outcome`, `detail` (of rejected rows the codes of the
            failed rules, joined by ", "), `p_skip`, `text` and `valid_json` (null where nothing was written).
        candidates: how many rows it must have; `allowed`: the outcomes that exist.
        max_failed_share: share of rows without an answer (0 to 1) above which the date is held back.
        skip_rate: how the date compares with the trailing ones, and `p_skip` likewise; None: nothing is said of it.
        replaces: whether the date has reasons already, which an empty publication would take away.
    """
    frame = _columns(outcomes, p_skip.cut if p_skip else None)
    suite = [
        *_sums(candidates, allowed, replaces),
        *_answers(frame, max_failed_share),
        *_rules(frame),
        *_distributions(frame),
    ]
    if skip_rate:
        suite.append(_skip_rate(skip_rate))
    if p_skip:
        suite.append(_p_skip(p_skip))
    return validate("outcomes", frame, suite)


def _columns(outcomes: pl.DataFrame, cut: float | None) -> pl.DataFrame:
    """What the expectations look at: 1 and 0 where something is so and not, null where it can't be."""
    published, written = pl.col("outcome") == "published", pl.col("valid_json").is_not_null()
    decided = pl.col("p_skip").is_not_null()
    texts = outcomes["text"].drop_nulls().unique()
    lengths = pl.Series([count_characters(text) for text in texts], dtype=pl.Float64)
    columns = {
        "failed": pl.col("outcome") == "failed",
        "published": published,
        "bare": published & pl.col("text").is_null(),
        "valid_json": pl.col("valid_json"),
        "rejected": pl.when(written).then(pl.col("outcome") == "rejected"),
        "skipped": pl.when(decided).then(pl.col("outcome") == "skipped"),
        "p_skip_below_cut": bin_of(pl.col("p_skip")) < round(BINS * (cut or 1)),
        **{code: pl.when(written).then(pl.col("codes").list.contains(code)) for code in MAX_FAILURES},
    }
    codes = pl.when(pl.col("outcome") == "rejected").then(pl.col("detail")).fill_null("").str.split(", ")
    return outcomes.with_columns(codes=codes).select(
        "candidate_id",
        "outcome",
        "p_skip",
        characters=pl.col("text").replace_strict(texts, lengths, default=None, return_dtype=pl.Float64),
        **{name: column.cast(pl.Float64) for name, column in columns.items()},
    )


def _sums(candidates: int, allowed: Sequence[str], replaces: bool) -> list[Any]:
    from great_expectations import expectations as core

    gxe: Any = core
    critical = Severity.CRITICAL
    return [
        expectation(
            gxe.ExpectTableRowCountToEqual, "counts_add_up", critical,
            ("outcomes add up to the candidates", "결과의 합이 후보 수와 같음"), value=candidates,
        ),
        expectation(
            gxe.ExpectColumnValuesToNotBeNull, "outcome_present", critical,
            ("every candidate has an outcome", "모든 후보에 결과가 있음"), column="outcome",
        ),
        expectation(
            gxe.ExpectColumnValuesToBeUnique, "outcome_single", critical,
            ("no candidate has two outcomes", "결과가 둘인 후보가 없음"), column="candidate_id",
        ),
        expectation(
            gxe.ExpectColumnValuesToBeInSet, "outcome_known", critical,
            ("outcomes are known ones", "결과가 모두 정해진 값임"), column="outcome", value_set=list(allowed),
        ),
        expectation(
            gxe.ExpectColumnValuesToBeBetween, "p_skip_valid", critical,
            ("p_skip lies between 0 and 1", "p_skip가 0과 1 사이임"), column="p_skip", min_value=0, max_value=1,
        ),
        expectation(
            gxe.ExpectColumnMaxToBeBetween, "published_has_text", critical,
            ("what is published has a text", "게시되는 것에는 글이 있음"), column="bare", max_value=0,
        ),
        expectation(
            gxe.ExpectColumnMaxToBeBetween, "published_any", critical if replaces else Severity.WARNING,
            ("at least one reason is published", "게시되는 사유가 하나 이상 있음"), column="published", min_value=1,
        ),
    ]  # fmt: skip


def _answers(frame: pl.DataFrame, max_failed_share: float) -> list[Any]:
    from checks.expectations import ExpectShareToStayWithin

    failed = expectation(
        ExpectShareToStayWithin, "failed_share", Severity.CRITICAL,
        (f"at most {max_failed_share:.0%} of the pairs failed", f"실패한 쌍이 {max_failed_share:.0%} 이하"),
        column="failed", max_value=_by_chance(max_failed_share, frame.height),
    )  # fmt: skip
    if not frame["valid_json"].count():
        return [failed]
    return [
        failed,
        expectation(
            ExpectShareToStayWithin, "valid_json", Severity.WARNING,
            (f"at least {MIN_JSON_SHARE:.0%} of the written answers are valid JSON",
             f"작성된 답의 {MIN_JSON_SHARE:.0%} 이상이 올바른 JSON"),
            column="valid_json", min_value=MIN_JSON_SHARE,
        ),
        expectation(
            ExpectShareToStayWithin, "rejected_share", Severity.WARNING,
            (f"at most {MAX_REJECTED:.0%} of the written answers are rejected",
             f"작성된 답 중 탈락이 {MAX_REJECTED:.0%} 이하"),
            column="rejected", max_value=_with_few(MAX_REJECTED, frame),
        ),
    ]  # fmt: skip


def _by_chance(share: float, pairs: int) -> float:
    """The share that so many pairs reach in one date of a hundred if `share` is the true one (binomial quantile).

    One failed pair of ten is a failed pair, not a failing engine.
    """
    from scipy.stats import binom

    return max(share, float(binom.ppf(0.99, pairs, share)) / max(pairs, 1))


def _rules(frame: pl.DataFrame) -> list[Any]:
    from checks.expectations import ExpectShareToStayWithin

    if not frame["valid_json"].count():
        return []
    return [
        expectation(
            ExpectShareToStayWithin, code, Severity.WARNING,
            (f"at most {most:.0%} of the texts fail {code}", f"글의 {most:.0%} 이하가 {code}에 걸림"),
            column=code, max_value=_with_few(most, frame),
        )
        for code, most in MAX_FAILURES.items()
    ]  # fmt: skip


def _with_few(most: float, frame: pl.DataFrame) -> float:
    """The ceiling of a share, raised so far that a few texts of a small date don't break it."""
    return max(most, min(1.0, FEW_TEXTS / frame["valid_json"].count()))


def _distributions(frame: pl.DataFrame) -> list[Any]:
    from great_expectations import expectations as core

    from checks.expectations import ExpectTextLengthsToBeUsual

    gxe: Any = core
    suite = []
    if frame["characters"].count() >= ENOUGH:
        said = ("texts are as long as reasons are", "글의 길이가 추천사유답게 분포함")
        suite.append(
            expectation(
                ExpectTextLengthsToBeUsual, "text_lengths", Severity.WARNING, said, quantile_ranges=USUAL_LENGTHS
            )
        )
    if frame["p_skip"].count() >= ENOUGH:
        said = ("p_skip tells pairs apart", "p_skip가 쌍마다 다름")
        suite.append(
            expectation(gxe.ExpectColumnStdevToBeBetween, "p_skip_spread", Severity.WARNING, said, column="p_skip",
                        min_value=MIN_P_SKIP_SPREAD)
        )  # fmt: skip
    return suite


def _skip_rate(drift: Drift) -> Any:
    from checks.expectations import ExpectSkipRateToMatchReference

    return expectation(
        ExpectSkipRateToMatchReference, "skip_rate", Severity.CRITICAL,
        ("the skip rate is that of the trailing published dates", "건너뛴 비율이 직전 게시일들과 같은 수준임"),
        (drift.sentence, drift.sentence_ko), drift.sentence, **_limits(drift),
    )  # fmt: skip


def _p_skip(drift: Drift) -> Any:
    from checks.expectations import ExpectPSkipToMatchReference

    return expectation(
        ExpectPSkipToMatchReference, "p_skip", Severity.WARNING,
        ("p_skip is distributed as on the trailing published dates", "p_skip 분포가 직전 게시일들과 같은 수준임"),
        (drift.sentence, drift.sentence_ko), drift.sentence, **_limits(drift),
    )  # fmt: skip


def _limits(drift: Drift) -> dict[str, float]:
    """The band, or every rate where there is none: nothing is judged then."""
    low, high = (0.0, 1.0) if drift.low is None or drift.high is None else (drift.low, drift.high)
    return {"min_value": low, "max_value": high}
