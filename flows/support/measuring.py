"""The commands that measure and reckon: `sayu bench` and `sayu plan`."""

from pathlib import Path
from typing import Any

import click

from flows.support.options import settings_options
from tasks.settings import load_settings


@click.command()
@click.option("--pairs", default=256, show_default=True, help="How many pairs")
@click.option(
    "--reasons-per-item",
    type=click.IntRange(1, 1000),
    help="About how many pairs share a recommended item [default: any of 2,400 items is recommended]",
)
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


@click.group(invoke_without_command=True)
@click.option("--ds", help="A date to plan [default: yesterday in Asia/Seoul]", metavar="DATE")
# Seven real days' worth; each prompt is simulated, and more of them tell nothing new.
@click.option("--pairs", type=click.IntRange(1, 1_000_000), help="So many pairs in the demo shop's shape", metavar="N")
@click.option("--prompt-tokens", type=click.IntRange(2), help="Made-up prompts of so many tokens instead", metavar="N")
@click.option("--shared-tokens", type=click.IntRange(0), help="Tokens that made-up prompts have in common", metavar="N")
@click.option("--text-tokens", type=click.FloatRange(1), help="Tokens a text [default: the last run's]", metavar="N")
@click.option("--write-share", type=float, help="Share that is written [default: the last run's]", metavar="X")
@click.option("--room", type=click.IntRange(64), help="Tokens of KV [default: measured or worked out]", metavar="N")
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
def plan(context: click.Context, /, as_json: bool, **options: Any) -> None:
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
