"""`heat-manage update_params`: encrypts secrets with the newest key."""

from __future__ import annotations

import dataclasses

import click

from isotherm import errors
from isotherm.cli import codes, options
from isotherm.cli.client import home
from isotherm.cli.show import console
from isotherm.engine.admin import housekeeping
from isotherm.engine.admin.housekeeping import Resealed
from isotherm.engine.process.embedded import Embedded


@click.command("update_params", epilog=options.example("isotherm manage update_params encrypt"))
@click.argument("operation", type=click.Choice(["encrypt", "decrypt"]))
@click.argument("previous_encryption_key", required=False)
@options.json_option
@click.pass_obj
def update_params(printer: console.Printer, operation: str, previous_encryption_key: str | None) -> int:
    """Encrypt all secrets with the newest key.

    `encrypt` encrypts every secret that is stored with an older key, or in the clear, with the newest key. After that the
    older keys can be removed. `decrypt` is refused: secrets are never stored in the clear.

    Put older keys into auth_encryption_key_ring, or below the newest key in the file `keys` of the home. On the command
    line other users could see them.
    """
    if operation == "decrypt":
        raise errors.UserError("Secrets cannot be stored in the clear.", kind="NotSupported",
                               hint="To read the secrets of a stack, use `isotherm export --show-hidden`.")
    if previous_encryption_key is not None:
        raise click.UsageError("Put the previous key into auth_encryption_key_ring: other users can see the command line.")
    resealed = home.use(Embedded, lambda engine: housekeeping.reseal_all(engine, engine.types))
    printer.result(dataclasses.asdict(resealed), lambda: [console.text(line, style) for line, style in _lines(resealed)])
    return codes.FAILED if resealed.unreadable or resealed.busy else codes.OK


def _lines(resealed: Resealed) -> list[tuple[str, str]]:
    lines = [(f"{console.count(resealed.sealed, 'value')} encrypted with the newest key.", "")]
    if resealed.unreadable:
        lines.append((f"{console.count(resealed.unreadable, 'value')} cannot be decrypted: add the missing key to "
                      "auth_encryption_key_ring and run this command again.", "red"))
    if resealed.busy:
        lines.append((f"{console.count(resealed.busy, 'stack')} with an operation in progress: keep the older keys and run "
                      "this command again.", "yellow"))
    return lines
