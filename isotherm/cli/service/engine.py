"""`isotherm engine`: an engine alone. Any number of engines, on any host, share a database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.service import listen_socket, serve, supervisor
from isotherm.cli.show import console
from isotherm.engine.process.embedded import Embedded


@click.command(epilog=options.example("isotherm engine --config-file /etc/heat/heat.conf", "isotherm engine --workers 4"))
@serve.workers_option
@options.files_option
@options.json_option
@click.pass_obj
def engine(printer: console.Printer, workers: int | None, files: tuple[Path, ...]) -> int | None:
    """Run an engine without the API.

    With --workers or num_engine_workers, runs several. Any number of engines, on any host, share a database. Stops on
    SIGTERM or Ctrl-C.
    """

    def tell() -> None:
        serve.announce(printer, {"folder": str(home.folder())}, [
            f"Isotherm engine is running. Home: {home.folder()}"])

    planned = serve.worker_plan("engine", files, lambda settings: workers or settings.num_engine_workers)
    if planned is not None:
        settings, plan = planned
        return supervisor.run(plan, settings, tell)

    async def work(it: Embedded, stop: serve.StopRequest) -> None:
        it.address = listen_socket.address(it.settings)
        async with it.driving():
            tell()
            stop.parent.ready()
            listening = asyncio.create_task(it.listen())
            await stop.asked.wait()
            listening.cancel()

    return serve.run(files, work)
