"""`isotherm up`: the whole service in one process, without any set-up."""

from __future__ import annotations

from pathlib import Path

import click

from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.service import listen_socket, serve
from isotherm.cli.show import console
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.process.metrics import ServiceMetrics

EXAMPLE = options.example("isotherm up", "export OS_CLIENT_CONFIG_FILE=$ISOTHERM_HOME/clouds.yaml",
                          "openstack --os-cloud isotherm stack list")


@click.command(epilog=EXAMPLE)
@serve.host_option
@serve.port_option
@options.files_option
@options.cloud_option
@options.json_option
@click.pass_obj
def up(printer: console.Printer, host: str | None, port: int | None, files: tuple[Path, ...]) -> None:
    """Run the service: API, page, engine and observer in one process.

    Stops on SIGTERM or Ctrl-C. Operations in progress continue at the next start.
    """

    async def work(engine: Embedded, stop: serve.StopRequest, metrics: ServiceMetrics) -> None:
        bound = listen_socket.listening(engine.settings, host, port)
        async with serve.listening(engine, bound, metrics) as api:
            link = await serve.page_link(engine, engine.address)
            serve.announce_api(printer, engine.path, engine.settings, engine.address, link)
            async with engine.driving(), engine.observing(), engine.delivering(metrics.count_message):
                await api.serve(stop)

    # The log goes to a file, so that the terminal stays free.
    serve.run(files, work, home.LOG)
