"""Options before sayu.toml before the environment; wrong ones are named."""

from pathlib import Path

import pytest

from tasks.errors import UsageError
from tasks.settings import HOME, load_settings


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_option_beats_the_file_and_the_file_beats_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAYU_THRESHOLD", "0.1")
    monkeypatch.setenv("SAYU_CHUNK_PAIRS", "11")
    monkeypatch.setenv("SAYU_STORE", "from-environment")
    Path("sayu.toml").write_text("threshold = 0.2\nchunk_pairs = 22\n", encoding="utf-8")
    settings = load_settings(threshold="0.3", model=None)
    assert (settings.threshold, settings.chunk_pairs, settings.store) == (0.3, 22, Path("from-environment"))


def test_no_rules_are_written_as_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().rules == HOME / "rules" / "grocery.toml"
    assert load_settings(rules="").rules is load_settings(rules="none").rules is None
    monkeypatch.setenv("SAYU_RULES", "")
    assert load_settings().rules is None
    assert load_settings(rules="r.toml").rules == Path("r.toml")


def test_the_serving_file_lies_in_the_store_unless_it_is_said() -> None:
    assert load_settings(store="s").serving_file == Path("s/serving.duckdb")
    assert load_settings(store="s", serving="elsewhere.duckdb").serving_file == Path("elsewhere.duckdb")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"threshold": "1.5"}, "threshold"),
        ({"threshold": "half"}, "threshold"),
        ({"engine": "ollama"}, "engine"),
        ({"chunk_pairs": "0"}, "chunk_pairs"),
        ({"colour": "red"}, "colour"),
        ({"engine": "recorded"}, "recording"),
    ],
)
def test_a_wrong_setting_is_named(options: dict[str, str], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        load_settings(**options)


def test_a_file_that_is_no_toml_is_named() -> None:
    Path("sayu.toml").write_text("threshold: 0.2", encoding="utf-8")
    with pytest.raises(UsageError, match=r"sayu\.toml"):
        load_settings()


def test_tuned_settings_give_way_to_whatever_is_given_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    tuned = '[measured]\nmachine = "m"\n[settings]\nchunks_in_flight = 3\nchunk_pairs = 64\nmax_num_seqs = 32\n'
    Path("tuned.toml").write_text(tuned, encoding="utf-8")
    monkeypatch.setenv("SAYU_CHUNK_PAIRS", "11")
    settings = load_settings(tuned="tuned.toml", max_num_seqs="99")
    assert (settings.chunks_in_flight, settings.chunk_pairs, settings.max_num_seqs) == (3, 11, 99)


@pytest.mark.parametrize(("content", "named"), [(None, "no tuned settings"), ("[settings", "TOML"), ("a = 1", "tuned")])
def test_a_file_without_tuned_settings_is_named(content: str | None, named: str) -> None:
    if content:
        Path("tuned.toml").write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=named):
        load_settings(tuned="tuned.toml")
