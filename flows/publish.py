"""publish: put a held-back date into the serving table after all, or take a date's publication back."""

import datetime as dt
import getpass

from prefect import flow

from checks.gate import Gate, Verdict
from flows.stages import report
from flows.support.events import tell
from flows.support.parameters import SomeSettings, run_name
from tasks.errors import PublicationError
from tasks.load import Approval, Publication, load_date, roll_back
from tasks.report import Summary
from tasks.reports.index import write_index
from tasks.runs import hold_date, last_finished_run
from tasks.settings import load_settings


@flow(name="approve", flow_run_name=run_name, on_completion=[tell], on_failure=[tell])
def approve(ds: dt.date, reason: str, who: str | None = None, settings: SomeSettings = None) -> Summary:
    """Publish a held-back date after all; reason, time and who are recorded with the publication.

    Args:
        ds: The date.
        reason: Why it may be published although the gate holds it back.
        who: Who says so [default: the user that runs this].
        settings: Those that are to differ, such as {"threshold": 0.6} [default: sayu.toml and SAYU_… on the worker].
    """
    settings = settings or load_settings()
    with hold_date(settings.store, ds):
        run = last_finished_run(settings, ds)
        gate = Gate.model_validate(run.read_json("checks"))
        if gate.verdict is not Verdict.HELD_BACK:
            raise PublicationError(f"{ds} is not held back", f"see `sayu show --ds {ds}`")
        publication = load_date(run, Approval(who or getpass.getuser(), reason))
        return report(run, gate, publication)


@flow(name="rollback", flow_run_name=run_name, on_completion=[tell], on_failure=[tell])
def rollback(ds: dt.date, settings: SomeSettings = None) -> tuple[Publication, Publication | None]:
    """Withdraw a date's live publication; the one before it, if there is one, is live again.

    Args:
        ds: The date.
        settings: Those that are to differ, such as {"threshold": 0.6} [default: sayu.toml and SAYU_… on the worker].
    """
    settings = settings or load_settings()
    with hold_date(settings.store, ds):
        rolled_back = roll_back(settings.serving_file, ds)
        write_index(settings)
        return rolled_back
