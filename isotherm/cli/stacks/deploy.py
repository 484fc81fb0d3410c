"""`isotherm deploy` and `isotherm update`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from isotherm.cli import options
from isotherm.cli.client import embedded, inputs
from isotherm.cli.show import console
from isotherm.engine.orchestrator import Accepted, Orchestrator, Patch, Request

F = TypeVar("F", bound=Callable[..., Any])

_timeout = click.option("--timeout", "timeout", type=click.FloatRange(min=0, min_open=True), metavar="MINUTES",
                        help="The operation fails after this time.")
_tags = click.option("--tags", metavar="A,B", help="Tags of the stack, separated by commas.")


@click.command(epilog=options.example("isotherm deploy web -t examples/site.yaml -e examples/production.env.yaml",
                                      "isotherm deploy demo -t examples/leaves.yaml -p max_wait_secs=5 --rollback"))
@click.argument("name")
@options.template_option
@options.environment_options
@click.option("--rollback", is_flag=True, help="If the creation fails, delete what was created.")
@_timeout
@_tags
@options.json_option
@click.pass_obj
def deploy(  # noqa: PLR0913 - one for each option
           printer: console.Printer, name: str, template: str, environments: tuple[str, ...], parameters: dict[str, str],
           rollback: bool, timeout: float | None, tags: str | None) -> int:
    """Create a stack from a template and show its progress.

    The engine runs inside this command. Ctrl-C stops it, a kill stops it too; neither loses work. `isotherm watch NAME`
    continues the operation.
    """
    with printer.busy(f"reading {template}"):
        read = inputs.read(printer, template, environments, parameters)
    request = Request(read.text, read.files, read.environment.as_dict(), not rollback)
    request = replace(request, timeout_s=timeout * 60 if timeout else request.timeout_s, tags=_split(tags))

    async def ask(orchestrator: Orchestrator) -> Accepted:
        with inputs.located(read.document):
            return await orchestrator.stacks.create(name, request)

    return embedded.operate(printer, name, ask)


@click.command(epilog=options.example("isotherm update web -t examples/site.yaml --parameter servers=alpha,beta,gamma",
                                      "isotherm update demo -t examples/chain.yaml --rollback",
                                      "isotherm update web --existing -p servers=alpha --clear-parameter flavour"))
@click.argument("name")
@click.option("-t", "--template", type=options.FILE, help="The template file; - reads stdin. Not given: keep the template.")
@options.environment_options
@click.option("--existing", is_flag=True,
              help="Keep the parameters, environment and files of the stack that are not given.")
@click.option("--clear-parameter", "cleared", multiple=True, metavar="NAME",
              help="Reset a parameter to its default. Implies --existing. Repeatable.")
@click.option("--converge", is_flag=True,
              help="Observe reality first, and repair what was changed or deleted from outside.")
@click.option("--rollback/--no-rollback", default=None, help="If the update fails, roll back to the last complete state.")
@_timeout
@_tags
@options.json_option
@click.pass_obj
def update(  # noqa: PLR0913 - one for each option
           printer: console.Printer, name: str, template: str | None, environments: tuple[str, ...],
           parameters: dict[str, str], existing: bool, cleared: tuple[str, ...], converge: bool, rollback: bool | None,
           timeout: float | None, tags: str | None) -> int:
    """Update a stack to another template, environment or parameters.

    An update is accepted at any time, also during another operation: it supersedes that operation and waits for its running
    steps. Rollback, timeout and tags keep their values unless given. Without a template, --existing is implied.

    To see beforehand what an update would change, use `isotherm plan NAME -t TEMPLATE`.
    """
    change = Patch(
        clear_parameters=cleared, existing=existing or template is None or bool(cleared),
        disable_rollback=None if rollback is None else not rollback, timeout_s=timeout * 60 if timeout else None,
        tags=None if tags is None else _split(tags), converge=converge,
    )
    if template is None:
        surroundings, files = inputs.environment_only(printer, environments, parameters)
        kept = replace(change, environment=surroundings, files=files)
        return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.update(name, kept))
    with printer.busy(f"reading {template}"):
        read = inputs.read(printer, template, environments, parameters)
    whole = replace(change, template=read.text, files=read.files, environment=read.environment.as_dict())

    async def ask(orchestrator: Orchestrator) -> Accepted:
        with inputs.located(read.document):
            return await orchestrator.stacks.update(name, whole)

    return embedded.operate(printer, name, ask)


def _split(tags: str | None) -> list[str]:
    return [tag.strip() for tag in (tags or "").split(",") if tag.strip()]
