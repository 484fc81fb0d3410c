"""`isotherm plugin`: the plug-ins that are installed, and those that could not be loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
import msgspec
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import codes, options
from isotherm.cli.client import type_registry
from isotherm.cli.show import console
from isotherm.plugins.discover import Plugin
from isotherm.plugins.installed import GROUPS


@click.group("plugin")
def plugin() -> None:
    """List plug-ins."""


@plugin.command("list", epilog=options.example("isotherm plugin list", "isotherm plugin list --json"))
@options.json_option
@click.pass_obj
def list_plugins(printer: console.Printer) -> int:
    """List the plug-ins, what they provide, and why one could not be loaded. Fails if one could not."""
    found = type_registry.plugins().found
    printer.result({"plugins": [msgspec.to_builtins(one) for one in found]}, lambda: _draw(found))
    return codes.FAILED if any(one.error for one in found) else codes.OK


def _draw(found: Sequence[Plugin]) -> Iterator[RenderableType]:
    if not found:
        yield Text(f"No plug-in is installed: no package has an entry point in {', '.join(GROUPS)}, and no folder in the "
                   "option plugin_dirs has a Python file.", "dim")
        return
    rows = [(one.name, one.group, one.origin, console.text(one.error, "red") if one.error else ", ".join(one.provides))
            for one in found]
    yield console.table(["name", "group", "from", "provides"], rows, styles=["cyan"], keep=4)
