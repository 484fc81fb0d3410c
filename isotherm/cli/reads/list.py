"""`isotherm list`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import options
from isotherm.cli.client import engines, port
from isotherm.cli.show import console, words


@click.command("list", epilog=options.example("isotherm list", "isotherm list --json"))
@options.json_option
@click.pass_obj
def list_(printer: console.Printer) -> None:
    """List the stacks."""
    stacks = engines.read(_stacks)
    printer.result(stacks, lambda: _draw_list(stacks, printer.out.width))


async def _stacks(reader: port.ReaderPort) -> list[dict[str, Any]]:
    driven = await reader.is_driven()
    found = await reader.stacks.list()
    drift = await reader.stacks.drift_counts([stack["id"] for stack in found])
    return [{**stack, "driven": driven and stack["status"] == "IN_PROGRESS", "drift": drift[stack["id"]]}
            for stack in found]


def _draw_list(stacks: list[dict[str, Any]], width: int) -> Iterator[RenderableType]:
    if not stacks:
        yield Text("There are no stacks. To create one: isotherm deploy NAME -t TEMPLATE", "dim")
        return
    columns = ["name", "status", "changed", "tags", "id"]
    rows = [(s["stack_name"], words.status(s["stack_status"]) + words.drift(s["drift"]),
             s["updated_time"] or s["creation_time"],
             ", ".join(s["tags"]), s["id"]) for s in stacks]
    # Ids are shown in wide windows only: people use names.
    shown = len(columns) if width >= 110 else 4
    yield console.table(columns[:shown], [row[:shown] for row in rows], styles=["cyan", "", "", "", "dim"], keep=3)
    for stack in stacks:
        yield from words.undriven_notice(stack)
