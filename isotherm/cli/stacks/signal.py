"""`isotherm signal`, `isotherm hook` and `isotherm mark-unhealthy`."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import RenderableType
from rich.text import Text

from isotherm import errors
from isotherm.cli import options
from isotherm.cli.client import engines, port
from isotherm.cli.show import console, words


@click.command(epilog=options.example(
    "isotherm signal web handle",
    "isotherm signal web handle --data '{\"status\": \"FAILURE\", \"reason\": \"disk full\"}'",
    "isotherm signal web handle --data @result.json --id build-17"))
@click.argument("name")
@click.argument("resource")
@click.option("-d", "--data", "text", metavar="JSON|@FILE", default=None,
              help="The data of the signal: JSON, or @FILE; @- reads stdin.")
@click.option("--id", "signal_id", default="", help="An id for this signal. A signal with the same id is delivered once.")
@options.cloud_option
@options.json_option
@click.pass_obj
def signal(printer: console.Printer, name: str, resource: str, text: str | None, signal_id: str) -> None:
    """Signal a resource of a stack.

    A wait condition counts the signals of its handle. The data may have an id (of two signals with the same id, the later
    one counts), a status (SUCCESS or FAILURE), a reason and data. All fields are optional.
    """
    details = _read(text)
    _act_and_show(printer, name, f"Signalled {resource}.",
                  lambda orchestrator: orchestrator.signals.send(name, resource, details, signal_id=signal_id))


@click.group()
def hook() -> None:
    """List and clear the hooks that a stack waits at.

    At a hook, an operation pauses until the hook is cleared. The environment sets hooks:
    resource_registry: {resources: {NAME: {hooks: pre-create}}}.
    """


@hook.command("list", epilog=options.example("isotherm hook list web", "isotherm hook list web --json"))
@click.argument("name")
@options.json_option
@click.pass_obj
def list_hooks(printer: console.Printer, name: str) -> None:
    """List the hooks that a stack waits at."""
    found = engines.use(lambda engine: _hooks(engine, name))
    rows = [(one["resource_name"], one["hook"], one["since"]) for one in found]
    printer.result(found, lambda: [console.table(["resource", "hook", "since"], rows, styles=["cyan"])])


async def _hooks(engine: port.EnginePort, name: str) -> list[dict[str, Any]]:
    return await engine.orchestrator.signals.hooks(name)


@hook.command("clear", epilog=options.example("isotherm hook clear web database pre-update"))
@click.argument("name")
@click.argument("resource")
@click.argument("hook_name", metavar="HOOK")
@options.cloud_option
@options.json_option
@click.pass_obj
def clear_hook(printer: console.Printer, name: str, resource: str, hook_name: str) -> None:
    """Clear a hook, so that the resource continues."""
    _act_and_show(printer, name, f"Hook {hook_name} is cleared.",
                  lambda orchestrator: orchestrator.signals.clear_hook(name, resource, hook_name))


@click.command("mark-unhealthy", epilog=options.example("isotherm mark-unhealthy web database --reason 'lost its disk'",
                                                        "isotherm mark-unhealthy web database --undo"))
@click.argument("name")
@click.argument("resource")
@click.option("--reason", default="", help="Why the resource is unhealthy.")
@click.option("--undo", is_flag=True, help="Mark the resource as healthy again.")
@options.cloud_option
@options.json_option
@click.pass_obj
def mark_unhealthy(printer: console.Printer, name: str, resource: str, reason: str, undo: bool) -> None:
    """Mark a resource as unhealthy.

    RESOURCE is the name or the physical id of the resource. The next update replaces it.
    """
    said = f"{resource} is healthy again." if undo else f"{resource} is unhealthy: the next update replaces it."
    _act_and_show(printer, name, said, lambda orchestrator: orchestrator.signals.mark_unhealthy(
        name, resource, unhealthy=not undo, reason=reason))


def _act_and_show(
    printer: console.Printer, name: str, said: str, act: Callable[[port.OrchestratorPort], Awaitable[None]]
) -> None:
    """Run `act`, then print `said` and the state of the stack."""

    async def work(engine: port.EnginePort) -> dict[str, Any]:
        await act(engine.orchestrator)
        stack = await engine.orchestrator.stacks.show(name)
        return {**stack, "driven": stack["status"] == "IN_PROGRESS" and await engine.is_driven()}

    stack = engines.use(work)

    def draw() -> Iterator[RenderableType]:
        yield Text(console.clean(said))
        yield from words.undriven_notice(stack)

    printer.result(stack, draw)


def _read(text: str | None) -> Any:
    if text is None:
        return None
    source = text
    if text.startswith("@"):
        source = sys.stdin.read() if text == "@-" else _file(Path(text[1:]))
    try:
        return msgspec.json.decode(source)
    except (msgspec.DecodeError, RecursionError) as error:
        raise errors.UserError(f"--data is not JSON: {error}", kind="ValueError",
                               hint="Put names and texts in double quotes: --data '{\"status\": \"SUCCESS\"}'") from error


def _file(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.UserError(f"{path}: {getattr(error, 'strerror', None) or error}", kind="ValueError") from error
