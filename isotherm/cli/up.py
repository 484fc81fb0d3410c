"""`isotherm up`: the whole service in one process, on one folder, with nothing else to set up."""

from __future__ import annotations

import socket
from pathlib import Path

import click
import uvicorn

from isotherm.api import app, clouds
from isotherm.api.auth import choosing, standalone
from isotherm.api.lending import Lending
from isotherm.api.policy import Enforcer
from isotherm.api.service import Service
from isotherm.cli import home
from isotherm.engine.custody import Custody
from isotherm.engine.embedded import Embedded, new_id
from isotherm.engine.feed import Feed

EXAMPLE = """\b
Example:
  isotherm up
  export OS_CLIENT_CONFIG_FILE=$ISOTHERM_HOME/clouds.yaml
  openstack --os-cloud isotherm stack list
"""


@click.command(epilog=EXAMPLE)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8004, show_default=True, help="The port to listen on; 0 takes any that is free.")
def up(host: str, port: int) -> None:
    """Run the API and the engine, until Ctrl-C."""
    home.use(Embedded, lambda engine: _serve(engine, host, port))


async def _serve(engine: Embedded, host: str, port: int) -> None:
    async with choosing.lending(engine.settings, Custody(engine.store, engine.clock, new_id)) as lending:
        await _listen(engine, lending, host, port)


async def _listen(engine: Embedded, lending: Lending, host: str, port: int) -> None:
    policy = Enforcer.of(engine.settings)
    authenticator = choosing.authenticator(engine.settings, policy, engine.path)
    service = Service(engine.orchestrator_for, engine.types, engine.settings, engine.workers, engine.feed, engine.signer,
                      lending=lending)
    api = app.build(service, authenticator, policy)
    config = uvicorn.Config(api, host, port, log_config=None, access_log=False, lifespan="off", server_header=False)
    server = _Server(config, engine.feed)
    bound = config.bind_socket()
    # From here on nobody is turned away: whoever comes before we are ready waits.
    bound.listen(config.backlog)
    host, port = bound.getsockname()[:2]
    click.echo(f"Isotherm listens on http://{host}:{port}. Stacks live in {engine.path}.")
    if engine.settings.auth_strategy == "standalone":
        _tell_how(engine.path, f"http://{host}:{port}")
    engine.address = f"http://{host}:{port}"
    async with engine.driving():
        await server.serve(sockets=[bound])


class _Server(uvicorn.Server):
    """Ends the streams of events before it waits for requests to end: they would go on for ever."""

    def __init__(self, config: uvicorn.Config, feed: Feed) -> None:
        super().__init__(config)
        self._feed = feed

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._feed.close()
        await super().shutdown(sockets)


def _tell_how(folder: Path, url: str) -> None:
    """Write what clients need to know, and say where it is."""
    file = clouds.write(folder, url, standalone.token(folder / "token"))
    click.echo(f"  export OS_CLIENT_CONFIG_FILE={file}")
    click.echo("  openstack --os-cloud isotherm stack list")
