"""`isotherm resources` and `isotherm events`."""

from __future__ import annotations

from typing import Any

import click

from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.show import console, words
from isotherm.engine.process.home import Folder


@click.command(epilog=options.example("isotherm resources web", "isotherm resources web --json"))
@click.argument("name")
@options.json_option
@click.pass_obj
def resources(printer: console.Printer, name: str) -> None:
    """List the resources of a stack."""
    found = home.use(Folder, lambda folder: _resources(folder, name))
    rows = [(r["resource_name"], words.status(r["resource_status"]), r["resource_type"], r["physical_resource_id"],
             r["resource_status_reason"] or r["waits_for"]) for r in found]
    printer.result(found, lambda: [console.table(["name", "status", "type", "physical id", "reason"], rows,
                                               styles=["cyan", "", "dim", "", "dim"], keep=2)])


async def _resources(folder: Folder, name: str) -> list[dict[str, Any]]:
    return await folder.resources.list(name)


@click.command(epilog=options.example("isotherm events web", "isotherm events web --last 20"))
@click.argument("name")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="List only the last N events.")
@options.json_option
@click.pass_obj
def events(printer: console.Printer, name: str, last: int | None) -> None:
    """List the events of a stack.

    The oldest event comes first. To follow events as they happen, use `isotherm watch NAME`.
    """
    found = home.use(Folder, lambda folder: _events(folder, name, last))
    rows = [(e["event_time"], words.status(e["resource_status"]), e["resource_name"] or "(stack)",
             e["resource_status_reason"] or (e["physical_resource_id"] if e["resource_name"] else "")) for e in found]
    printer.result(found, lambda: [console.table(["time", "status", "resource", "reason"], rows,
                                               styles=["dim", "", "cyan"], keep=3)])


async def _events(folder: Folder, name: str, last: int | None) -> list[dict[str, Any]]:
    if last is not None:
        return await folder.events.list(name, last=last)
    found: list[dict[str, Any]] = []
    while page := await folder.events.list(name, after=found[-1]["id"] if found else 0):
        found += page
    return found
