"""`isotherm resources`, `isotherm events`, `isotherm outputs`: what is in a stack, and what happened in it."""

from __future__ import annotations

from typing import Any

import click

from isotherm import errors
from isotherm.cli import live, local, options, show, words
from isotherm.engine.embedded import Embedded


@click.command(epilog=options.example("isotherm resources web", "isotherm resources web --json"))
@click.argument("name")
@options.json_option
@click.pass_obj
def resources(terminal: show.Terminal, name: str) -> None:
    """The resources of a stack."""
    found = local.read(lambda engine: _resources(engine, name))
    rows = [(r["resource_name"], words.status(r["resource_status"]), r["resource_type"], r["physical_resource_id"],
             r["resource_status_reason"] or r["waits_for"]) for r in found]
    terminal.answer(found, lambda: [show.table(["name", "status", "type", "physical id", "reason"], rows,
                                               styles=["cyan", "", "dim", "", "dim"], keep=2)])


async def _resources(engine: Embedded, name: str) -> list[dict[str, Any]]:
    return await engine.orchestrator.resources(name)


@click.command(epilog=options.example("isotherm events web", "isotherm events web --last 20"))
@click.argument("name")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N.")
@options.json_option
@click.pass_obj
def events(terminal: show.Terminal, name: str, last: int | None) -> None:
    """What happened to a stack, in order.

    `isotherm watch NAME` shows what happens now.
    """
    found = local.read(lambda engine: _events(engine, name, last))
    rows = [(e["event_time"], words.status(e["resource_status"]), e["resource_name"] or "(stack)",
             e["resource_status_reason"] or (e["physical_resource_id"] if e["resource_name"] else "")) for e in found]
    terminal.answer(found, lambda: [show.table(["time", "status", "resource", "reason"], rows,
                                               styles=["dim", "", "cyan"], keep=3)])


async def _events(engine: Embedded, name: str, last: int | None) -> list[dict[str, Any]]:
    if last is not None:
        return await engine.orchestrator.events(name, last=last)
    found: list[dict[str, Any]] = []
    while page := await engine.orchestrator.events(name, after=found[-1]["id"] if found else 0):
        found += page
    return found


@click.command(epilog=options.example("isotherm outputs web", "isotherm outputs web address"))
@click.argument("name")
@click.argument("output", required=False)
@options.json_option
@click.pass_obj
def outputs(terminal: show.Terminal, name: str, output: str | None) -> None:
    """The outputs of a stack, or the value of one.

    The value of a single OUTPUT is printed bare, for scripts: text as it is, everything else as JSON.
    """
    found = local.read(lambda engine: _outputs(engine, name))
    if output is None:
        terminal.answer(found, lambda: [live.output_table(found)])
        return
    one = next((o for o in found if o["output_key"] == output), None)
    if one is None:
        raise errors.NotFound(f"Stack {name} has no output {output}.",
                              hint=f"It has: {', '.join(o['output_key'] for o in found) or 'none'}.")
    if terminal.as_json:
        terminal.json(one)
    elif "output_error" in one:
        raise errors.UserError(f"The value of {output} cannot be had: {one['output_error']}", kind="NotFound")
    else:
        terminal.plain(one["output_value"] if isinstance(one["output_value"], str) else show.compact(one["output_value"]))


async def _outputs(engine: Embedded, name: str) -> list[dict[str, Any]]:
    return await engine.orchestrator.outputs(name)
