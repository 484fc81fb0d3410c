"""`isotherm export`, `isotherm abandon` and `isotherm adopt`: a stack's papers are handed out, and handed in."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from isotherm.cli import options
from isotherm.cli.client import embedded, home, inputs
from isotherm.cli.show import console
from isotherm.engine.orchestrator import Patch
from isotherm.engine.process.embedded import Embedded

_hidden = click.option("--show-hidden", "hidden", is_flag=True,
                       help="Tell the values of hidden parameters, and what resources keep for themselves, too.")
_output = click.option("-o", "--output", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
                       help="Write to this file, for your eyes only, instead of stdout.")


@click.command(epilog=options.example("isotherm export web", "isotherm export web --show-hidden -o web.json"))
@click.argument("name")
@_hidden
@_output
@options.json_option
@click.pass_obj
def export(printer: console.Printer, name: str, hidden: bool, output: str | None) -> None:
    """All there is to say of a stack, for whoever is to take it over.

    `isotherm adopt` takes what this gives, once the stack has been abandoned. With hidden values masked, it is to be read
    and not to be adopted.
    """
    found = home.use(Embedded, lambda engine: engine.orchestrator.exports.export(name, hidden=hidden))
    _hand_out(printer, found, output)


@click.command(epilog=options.example("isotherm abandon web --show-hidden -o web.json", "isotherm abandon web --yes"))
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@_hidden
@_output
@options.json_option
@click.pass_obj
def abandon(printer: console.Printer, name: str, yes: bool, hidden: bool, output: str | None) -> None:
    """Let go of a stack, and leave all that it made where it is.

    Works in any state; what is under way is waited for. The answer is what `isotherm export` gives: without --show-hidden,
    what resources keep for themselves (a generated password, for example) is lost.
    """
    if not yes:
        _confirm(name)
    found = home.use(Embedded, lambda engine: _abandon(engine, printer, name, hidden, output))
    _hand_out(printer, found, output)


def _confirm(name: str) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("Nobody is there to be asked: add --yes to abandon without asking.")
    click.confirm(f"Abandon stack {console.clean(name)}, and leave all that it made where it is?", abort=True)


async def _abandon(
    engine: Embedded, printer: console.Printer, name: str, hidden: bool, output: str | None
) -> dict[str, Any]:
    answer = await engine.orchestrator.exports.abandon(name, hidden=hidden)
    if output:
        # Written before anything else can happen: this is the last that anybody hears of the stack.
        _write(output, answer.papers)
    async with engine.driving():
        with printer.busy(f"letting go of {name}"):
            while (await engine.orchestrator.stacks.show(answer.accepted.stack_id))["status"] == "IN_PROGRESS":
                await asyncio.sleep(0.05)
    return answer.papers


def _hand_out(printer: console.Printer, found: dict[str, Any], output: str | None) -> None:
    if output is None:
        printer.json(found)
        return
    _write(output, found)
    count = console.count(len(found["resources"]), "resource")
    printer.result({"file": output, "resources": len(found["resources"])},
                    lambda: [console.text(f"Wrote {found['name']} with {count} to {output}.")])


def _write(output: str, found: dict[str, Any]) -> None:
    # The file may hold secrets: nobody else may read it, also if it was there before.
    with os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")


@click.command(epilog=options.example("isotherm adopt web web.json", "isotherm adopt web web.json -p password=secret"))
@click.argument("name")
@click.argument("papers", type=options.FILE, metavar="FILE")
@options.environment_options
@click.option("--rollback", is_flag=True, help="If it fails, let go of everything again, and delete what it created.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="MINUTES",
              help="How long it may take; after that it has failed.")
@click.option("--tags", metavar="A,B", help="Words to mark the stack with.")
@options.json_option
@click.pass_obj
def adopt(  # noqa: PLR0913 - one for each option
          printer: console.Printer, name: str, papers: str, environments: tuple[str, ...], parameters: dict[str, str],
          rollback: bool, timeout: float | None, tags: str | None) -> int:
    """Make a stack of what is there already.

    FILE is what `isotherm export` or `isotherm abandon` gave; - reads stdin. Each resource has to be there, and to belong
    to no other stack; what had not been made is created. Parameters that are given here win over those in the file.
    """
    data = sys.stdin.buffer.read() if papers == inputs.STDIN else Path(papers).read_bytes()
    surroundings, files = inputs.environment_only(printer, environments, parameters)
    change = Patch(
        environment=surroundings, files=files, disable_rollback=not rollback, timeout_s=timeout * 60 if timeout else None,
        tags=[tag.strip() for tag in (tags or "").split(",") if tag.strip()],
    )
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.exports.adopt(name, data, change))
