"""`isotherm resources` and `isotherm events`."""

from __future__ import annotations

from typing import Any

import click

from isotherm.cli import options
from isotherm.cli.client import engines, home, port
from isotherm.cli.show import console, words


@click.command(epilog=options.example("isotherm resources web", "isotherm resources web --nested 2 --json"))
@click.argument("name")
@options.nested_option
@options.json_option
@click.pass_obj
def resources(printer: console.Printer, name: str) -> None:
    """List the resources of a stack.

    With --nested, resources of nested stacks follow, with their path: group.0.server.
    """
    found = engines.read(lambda reader: _resources(reader, name))
    rows = [(words.path(r), words.status(r["resource_status"]), r["resource_type"], r["physical_resource_id"],
             r["resource_status_reason"] or r["waits_for"]) for r in found]
    printer.result(found, lambda: [console.table(["name", "status", "type", "physical id", "reason"], rows,
                                               styles=["cyan", "", "dim", "", "dim"], keep=2)])


async def _resources(reader: port.ReaderPort, name: str) -> list[dict[str, Any]]:
    return await reader.resources.list(name, depth=home.nested())


@click.command(epilog=options.example("isotherm events web", "isotherm events web --last 20 --nested 1"))
@click.argument("name")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="List only the last N events.")
@options.nested_option
@options.json_option
@click.pass_obj
def events(printer: console.Printer, name: str, last: int | None) -> None:
    """List the events of a stack.

    The oldest event comes first. To follow events as they happen, use `isotherm watch NAME`.
    """
    found = engines.read(lambda reader: _events(reader, name, last))
    rows = [(e["event_time"], words.status(e["resource_status"]), words.path(e),
             e["resource_status_reason"] or (e["physical_resource_id"] if e["resource_name"] else "")) for e in found]
    printer.result(found, lambda: [console.table(["time", "status", "resource", "reason"], rows,
                                               styles=["dim", "", "cyan"], keep=3)])


async def _events(reader: port.ReaderPort, name: str, last: int | None) -> list[dict[str, Any]]:
    depth = home.nested()
    if last is not None:
        return await reader.events.list(name, last=last, depth=depth)
    found: list[dict[str, Any]] = []
    while page := await reader.events.list(name, after=found[-1]["id"] if found else 0, depth=depth):
        found += page
    return found
