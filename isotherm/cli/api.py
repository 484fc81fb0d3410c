"""`isotherm api`: the API alone. What it accepts is done by `isotherm engine`, in other processes on the same home."""

from __future__ import annotations

from pathlib import Path

import click

from isotherm.api import openapi
from isotherm.cli import options, serving, show
from isotherm.engine.embedded import Embedded


@click.command(epilog=options.example("isotherm api --port 8004 --config-file /etc/heat/heat.conf"))
@serving.host_option
@serving.port_option
@click.option("--openapi", "document", is_flag=True, help="Print the OpenAPI document of the API, and do nothing else.")
@options.files_option
@options.json_option
@click.pass_obj
def api(terminal: show.Terminal, host: str | None, port: int | None, document: bool, files: tuple[Path, ...]) -> None:
    """Run the API without an engine, until it is told to end."""
    if document:
        terminal.json(openapi.document())
        return

    async def work(engine: Embedded, stop: serving.Stop) -> None:
        async with serving.listening(engine, host, port) as it:
            it.tell(terminal)
            await it.serve(stop)

    serving.run(files, work)
