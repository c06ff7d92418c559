"""What the rules before the model cost at real size: `python -m benchmarks.rules`.

Reads a date's candidates once, then applies the rules file to them some times in this process. Beside the time stands
what each rule saw.
"""

import datetime as dt
import tempfile
import time
from pathlib import Path
from statistics import median

import click

from benchmarks.source import DATE, build_large_source
from tasks.extract import clean_candidates, read_candidates
from tasks.rules.file import load_rules
from tasks.rules.match import find_hits
from tasks.settings import load_settings


@click.command()
@click.option("--source", help="A source in the contract's form [default: built here, of --pairs pairs]")
@click.option("--ds", default=str(DATE), show_default=True, help="The date")
@click.option("--pairs", default=135_000, show_default=True, help="Pairs of the source that is built here")
@click.option("--rules", help="The rules file [default: the setting's]")
@click.option("--repeats", default=5, show_default=True, help="How often")
def main(source: str | None, ds: str, pairs: int, rules: str | None, repeats: int) -> None:
    """Apply the rules to a date of real size; show the time and the hits."""
    with tempfile.TemporaryDirectory(prefix="sayu-rules-") as folder:
        source = source or str(build_large_source(Path(folder) / "source.duckdb", pairs))
        candidates = clean_candidates(read_candidates(source, dt.date.fromisoformat(ds)))
    settings = load_settings(rules=rules)
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        hits = find_hits(candidates, load_rules(settings.rules), settings.screen_sample)
        seconds.append(time.perf_counter() - begun)
    for rule, effect, count in sorted(hits.group_by("rule", "effect").len().iter_rows()):
        click.echo(f"{count:>8,}  {rule}, {effect}")
    shown = ", ".join(f"{second:.2f}" for second in seconds)
    click.echo(f"{candidates.height:,} pairs, {settings.rules}: median {median(seconds):.2f} s ({shown})")


if __name__ == "__main__":
    main()
