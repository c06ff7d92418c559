"""Dates one after the other: a jump of the skip rate is held back, a small odd date is not."""

import datetime as dt
import hashlib
from pathlib import Path
from typing import Any

import pytest

from checks.gate import Gate, Verdict
from demo.build_source import write_source
from tasks.check import check_date
from tasks.decide import decide_chunk
from tasks.generate import generate_chunk
from tasks.load import load_date
from tasks.report import Summary, report_date
from tasks.runs import Run, describe_run
from tasks.settings import Settings
from tests.shop import good_answer, make_run, prepare, record

FIRST = dt.date(2026, 11, 1)
HISTORY = 6
LARGE, SMALL = 300, 12


def make_long_source(path: Path) -> Path:
    """Six usual dates, then one on which other pairs come, then a date of twelve pairs."""
    items = [(i, f"상품{i:03d}", f"분류{i % 4}") for i in range(100)]
    days = [(FIRST + dt.timedelta(days=d), SMALL if d > HISTORY + 1 else LARGE) for d in range(HISTORY + 3)]
    rows = [(day, "b", n % 100, (n * 7 + n // 100 + d + 1) % 100, 0.5) for d, (day, size) in enumerate(days)
            for n in range(size)]  # fmt: skip
    return write_source(path, items, [(day, "b", 0, 0) for day, _ in days], rows)


def skips(share: float) -> Any:
    """An engine's answers of which this share are skips, spread evenly over all pairs."""

    def answer(row: dict[str, Any]) -> tuple[float, str]:
        pair = f"{row['recommended_item']}/{row['reason_item']}".encode()
        place = int.from_bytes(hashlib.blake2b(pair, digest_size=4).digest()) / 2**32
        return (0.9 if place < share else 0.1), good_answer(row)[1]

    return answer


def day(settings: Settings, number: int, share: float) -> tuple[Run, Gate, Summary]:
    run = describe_run(FIRST + dt.timedelta(days=number), settings)
    chunks = prepare(run)
    record(run, skips(share))
    for chunk in range(chunks):
        decide_chunk(run, chunk)
        generate_chunk(run, chunk)
    gate = check_date(run)
    return run, gate, report_date(run, gate, load_date(run))


@pytest.mark.slow
def test_a_jump_is_held_back_a_small_date_is_not_and_held_back_dates_are_no_reference(tmp_path: Path) -> None:
    settings = make_run(tmp_path, make_long_source(tmp_path / "long.duckdb"), result_ttl_days=1e-6).settings
    for number in range(HISTORY):
        _, gate, _ = day(settings, number, 0.4)
        assert gate.verdict is not Verdict.HELD_BACK
    seen = {check.name: check.observed for check in gate.checks}
    assert "over 5 dates" in seen["skip_rate"]

    _, gate, summary = day(settings, HISTORY, 0.75)
    assert gate.verdict is Verdict.HELD_BACK
    assert summary.publication_id is None
    assert gate.reasons[0].startswith("skip rate 7")
    assert f"over {HISTORY} dates" in gate.reasons[0]

    _, gate, _ = day(settings, HISTORY + 1, 0.4)  # the held-back date has moved nothing
    assert gate.verdict is not Verdict.HELD_BACK

    _, gate, summary = day(settings, HISTORY + 2, 0.75)
    assert summary.candidates == SMALL
    assert gate.verdict is not Verdict.HELD_BACK
