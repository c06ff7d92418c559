"""The command line without a server: help, usage, errors and exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flows.__main__ import cli
from tasks.settings import HOME, Settings
from tests.shop import make_source


def sayu(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(HOME), "PATH": "/usr/bin:/bin", "HOME": str(cwd)}
    command = [sys.executable, "-m", "flows", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_help_names_every_command(tmp_path: Path) -> None:
    done = sayu("--help", cwd=tmp_path)
    assert done.returncode == 0
    for command in cli.commands:
        assert command in done.stdout


def test_every_setting_is_an_option_with_its_description(tmp_path: Path) -> None:
    text = sayu("daily", "--help", cwd=tmp_path).stdout
    for name in Settings.model_fields:
        assert f"--{name.replace('_', '-')}" in text


def test_help_imports_neither_prefect_nor_an_engine() -> None:
    heavy = "{'prefect', 'torch', 'vllm', 'transformers', 'polars', 'duckdb', 'great_expectations', 'kiwipiepy'}"
    code = f"import sys, flows.__main__; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=HOME, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["daily", "--ds", "28.11.2026"], 2, "'28.11.2026' is no date → write it as YYYY-MM-DD"),
        (["daily", "--threshold", "2"], 2, "threshold"),
        (["daily", "--colour", "red"], 2, "No such option"),
        (["tomorrow"], 2, "No such command"),
        (["rollback"], 2, "Missing option '--ds'"),
        (["daily", "--model", "nowhere"], 1, "the model folder nowhere does not exist → give --model"),
        (["daily", "--prompt", "nowhere"], 1, "the prompt in nowhere can't be read"),
        (["daily", "--source", "nowhere.duckdb"], 1, "the source nowhere.duckdb does not exist → give --source"),
        (["show", "--ds", "2026-11-28"], 1, "no finished run of 2026-11-28"),
    ],
)
def test_what_goes_wrong_is_said_with_the_way_out(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    done = sayu(*arguments, cwd=tmp_path)
    assert done.returncode == code
    assert said in " ".join(done.stderr.split()).replace("sayu: ", "")
    assert "Traceback" not in done.stderr


RULES = """
[groups.milk]
names = "우유"
[[rule]]
id = "milk"
kind = "blocked"
items = "milk"
"""


def test_rules_are_tried_on_a_date_before_they_go_live(tmp_path: Path) -> None:
    make_source(tmp_path / "source.duckdb")
    (tmp_path / "new.toml").write_text(RULES, encoding="utf-8")
    arguments = ("rules", "test", "--rules", "new.toml", "--ds", "2026-11-28")
    done = sayu(*arguments, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    changes = [(rule["rule"], rule["newly"], rule["no_longer"]) for rule in json.loads(done.stdout)["rules"]]
    assert changes == [("food_with_household", 0, 1), ("milk", 1, 0)]
    said = sayu(*arguments, "--live", "new.toml", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "1 dates, 5 candidates" in said.stdout


def test_rules_are_shown_in_their_order_or_with_their_mistakes(tmp_path: Path) -> None:
    (tmp_path / "new.toml").write_text(RULES + "sampel = false\n", encoding="utf-8")
    wrong = sayu("rules", "show", "--rules", "new.toml", cwd=tmp_path)
    assert wrong.returncode == 1
    assert "new.toml, line 8: rule `milk`: unknown field `sampel`" in wrong.stderr
    (tmp_path / "new.toml").write_text(RULES, encoding="utf-8")
    shown = sayu("rules", "show", "--rules", "new.toml", "--json", cwd=tmp_path)
    assert [(rule["rule"], rule["line"]) for rule in json.loads(shown.stdout)["rules"]] == [
        ("missing_id", None), ("milk", 4)
    ]  # fmt: skip
    assert sayu("rules", "test", "--start", "2026-11-28", cwd=tmp_path).returncode == 2


def test_a_store_that_can_not_be_written_is_said_before_anything_starts(tmp_path: Path) -> None:
    source = make_source(tmp_path / "source.duckdb")
    (tmp_path / "store").write_text("in the way", encoding="utf-8")
    done = sayu("daily", "--source", str(source), "--ds", "2026-11-28", cwd=tmp_path)
    assert done.returncode == 1
    assert "the store store can't be written" in done.stderr


@pytest.mark.parametrize("given", [["--fresh"], ["--fresh", "true"]])
def test_a_switch_may_stand_alone(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Settings] = []
    monkeypatch.setattr("flows.__main__._run_daily", lambda ds, settings, as_json: seen.append(settings))
    cli(["daily", *given, "--json"], standalone_mode=False)
    cli(["daily"], standalone_mode=False)
    assert [settings.fresh for settings in seen] == [True, False]


def test_an_error_as_json_is_json_too(tmp_path: Path) -> None:
    done = sayu("show", "--ds", "2026-11-28", "--json", cwd=tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"].startswith("no finished run of 2026-11-28")
