"""What the command line says at the end: what happened, in numbers that add up, and where to look."""

import click
from rich.console import Console
from rich.table import Table

from tasks.cache import Cache
from tasks.costs import Cost
from tasks.hits import Hits
from tasks.records import Outcome
from tasks.report import Summary, Tokens
from tasks.reports.again import asked_again
from tasks.reports.waterfall import parts, per_text, say_money, say_seconds
from tasks.reports.words import words
from tasks.waterfall import Waterfall

MEANING = {
    Outcome.PUBLISHED: "written, checked, passed",
    Outcome.SKIPPED: "the model said skip",
    Outcome.SCREENED: "a rule said no before the model",
    Outcome.RANKED_OUT: "another reason item was worth more",
    Outcome.REJECTED: "written, but failed its checks",
    Outcome.FAILED: "no answer from the engine",
}


def print_summary(summary: Summary, as_json: bool) -> None:
    """Print a date's summary to standard output, for people or as JSON."""
    if as_json:
        click.echo(summary.model_dump_json(indent=2))
        return
    console = Console()
    console.print(f"\n[bold]{summary.ds}[/bold]  {_verdict(summary)}", highlight=False)
    for reason in summary.reasons:
        console.print(f"  [yellow]![/yellow] {reason}", highlight=False)
    console.print(outcome_table(summary), token_table(summary), sep="\n")
    if summary.rules:
        console.print(rules_line(summary), soft_wrap=True, highlight=False)
    if summary.waterfall:
        console.print(waterfall_table(summary.waterfall, summary.passed))
        console.print(per_text(summary.waterfall, "en"), soft_wrap=True, highlight=False)
    if summary.cache:
        console.print(cache_line(summary.cache), soft_wrap=True, highlight=False)
        if summary.cache.is_lost(summary.expected_cache_share):
            lost = words("en")["look_cache"].format(share=summary.cache.share, evicted=f"{summary.cache.evicted:,}")
            console.print(f"[bold yellow]! {lost}", soft_wrap=True, highlight=False)
    if said := " ".join(asked_again(summary.attempts, "en")):
        console.print(f"asked again    {said}", soft_wrap=True, highlight=False)
    if summary.reuse:
        console.print(reuse_line(summary.reuse), soft_wrap=True, highlight=False)
    console.print(time_line(summary), soft_wrap=True, highlight=False)
    console.print(f"serving table  {summary.serving}  (table reasons)", soft_wrap=True, highlight=False)
    console.print(f"report         {summary.report}", soft_wrap=True, highlight=False)


def outcome_table(summary: Summary) -> Table:
    """Outcome counts with their sum, the candidates."""
    table = Table("outcome", "pairs", "", box=None, pad_edge=False)
    for outcome, meaning in MEANING.items():
        table.add_row(outcome.value, f"{summary.outcomes[outcome.value]:>7,}", f"[dim]{meaning}")
    table.add_row("[bold]candidates", f"[bold]{sum(summary.outcomes.values()):>7,}", f"[dim]{_reuse(summary)}")
    return table


def token_table(summary: Summary) -> Table:
    """Per stage: pairs asked, prompt tokens computed and found in the cache, tokens written."""
    table = Table("stage", "pairs", "prompt tokens", "computed", "cached", "written", box=None, pad_edge=False)
    for name, tokens in (("decide", summary.decide), ("generate", summary.generate)):
        numbers = (tokens.pairs, tokens.prompt, tokens.computed)
        cells = [f"{number:,}" for number in numbers]
        table.add_row(name, *cells, _cached(tokens), f"{tokens.generated:,}")
    return table


def waterfall_table(waterfall: Waterfall, passed: str) -> Table:
    """Where the pairs left the way, what that saved, and what asking the others took."""
    columns = ["step", "pairs", "left", "calls", "computed", "written", "engine s"]
    if priced := waterfall.price_per_hour is not None:
        columns.append(str(waterfall.currency))
    table = Table(*columns, box=None, pad_edge=False)

    def costs(cost: Cost | None) -> list[str]:
        numbers = ["–"] * 3 if cost is None else [f"{n:,}" for n in (cost.calls, cost.computed, cost.generated)]
        cells = [*numbers, say_seconds(cost.engine_seconds if cost else None)]
        return [*cells, say_money(cost.money if cost else None)] if priced else cells

    for part, meaning in zip(parts(waterfall, passed), ("saved, about", "spent"), strict=True):
        for line in part.lines:
            if line.mark:
                table.add_row(f"[bold]{line.label}", "", f"[bold]{line.step.left:,}")
            else:
                table.add_row(line.label, f"{line.step.pairs:,}", f"{line.step.left:,}", *costs(line.cost))
        table.add_row(f"[bold]{meaning}", f"{part.pairs:,}", "", *costs(part.cost))
    return table


def cache_line(cache: Cache) -> str:
    """How much was computed against the floor, what was found of what could be, and why the rest was lost."""
    floor = "–" if cache.times_floor is None else f"{cache.times_floor:.2f} × the floor of {cache.first_time:,}"
    share = "–" if cache.share is None else f"{cache.share:.1%}"
    lost = f"{cache.remainder:,} in remainders of blocks, {cache.evicted:,} evicted"
    again = "" if cache.share_again is None else f" (texts {cache.share_again:.1%} of what decide had read)"
    found = f"found {share} of what it could{again}"
    return f"prefix cache   computed {floor}; {found}; lost {lost}; {cache.preemptions} preemptions"


def rules_line(summary: Summary) -> str:
    """What each rule before the model saw, and how many of the pairs went on all the same."""
    seen = (
        f"{rule.rule} {rule.hits:,}" + (f" ({rule.sample:,} went on)" if rule.sample else "")
        for rule in summary.rules
        if rule.hits
    )
    return f"rules          {', '.join(seen) or 'none saw a pair'}"


def reuse_line(hits: Hits) -> str:
    """What the pairs found in the result store, by its age."""
    w = words("en")
    parts = "; ".join(f"{row.pairs:,} {w[f'hit_{row.name}']}" for row in hits.seen)
    return f"result store   {parts}"


def time_line(summary: Summary) -> str:
    """Seconds per stage, in the order in which they ran."""
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in summary.seconds.items())
    predicted = f" (predicted {summary.predicted.engine_seconds:.1f})" if summary.predicted else ""
    return f"seconds        {stages}; the engine itself {summary.engine_seconds:.1f}{predicted}"


def _verdict(summary: Summary) -> str:
    published = f"published[/bold {{}}] as publication {summary.publication_id}"
    if summary.verdict == "held back" and summary.publication_id is None:
        return "[bold red]held back[/bold red]: the serving table is as it was"
    if summary.verdict == "held back":
        return f"[bold yellow]{published.format('yellow')}, approved although the gate held it back"
    if summary.publication_id is None:
        return f"checks [bold]{summary.verdict}[/bold]; nothing was published: `sayu daily --ds {summary.ds}` does"
    colour = "green" if summary.verdict == "passed" else "yellow"
    return f"[bold {colour}]{published.format(colour)} (checks: {summary.verdict})"


def _reuse(summary: Summary) -> str:
    rate = "–" if summary.skip_rate is None else f"{summary.skip_rate:.1%}"
    again = summary.attempts.calls if summary.attempts else 0
    more = f" and {again:,} to ask again" if again else ""
    return f"skip rate {rate}; {summary.reused:,} reused, {summary.model_calls:,} model calls{more}"


def _cached(tokens: Tokens) -> str:
    share = tokens.cached / tokens.prompt if tokens.prompt else 0.0
    return f"{tokens.cached:,} ({share:.0%})"
