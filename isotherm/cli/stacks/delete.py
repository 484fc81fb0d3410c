"""`isotherm delete`: deletes a stack after a confirmation."""

from __future__ import annotations

import sys

import click

from isotherm.cli import options
from isotherm.cli.client import embedded, home
from isotherm.cli.show import console
from isotherm.engine.process.home import Folder


@click.command(epilog=options.example("isotherm delete web", "isotherm delete web --yes --json"))
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@options.json_option
@click.pass_obj
def delete(printer: console.Printer, name: str, yes: bool) -> int:
    """Delete a stack and its resources.

    Resources with `deletion_policy: retain` are left in place; `isotherm show` lists them.
    """
    if not yes:
        _confirm(name)
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.delete(name))


def _confirm(name: str) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("There is no terminal for the confirmation. Add --yes to delete without it.")
    count = len(home.use(Folder, lambda folder: _resources(folder, name)))
    question = f"Delete stack {console.clean(name)} and its {console.count(count, 'resource')}?"
    click.confirm(question, abort=True)


async def _resources(folder: Folder, name: str) -> list[dict[str, object]]:
    return await folder.resources.list(name)
