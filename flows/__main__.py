"""The `sayu` command line: one sub-command a flow.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 held back by the gate. With `--json` the summary goes to standard output
as JSON; progress always goes to standard error. Prefect and the engines are imported only by the commands that work.
"""

import datetime as dt
import importlib
import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tasks.errors import SayuError
from tasks.settings import Settings, load_settings

if TYPE_CHECKING:
    from tasks.backfill import Only
    from tasks.report import Summary

FAILED, HELD_BACK = 1, 3
DAILY = ("great_expectations", "transformers")
LIBRARIES = {"daily": DAILY, "backfill": DAILY, "recheck": ("great_expectations",)}
DEMO_DATE = "2026-11-28"

# The run's log, on the console and in the UI, is what sayu says; of what Prefect says of itself only the warnings (two
# records a task run are a thousand a day).
ENVIRONMENT = {
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "sayu",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # A server that is gone is waited for: 2 + 4 + … + 256 seconds. (Prefect's own five tries end after a minute.)
    "PREFECT_CLIENT_MAX_RETRIES": "8",
}


def _shown(default: Any) -> str:
    """A default as the help says it: paths relative to the working directory where they lie below it."""
    if isinstance(default, Path) and default.is_relative_to(Path.cwd()):
        return str(default.relative_to(Path.cwd()))
    return str(default)


def settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every setting, and `--json`."""
    for name, field in reversed(Settings.model_fields.items()):
        default = "" if field.default in (None, ()) else f" [default: {_shown(field.default)}]"
        text = f"{field.description}{default}"
        command = click.option(f"--{name.replace('_', '-')}", name, help=text, metavar="")(command)
    return click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")(command)


date_option = click.option("--ds", help="The date, YYYY-MM-DD [default: yesterday in Asia/Seoul]", metavar="DATE")


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
        print_plan(preview_backfill(first, last, only, settings), as_json)
        return
    done = _in_prefect("backfill", start=first, end=last, only=only, settings=settings)
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

    withdrawn, live = _in_prefect("rollback", ds=parse_date(ds), settings=load_settings(**options))
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
    _end(_in_prefect("recheck", ds=date, settings=settings), as_json)


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
    print_summary(_in_prefect("approve", **arguments), as_json)


@cli.command()
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@settings_options
def prune(dry_run: bool, as_json: bool, **options: Any) -> None:
    """Remove what is old and not needed, and merge small result files."""
    upkeep = _in_prefect("prune", dry_run=dry_run, settings=load_settings(**options))
    from flows.prune import print_upkeep

    print_upkeep(upkeep, as_json)


@cli.command()
@click.option("--pairs", default=256, show_default=True, help="How many pairs")
@click.option("--write-share", default=1.0, show_default=True, help="Share of the pairs that are written")
@click.option("--max-tokens", default=20, show_default=True, help="Longest text, in tokens")
@click.option("--repeats", default=3, show_default=True, help="How often each way is tried")
@click.option("--transformers/--no-transformers", default=True, show_default=True, help="Begin with plain generation")
@click.option("--quantised", type=click.Path(path_type=Path, exists=True), help="The model with INT4 weights")
@click.option("--sweep", is_flag=True, help="Look for better settings instead, and write them to tuned.toml")
@click.option("--out", type=click.Path(path_type=Path), default=Path("bench"), show_default=True, help="Where to")
@click.option("--name", default="bench", show_default=True, help="What the files are called")
@settings_options
def bench(as_json: bool, out: Path, name: str, **options: Any) -> None:
    """Measure what each technique adds on this machine, with the same pairs and the same answers."""
    from benchmarks.commands import BENCH_OPTIONS, measure

    asked = {option: options.pop(option) for option in BENCH_OPTIONS}
    measure(load_settings(**options), out, name, as_json, **asked)


@cli.group(invoke_without_command=True)
@click.option("--ds", help="A date to plan [default: yesterday in Asia/Seoul]", metavar="DATE")
@click.option("--pairs", type=click.IntRange(1), help="So many pairs in the demo shop's shape instead", metavar="N")
@click.option("--prompt-tokens", type=click.IntRange(2), help="Made-up prompts of so many tokens instead", metavar="N")
@click.option("--shared-tokens", type=click.IntRange(0), help="Tokens that made-up prompts have in common", metavar="N")
@click.option("--text-tokens", type=click.FloatRange(1), help="Tokens of a text [default: the last run's]", metavar="N")
@click.option("--write-share", type=float, help="Share that is written [default: the last run's]", metavar="X")
@click.option(
    "--room", type=click.IntRange(64), help="KV room in tokens [default: measured or worked out]", metavar="N"
)
@click.option("--gpu", help="The GPU [default: this machine if it is calibrated, else L4]", metavar="NAME")
@click.option("--hardware", type=click.Path(path_type=Path, exists=True), help="Your own GPUs, as TOML", metavar="FILE")
@click.option("--gpus", default=8, show_default=True, help="GPUs to lay out", metavar="N")
@click.option("--link-gb", type=float, help="GB/s between GPUs [default: the GPU's]", metavar="X")
@click.option("--price-per-hour", type=float, help="Price of an engine's hour", metavar="X")
@click.option("--by", help="When it must be done", metavar="HH:MM")
@click.option("--start", help="When it begins [default: now]", metavar="HH:MM")
@click.option("--workers", type=click.IntRange(1), help="Engines that there are", metavar="N")
@click.option("--token-ms", type=float, help="Longest wait for a token, if somebody waits", metavar="X")
@click.option("--pass-rate", type=float, help="Share of texts that pass [default: the last run's]", metavar="X")
@click.option("--tries", default=4, show_default=True, help="How often a small model is asked at most", metavar="K")
@click.option("--large-model", type=click.Path(path_type=Path), help="The larger model to compare", metavar="FOLDER")
@click.option("--large-pass-rate", type=float, help="Share of its texts that pass", metavar="X")
@click.option("--html", type=click.Path(path_type=Path), help="Write the page with charts there", metavar="FILE")
@settings_options
@click.pass_context
def plan(context: click.Context, as_json: bool, **options: Any) -> None:
    """Say what a run will cost before it runs, and which order, settings and machines suit it."""
    if context.invoked_subcommand:
        return
    from planner import commands

    asked = {option: options.pop(option) for option in commands.PLAN_OPTIONS}
    commands.plan(load_settings(**options), as_json, **asked)


@plan.command()
@settings_options
def calibrate(as_json: bool, **options: Any) -> None:
    """Measure the engine at hand for about a minute, so that plans are this machine's."""
    from planner.commands import calibrate_engine

    calibrate_engine(load_settings(**options), as_json)


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
    _log_to_stderr()
    from flows.support.ui import run_ui

    run_ui(port, reports_port)


def _run_daily(ds: str | None, settings: Settings, as_json: bool) -> None:
    from tasks.runs import parse_date, yesterday

    date = parse_date(ds) if ds else yesterday()
    _check_request(date, settings)
    _end(_in_prefect("daily", ds=date, settings=settings), as_json)


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


def _in_prefect(flow: str, **arguments: Any) -> Any:
    """Run a flow in this process; its result, or the error that ended it."""
    os.environ.update({name: value for name, value in ENVIRONMENT.items() if name not in os.environ})
    _log_to_stderr()
    from flows.support.local_server import prefect_server

    with prefect_server(meanwhile=lambda: _import_libraries(flow)):
        from flows.backfill import backfill
        from flows.daily import daily
        from flows.prune import prune
        from flows.publish import approve, rollback
        from flows.recheck import recheck

        flows: tuple[Any, ...] = (daily, backfill, recheck, approve, rollback, prune)
        result = {one.name: one for one in flows}[flow](**arguments, return_state=True).result(raise_on_failure=False)
    if isinstance(result, BaseException):
        raise result
    return result


def _import_libraries(flow: str) -> None:
    """Import what takes seconds and this flow needs sooner or later, while there is nothing else to do."""
    for library in ("flows.daily", *LIBRARIES.get(flow, ())):
        importlib.import_module(library)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s  %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("sayu")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)


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
        click.echo("sayu: interrupted\n      → run the same command again: finished chunks are kept", err=True)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
