"""Options that commands have in common: every setting, and the date."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tasks.settings import Settings


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
        alone: dict[str, Any] = {}
        if field.annotation is bool:  # `--fresh` will do for `--fresh true`
            alone = {"is_flag": False, "flag_value": "true"}
        command = click.option(f"--{name.replace('_', '-')}", name, help=text, metavar="", **alone)(command)
    return click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")(command)


date_option = click.option("--ds", help="The date, YYYY-MM-DD [default: yesterday in Asia/Seoul]", metavar="DATE")
