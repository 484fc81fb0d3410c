"""`isotherm move`: moves a resource from one stack to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import options
from isotherm.cli.client import engines
from isotherm.cli.show import console


@click.command(epilog=options.example("isotherm move web/database data/database", "isotherm move web/database data",
                                      "isotherm move web/database data/main --with-values"))
@click.argument("resource", metavar="STACK/RESOURCE")
@click.argument("to", metavar="STACK[/RESOURCE]")
@click.option("--with-values", is_flag=True,
              help="Write present values into the definition in place of references to the stack that it leaves.")
@options.cloud_option
@options.json_option
@click.pass_obj
def move(printer: console.Printer, resource: str, to: str, with_values: bool) -> None:
    """Move a resource to another stack, without touching its object.

    The definition leaves the template of the one stack and is added to that of the other. Both stacks must be COMPLETE.
    Nothing may refer to the resource, and its definition may refer to nothing of its stack. Moving it back undoes the move.
    """
    stack, slash, name = resource.partition("/")
    target, _, new_name = to.partition("/")
    if not (stack and slash and name and target):
        raise click.UsageError("Name a stack with its resource, and the stack that takes it over: STACK/RESOURCE STACK.")
    moved = engines.use(lambda engine: engine.orchestrator.moves.move(
        stack, name, target, new_name or name, with_values=with_values))
    printer.result(moved, lambda: _draw(moved))


def _draw(moved: dict[str, Any]) -> Iterator[RenderableType]:
    from_, to = moved["from"], moved["to"]
    yield Text.assemble(
        ("→ ", "green"), (console.clean(f"{to['stack_name']}/{to['resource_name']}"), "bold"), "  ",
        (console.clean(moved["resource_type"]), "dim"), "  moved from ",
        console.clean(f"{from_['stack_name']}/{from_['resource_name']}"))
    yield console.text(f"Both templates have changed: isotherm template {from_['stack_name']}, "
                       f"isotherm template {to['stack_name']}. Change your own copies too, before the next update.")
