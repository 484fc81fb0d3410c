"""`isotherm list` and `isotherm show`: which stacks there are, and how they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import live, local, options, show, words
from isotherm.engine.embedded import Embedded


@click.command("list", epilog=options.example("isotherm list", "isotherm list --json"))
@options.json_option
@click.pass_obj
def list_(terminal: show.Terminal) -> None:
    """The stacks there are."""
    stacks = local.read(_stacks)
    terminal.answer(stacks, lambda: _draw_list(stacks))


async def _stacks(engine: Embedded) -> list[dict[str, Any]]:
    driven = engine.is_driven()
    return [{**stack, "driven": driven and stack["status"] == "IN_PROGRESS"} for stack in await engine.orchestrator.stacks()]


def _draw_list(stacks: list[dict[str, Any]]) -> Iterator[RenderableType]:
    if not stacks:
        yield Text("There are no stacks. To make one: isotherm deploy NAME -t TEMPLATE", "dim")
        return
    rows = [(s["stack_name"], words.status(s["stack_status"]), s["creation_time"], s["updated_time"], ", ".join(s["tags"]),
             s["id"]) for s in stacks]
    yield show.table(["name", "status", "created", "updated", "tags", "id"], rows, styles=["cyan", "", "", "", "", "dim"],
                     keep=2)
    for stack in stacks:
        yield from _nobody(stack)


def _nobody(stack: Mapping[str, Any]) -> Iterator[Text]:
    """Something is under way, and no command is driving it: say how to go on."""
    if stack["status"] == "IN_PROGRESS" and not stack["driven"]:
        name = show.clean(stack["stack_name"])
        yield Text(f"Nobody works on {name} at the moment. To go on: isotherm watch {name}", "yellow")


@click.command("show", epilog=options.example("isotherm show web", "isotherm show web --json"))
@click.argument("name")
@options.json_option
@click.pass_obj
def show_(terminal: show.Terminal, name: str) -> None:
    """One stack: its state, how far it has come, its outputs.

    NAME may also be the id of a stack, also of one that has been deleted.
    """
    stack = local.read(lambda engine: _stack(engine, name))
    terminal.answer(stack, lambda: _draw(stack))


async def _stack(engine: Embedded, name: str) -> dict[str, Any]:
    stack = await engine.orchestrator.show(name)
    gone = stack["deletion_time"] is not None
    outputs = [] if gone else await engine.orchestrator.outputs(name)
    return {**stack, "driven": engine.is_driven() and stack["status"] == "IN_PROGRESS", "outputs": outputs}


def _draw(stack: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble((show.clean(stack["stack_name"]), "bold"), "  ", words.status(stack["stack_status"]))
    if stack["description"]:
        yield show.indent(show.text(" ".join(stack["description"].split()), "dim"))
    yield from _nobody(stack)
    yield Text("")
    yield show.table(["", ""], _facts(stack), styles=["dim"])
    if stack["outputs"]:
        yield Text("")
        yield show.heading("Outputs")
        yield show.indent(live.output_table(stack["outputs"]))
    if stack["retained"]:
        yield Text("")
        yield show.heading("Left in place when they were deleted")
        rows = [(r["resource_name"], r["resource_type"], r["physical_resource_id"], r["since"]) for r in stack["retained"]]
        yield show.indent(show.table(["resource", "type", "physical id", "since"], rows, styles=["cyan", "dim"]))


def _facts(stack: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    progress = stack["progress"]
    minutes = stack["timeout_s"] and f"{stack['timeout_s'] / 60:g} minutes"
    states = ", ".join(f"{number:,} {state.lower()}" for state, number in progress.get("states", {}).items())
    facts = {
        "id": stack["id"], "reason": stack["stack_status_reason"], "progress": states,
        "created": stack["creation_time"], "updated": stack["updated_time"], "deleted": stack["deletion_time"],
        "began": progress.get("started"), "ended": progress.get("ended"), "until": progress.get("deadline"),
        "timeout": minutes, "rollback": "no" if stack["disable_rollback"] else "if an update or the creation fails",
        "tags": ", ".join(stack["tags"]),
    }  # fmt: skip
    yield from ((name, value) for name, value in facts.items() if value)
