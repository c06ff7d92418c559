"""The command that measures: `sayu bench`."""

from pathlib import Path
from typing import Any

import click

from flows.support.options import settings_options
from tasks.settings import load_settings


@click.command()
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
