"""The commands about the rules before the model: `sayu rules test` and `sayu rules show`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flows.support.options import settings_options
from tasks.settings import Settings, load_settings

if TYPE_CHECKING:
    from tasks.rules.trial import Tried

MOST_ROWS, MOST_EXAMPLES = 40, 20  # what a screen holds; `--json` has all


@click.group()
def rules() -> None:
    """Look at the rules that turn pairs away before the model."""


@rules.command()
@click.option("--ds", help="The date, YYYY-MM-DD [default: yesterday in Asia/Seoul]", metavar="DATE")
@click.option("--start", help="The first date, YYYY-MM-DD", metavar="DATE")
@click.option("--end", help="The last date, YYYY-MM-DD", metavar="DATE")
@click.option("--live", help="The rules to compare with [default: those of sayu.toml or SAYU_RULES]", metavar="FILE")
@settings_options
def test(ds: str | None, start: str | None, end: str | None, live: str | None, as_json: bool, **options: Any) -> None:
    """Show what another rules file (--rules) would have done to past dates. Changes nothing."""
    from tasks.rules.trial import try_rules
    from tasks.runs import parse_date

    if bool(start) != bool(end) or (ds and start):
        raise click.UsageError("Give --ds, or --start and --end.")
    first, last = (parse_date(start), parse_date(end)) if start and end else (date := _date(ds), date)
    new = load_settings(**options).rules
    tried = try_rules(new, first, last, load_settings(**options | {"rules": live}))
    click.echo(tried.model_dump_json(indent=2)) if as_json else print_trial(tried)


@rules.command()
@settings_options
def show(as_json: bool, **options: Any) -> None:
    """Show the rules in their order, or every mistake in their file."""
    from tasks.rules.account import Applied
    from tasks.rules.file import load_rules

    settings = load_settings(**options)
    applied = Applied.of(load_rules(settings.rules), settings.rules, _unknown(settings))
    if as_json:
        click.echo(json.dumps(applied.model_dump(mode="json"), ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    from tasks.reports.words import meaning

    table = Table("rule", "effect", "line", "what it means", box=None, pad_edge=False)
    for rule in applied.rules:
        table.add_row(rule.rule, rule.effect, str(rule.line or ""), rule.why or meaning(rule.rule, "en"))
    console = Console(width=1000)
    console.print(f"{applied.path or 'no rules file'}", table, sep="\n", highlight=False)
    for unknown in applied.unknown:
        console.print(f"! {unknown.said(str(applied.path))}", style="yellow", highlight=False)


def print_trial(tried: "Tried") -> None:
    """Print what a new file would change: each rule over all dates, then date by date, then examples."""
    from rich.console import Console
    from rich.text import Text

    console = Console(width=1000)
    pairs = sum(tried.dates.values())
    console.print(f"now   {tried.live or 'no rules'}\nthen  {tried.new or 'no rules'}", highlight=False)
    console.print(f"{len(tried.dates)} dates, {pairs:,} candidates\n", highlight=False)
    console.print(_table(tried, by_date=False))
    if len(tried.dates) > 1 and any(each.newly or each.no_longer for each in tried.rules):
        console.print("", _table(tried, by_date=True), sep="\n")
    for example in tried.examples[:MOST_EXAMPLES]:
        said = "" if example.p_skip is None else f", p(skip) {example.p_skip:.2f}"
        change = example.change.replace("_", " ")
        line = f"{example.ds}  {change:<9}  {example.rule}: {example.recommended_item} / {example.reason_item}"
        console.print(Text(f"{line}  ({example.evidence or ''}{said})"))
    for warning in (*tried.held_back, *(unknown.said(str(tried.new)) for unknown in tried.unknown_categories)):
        console.print(Text(f"! {warning}", "yellow"))


def _table(tried: "Tried", by_date: bool) -> Any:
    from rich.table import Table
    from rich.text import Text

    names = ("now", "then", "newly", "no_longer", "decided", "written")
    sums: dict[tuple[str, str], list[int]] = {}
    for each in tried.rules:
        if not by_date or each.newly or each.no_longer:
            row = sums.setdefault((str(each.ds) if by_date else "", each.rule), [0] * len(names))
            sums[str(each.ds) if by_date else "", each.rule] = [
                before + getattr(each, name) for before, name in zip(row, names, strict=True)
            ]
    titles = ("now", "then", "newly rejected", "no longer rejected", "of the newly, the model wrote")
    table = Table(*(["date"] if by_date else []), "rule", box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, justify="right")
    for (ds, rule), (now, then, newly, no_longer, decided, written) in list(sums.items())[:MOST_ROWS]:
        share = f"{written:,} of {decided:,} ({written / decided:.0%})" if decided else ""
        cells = [f"{number:,}" for number in (now, then, newly, no_longer)]
        table.add_row(*([ds] if by_date else []), Text(rule), *cells, share)
    return table


def _date(ds: str | None) -> Any:
    from tasks.runs import parse_date, yesterday

    return parse_date(ds) if ds else yesterday()


def _unknown(settings: Settings) -> list[Any]:
    from tasks.errors import SayuError
    from tasks.extract import read_categories
    from tasks.rules.file import unknown_categories

    if settings.rules is None or not Path(settings.source).exists():
        return []
    try:
        return list(unknown_categories(settings.rules, read_categories(settings.source)["scate"].to_list()))
    except SayuError as error:
        click.echo(f"the shop's categories were not looked at: {error.what}", err=True)
        return []
