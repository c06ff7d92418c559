"""The `sayu` command line: one sub-command a flow.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 held back by the gate. With `--json` the summary goes to standard output
as JSON; progress always goes to standard error. Prefect and the engines are imported only by the commands that work.
"""

import datetime as dt
import json
import sys
from typing import TYPE_CHECKING, Any

import click

from flows.support.in_prefect import in_prefect, log_to_stderr
from flows.support.measuring import bench, plan
from flows.support.options import date_option, settings_options
from flows.support.rules import rules
from tasks.errors import SayuError
from tasks.settings import Settings, load_settings

if TYPE_CHECKING:
    from tasks.backfill import Only
    from tasks.report import Summary

FAILED, HELD_BACK = 1, 3
DEMO_DATE = "2026-11-28"


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def cli() -> None:
    """Write a grocery shop's recommendation reasons every day."""


@cli.command()
@settings_options
def demo(as_json: bool, **options: Any) -> None:
    """Run a whole day on the demo shop with the demo model."""
    settings = load_settings(**options)
    if options["source"] is None:
        from demo.build_source import build_source

        source = settings.store / "demo-shop.duckdb"
        if not source.exists():
            build_source(source)
        settings = load_settings(**options | {"source": str(source)})
    _run_daily(DEMO_DATE, settings, as_json)


@cli.command()
@date_option
@settings_options
def daily(ds: str | None, as_json: bool, **options: Any) -> None:
    """Write and publish the reasons of one date."""
    _run_daily(ds, load_settings(**options), as_json)


@cli.command()
@click.option("--start", help="The first date, YYYY-MM-DD", metavar="DATE", required=True)
@click.option("--end", help="The last date, YYYY-MM-DD", metavar="DATE", required=True)
@click.option(
    "--only",
    type=click.Choice(["missing", "failed", "all"]),
    default="missing",
    help="Dates without a result, those that failed or were held back, or all [default: missing]",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be run, and what that takes.")
@settings_options
def backfill(start: str, end: str, only: "Only", dry_run: bool, as_json: bool, **options: Any) -> None:
    """Write and publish the reasons of a range of dates."""
    from flows.support.tables import print_done, print_plan
    from tasks.backfill import read_range
    from tasks.preview import preview_backfill
    from tasks.runs import parse_date

    first, last, settings = parse_date(start), parse_date(end), load_settings(**options)
    _check_request(first, settings)
    read_range(first, last, settings)
    if dry_run:
        from planner.predict import fill_in

        print_plan(fill_in(preview_backfill(first, last, only, settings), settings), as_json)
        return
    done = in_prefect("backfill", start=first, end=last, only=only, settings=settings)
    print_done(done, as_json)
    if not done.complete:
        raise SystemExit(FAILED)
    if "held back" in done.states:
        raise SystemExit(HELD_BACK)


@cli.command()
@date_option
@settings_options
def show(ds: str | None, as_json: bool, **options: Any) -> None:
    """Show a date's outcome counts, the gate, and where the report is."""
    from flows.support.console import print_summary
    from tasks.report import latest_summary
    from tasks.runs import parse_date, yesterday

    summary = latest_summary(load_settings(**options), parse_date(ds) if ds else yesterday())
    print_summary(summary, as_json)


@cli.command()
@click.option("--ds", help="The date, YYYY-MM-DD", metavar="DATE", required=True)
@settings_options
def rollback(ds: str, as_json: bool, **options: Any) -> None:
    """Take a date's live publication back; the one before it is live again."""
    from tasks.runs import parse_date

    withdrawn, live = in_prefect("rollback", ds=parse_date(ds), settings=load_settings(**options))
    if as_json:
        shown = {"withdrawn": withdrawn.model_dump(mode="json"), "live": live and live.model_dump(mode="json")}
        click.echo(json.dumps(shown, ensure_ascii=False))
    else:
        now = f"publication {live.publication_id} is live again" if live else "the date has no reasons now"
        click.echo(f"{ds}: publication {withdrawn.publication_id} withdrawn; {now}")


@cli.command()
@click.option("--ds", help="The date, YYYY-MM-DD", metavar="DATE", required=True)
@settings_options
def recheck(ds: str, as_json: bool, **options: Any) -> None:
    """Judge a date again without the model, and write a new report."""
    from tasks.runs import parse_date

    date, settings = parse_date(ds), load_settings(**options)
    _check_request(date, settings)
    _end(in_prefect("recheck", ds=date, settings=settings), as_json)


@cli.command()
@click.option("--ds", help="The date, YYYY-MM-DD", metavar="DATE", required=True)
@click.option("--reason", help="Why it may be published after all", metavar="TEXT", required=True)
@click.option("--who", help="Who says so [default: the user that runs this]", metavar="NAME")
@settings_options
def approve(ds: str, reason: str, who: str | None, as_json: bool, **options: Any) -> None:
    """Publish a held-back date after all."""
    from flows.support.console import print_summary
    from tasks.runs import parse_date

    arguments = {"ds": parse_date(ds), "reason": reason, "who": who, "settings": load_settings(**options)}
    print_summary(in_prefect("approve", **arguments), as_json)


@cli.command()
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@settings_options
def prune(dry_run: bool, as_json: bool, **options: Any) -> None:
    """Remove what is old and not needed, and merge small result files."""
    upkeep = in_prefect("prune", dry_run=dry_run, settings=load_settings(**options))
    from flows.prune import print_upkeep

    print_upkeep(upkeep, as_json)


cli.add_command(bench)
cli.add_command(rules)
cli.add_command(plan)


@cli.command()
def deploy() -> None:
    """Deploy everything to the Prefect server that is configured; again after every upgrade."""
    from flows.support.server import deploy_to_configured

    click.echo(f"pools, deployments and automations are on {deploy_to_configured()}")


@cli.command()
@click.option("--port", default=4200, help="Port of the Prefect UI.", show_default=True, metavar="N")
@click.option("--reports-port", default=4201, help="Port at which reports are served.", show_default=True, metavar="N")
def ui(port: int, reports_port: int) -> None:
    """Bring up Prefect's UI with everything deployed, until Ctrl-C."""
    log_to_stderr()
    from flows.support.ui import run_ui

    run_ui(port, reports_port)


def _run_daily(ds: str | None, settings: Settings, as_json: bool) -> None:
    from tasks.runs import parse_date, yesterday

    date = parse_date(ds) if ds else yesterday()
    _check_request(date, settings)
    _end(in_prefect("daily", ds=date, settings=settings), as_json)


def _end(summary: "Summary", as_json: bool) -> None:
    """Say what happened; the exit code says whether the gate held the date back."""
    from flows.support.console import print_summary

    print_summary(summary, as_json)
    if summary.verdict == "held back":
        raise SystemExit(HELD_BACK)


def _check_request(date: dt.date, settings: Settings) -> None:
    """Say what is plainly wrong before anything is started."""
    from tasks.extract import open_source
    from tasks.runs import check_store, describe_run

    describe_run(date, settings)
    open_source(settings.source).close()
    check_store(settings.store)


def main() -> None:
    """Run the command line; errors that sayu raises on purpose are said in two lines, or as JSON."""
    try:
        cli(standalone_mode=False)
    except SayuError as error:
        if "--json" in sys.argv:
            click.echo(json.dumps({"error": error.what, "todo": error.todo}, ensure_ascii=False))
        click.secho(f"sayu: {error.what}", fg="red", err=True)
        click.echo(f"      → {error.todo}", err=True)
        raise SystemExit(error.exit_code) from None
    except click.ClickException as error:
        error.show()
        raise SystemExit(2) from None
    except (click.Abort, KeyboardInterrupt):
        click.echo("sayu: interrupted\n      → run the same command again: what was answered is kept", err=True)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
