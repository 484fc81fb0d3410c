"""`isotherm engine`: a worker alone. Any number of them share a home; each takes what is due, and none is special."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from isotherm.cli import options, serving, show
from isotherm.engine.embedded import Embedded


@click.command(epilog=options.example("isotherm engine --config-file /etc/heat/heat.conf"))
@options.files_option
@options.json_option
@click.pass_obj
def engine(terminal: show.Terminal, files: tuple[Path, ...]) -> None:
    """Run a worker without the API, until it is told to end."""

    async def work(it: Embedded, stop: serving.Stop) -> None:
        it.address = serving.address(it.settings)
        async with it.driving():
            serving.tell(terminal, {"folder": str(it.path)}, [f"Isotherm works on what is under way in {it.path}."])
            listening = asyncio.create_task(it.listen())
            await stop.asked.wait()
            listening.cancel()

    serving.run(files, work)
