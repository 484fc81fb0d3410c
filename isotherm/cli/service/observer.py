"""`isotherm observer`: an observer alone. Any number of observers share a database."""

from __future__ import annotations

from pathlib import Path

import click

from isotherm.cli import options
from isotherm.cli.service import listen_socket, metrics_server, serve
from isotherm.cli.show import console
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.process.metrics import ServiceMetrics


@click.command(epilog=options.example("isotherm observer", "isotherm observer --config-file observer.conf"))
@serve.workers_option
@serve.metrics_port_option
@options.files_option
@options.json_option
@click.pass_obj
def observer(
    printer: console.Printer, workers: int | None, metrics_port: int | None, files: tuple[Path, ...]
) -> int | None:
    """Run an observer without engine and API.

    Observes all resources within its rate limit, records drift, and requests repairs where the policy of the stack asks for
    them. `isotherm engine` and `isotherm up` carry repairs out. `isotherm up` includes an observer.
    """
    planned = serve.worker_plan("observer", files, lambda _: workers or 0)
    if planned is not None:
        settings, plan = planned
        return metrics_server.supervise(
            plan, settings, metrics_port, lambda: serve.announce_process(printer, "observer", settings))

    async def work(it: Embedded, stop: serve.StopRequest, metrics: ServiceMetrics) -> None:
        it.address = listen_socket.address(it.settings)
        async with it.observing(), metrics_server.serving(it, metrics, stop.parent, metrics_port):
            serve.announce_process(printer, "observer", it.settings)
            stop.parent.ready()
            await stop.asked.wait()

    return serve.run(files, work)
