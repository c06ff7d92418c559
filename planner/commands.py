"""What `sayu plan` and `sayu plan calibrate` do with their options."""

import json
from typing import Any

import click

from planner.asked import Asked
from planner.assemble import make_plan
from planner.calibrate import calibrate
from planner.made import as_json
from planner.page import write_html
from planner.report import print_plan
from tasks.settings import Settings

PLAN_OPTIONS = Asked._fields


def plan(settings: Settings, for_machines: bool, **options: Any) -> None:
    """Work out the plan, print it, and write the page if one is asked for."""
    asked = Asked(**options)
    made = make_plan(settings, asked)
    if asked.html:
        write_html(made, asked.html)
    if for_machines:
        click.echo(json.dumps(as_json(made), ensure_ascii=False, indent=2))
        return
    print_plan(made)
    if asked.html:
        click.echo(f"page            {asked.html}")


def calibrate_engine(settings: Settings, for_machines: bool) -> None:
    """Measure the engine at hand and say what came out."""
    found = calibrate(settings)
    if for_machines:
        click.echo(found.model_dump_json(indent=2))
        return
    costs = {
        "a step": f"{found.step * 1e3:.2f} ms",
        "a prompt token": f"{found.prompt * 1e6:.0f} µs",
        "a request": f"{found.request * 1e3:.2f} ms",
        "an answer's token": f"{found.answer * 1e6:.0f} µs",
        "a token of context": f"{found.context * 1e9:.0f} ns",
        "around a chunk's call": f"{found.pause * 1e3:.0f} ms",
    }
    click.echo(
        f"{found.model} on {found.machine}\n"
        f"{', '.join(f'{name} {cost}' for name, cost in costs.items())}\n"
        f"off by {found.error:.0%} in the median of {found.trials} trials\n"
        f"KV room {found.room:,} tokens in blocks of {found.block_size}"
    )
