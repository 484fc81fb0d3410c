"""`isotherm snapshot` and `isotherm restore`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import codes, options
from isotherm.cli.client import embedded, engines, port
from isotherm.cli.show import console, words

_hidden = click.option("--show-hidden", "hidden", is_flag=True, help="Include hidden values.")


@click.group()
def snapshot() -> None:
    """Create, list, show and delete snapshots of a stack."""


@snapshot.command(epilog=options.example("isotherm snapshot create web before-the-change"))
@click.argument("name")
@click.argument("label", required=False, metavar="[SNAPSHOT]")
@options.cloud_option
@options.json_option
@click.pass_obj
def create(printer: console.Printer, name: str, label: str | None) -> int:
    """Take a snapshot of a stack.

    A snapshot holds the template, environment and parameters, and the data that each resource saves. No other operation may
    be in progress on the stack.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.snapshots.take(name, label))


@snapshot.command("list", epilog=options.example("isotherm snapshot list web"))
@click.argument("name")
@options.json_option
@click.pass_obj
def list_(printer: console.Printer, name: str) -> None:
    """List the snapshots of a stack."""
    found = engines.use(lambda engine: engine.orchestrator.snapshots.list(name))
    rows = [(one["name"] or "", words.status(f"{one['action']}_{one['status']}"), one["creation_time"], one["id"],
             one["status_reason"] if one["status"] == "FAILED" else "") for one in found]
    printer.result(
        found, lambda: [console.table(["name", "status", "taken", "id", "reason"], rows, styles=["cyan"], keep=4)]
    )


@snapshot.command("show", epilog=options.example("isotherm snapshot show web before-the-change --json"))
@click.argument("name")
@click.argument("label", metavar="SNAPSHOT")
@_hidden
@options.json_option
@click.pass_obj
def show_(printer: console.Printer, name: str, label: str, hidden: bool) -> None:
    """Show a snapshot.

    SNAPSHOT is its name or its id. With --json, prints everything it holds.
    """
    found = engines.use(lambda engine: engine.orchestrator.snapshots.show(name, label, hidden=hidden))
    printer.result(found, lambda: _draw(found))


def _draw(found: dict[str, Any]) -> Iterator[RenderableType]:
    status = words.status(f"{found['action']}_{found['status']}")
    yield Text.assemble((console.clean(found["name"] or found["id"]), "bold"), "  ", status)
    yield console.facts([("id", found["id"]), ("taken", found["creation_time"]), ("reason", found["status_reason"])])
    rows = [(one["name"], one["type"], one["resource_id"]) for one in found["data"]["resources"].values()]
    yield Text("")
    yield console.indent(console.table(["resource", "type", "physical id"], rows, styles=["cyan", "dim"]))


@snapshot.command(epilog=options.example("isotherm snapshot delete web before-the-change"))
@click.argument("name")
@click.argument("label", metavar="SNAPSHOT")
@options.cloud_option
@options.json_option
@click.pass_obj
def delete(printer: console.Printer, name: str, label: str) -> int:
    """Delete a snapshot and the data that resources saved for it."""
    left = engines.use(lambda engine: _delete(engine, name, label))
    said = f"Deleted snapshot {label}." if left is None else f"{left['action']}_{left['status']}: {left['status_reason']}"
    printer.result(
        {"deleted": left is None, "snapshot": left}, lambda: [console.text(said, "" if left is None else "red")]
    )
    return codes.OK if left is None else codes.FAILED


async def _delete(engine: port.EnginePort, name: str, label: str) -> dict[str, Any] | None:
    """Drive the deletion to its end; return the snapshot if it could not be deleted, else None."""
    one = await engine.orchestrator.snapshots.show(name, label)
    await engine.orchestrator.snapshots.delete(name, one["id"])
    async with engine.driving():
        while True:
            found = [row for row in await engine.orchestrator.snapshots.list(name) if row["id"] == one["id"]]
            if not found or found[0]["status"] != "IN_PROGRESS":
                return found[0] if found else None
            await asyncio.sleep(0.05)


@click.command(epilog=options.example("isotherm restore web before-the-change"))
@click.argument("name")
@click.argument("label", metavar="SNAPSHOT")
@options.cloud_option
@options.json_option
@click.pass_obj
def restore(printer: console.Printer, name: str, label: str) -> int:
    """Restore a stack from a snapshot.

    This is an update to the template, environment and parameters of the snapshot, with the data that each resource saved.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.snapshots.restore(name, label))
