"""`isotherm export`, `isotherm abandon` and `isotherm adopt`: write and read export documents."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable
from typing import Any

import click
import msgspec

from isotherm.cli import options
from isotherm.cli.client import embedded, engines, inputs, places, port
from isotherm.cli.show import console
from isotherm.engine.orchestrator import Patch
from isotherm.engine.ownership.export import Abandoned

_hidden = click.option("--show-hidden", "hidden", is_flag=True,
                       help="Include hidden parameters and the stored data of resources.")
_output = click.option("-o", "--output", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
                       help="Write to this file, readable by you only, instead of stdout.")


@click.command(epilog=options.example("isotherm export web", "isotherm export web --show-hidden -o web.json"))
@click.argument("name")
@_hidden
@_output
@options.json_option
@click.pass_obj
def export(printer: console.Printer, name: str, hidden: bool, output: str | None) -> None:
    """Print the export document of a stack.

    `isotherm adopt` reads the document once the stack is abandoned. Without --show-hidden, hidden values are masked and the
    document cannot be adopted.
    """
    found = engines.use(lambda engine: engine.orchestrator.exports.export(name, hidden=hidden))
    _hand_out(printer, found, output)


@click.command(epilog=options.example("isotherm abandon web --show-hidden -o web.json", "isotherm abandon web --yes"))
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--force", is_flag=True, help="Abandon the stack although other stacks read its outputs.")
@_hidden
@_output
@options.cloud_option
@options.json_option
@click.pass_obj
def abandon(printer: console.Printer, name: str, yes: bool, force: bool, hidden: bool, output: str | None) -> None:
    """Remove a stack but leave its resources in place.

    Works in any state; running steps are waited for. Prints the export document, as `isotherm export` does. Without
    --show-hidden, the stored data of resources (a generated password, for example) is lost.
    """
    if not yes:
        _confirm(name)
    found = engines.use(lambda engine: _abandon(
        engine, printer, output, engine.orchestrator.exports.abandon(name, hidden=hidden, force=force)))
    _hand_out(printer, found, output)


def _confirm(name: str) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("There is no terminal for the confirmation. Add --yes to abandon without it.")
    click.confirm(f"Abandon stack {console.clean(name)} and leave its resources in place?", abort=True)


async def _abandon(
    engine: port.EnginePort, printer: console.Printer, output: str | None, asked: Awaitable[Abandoned]
) -> dict[str, Any]:
    answer = await asked
    name = answer.document["name"]
    if output:
        # Written first: after abandoning, this document is the only record of the stack.
        _write(output, answer.document)
    async with engine.driving():
        with printer.busy(f"abandoning {name}"):
            while (await engine.orchestrator.stacks.show(answer.accepted.stack_id))["status"] == "IN_PROGRESS":
                await asyncio.sleep(0.05)
    return answer.document


def _hand_out(printer: console.Printer, found: dict[str, Any], output: str | None) -> None:
    if output is None:
        printer.json(found)
        return
    _write(output, found)
    count = console.count(len(found["resources"]), "resource")
    printer.result({"file": output, "resources": len(found["resources"])},
                    lambda: [console.text(f"Wrote {found['name']} with {count} to {output}.")])


def _write(output: str, found: dict[str, Any]) -> None:
    # The file may contain secrets: restrict its mode, also if it existed.
    with os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")


@click.command(epilog=options.example("isotherm adopt web web.json", "isotherm adopt web web.json -p password=secret"))
@click.argument("name")
@click.argument("document", type=options.FILE, metavar="FILE")
@options.environment_options
@click.option("--rollback", is_flag=True, help="If the adoption fails, release the resources and delete what was created.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="MINUTES",
              help="The operation fails after this time.")
@click.option("--tags", metavar="A,B", help="Tags of the stack, separated by commas.")
@options.cloud_option
@options.json_option
@click.pass_obj
def adopt(  # noqa: PLR0913 - one for each option
          printer: console.Printer, name: str, document: str, environments: tuple[str, ...], parameters: dict[str, str],
          rollback: bool, timeout: float | None, tags: str | None) -> int:
    """Create a stack from existing resources.

    FILE is an export document of `isotherm export` or `isotherm abandon`; - reads stdin. Every resource must exist and
    belong to no other stack; resources that the document has no physical id for are created. Parameters given here override
    those in the file.
    """
    data = sys.stdin.buffer.read() if document == inputs.STDIN else places.read(places.of(document))
    env, files = inputs.environment_only(printer, environments, parameters)
    change = Patch(
        environment=env, files=files, disable_rollback=not rollback, timeout_s=timeout * 60 if timeout else None,
        tags=[tag.strip() for tag in (tags or "").split(",") if tag.strip()],
    )
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.exports.adopt(name, data, change))
