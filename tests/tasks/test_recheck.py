"""A date that is judged again keeps its answers, however old they are, or is left as it was."""

from pathlib import Path

import pytest

from tasks.check import check_date
from tasks.errors import StoreError
from tasks.extract import extract_candidates
from tasks.inspect import inspect_candidates
from tasks.plan import plan_nothing
from tasks.rank import rank_candidates
from tasks.recheck import settings_to_recheck
from tasks.results import list_results
from tasks.reuse import reuse_results
from tasks.runs import Run, describe_run, open_run
from tasks.screen import screen_candidates
from tests.days import mixed_answer, whole_day
from tests.shop import DS, make_run, prepare, record, rows_of


@pytest.fixture
def expired(tmp_path: Path, source: Path) -> Run:
    """A day whose results were too old as soon as it had ended: a skip, a rejected text, good ones."""
    run = make_run(tmp_path, source, result_ttl_days=1e-9)
    prepare(run)
    record(run, mixed_answer)
    run = describe_run(DS, run.settings)
    whole_day(run, mixed_answer)
    return describe_run(DS, run.settings)


def recheck(run: Run) -> None:
    with open_run(DS, settings_to_recheck(DS, run.settings)) as again:
        for stage in (extract_candidates, inspect_candidates, screen_candidates, reuse_results, rank_candidates):
            stage(again)
        plan_nothing(again)
        check_date(again)


def test_results_past_their_time_are_judged_again(expired: Run) -> None:
    before = expired.read("outcomes")
    assert dict(before["outcome"].value_counts().iter_rows()) == {"published": 3, "skipped": 1, "rejected": 1}
    assert reuse_results(expired) == 0  # a daily run would ask the model
    recheck(expired)
    assert expired.read("outcomes").drop("reused").equals(before.drop("reused"))


def test_a_run_that_ignored_old_results_is_judged_by_what_it_stored(expired: Run) -> None:
    before = expired.read("outcomes")
    recheck(expired.model_copy(update={"settings": expired.settings.model_copy(update={"fresh": True})}))
    assert rows_of(expired.read("outcomes"), "key", "outcome") == rows_of(before, "key", "outcome")


@pytest.mark.parametrize(("kind", "lost"), [("decisions", 5), ("texts", 4)])
def test_where_answers_are_gone_the_date_stays_as_it_was(expired: Run, kind: str, lost: int) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in expired.folder.iterdir()}
    for file in list_results(expired.settings.store, kind):  # type: ignore[arg-type]
        file.unlink()
    with pytest.raises(StoreError, match=f"{lost} of 5 answers of 2026-11-28 are no longer in the result store"):
        recheck(expired)
    assert {path.name: path.stat().st_mtime_ns for path in expired.folder.iterdir()} == before


def test_a_date_that_was_never_judged_this_way_has_nothing_to_lose(expired: Run) -> None:
    for file in list_results(expired.settings.store, "decisions"):
        file.unlink()
    other = expired.settings.model_copy(update={"threshold": 0.4})
    assert settings_to_recheck(DS, other).threshold == 0.4
