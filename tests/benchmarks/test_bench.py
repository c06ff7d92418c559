"""What the bench makes of its trials: medians, the table, and no winner whose answers differ."""

from pathlib import Path

import pytest

from benchmarks.bench import Bench, Job, Row, summarise
from benchmarks.bench_report import cells, headline, verdict, write_bench
from benchmarks.sweep import choose, write_tuned
from benchmarks.trial import Trial
from benchmarks.variants import CHUNKED, FUSED, Variant
from tasks.engine import KvRoom
from tasks.settings import Settings, load_settings


def trial(seconds: float, text: str = "a", errors: int = 0) -> Trial:
    return Trial(
        seconds=seconds, latencies=[1.0, 2.0], floor=100, prompt_tokens=200,
        computed_tokens=110, generated_tokens=20, preemptions=0, peak_gib=1.0, chunks=1, room=KvRoom(4096, 32),
        p_skip={"one": 0.1, "two": 0.9}, texts={"one": text}, errors=errors,
    )  # fmt: skip


def bench(*trials: tuple[Variant, list[Trial]]) -> Bench:
    variants, repeats = zip(*trials, strict=True)
    return summarise(Settings(), variants, list(repeats), Job(pairs=2, write_share=0.5, max_tokens=20))


def test_the_median_of_the_repeats_counts() -> None:
    (row,) = bench((FUSED, [trial(4.0), trial(1.0), trial(2.0)])).rows
    assert row.median_seconds == 2.0
    assert (row.pairs_per_second, row.generated_per_second, row.times_floor) == (1.0, 10.0, 1.1)


def test_the_fastest_way_wins_if_its_answers_are_the_same() -> None:
    rows = bench((CHUNKED, [trial(4.0)]), (FUSED, [trial(2.0)]))
    assert verdict(rows).startswith("+ fused wins with the same answers as + chunked")


@pytest.mark.parametrize("other", [trial(2.0, text="b"), trial(2.0, errors=1)])
def test_a_way_with_other_answers_or_errors_can_not_win(other: Trial) -> None:
    said = verdict(bench((CHUNKED, [trial(4.0)]), (FUSED, [other])))
    assert said.startswith("+ chunked wins")
    assert "NOT comparable, since the answers differ: + fused" in said


def test_the_files_say_what_was_measured_on_what(tmp_path: Path) -> None:
    write_bench(bench((CHUNKED, [trial(4.0)]), (FUSED, [trial(2.0)])), tmp_path, "two")
    text = (tmp_path / "two.md").read_text(encoding="utf-8")
    assert "2 pairs, 1 of them written" in text
    assert "KV room 4,096 tokens" in text
    assert "| + fused | 2.0 (2.0–2.0) | – | 1.0 | 2.00 |" in text
    assert Bench.model_validate_json((tmp_path / "two.json").read_text(encoding="utf-8")).rows[1].name == "+ fused"
    assert (tmp_path / "two.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_headline_says_how_many_pairs_share_a_recommended_item_where_that_was_asked_for() -> None:
    made = bench((FUSED, [trial(2.0)]))
    assert headline(made)[0].startswith("2 pairs, 1 of them written")
    eight = made.model_copy(update={"reasons_per_item": 8})
    assert headline(eight)[0].startswith("2 pairs with about 8 reason items a recommended item, 1 of them written")


def test_a_way_that_does_not_run_is_said_in_the_engines_words_with_what_was_predicted() -> None:
    made = bench((FUSED, [trial(2.0)]))
    given = {"not_run": {"+ KV to host memory": "no GPU"}, "predicted": {"+ KV to host memory": 3.25, "+ fused": 2.1}}
    made = made.model_copy(update=given)
    assert verdict(made).endswith("; + KV to host memory not run: no GPU (predicted: 3.2 s)")
    assert cells(made, made.rows[0])[2] == "2.1"


def row(seconds: float, text: str = "a", **settings: int) -> Row:
    variant = Variant("v", {"order": "fused", **settings})
    return bench((FUSED, [trial(2.0)]), (variant, [trial(seconds, text)])).rows[1]


def test_a_setting_is_changed_only_where_it_is_clearly_faster_with_the_same_answers() -> None:
    rows = [
        row(2.0),
        row(1.99, chunks_in_flight=3),
        row(1.5, max_num_seqs=64),
        row(1.2, max_num_seqs=128),
        row(1.0, text="b", chunk_pairs=64),
    ]
    assert choose(rows) == {"max_num_seqs": 128}


def test_what_won_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tuned(bench((FUSED, [trial(2.0)])), {"max_num_seqs": 128}, tmp_path / "tuned.toml")
    assert load_settings(tuned="tuned.toml").max_num_seqs == 128
