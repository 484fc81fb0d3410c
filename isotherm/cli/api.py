"""`isotherm api`: the API alone. What it accepts is done by `isotherm engine`, in other processes on the same database."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from isotherm.api import openapi
from isotherm.cli import binding, home, options, serving, show, supervising
from isotherm.engine.embedded import Embedded


@click.command(epilog=options.example("isotherm api --port 8004 --config-file /etc/heat/heat.conf",
                                      "isotherm api --workers 4"))
@serving.host_option
@serving.port_option
@serving.workers_option
@click.option("--openapi", "document", is_flag=True, help="Print the OpenAPI document of the API, and do nothing else.")
@options.files_option
@options.json_option
@click.pass_obj
def api(
    terminal: show.Terminal, host: str | None, port: int | None, workers: int | None, document: bool,
    files: tuple[Path, ...],
) -> int | None:
    """Run the API without an engine, until it is told to end.

    In several processes that share the address, if --workers or `workers` in [heat_api] says so.
    """
    if document:
        terminal.json(openapi.document())
        return None
    several = serving.several("api", files, lambda settings: workers or settings.api_workers)
    if several is not None:
        settings, crew = several
        with binding.listening(settings, host, port) as bound:
            return supervising.run(dataclasses.replace(crew, listening=bound), settings, lambda: serving.introduce(
                terminal, home.folder(), settings, binding.url_of(bound)))

    async def work(engine: Embedded, stop: serving.Stop) -> None:
        bound = stop.parent.listening or binding.listening(engine.settings, host, port)
        async with serving.listening(engine, bound) as it:
            if not stop.parent.is_there:
                serving.introduce(terminal, engine.path, engine.settings, engine.address)
            await it.serve(stop)

    return serving.run(files, work)
