"""The history that a date is compared with: the published dates before it, with the runs that readers see."""

import datetime as dt
import json
from typing import Any

import polars as pl
import pytest

from checks.drift import skip_rate_drift
from tasks.errors import PublicationError
from tasks.history import count_statistics, published_statistics, volumes
from tasks.load import load_date, roll_back
from tasks.records import OUTCOMES, STATISTICS
from tasks.runs import Run
from tests.shop import DS

PASSED: dict[str, Any] = {"verdict": "passed", "checks": []}
HELD_BACK: dict[str, Any] = {"verdict": "held back", "checks": []}


def outcomes(*rows: tuple[str | None, str, float | None]) -> pl.DataFrame:
    """Outcomes of these categories, kinds and p_skips."""
    frame = pl.DataFrame(rows, schema=["recommended_scate", "outcome", "p_skip"], orient="row")
    now = pl.lit(dt.datetime(2026, 11, 29, tzinfo=dt.UTC))
    frame = frame.with_columns(
        recommended_item_id=pl.int_range(pl.len()), reason_item_id=0, text=pl.lit("맛있어요."), generated_at=now
    )
    missing = [pl.lit(None, kind).alias(name) for name, kind in OUTCOMES.items() if name not in frame.columns]
    return frame.with_columns(missing).select(OUTCOMES.names()).cast(OUTCOMES)


def finish(
    run: Run, back: int = 1, key: str = "k", skipped: int = 40, gate: dict[str, Any] = PASSED, model: str = "m1"
) -> Run:
    """What a run of `back` days ago leaves when 100 pairs were decided; published if the gate lets it."""
    past = run.model_copy(update={"ds": DS - dt.timedelta(days=back), "key": key, "model": model})
    past.folder.mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str | None, str, float | None]] = [("두부", "skipped", 0.9)] * skipped
    rows += [("두부", "published", 0.1)] * (90 - skipped) + [(None, "published", 0.1)] * 10
    past.write("outcomes", outcomes(*rows))
    past.write("statistics", count_statistics(past.read("outcomes")))
    past.write_json("checks", gate)
    past.write_json("manifest", {"model": model, "prompt": "reason/v1"})
    load_date(past)
    return past


def dates_of(frame: pl.DataFrame) -> list[int]:
    """How many days ago the dates are, in the frame's order."""
    return [(DS - date).days for date in frame["ds"].unique(maintain_order=True)]


def test_statistics_count_what_became_of_each_category() -> None:
    counted = count_statistics(
        outcomes(
            ("두부", "skipped", 0.95), ("두부", "published", 0.0), ("두부", "rejected", 0.05), ("", "failed", None),
            (None, "published", 0.1), ("", "screened", None),
        )
    )  # fmt: skip
    assert counted.schema == STATISTICS
    tofu, none = counted.row(1, named=True), counted.row(0, named=True)
    assert {name: tofu[name] for name in STATISTICS if name != "bins"} == {
        "scate": "두부", "candidates": 3, "decided": 3, "skipped": 1, "written": 2, "rejected": 1, "failed": 0,
    }  # fmt: skip
    assert {step: count for step, count in enumerate(tofu["bins"]) if count} == {0: 1, 1: 1, 19: 1}
    assert (none["scate"], none["candidates"], none["decided"], none["failed"]) == ("", 3, 1, 1)
    assert len(none["bins"]) == 20 and sum(none["bins"]) == 1


def test_every_decided_pair_of_real_size_is_in_one_bin() -> None:
    p_skips = [number / 1000 for number in range(1001)]
    counted = count_statistics(outcomes(*[("두부", "published", p_skip) for p_skip in p_skips]))
    assert counted["bins"].to_list()[0] == [50] * 19 + [51]


def test_the_history_is_the_last_published_dates_oldest_first(run: Run) -> None:
    for back in (1, 2, 3, 9):
        finish(run, back)
    assert dates_of(published_statistics(run)) == [9, 3, 2, 1]
    assert dates_of(published_statistics(run, dates=2)) == [2, 1]
    rows = published_statistics(run, dates=1).to_dicts()
    assert [(row["scate"], row["decided"], row["skipped"], row["model"], row["prompt"]) for row in rows] == [
        ("", 10, 0, "m1", "reason/v1"),
        ("두부", 90, 40, "m1", "reason/v1"),
    ]


def test_the_date_itself_and_later_ones_are_no_history(run: Run) -> None:
    for back in (-1, 0, 1):
        finish(run, back)
    assert dates_of(published_statistics(run)) == [1]


def test_a_date_that_was_held_back_is_not_in_it(run: Run) -> None:
    finish(run, 1)
    finish(run, 2, skipped=90, gate=HELD_BACK)
    assert dates_of(published_statistics(run)) == [1]


def test_a_date_that_was_taken_back_is_not_in_it_and_an_older_publication_counts_again(run: Run) -> None:
    finish(run, 1)
    finish(run, 2, key="first", skipped=30)
    second = finish(run, 2, key="second", skipped=60)
    skipped = published_statistics(run).group_by("ds", maintain_order=True).agg(pl.col("skipped").sum())
    assert skipped["skipped"].to_list() == [60, 40]
    roll_back(run.settings.serving_file, second.ds)
    skipped = published_statistics(run).group_by("ds", maintain_order=True).agg(pl.col("skipped").sum())
    assert skipped["skipped"].to_list() == [30, 40]
    roll_back(run.settings.serving_file, second.ds)
    assert dates_of(published_statistics(run)) == [1]


def test_a_run_without_statistics_leaves_its_place_to_an_older_date(run: Run) -> None:
    for back in (2, 3):
        finish(run, back)
    (finish(run, 1).folder / "statistics.parquet").unlink()
    assert dates_of(published_statistics(run, dates=2)) == [3, 2]


def test_a_run_that_is_being_made_again_has_no_known_model(run: Run) -> None:
    (finish(run, 1).folder / "manifest.json").unlink()
    assert published_statistics(run)["model"].to_list() == [None, None]


def test_without_publications_there_is_no_history(run: Run) -> None:
    assert published_statistics(run).is_empty()
    assert volumes(run).is_empty()
    finish(run, 1, gate=HELD_BACK)
    assert published_statistics(run).is_empty()


def test_a_file_that_is_no_serving_file_says_so(run: Run) -> None:
    run.settings.serving_file.parent.mkdir(parents=True, exist_ok=True)
    run.settings.serving_file.write_text("not a database", encoding="utf-8")
    with pytest.raises(PublicationError, match="can't be used as a serving file"):
        published_statistics(run)


def test_volumes_are_the_pairs_of_each_date_and_how_many_lack_a_category(run: Run) -> None:
    for back in (1, 2):
        finish(run, back)
    assert volumes(run).select("candidates", "missing_share").rows() == [(100, 0.1), (100, 0.1)]


def test_a_held_back_jump_never_becomes_the_reference(run: Run) -> None:
    """A jump is drift on the first day, and as much on the fourth, while nobody approves one of them."""
    for back in range(9, 3, -1):
        finish(run, back, skipped=38 + back % 3)
    for back in range(3, 0, -1):
        finish(run, back, skipped=80, gate=HELD_BACK)
    today = finish(run, 0, skipped=80, gate=HELD_BACK)
    statistics = today.read("statistics").with_columns(ds=pl.lit(DS), model=pl.lit("m1"), prompt=pl.lit("reason/v1"))
    drift = skip_rate_drift(statistics, published_statistics(run))
    assert (drift.status, drift.dates) == ("drifted", 6)
    assert drift.sentence.startswith("skip rate 80 % against 39 ±")
    assert json.loads(drift.model_dump_json())["parts"][0]["name"] == "두부"
