"""prune: a store is kept small; what readers see and what is being worked on stays."""

import click
from prefect import flow
from rich.console import Console
from rich.table import Table

from flows.support.parameters import SomeSettings
from tasks.prune import Pruned, Upkeep, prune_store
from tasks.settings import load_settings


@flow(name="prune", flow_run_name="prune")
def prune(dry_run: bool = False, settings: SomeSettings = None) -> Upkeep:
    """Remove runs, results and publications that are old and not needed, and merge small result files.

    Args:
        dry_run: Only say what would go.
        settings: Those that are to differ, such as {"keep_days": 30} [default: sayu.toml and SAYU_… on the worker].
    """
    return prune_store(settings or load_settings(), dry_run)


def print_upkeep(upkeep: Upkeep, as_json: bool) -> None:
    """Print what went, or would go, to standard output, for people or as JSON."""
    if as_json:
        click.echo(upkeep.model_dump_json(indent=2))
        return
    table = Table("would go" if upkeep.dry_run else "gone", "number", "size", "", box=None, pad_edge=False)
    for row in upkeep.pruned:
        table.add_row(row.kind, f"{row.count:>7,}", f"{row.bytes / 1e6:>9,.1f} MB", f"[dim]{_became(row)}")
    console = Console()
    console.print(table)
    for ds in upkeep.busy:
        console.print(f"{ds} is being worked on and was left alone", highlight=False)


def _became(row: Pruned) -> str:
    return f"merged into {row.into:,}" if row.into else ""
