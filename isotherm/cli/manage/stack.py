"""`heat-manage stack list`, `reset_stack_status` and `resource_data_list`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.console import RenderableType

from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.show import console, words
from isotherm.engine.admin import housekeeping
from isotherm.engine.process.home import Folder

_SURE = ("The operation in progress on the stack and its nested stacks will be marked as failed. Calls to the cloud may "
         "already have succeeded; the next update or delete finds out. Continue?")


@click.group()
def stack() -> None:
    """List the stacks of all projects."""


@stack.command("list", epilog=options.example("isotherm manage stack list", "isotherm manage stack list --nested --json"))
@click.option("--nested", is_flag=True, help="List nested stacks too.")
@click.option("-p", "--project-id", "project", help="List only stacks of this project.")
@options.json_option
@click.pass_obj
def list_(printer: console.Printer, nested: bool, project: str | None) -> None:
    """List the stacks of all projects with their path, convergence or legacy."""
    found = home.use(Folder, lambda folder: housekeeping.stacks(folder, nested=nested, project=project))
    printer.result(found, lambda: _draw(found))


def _draw(found: list[dict[str, Any]]) -> Iterator[RenderableType]:
    if not found:
        yield console.text("There are no stacks.", "dim")
        return
    rows = [(one["id"], one["stack_name"], words.status(one["stack_status"]),
             console.text(one["path"], "yellow" if one["path"] == "legacy" else ""), one["resources"], one["project"])
            for one in found]
    yield console.table(["id", "name", "status", "path", "resources", "project"], rows, styles=["dim", "cyan"], keep=4)


@click.command("reset_stack_status", epilog=options.example("isotherm manage reset_stack_status --yes web"))
@click.argument("stack_id")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@options.json_option
@click.pass_obj
def reset_stack_status(printer: console.Printer, stack_id: str, yes: bool) -> None:
    """Fail the operation in progress on a stuck stack.

    Use this for an operation that can never end. A dead engine is no reason: another engine continues its work. Afterwards
    the stack is FAILED; an update or a delete repairs it.
    """
    if not yes:
        home.use(Folder, lambda folder: housekeeping.check_exists(folder, stack_id))
        click.confirm(_SURE, abort=True, err=True)
    found = home.use(Folder, lambda folder: housekeeping.reset_status(folder, stack_id))
    printer.result(found, lambda: [
        console.text(f"{one['stack_name']} is {one['stack_status']} now.") for one in found
    ] or [console.text("No operation is in progress on this stack.", "dim")])


@click.command("resource_data_list", epilog=options.example("isotherm manage resource_data_list 1042"))
@click.argument("resource_id")
@options.json_option
@click.pass_obj
def resource_data_list(printer: console.Printer, resource_id: str) -> None:
    """Print the stored data of a resource.

    RESOURCE_ID is the id of its row, its token or its physical id. Encrypted values are printed in the clear.
    """
    found = home.use(Folder, lambda folder: housekeeping.resource_data(folder, resource_id))
    printer.result(found, lambda: [console.text(f"{name} = {value if isinstance(value, str) else console.compact(value)}")
                                    for name, value in found["data"].items()])
