"""`isotherm up`: the whole service in one process, on one folder, with nothing else to set up."""

from __future__ import annotations

from pathlib import Path

import click

from isotherm.cli import binding, home, options, serving, show
from isotherm.engine.embedded import Embedded

EXAMPLE = options.example("isotherm up", "export OS_CLIENT_CONFIG_FILE=$ISOTHERM_HOME/clouds.yaml",
                          "openstack --os-cloud isotherm stack list")


@click.command(epilog=EXAMPLE)
@serving.host_option
@serving.port_option
@options.files_option
@options.json_option
@click.pass_obj
def up(terminal: show.Terminal, host: str | None, port: int | None, files: tuple[Path, ...]) -> None:
    """Run the service: API, engine and observer in one process.

    It ends in good order with Ctrl-C; work that was under way goes on with the next start.
    """

    async def work(engine: Embedded, stop: serving.Stop) -> None:
        async with serving.listening(engine, binding.listening(engine.settings, host, port)) as api:
            serving.introduce(terminal, engine.path, engine.settings, engine.address)
            async with engine.driving(), engine.observing():
                await api.serve(stop)

    # On the terminal the log would be in the way.
    serving.run(files, work, home.LOG)
