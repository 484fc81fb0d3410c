"""`heat-manage service`: the processes of the service on all hosts, and those that died."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.console import RenderableType

from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.show import console
from isotherm.engine.admin import housekeeping
from isotherm.engine.process.home import Folder


@click.group()
def service() -> None:
    """The processes of the service: engines, APIs, observers."""


@service.command("list", epilog=options.example("isotherm manage service list"))
@options.json_option
@click.pass_obj
def list_(printer: console.Printer) -> None:
    """List the processes of the service, on all hosts: those that are up, and those that died.

    A process says every ten seconds that it is there: whoever was not seen for half a minute is down, and is forgotten
    after a day. Load is what it does at this moment: steps of an engine, requests of an API, stacks of an observer. Leases
    are the resources that an engine holds.
    """
    found = home.use(Folder, housekeeping.service_list)
    printer.result(found, lambda: _draw(found))


@service.command("clean", epilog=options.example("isotherm manage service clean"))
@options.json_option
@click.pass_obj
def clean(printer: console.Printer) -> None:
    """Clean up after processes that died: what they held here can be taken up at once, and they are listed no more.

    Every engine does so for its own host when it starts, and what a dead one held runs out by itself.
    """
    names = home.use(Folder, housekeeping.clean_services)
    printer.result({"cleaned": names}, lambda: [
        console.text(f"{console.count(len(names), 'dead process', 'dead processes')} cleaned up after.")])


def _draw(found: list[dict[str, Any]]) -> Iterator[RenderableType]:
    if not found:
        yield console.text("No engine is running.", "dim")
        return
    styles = {"up": "green", "down": "red"}
    yield console.table(["name", "binary", "host", "status", "load", "leases", "since", "seen"], [
        (one["engine_id"], one["binary"], one["host"], console.text(one["status"], styles[one["status"]]), one["load"],
         one["leases"], one["since"], one["seen"]) for one in found], styles=["cyan"])
