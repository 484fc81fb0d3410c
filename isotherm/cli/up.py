"""`isotherm up`: the whole service in one process, on one folder, with nothing else to set up."""

from __future__ import annotations

from collections.abc import Mapping

import click
import uvicorn

from isotherm.api import app, clouds
from isotherm.api.auth import standalone
from isotherm.api.caller import Caller
from isotherm.api.service import Service
from isotherm.cli import home
from isotherm.engine.embedded import Embedded

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
    token = standalone.token(engine.path / "token")
    service = Service(engine.orchestrator_for, engine.types, engine.settings)
    api = app.build(service, standalone.Standalone(token), _Everything())
    config = uvicorn.Config(api, host, port, log_config=None, access_log=False, lifespan="off", server_header=False)
    server = uvicorn.Server(config)
    bound = config.bind_socket()
    host, port = bound.getsockname()[:2]
    file = clouds.write(engine.path, f"http://{host}:{port}", token)
    click.echo(f"Isotherm listens on http://{host}:{port}. Stacks live in {engine.path}.")
    click.echo(f"  export OS_CLIENT_CONFIG_FILE={file}")
    click.echo("  openstack --os-cloud isotherm stack list")
    async with engine.driving():
        await server.serve(sockets=[bound])


class _Everything:
    """The one user of a machine may do everything."""

    def check(self, rule: str, caller: Caller, target: Mapping[str, str]) -> None:
        pass
