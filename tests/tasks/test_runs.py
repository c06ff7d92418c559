"""One date, one run at a time; the same request, the same folder."""

import datetime as dt
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from tasks.errors import BusyError, ModelError, StoreError, UsageError
from tasks.runs import GIVEN_UP, Run, describe_run, fresh_together, hold_date, open_run, parse_date
from tasks.settings import Settings
from tests.shop import DS


def test_the_same_request_lands_in_the_same_folder(tmp_path: Path) -> None:
    settings = Settings(store=tmp_path)
    key = describe_run(DS, settings).key
    assert describe_run(DS, settings.model_copy(update={"max_num_seqs": 8})).key == key
    assert describe_run(DS, settings.model_copy(update={"threshold": 0.6})).key != key
    assert describe_run(DS, settings.model_copy(update={"reuse_key": "pair"})).key != key
    assert describe_run(DS.replace(day=1), settings).key != key


def test_other_rules_are_another_request_and_the_same_rules_elsewhere_are_not(tmp_path: Path) -> None:
    rules, copy = tmp_path / "rules.toml", tmp_path / "copy.toml"
    rules.write_text('[[rule]]\nid = "a"\nkind = "same_item"\n', encoding="utf-8")
    copy.write_text("# a copy\n" + rules.read_text(encoding="utf-8"), encoding="utf-8")
    keys = [describe_run(DS, Settings(store=tmp_path, rules=path)).key for path in (rules, copy, None)]
    assert keys[0] == keys[1] != keys[2]
    rules.write_text('[[rule]]\nid = "a"\nkind = "same_item"\neffect = "warn"\n', encoding="utf-8")
    assert describe_run(DS, Settings(store=tmp_path, rules=rules)).key not in keys


def test_the_second_run_of_a_date_is_told_so(tmp_path: Path) -> None:
    settings = Settings(store=tmp_path)
    busy = pytest.raises(BusyError, match="another run is working on 2026-11-28")
    with open_run(DS, settings), busy, open_run(DS, settings):
        pass
    with open_run(DS, settings):
        pass


def test_two_dates_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with hold_date(tmp_path, DS), hold_date(tmp_path, DS.replace(day=1)):
        pass


def hold_for_ever(store: Path, held: object) -> None:
    with hold_date(store, DS):
        held.set()  # type: ignore[attr-defined]
        signal.pause()


def test_a_killed_run_holds_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    held = context.Event()
    process = context.Process(target=hold_for_ever, args=(tmp_path, held))
    process.start()
    assert held.wait(30)
    with pytest.raises(BusyError), hold_date(tmp_path, DS):
        pass
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with hold_date(tmp_path, DS):
        pass


def test_a_run_that_starts_again_has_no_old_times_and_errors_and_keeps_what_it_found_out_so_far(tmp_path: Path) -> None:
    settings = Settings(store=tmp_path)
    with open_run(DS, settings) as run:
        run.write_json("manifest", {})
        run.write_json("timings", {"extract": 1.0})
        (run.folder / "failures").mkdir()
        (run.folder / "failures" / "decide-00000.parquet").touch()
    with open_run(DS, settings) as run:
        assert sorted(path.name for path in run.folder.iterdir()) == ["failures", "manifest.json", "request.json"]
        assert run.met_before
        assert list((run.folder / "failures").iterdir()) == []


# -- fresh


def begin(settings: Settings, end: bool = False, ds: dt.date = DS) -> Run:
    """A run that is begun, and ends or does not."""
    with open_run(ds, settings) as run:
        if end:
            run.write_json("manifest", {})
    return run


def ago(run: Run, age: dt.timedelta) -> None:
    """Let a run have been begun so long ago."""
    before = run.model_copy(update={"started_at": run.started_at - age})
    before.write_json("request", before.model_dump(mode="json"))


def test_a_fresh_run_counts_what_is_stored_from_its_start_on(tmp_path: Path) -> None:
    run = begin(Settings(store=tmp_path, fresh=True))
    assert run.fresh_since == run.started_at == run.oldest_result.first
    assert begin(Settings(store=tmp_path)).fresh_since is None


def test_a_fresh_run_that_did_not_end_is_gone_on_with_however_often_it_stops(tmp_path: Path) -> None:
    settings = Settings(store=tmp_path, fresh=True)
    first = begin(settings)
    second, third = begin(settings), begin(settings)
    assert second.fresh_since == third.fresh_since == first.started_at < second.started_at


def test_a_fresh_run_after_one_that_ended_begins_anew(tmp_path: Path) -> None:
    settings = Settings(store=tmp_path, fresh=True)
    begin(settings, end=True)
    run = begin(settings)
    assert run.fresh_since == run.started_at
    assert begin(settings).fresh_since == run.started_at  # the manifest of the first is still there


def test_a_fresh_run_does_not_go_on_with_one_that_was_not_fresh_was_given_up_or_was_another(tmp_path: Path) -> None:
    settings = Settings(store=tmp_path, fresh=True)
    for before in (begin(Settings(store=tmp_path)), begin(settings), begin(Settings(store=tmp_path, threshold=0.7))):
        ago(before, GIVEN_UP if before.settings.fresh else dt.timedelta(0))
        run = begin(settings)
        assert run.fresh_since == run.started_at
        begin(settings, end=True)


def test_the_dates_of_a_range_are_fresh_together_and_go_on_together(tmp_path: Path) -> None:
    settings = Settings(store=tmp_path, fresh=True)
    runs = [describe_run(DS - dt.timedelta(days=days), settings) for days in (2, 1, 0)]
    range_settings = fresh_together(runs)
    assert range_settings.fresh_since == runs[0].started_at
    begin(range_settings, end=True, ds=runs[0].ds)
    stopped = begin(range_settings, ds=runs[1].ds)
    assert stopped.fresh_since == runs[0].started_at
    assert fresh_together([describe_run(run.ds, settings) for run in runs]) == range_settings
    begin(range_settings, end=True, ds=runs[1].ds)
    assert fresh_together([describe_run(run.ds, settings) for run in runs]) != range_settings


def test_a_request_that_can_not_be_read_is_not_gone_on_with(tmp_path: Path) -> None:
    settings = Settings(store=tmp_path, fresh=True)
    (begin(settings).folder / "request.json").write_text("{}", encoding="utf-8")
    run = begin(settings)
    assert run.fresh_since == run.started_at


def test_a_store_that_can_not_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file, not a folder", encoding="utf-8")
    with pytest.raises(StoreError, match="can't be written"), open_run(DS, Settings(store=tmp_path / "store")):
        pass


@pytest.mark.parametrize("missing", ["folder", "config.json", "weights"])
def test_a_model_folder_that_is_no_model_says_what_is_missing(tmp_path: Path, missing: str) -> None:
    model = tmp_path / "model"
    if missing != "folder":
        model.mkdir()
    if missing == "weights":
        (model / "config.json").write_text("{}", encoding="utf-8")
    expected = {"folder": "does not exist", "config.json": "config.json", "weights": "no weights"}[missing]
    with pytest.raises(ModelError, match=expected):
        describe_run(DS, Settings(store=tmp_path, model=model))


def test_another_model_is_another_fingerprint(tmp_path: Path) -> None:
    fingerprints = set()
    for number, weights in enumerate([b"one", b"two"]):
        model = tmp_path / str(number) / "model"
        model.mkdir(parents=True)
        (model / "config.json").write_text("{}", encoding="utf-8")
        (model / "model.safetensors").write_bytes(weights)
        fingerprints.add(describe_run(DS, Settings(store=tmp_path, model=model)).model)
        fingerprints.add(describe_run(DS, Settings(store=tmp_path, model=model, dtype="float32")).model)
    assert len(fingerprints) == 4


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "28.11.2026", ""])
def test_a_date_that_is_no_date_says_so(text: str) -> None:
    with pytest.raises(UsageError, match="is no date"):
        parse_date(text)
