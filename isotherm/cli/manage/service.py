"""`heat-manage service`: the processes of the service on all hosts."""

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
    """List the processes of the service and clean up after dead ones."""


@service.command("list", epilog=options.example("isotherm manage service list"))
@options.json_option
@click.pass_obj
def list_(printer: console.Printer) -> None:
    """List the processes of the service on all hosts.

    A process sends a heartbeat every ten seconds. It is down after 30 seconds without one, and is removed from the list
    after a day. Load is the number of running steps (engine), requests (API) or stacks (observer). Leases is the number of
    resources that an engine holds.
    """
    found = home.use(Folder, housekeeping.service_list)
    printer.result(found, lambda: _draw(found))


@service.command("clean", epilog=options.example("isotherm manage service clean"))
@options.json_option
@click.pass_obj
def clean(printer: console.Printer) -> None:
    """Release the leases of dead processes of this host and remove them from the list.

    Optional: an engine does the same for its host when it starts, and leases expire by themselves.
    """
    names = home.use(Folder, housekeeping.clean_services)
    printer.result({"cleaned": names}, lambda: [
        console.text(f"{console.count(len(names), 'dead process', 'dead processes')} removed.")])


def _draw(found: list[dict[str, Any]]) -> Iterator[RenderableType]:
    if not found:
        yield console.text("No engine is running.", "dim")
        return
    styles = {"up": "green", "down": "red"}
    yield console.table(["name", "binary", "host", "status", "load", "leases", "since", "seen"], [
        (one["engine_id"], one["binary"], one["host"], console.text(one["status"], styles[one["status"]]), one["load"],
         one["leases"], one["since"], one["seen"]) for one in found], styles=["cyan"])
