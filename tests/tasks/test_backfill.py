"""The state that each date of a range is in, which are run, and what is said of them."""

import datetime as dt
import shutil
from pathlib import Path

import pytest

from checks.gate import Gate, Verdict
from tasks import backfill
from tasks.backfill import RUN, Backfilled, DoneDate, Only, State, ended, leave, read_range, state_of, wait_until_free
from tasks.errors import BusyError, SourceError, UsageError
from tasks.load import live_publication, roll_back
from tasks.report import report_date
from tasks.runs import Run, hold_date, open_run
from tests.days import judged_day, whole_day
from tests.shop import DS, make_run, prepare

HELD_BACK = Gate(verdict=Verdict.HELD_BACK, checks=[])


def break_off(run: Run, threshold: float = 0.5) -> None:
    """A run of the date that begins and does not end."""
    with pytest.raises(ZeroDivisionError), open_run(DS, run.settings.model_copy(update={"threshold": threshold})):
        raise ZeroDivisionError


def test_a_date_that_was_never_run_is_missing(run: Run) -> None:
    assert state_of(DS, run.settings) == "missing"


def test_a_date_that_readers_see_is_published(run: Run) -> None:
    whole_day(run)
    assert state_of(DS, run.settings) == "published"


def test_a_published_date_that_was_only_judged_again_is_still_published(run: Run) -> None:
    whole_day(run)
    report_date(run, judged_day(run), None)
    assert state_of(DS, run.settings) == "published"


def test_a_date_that_the_gate_kept_back_is_held_back(run: Run) -> None:
    judged_day(run)
    report_date(run, HELD_BACK, None)
    assert state_of(DS, run.settings) == "held back"


def test_a_date_that_was_approved_is_published(run: Run) -> None:
    summary = whole_day(run)
    report_date(run, HELD_BACK, live_publication(run.settings.serving_file, DS))
    assert summary.publication_id is not None
    assert state_of(DS, run.settings) == "published"


def test_a_run_that_did_not_end_has_failed(run: Run) -> None:
    prepare(run)
    assert state_of(DS, run.settings) == "failed"


def test_a_later_run_that_did_not_end_has_failed_though_readers_see_an_earlier_one(run: Run) -> None:
    whole_day(run)
    break_off(run, threshold=0.7)
    assert state_of(DS, run.settings) == "failed"


def test_an_earlier_run_that_did_not_end_does_not_matter(run: Run) -> None:
    break_off(run, threshold=0.7)
    whole_day(run)
    assert state_of(DS, run.settings) == "published"


def test_a_run_that_published_nothing_though_it_might_has_failed(run: Run) -> None:
    report_date(run, judged_day(run), None)
    assert state_of(DS, run.settings) == "failed"


def test_a_manifest_that_can_not_be_read_is_a_failed_run(run: Run) -> None:
    whole_day(run)
    (run.folder / "manifest.json").write_text("{}", encoding="utf-8")
    assert state_of(DS, run.settings) == "failed"


def test_a_date_that_was_taken_back_is_withdrawn_and_only_all_runs_it(run: Run) -> None:
    whole_day(run)
    roll_back(run.settings.serving_file, DS)
    assert state_of(DS, run.settings) == "withdrawn"
    assert [only for only, states in RUN.items() if "withdrawn" in states] == ["all"]


def test_a_date_taken_back_to_an_earlier_publication_is_published(run: Run) -> None:
    whole_day(run)
    whole_day(run.model_copy(update={"key": "later"}))
    roll_back(run.settings.serving_file, DS)
    assert state_of(DS, run.settings) == "published"


def test_a_serving_file_that_knows_nothing_of_the_publication_lacks_the_date(run: Run) -> None:
    whole_day(run)
    elsewhere = run.settings.model_copy(update={"serving": run.settings.store / "other.duckdb"})
    assert state_of(DS, elsewhere) == "failed"


def test_a_date_whose_runs_were_removed_is_missing(run: Run) -> None:
    whole_day(run)
    shutil.rmtree(run.folder.parent)
    assert state_of(DS, run.settings) == "missing"


@pytest.mark.parametrize(
    ("only", "states"),
    [
        ("missing", {"missing", "failed"}),
        ("failed", {"failed", "held back"}),
        ("all", {"missing", "failed", "held back", "published", "withdrawn"}),
    ],
)
def test_which_dates_are_run(only: Only, states: set[State]) -> None:
    assert set(RUN[only]) == states


def test_a_range_has_all_its_dates_and_knows_which_have_candidates(run: Run) -> None:
    day = dt.timedelta(days=1)
    dates = read_range(DS - day, DS + day, run.settings)
    assert dates == ([DS - day, DS, DS + day], {DS})


def test_a_range_that_ends_before_it_starts_is_refused(run: Run) -> None:
    with pytest.raises(UsageError, match="ends on 2026-11-27, before it starts on 2026-11-28"):
        read_range(DS, DS - dt.timedelta(days=1), run.settings)


def test_a_range_without_any_candidates_is_refused(run: Run) -> None:
    with pytest.raises(UsageError, match="no candidates from 2027-01-01 to 2027-01-31: it holds 2026-11-28 to"):
        read_range(dt.date(2027, 1, 1), dt.date(2027, 1, 31), run.settings)


def test_a_source_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        read_range(DS, DS, make_run(tmp_path, tmp_path / "nowhere.duckdb").settings)


def test_a_date_that_another_run_holds_is_waited_for_a_little(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    store = run.settings.store
    assert wait_until_free(store, DS)
    looked = []
    holder = hold_date(store, DS)
    holder.__enter__()
    monkeypatch.setattr(backfill, "BUSY_SECONDS", 0.0)
    assert not wait_until_free(store, DS)

    def end_of_the_other_run(seconds: float) -> None:
        looked.append(seconds)
        holder.__exit__(None, None, None)

    monkeypatch.setattr(backfill, "BUSY_SECONDS", 60.0)
    monkeypatch.setattr("tasks.backfill.time.sleep", end_of_the_other_run)
    assert wait_until_free(store, DS)
    assert len(looked) == 1


def test_what_became_of_a_run_is_said_with_its_report(run: Run) -> None:
    summary = whole_day(run)
    done = ended(DS, summary, 12.34)
    assert (done.state, done.ran, done.candidates, done.published, done.model_calls) == ("published", True, 5, 4, 5)
    assert (done.seconds, done.report, done.link) == (12.3, summary.report, summary.link)
    held_back = summary.model_copy(update={"verdict": "held back", "publication_id": None, "reasons": ("a", "b")})
    done = ended(DS, held_back, 1)
    assert (done.state, done.published, done.detail) == ("held back", 0, "a; b")


def test_what_ended_a_run_is_said() -> None:
    assert ended(DS, BusyError("somebody is at it", "wait"), 1).state == "busy"
    assert not ended(DS, BusyError("somebody is at it", "wait"), 1).ran
    assert ended(DS, SourceError("no table", "make one"), 1).detail == "no table → make one"
    failed = ended(DS, KeyError("k"), 1)
    assert (failed.state, failed.ran, failed.detail) == ("failed", True, "KeyError: 'k'")


def test_a_date_that_was_left_as_it_is_has_its_last_report_and_took_nothing(run: Run) -> None:
    summary = whole_day(run)
    left = leave(DS, "published", run.settings)
    assert (left.ran, left.report, left.published) == (False, summary.report, 4)
    assert (left.model_calls, left.seconds) == (None, None)
    assert leave(DS - dt.timedelta(days=1), "no candidates", run.settings).report == ""


@pytest.mark.parametrize(("state", "complete"), [("published", True), ("held back", True), ("failed", False),
                                                 ("busy", False), ("no candidates", True)])  # fmt: skip
def test_a_backfill_is_complete_when_no_date_failed_or_was_left_to_another_run(state: State, complete: bool) -> None:
    dates = (DoneDate(ds=DS, state="published", ran=True), DoneDate(ds=DS, state=state))
    done = Backfilled(start=DS, end=DS, only="all", dates=dates)
    assert done.complete is complete
    assert sum(done.states.values()) == 2
    assert done.said.startswith("2026-11-28 to 2026-11-28, all: 1 of 2 dates run; ")
