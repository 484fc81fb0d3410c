"""Commands that start an operation without a template (rollback, cancel, check, ...), and `watch`."""

from __future__ import annotations

import click

from isotherm.cli import options
from isotherm.cli.client import embedded
from isotherm.cli.show import console
from isotherm.engine.orchestrator import Patch


@click.command(epilog=options.example("isotherm rollback web"))
@click.argument("name")
@options.json_option
@click.pass_obj
def rollback(printer: console.Printer, name: str) -> int:
    """Roll a stack back to its last complete state.

    Old versions of resources that still exist are used again. A stack that never was complete is emptied.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.rollback(name))


@click.command(epilog=options.example("isotherm cancel web", "isotherm cancel web --no-rollback"))
@click.argument("name")
@click.option("--no-rollback", is_flag=True, help="Leave the stack as it is instead of rolling back.")
@options.json_option
@click.pass_obj
def cancel(printer: console.Printer, name: str, no_rollback: bool) -> int:
    """Cancel the operation in progress on a stack.

    Running steps finish; no new ones start. Then the stack rolls back to its last complete state.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.cancel(name, rollback=not no_rollback))


@click.command(epilog=options.example("isotherm check web"))
@click.argument("name")
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
@options.json_option
@click.pass_obj
def suspend(printer: console.Printer, name: str) -> int:
    """Suspend the resources of a stack.

    Dependents are suspended first. Until `isotherm resume`, the stack cannot be updated, but it can be deleted.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.suspend(name))


@click.command(epilog=options.example("isotherm resume web"))
@click.argument("name")
@options.json_option
@click.pass_obj
def resume(printer: console.Printer, name: str) -> int:
    """Resume a suspended stack.

    Dependents are resumed last.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.resume(name))


@click.command(epilog=options.example("isotherm watch web"))
@click.argument("name")
@options.json_option
@click.pass_obj
def watch(printer: console.Printer, name: str) -> int:
    """Show a stack live and drive its operation to the end.

    It continues an operation of any command, also of one that was killed. Several commands may drive a stack at once.
    """
    return embedded.watch(printer, name)
