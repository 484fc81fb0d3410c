"""`isotherm list`: which stacks there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import home, options, show, words
from isotherm.engine.folder import Folder


@click.command("list", epilog=options.example("isotherm list", "isotherm list --json"))
@options.json_option
@click.pass_obj
def list_(terminal: show.Terminal) -> None:
    """The stacks there are."""
    stacks = home.use(Folder, _stacks)
    terminal.answer(stacks, lambda: _draw_list(stacks))


async def _stacks(folder: Folder) -> list[dict[str, Any]]:
    driven = folder.is_driven()
    return [{**stack, "driven": driven and stack["status"] == "IN_PROGRESS"} for stack in await folder.reading.stacks()]


def _draw_list(stacks: list[dict[str, Any]]) -> Iterator[RenderableType]:
    if not stacks:
        yield Text("There are no stacks. To make one: isotherm deploy NAME -t TEMPLATE", "dim")
        return
    rows = [(s["stack_name"], words.status(s["stack_status"]), s["creation_time"], s["updated_time"], ", ".join(s["tags"]),
             s["id"]) for s in stacks]
    yield show.table(["name", "status", "created", "updated", "tags", "id"], rows, styles=["cyan", "", "", "", "", "dim"],
                     keep=2)
    for stack in stacks:
        yield from words.nobody(stack)
