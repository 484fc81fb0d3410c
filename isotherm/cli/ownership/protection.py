"""`isotherm protect`, `isotherm unprotect` and `isotherm forget`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.console import RenderableType

from isotherm.cli import options
from isotherm.cli.client import embedded, engines, port
from isotherm.cli.show import console
from isotherm.resources.validation.protection import WORDS


@click.command(epilog=options.example("isotherm protect web", "isotherm protect web database --from delete",
                                      "isotherm protect web database --from all"))
@click.argument("name")
@click.argument("resource", required=False)
@click.option("--from", "words", type=click.Choice(list(WORDS)), multiple=True, default=("delete",), show_default=True,
              help="What to protect the RESOURCE from. replace: being replaced. delete: being deleted or replaced. update, "
                   "all: any change. Repeatable.")
@options.json_option
@click.pass_obj
def protect(printer: console.Printer, name: str, resource: str | None, words: tuple[str, ...]) -> None:
    """Protect a stack from delete, or a resource from any change.

    --from says what a resource is protected from. The protection holds at once, for every later operation, until `isotherm
    unprotect` lifts it.
    """
    if resource is None and set(words) != {"delete"}:
        raise click.UsageError("A stack is protected from delete only: name a RESOURCE, or leave --from out.")

    async def act(orchestrator: port.OrchestratorPort) -> None:
        if resource is None:
            await orchestrator.protection.protect_stack(name)
        else:
            await orchestrator.protection.protect_resource(name, resource, words)

    _change(printer, name, resource, act)


@click.command(epilog=options.example("isotherm unprotect web", "isotherm unprotect web database"))
@click.argument("name")
@click.argument("resource", required=False)
@options.json_option
@click.pass_obj
def unprotect(printer: console.Printer, name: str, resource: str | None) -> None:
    """Lift the protection of a stack or a resource.

    A resource whose template asks for a protection is protected again by the next update. Lifting the protection of a stack
    leaves that of its resources.
    """

    async def act(orchestrator: port.OrchestratorPort) -> None:
        if resource is None:
            await orchestrator.protection.unprotect_stack(name)
        else:
            await orchestrator.protection.unprotect_resource(name, resource)

    _change(printer, name, resource, act)


@click.command(epilog=options.example("isotherm forget web database", "isotherm forget web --yes"))
@click.argument("name")
@click.argument("resource", required=False)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--force", is_flag=True, help="Forget the stack although other stacks read its outputs.")
@options.cloud_option
@options.json_option
@click.pass_obj
def forget(printer: console.Printer, name: str, resource: str | None, yes: bool, force: bool) -> int:
    """Remove a resource or a stack, and leave its objects in place.

    The objects are not touched; `isotherm show` lists them as retained. A resource leaves the stored template: remove it
    from your own copy too, or the next update creates it again. A resource that others refer to is not forgotten.
    """
    if not yes:
        _confirm(name, resource)
    if resource is None:
        return embedded.operate(printer, name, lambda orchestrator: orchestrator.forget.stack(name, force=force))
    return embedded.operate(
        printer, name, lambda orchestrator: orchestrator.forget.resource(name, resource, force=force))


def _confirm(name: str, resource: str | None) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("There is no terminal for the confirmation. Add --yes to forget without it.")
    what = f"stack {name}" if resource is None else f"resource {resource} of stack {name}"
    click.confirm(f"Forget {console.clean(what)} and leave its objects in place?", abort=True)


def _change(printer: console.Printer, name: str, resource: str | None, act: Any) -> None:
    """Change a protection, and print what is protected then."""

    async def work(engine: port.EnginePort) -> dict[str, Any]:
        await act(engine.orchestrator)
        return await engine.orchestrator.protection.show(name)

    found = engines.use(work)
    printer.result(found, lambda: draw(name, found))


def draw(name: str, found: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Draw the protection of a stack and of its resources."""
    if not found["protected"] and not found["resources"]:
        yield console.text(f"Nothing of stack {name} is protected.")
        return
    if found["protected"]:
        yield console.text(f"Stack {name} is protected from delete by {_user(found['by'])}.")
    if found["resources"]:
        rows = [(one["resource_name"], ", ".join(one["protect"]), _by(one)) for one in found["resources"]]
        yield console.table(["resource", "protected from", "by"], rows, styles=["cyan"])


def _by(one: Mapping[str, Any]) -> str:
    asked = [*(["its template"] if one["template"] else []), *([_user(one["user"]["name"])] if one["user"] else [])]
    return ", ".join(asked)


def _user(name: str) -> str:
    return f"user {name}" if name else "a user's request"
