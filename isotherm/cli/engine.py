"""`isotherm engine`: a worker alone. Any number of them share a database; each takes what is due, and none is special."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from isotherm.cli import binding, home, options, serving, show, supervising
from isotherm.engine.embedded import Embedded


@click.command(epilog=options.example("isotherm engine --config-file /etc/heat/heat.conf", "isotherm engine --workers 4"))
@serving.workers_option
@options.files_option
@options.json_option
@click.pass_obj
def engine(terminal: show.Terminal, workers: int | None, files: tuple[Path, ...]) -> int | None:
    """Run a worker without the API, until it is told to end.

    Or several, if --workers or num_engine_workers says so. Any number of them, on any host, share a database.
    """

    def tell() -> None:
        serving.tell(terminal, {"folder": str(home.folder())}, [
            f"Isotherm works on what is under way in {home.folder()}."])

    several = serving.several("engine", files, lambda settings: workers or settings.num_engine_workers)
    if several is not None:
        settings, crew = several
        return supervising.run(crew, settings, tell)

    async def work(it: Embedded, stop: serving.Stop) -> None:
        it.address = binding.address(it.settings)
        async with it.driving():
            tell()
            stop.parent.ready()
            listening = asyncio.create_task(it.listen())
            await stop.asked.wait()
            listening.cancel()

    return serving.run(files, work)
