"""`isotherm open`: a link to the page of a running service, with a new one-time code."""

from __future__ import annotations

import click
import yaml

from isotherm import errors
from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.service import listen_socket, serve
from isotherm.cli.show import console
from isotherm.engine.process.home import Folder


@click.command("open", epilog=options.example("isotherm open", "xdg-open $(isotherm open)", "isotherm open --json"))
@options.json_option
@click.pass_obj
def open_(printer: console.Printer) -> None:
    """Print a link to the page of the running service.

    The link logs in once, within a minute. The service must be running: `isotherm up`.
    """
    link = home.use(Folder, _link)
    if printer.as_json:
        printer.json({"page": link})
    else:
        printer.plain(link)


async def _link(folder: Folder) -> str:
    return await serve.page_link(folder, _address(folder))


def _address(folder: Folder) -> str:
    """Return the address at which the service was started last, or that of the options."""
    if folder.settings.auth_strategy != "standalone":
        return listen_socket.address(folder.settings)
    try:
        written = yaml.safe_load((folder.path / "clouds.yaml").read_text(encoding="utf-8"))
        endpoint: str = written["clouds"]["isotherm"]["auth"]["endpoint"]
    except FileNotFoundError as error:
        raise errors.NotFound("No service was started on this home.", hint="Run `isotherm up`.") from error
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise errors.UserError(f"{folder.path / 'clouds.yaml'} is not what `isotherm up` writes.", kind="NotSupported",
                               hint="Restart `isotherm up`, which writes it anew.") from error
    return endpoint.partition("/v1/")[0]
