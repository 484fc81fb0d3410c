"""`isotherm outputs`."""

from __future__ import annotations

from typing import Any

import click

from isotherm import errors
from isotherm.cli import options
from isotherm.cli.client import engines, port
from isotherm.cli.show import console, output_table


@click.command(epilog=options.example("isotherm outputs web", "isotherm outputs web address"))
@click.argument("name")
@click.argument("output", required=False)
@options.json_option
@click.pass_obj
def outputs(printer: console.Printer, name: str, output: str | None) -> None:
    """List the outputs of a stack, or print the value of one.

    With OUTPUT, prints only the value, for scripts: text as it is, other values as JSON.
    """
    found = engines.use(lambda engine: _outputs(engine, name))
    if output is None:
        printer.result(found, lambda: [output_table.table(found)])
        return
    one = next((o for o in found if o["output_key"] == output), None)
    if one is None:
        names = [o["output_key"] for o in found]
        raise errors.NotFound(f"Stack {name} has no output {output}.",
                              hint=errors.meant(output, names) or f"It has: {', '.join(names) or 'none'}.")
    if printer.as_json:
        printer.json(one)
    elif "output_error" in one:
        raise errors.UserError(f"Output {output} has no value: {one['output_error']}", kind="NotFound")
    else:
        printer.plain(
            one["output_value"] if isinstance(one["output_value"], str) else console.compact(one["output_value"])
        )


async def _outputs(engine: port.EnginePort, name: str) -> list[dict[str, Any]]:
    return await engine.orchestrator.outputs.list(name)
