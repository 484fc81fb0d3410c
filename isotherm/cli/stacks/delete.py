"""`isotherm delete`: deletes stacks after a confirmation."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

import click

from isotherm import errors
from isotherm.cli import codes, options
from isotherm.cli.client import embedded, engines, port
from isotherm.cli.show import console, problems, words

# Stacks that the question names.
_NAMED = 5


@click.command(epilog=options.example("isotherm delete web", "isotherm delete web --yes --json",
                                      "isotherm delete shop database network"))
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--force", is_flag=True, help="Delete the stack although other stacks read its outputs.")
@options.cloud_option
@options.json_option
@click.pass_obj
def delete(printer: console.Printer, names: tuple[str, ...], yes: bool, force: bool) -> int:
    """Delete stacks and their resources.

    Several stacks are deleted one after the other, in the order given. A stack that cannot be deleted is reported, and the
    others are deleted; the exit code is that of the first error. Resources with `deletion_policy: retain` are left in
    place; `isotherm show` lists them.
    """
    those = list(dict.fromkeys(names))
    if not yes:
        _confirm(those)
    if len(those) == 1:
        return _delete(printer, those[0], force)
    return _delete_all(printer, those, force)


def _delete(printer: console.Printer, name: str, force: bool) -> int:
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.delete(name, force=force))


def _delete_all(printer: console.Printer, names: Sequence[str], force: bool) -> int:
    found = codes.OK
    for name in names:
        try:
            code = _delete(printer, name, force)
        except errors.UserError as error:
            code = codes.of(error)
            problems.show(printer, error.with_problems(tuple(
                replace(one, message=f"{name}: {one.message}") for one in error.problems)))
        if code == codes.INTERRUPTED:
            return code
        found = found or code
    return found


def _confirm(names: Sequence[str]) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("There is no terminal for the confirmation. Add --yes to delete without it.")
    counts = engines.read(lambda reader: _counts(reader, names))
    if not counts:
        return  # there is nothing to delete: each name gets its error
    count = console.count(sum(counts.values()), "resource")
    if len(counts) == 1:
        question = f"Delete stack {console.clean(next(iter(counts)))} and its {count}?"
    else:
        shown = console.clean(words.some([*counts], len(counts), _NAMED))
        question = f"Delete {len(counts)} stacks ({shown}) and their {count}?"
    click.confirm(question, abort=True)


async def _counts(reader: port.ReaderPort, names: Sequence[str]) -> Mapping[str, int]:
    """Return the number of resources of each stack that exists."""
    found: dict[str, int] = {}
    for name in names:
        try:
            found[name] = await reader.resources.count(name)
        except errors.NotFound:
            if len(names) == 1:
                raise
    return found
