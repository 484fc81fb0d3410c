"""Commands that start an operation without a template (rollback, cancel, check, ...), and `watch`."""

from __future__ import annotations

import click

from isotherm.cli import codes, options
from isotherm.cli.client import embedded, engines
from isotherm.cli.show import console, plan_view
from isotherm.engine.orchestrator import PastInput, Patch


@click.command(epilog=options.example("isotherm rollback web", "isotherm rollback web --to 3 --plan",
                                      "isotherm rollback web --to 3"))
@click.argument("name")
@click.option("--to", type=click.IntRange(min=1), metavar="N",
              help="Go back to the template, parameters and files of generation N: see `isotherm history`.")
@click.option("--plan", "plan_only", is_flag=True, help="Show what would change, and change nothing. Only with --to.")
@options.cloud_option
@options.json_option
@click.pass_obj
def rollback(printer: console.Printer, name: str, to: int | None, plan_only: bool) -> int:
    """Roll a stack back to its last complete state, or to an earlier generation.

    Old versions of resources that still exist are used again. A stack that never was complete is emptied.

    With --to, the stack is updated to the input of that generation, with hidden parameters: it is planned, checked and, if
    it fails, rolled back as any update.
    """
    if plan_only:
        if to is None:
            raise click.UsageError("--plan shows the way back to a generation: give it with --to.")
        found = engines.use(lambda engine: engine.orchestrator.plans.plan(name, PastInput(to)))
        printer.result(found, lambda: plan_view.draw(name, found))
        return codes.OK
    if to is not None:
        return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.rollback(name, to=to))
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.rollback(name))


@click.command(epilog=options.example("isotherm retry web", "isotherm retry web database"))
@click.argument("name")
@click.argument("resources", nargs=-1)
@options.cloud_option
@options.json_option
@click.pass_obj
def retry(printer: console.Printer, name: str, resources: tuple[str, ...]) -> int:
    """Go on with what failed or was left out, without a new template.

    The stack is updated to the input that it has; resources that are complete are not touched. With RESOURCES, only these
    are visited, and what they need. A delete that failed is repeated.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.retry(name, resources))


@click.command(epilog=options.example("isotherm cancel web", "isotherm cancel web --no-rollback"))
@click.argument("name")
@click.option("--no-rollback", is_flag=True, help="Leave the stack as it is instead of rolling back.")
@options.cloud_option
@options.json_option
@click.pass_obj
def cancel(printer: console.Printer, name: str, no_rollback: bool) -> int:
    """Cancel the operation in progress on a stack.

    Running steps finish; no new ones start. Then the stack rolls back to its last complete state.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.cancel(name, rollback=not no_rollback))


@click.command(epilog=options.example("isotherm check web"))
@click.argument("name")
@options.cloud_option
@options.json_option
@click.pass_obj
def check(printer: console.Printer, name: str) -> int:
    """Check that the resources of a stack exist.

    A resource that is gone is marked as failed. The next update creates it again.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.check(name))


@click.command(epilog=options.example("isotherm converge web"))
@click.argument("name")
@click.argument("resource", required=False)
@options.cloud_option
@options.json_option
@click.pass_obj
def converge(printer: console.Printer, name: str, resource: str | None) -> int:
    """Observe the resources of a stack and repair what differs from its template.

    Observes every resource or, with RESOURCE, that resource and its dependents. A resource that was changed from outside is
    updated or replaced; one that is gone is created again, and its dependents are updated. Others are left alone.
    """
    if resource is not None:
        return embedded.operate(printer, name, lambda orchestrator: orchestrator.drift.converge_one(name, resource))
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.update(name, Patch(converge=True)))


@click.command(epilog=options.example("isotherm suspend web"))
@click.argument("name")
@options.cloud_option
@options.json_option
@click.pass_obj
def suspend(printer: console.Printer, name: str) -> int:
    """Suspend the resources of a stack.

    Dependents are suspended first. Until `isotherm resume`, the stack cannot be updated, but it can be deleted.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.suspend(name))


@click.command(epilog=options.example("isotherm resume web"))
@click.argument("name")
@options.cloud_option
@options.json_option
@click.pass_obj
def resume(printer: console.Printer, name: str) -> int:
    """Resume a suspended stack.

    Dependents are resumed last.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.resume(name))


@click.command(epilog=options.example("isotherm watch web", "isotherm watch web --nested 2",
                                      "isotherm --remote production watch web"))
@click.argument("name")
@options.nested_option
@options.json_option
@click.pass_obj
def watch(printer: console.Printer, name: str) -> int:
    """Show a stack live until its operation ends.

    It changes nothing and drives nothing. To continue an operation that no engine drives, use `isotherm work NAME`.
    """
    return embedded.watch(printer, name)


@click.command(epilog=options.example("isotherm work web"))
@click.argument("name")
@options.nested_option
@options.cloud_option
@options.json_option
@click.pass_obj
def work(printer: console.Printer, name: str) -> int:
    """Drive the operation of a stack to its end, and show it live.

    It continues an operation of any command, also of one that was killed. Several commands may drive a stack at once. A
    service drives its stacks by itself: with --remote, this is the same as `isotherm watch`.
    """
    return embedded.work(printer, name)
