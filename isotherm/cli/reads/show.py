"""`isotherm show`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import options
from isotherm.cli.client import engines, port
from isotherm.cli.ownership import protection
from isotherm.cli.show import console, output_table, words

# Parameters that every stack has, such as its name.
_PSEUDO = ("OS::", "AWS::")


@click.command("show", epilog=options.example("isotherm show web", "isotherm show web --json"))
@click.argument("name")
@options.json_option
@click.pass_obj
def show_(printer: console.Printer, name: str) -> None:
    """Show the state, progress, parameters and outputs of a stack.

    NAME is the name or the id of a stack. A deleted stack is found by its id only.
    """
    stack = engines.use(lambda engine: _stack(engine, name))
    printer.result(stack, lambda: _draw(stack))


async def _stack(engine: port.EnginePort, name: str) -> dict[str, Any]:
    stack = await engine.orchestrator.stacks.show(name)
    gone = stack["deletion_time"] is not None
    found = [] if gone else await engine.orchestrator.outputs.list(name)
    parameters = {} if gone else await engine.orchestrator.inputs.parameters(name)
    drift = (await engine.orchestrator.stacks.drift_counts([stack["id"]]))[stack["id"]]
    driven = stack["status"] == "IN_PROGRESS" and await engine.is_driven()
    protected = None if gone else await engine.orchestrator.protection.show(name)
    return {**stack, "driven": driven, "outputs": found, "drift": drift, "protection": protected,
            "parameters": {key: value for key, value in parameters.items() if not key.startswith(_PSEUDO)}}


def _draw(stack: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble((console.clean(stack["stack_name"]), "bold"), "  ", words.status(stack["stack_status"]),
                        words.drift(stack["drift"]))
    if stack["description"]:
        yield console.indent(console.text(" ".join(stack["description"].split()), "dim"))
    yield from words.undriven_notice(stack)
    if stack["left_out"]:
        name = console.clean(stack["stack_name"])
        yield Text(f"Not wholly as its template says: {words.some(stack['left_out'], len(stack['left_out']), 20)} "
                   f"{'waits' if len(stack['left_out']) == 1 else 'wait'}. To finish: isotherm retry {name}", "yellow")
    yield Text("")
    yield console.facts(_facts(stack))
    if stack["parameters"]:
        yield Text("")
        yield console.heading("Parameters")
        yield console.indent(console.table(["parameter", "value"], stack["parameters"].items(), styles=["cyan"]))
    if stack["outputs"]:
        yield Text("")
        yield console.heading("Outputs")
        yield console.indent(output_table.table(stack["outputs"]))
    if stack["protection"] and (stack["protection"]["protected"] or stack["protection"]["resources"]):
        yield Text("")
        yield console.heading("Protection")
        yield from map(console.indent, protection.draw(stack["stack_name"], stack["protection"]))
    if stack["retained"]:
        yield Text("")
        yield console.heading("Retained: deleted from the stack, left in place")
        rows = [(r["resource_name"], r["resource_type"], r["physical_resource_id"], r["since"]) for r in stack["retained"]]
        yield console.indent(console.table(["resource", "type", "physical id", "since"], rows, styles=["cyan", "dim"]))


def _facts(stack: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    progress = stack["progress"]
    minutes = stack["timeout_s"] and f"{stack['timeout_s'] / 60:g} minutes"
    states = ", ".join(f"{number:,} {state.lower()}" for state, number in progress.get("states", {}).items())
    facts = {
        "id": stack["id"], "reason": stack["stack_status_reason"], "progress": states,
        "created": stack["creation_time"], "updated": stack["updated_time"], "deleted": stack["deletion_time"],
        "began": progress.get("started"), "ended": progress.get("ended"), "until": progress.get("deadline"),
        "timeout": minutes, "rollback": "no" if stack["disable_rollback"] else "if the creation or an update fails",
        "tags": ", ".join(stack["tags"]),
    }
    yield from ((name, value) for name, value in facts.items() if value)
