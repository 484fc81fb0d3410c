"""`isotherm engine`: an engine alone. Any number of engines, on any host, share a database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from isotherm.cli import options
from isotherm.cli.service import listen_socket, metrics_server, serve
from isotherm.cli.show import console
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.process.metrics import ServiceMetrics


@click.command(epilog=options.example("isotherm engine --config-file /etc/heat/heat.conf",
                                      "isotherm engine --workers 4 --metrics-port 9101"))
@serve.workers_option
@serve.metrics_port_option
@options.files_option
@options.json_option
@click.pass_obj
def engine(
    printer: console.Printer, workers: int | None, metrics_port: int | None, files: tuple[Path, ...]
) -> int | None:
    """Run an engine without the API.

    With --workers or num_engine_workers, runs several. Any number of engines, on any host, share a database. Stops on
    SIGTERM or Ctrl-C.
    """
    planned = serve.worker_plan("engine", files, lambda settings: workers or settings.num_engine_workers)
    if planned is not None:
        settings, plan = planned
        return metrics_server.supervise(
            plan, settings, metrics_port, lambda: serve.announce_process(printer, "engine", settings))

    async def work(it: Embedded, stop: serve.StopRequest, metrics: ServiceMetrics) -> None:
        it.address = listen_socket.address(it.settings)
        async with (it.driving(), it.delivering(metrics.count_message),
                    metrics_server.serving(it, metrics, stop.parent, metrics_port)):
            serve.announce_process(printer, "engine", it.settings)
            stop.parent.ready()
            listening = asyncio.create_task(it.listen())
            await stop.asked.wait()
            listening.cancel()

    return serve.run(files, work)
