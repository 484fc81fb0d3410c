"""`isotherm delete`: deletes a stack after a confirmation."""

from __future__ import annotations

import sys

import click

from isotherm.cli import options
from isotherm.cli.client import embedded, engines, port
from isotherm.cli.show import console


@click.command(epilog=options.example("isotherm delete web", "isotherm delete web --yes --json"))
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--force", is_flag=True, help="Delete the stack although other stacks read its outputs.")
@options.cloud_option
@options.json_option
@click.pass_obj
def delete(printer: console.Printer, name: str, yes: bool, force: bool) -> int:
    """Delete a stack and its resources.

    Resources with `deletion_policy: retain` are left in place; `isotherm show` lists them.
    """
    if not yes:
        _confirm(name)
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.delete(name, force=force))


def _confirm(name: str) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("There is no terminal for the confirmation. Add --yes to delete without it.")
    count = engines.read(lambda reader: _count(reader, name))
    question = f"Delete stack {console.clean(name)} and its {console.count(count, 'resource')}?"
    click.confirm(question, abort=True)


async def _count(reader: port.ReaderPort, name: str) -> int:
    return await reader.resources.count(name)
