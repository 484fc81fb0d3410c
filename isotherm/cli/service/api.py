"""`isotherm api`: the API alone. Processes of `isotherm engine` on the same database do the work it accepts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from isotherm.api.openapi import document as document_openapi
from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.service import listen_socket, serve, supervisor
from isotherm.cli.show import console
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.process.metrics import ServiceMetrics


@click.command(epilog=options.example("isotherm api --port 8004 --config-file /etc/heat/heat.conf",
                                      "isotherm api --workers 4"))
@serve.host_option
@serve.port_option
@serve.workers_option
@click.option("--openapi", "document", is_flag=True, help="Print the OpenAPI document of the API and exit.")
@options.files_option
@options.json_option
@click.pass_obj
def api(
    printer: console.Printer, host: str | None, port: int | None, workers: int | None, document: bool,
    files: tuple[Path, ...],
) -> int | None:
    """Run the API without an engine.

    With --workers, or `workers` in [heat_api], several processes share the address. Stops on SIGTERM or Ctrl-C.
    """
    if document:
        printer.json(document_openapi.document())
        return None
    planned = serve.worker_plan("api", files, lambda settings: workers or settings.api_workers)
    if planned is not None:
        settings, plan = planned
        with listen_socket.listening(settings, host, port) as bound:
            return supervisor.run(dataclasses.replace(plan, listening=bound), settings, lambda: serve.announce_api(
                printer, home.folder(), settings, listen_socket.url_of(bound)))

    async def work(engine: Embedded, stop: serve.StopRequest, metrics: ServiceMetrics) -> None:
        bound = stop.parent.listening or listen_socket.listening(engine.settings, host, port)
        async with serve.listening(engine, bound, metrics) as it:
            if not stop.parent.is_there:
                serve.announce_api(printer, engine.path, engine.settings, engine.address)
            await it.serve(stop)

    return serve.run(files, work)
