"""Commands that steer a stack that is there, and `watch`, which only drives it on."""

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
    """Take a stack back to the last state that was complete.

    Versions of resources that still exist are taken up again. A stack that never was complete goes back to nothing.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.rollback(name))


@click.command(epilog=options.example("isotherm cancel web", "isotherm cancel web --no-rollback"))
@click.argument("name")
@click.option("--no-rollback", is_flag=True, help="Stay where it is, instead of going back to the last complete state.")
@options.json_option
@click.pass_obj
def cancel(printer: console.Printer, name: str, no_rollback: bool) -> int:
    """Stop what is under way on a stack.

    Nothing new is begun; what has been begun is finished. Then the stack goes back to the last state that was complete.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.cancel(name, rollback=not no_rollback))


@click.command(epilog=options.example("isotherm check web"))
@click.argument("name")
@options.json_option
@click.pass_obj
def check(printer: console.Printer, name: str) -> int:
    """Ask every resource of a stack whether it is still there.

    What is gone is marked as failed, and made again by the next update.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.check(name))


@click.command(epilog=options.example("isotherm converge web"))
@click.argument("name")
@click.argument("resource", required=False)
@options.json_option
@click.pass_obj
def converge(printer: console.Printer, name: str, resource: str | None) -> int:
    """Bring a stack back to what its template says, whatever it really is.

    Every resource is looked at, or RESOURCE and what hangs on it. What was changed behind our back is put right, in place
    or by replacement; what is gone is made again, and what hangs on it is told. What is as it should be is left alone.
    """
    if resource is not None:
        return embedded.operate(printer, name, lambda orchestrator: orchestrator.drift.converge_one(name, resource))
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.update(name, Patch(converge=True)))


@click.command(epilog=options.example("isotherm suspend web"))
@click.argument("name")
@options.json_option
@click.pass_obj
def suspend(printer: console.Printer, name: str) -> int:
    """Put every resource of a stack to rest.

    What others hang on comes last. Until `isotherm resume`, the stack is not updated; it can be deleted.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.suspend(name))


@click.command(epilog=options.example("isotherm resume web"))
@click.argument("name")
@options.json_option
@click.pass_obj
def resume(printer: console.Printer, name: str) -> int:
    """Wake the resources of a stack that was suspended.

    What others hang on comes first.
    """
    return embedded.operate(printer, name, lambda orchestrator: orchestrator.stacks.resume(name))


@click.command(epilog=options.example("isotherm watch web"))
@click.argument("name")
@options.json_option
@click.pass_obj
def watch(printer: console.Printer, name: str) -> int:
    """Show a stack live, and drive what is under way to its end.

    It does not matter who began it, or what became of them. Several commands may drive at the same time.
    """
    return embedded.watch(printer, name)
