"""`isotherm deploy` and `isotherm update`."""

from __future__ import annotations

from dataclasses import replace

import click

from isotherm.cli import options
from isotherm.cli.client import embedded, inputs, port
from isotherm.cli.show import console
from isotherm.engine.orchestrator import Accepted, Patch, Request


@click.command(epilog=options.example("isotherm deploy web -t examples/site.yaml -e examples/production.env.yaml",
                                      "isotherm deploy demo -t examples/leaves.yaml -p max_wait_secs=5 --rollback"))
@click.argument("name")
@options.template_option
@options.environment_options
@click.option("--rollback", is_flag=True, help="If the creation fails, delete what was created.")
@options.timeout_option
@options.tags_option
@options.cloud_option
@options.json_option
@click.pass_obj
def deploy(  # noqa: PLR0913 - one for each option
           printer: console.Printer, name: str, template: str, environments: tuple[str, ...], parameters: dict[str, str],
           rollback: bool, timeout: float | None, tags: str | None) -> int:
    """Create a stack from a template and show its progress.

    The engine runs inside this command. Ctrl-C stops it, a kill stops it too; neither loses work. `isotherm work NAME`
    continues the operation.
    """
    with printer.busy(f"reading {template}"):
        read = inputs.read(printer, template, environments, parameters)
    request = Request(read.text, read.files, read.environment.as_dict(), not rollback)
    request = replace(request, timeout_s=timeout * 60 if timeout else request.timeout_s, tags=options.split_tags(tags))

    async def ask(orchestrator: port.OrchestratorPort) -> Accepted:
        with inputs.located(read.document):
            return await orchestrator.stacks.create(name, request)

    return embedded.operate(printer, name, ask)


@click.command(epilog=options.example("isotherm update web -t examples/site.yaml --parameter servers=alpha,beta,gamma",
                                      "isotherm update demo -t examples/chain.yaml --rollback",
                                      "isotherm update web --existing -p servers=alpha --clear-parameter flavour",
                                      "isotherm update web -t examples/site.yaml --target database",
                                      "isotherm update web -t examples/site.yaml --move index=home"))
@click.argument("name")
@click.option("-t", "--template", type=options.FILE, help="The template file; - reads stdin. Not given: keep the template.")
@options.environment_options
@click.option("--existing", is_flag=True,
              help="Keep the parameters, environment and files of the stack that are not given.")
@click.option("--clear-parameter", "cleared", multiple=True, metavar="NAME",
              help="Reset a parameter to its default. Implies --existing. Repeatable.")
@options.move_option
@click.option("--converge", is_flag=True,
              help="Observe reality first, and repair what was changed or deleted from outside.")
@options.choice_options
@click.option("--rollback/--no-rollback", default=None, help="If the update fails, roll back to the last complete state.")
@options.timeout_option
@options.tags_option
@options.cloud_option
@options.json_option
@click.pass_obj
def update(  # noqa: PLR0913 - one for each option
           printer: console.Printer, name: str, template: str | None, environments: tuple[str, ...],
           parameters: dict[str, str], existing: bool, cleared: tuple[str, ...], moved: dict[str, str], converge: bool,
           target: tuple[str, ...], exclude: tuple[str, ...],
           rollback: bool | None, timeout: float | None, tags: str | None) -> int:
    """Update a stack to another template, environment or parameters.

    An update is accepted at any time, also during another operation: it supersedes that operation and waits for its running
    steps. Rollback, timeout and tags keep their values unless given. Without a template, --existing is implied.

    With --target or --exclude, the other resources keep their definitions and wait: `isotherm show NAME` lists them, and an
    update without these options or `isotherm retry NAME` brings them.

    To see beforehand what an update would change, use `isotherm plan NAME -t TEMPLATE`, or `isotherm apply`.
    """
    change = Patch(
        clear_parameters=cleared, existing=existing or template is None or bool(cleared),
        disable_rollback=None if rollback is None else not rollback, timeout_s=timeout * 60 if timeout else None,
        tags=None if tags is None else options.split_tags(tags), converge=converge, moved=moved,
        target=target, exclude=exclude,
    )
    if template is None:
        env, files = inputs.environment_only(printer, environments, parameters)
        kept = replace(change, environment=env, files=files)
        return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.update(name, kept))
    with printer.busy(f"reading {template}"):
        read = inputs.read(printer, template, environments, parameters)
    whole = replace(change, template=read.text, files=read.files, environment=read.environment.as_dict())

    async def ask(orchestrator: port.OrchestratorPort) -> Accepted:
        with inputs.located(read.document):
            return await orchestrator.stacks.update(name, whole)

    return embedded.operate(printer, name, ask)
