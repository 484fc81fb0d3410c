"""`heat-manage update_params`: what is sealed, sealed with the newest key."""

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
    """Seal everything with the newest key.

    `encrypt` seals all that may carry secrets with the newest key, also what was sealed with an older one or not at all:
    afterwards older keys can be thrown away. `decrypt` has no meaning here: nothing is ever stored in the clear.

    Older keys belong into auth_encryption_key_ring, or below the newest in the file `keys` of the home, and not on the
    command line, where others can see them.
    """
    if operation == "decrypt":
        raise errors.UserError("Secrets cannot be stored in the clear.", kind="NotSupported",
                               hint="They are opened when they are read; `isotherm export --show-hidden` shows those of a "
                                    "stack.")
    if previous_encryption_key is not None:
        raise click.UsageError("Put the previous key into auth_encryption_key_ring: a command line can be seen by others.")
    told = home.use(Embedded, lambda engine: housekeeping.seal_anew(engine, engine.types))
    printer.result(dataclasses.asdict(told), lambda: [console.text(line, style) for line, style in _lines(told)])
    return codes.FAILED if told.unreadable or told.busy else codes.OK


def _lines(told: Resealed) -> list[tuple[str, str]]:
    lines = [(f"{console.count(told.sealed, 'text')} sealed with the newest key.", "")]
    if told.unreadable:
        lines.append((f"{console.count(told.unreadable, 'text')} no key opens: put the key that is missing into "
                      "auth_encryption_key_ring, and run this again.", "red"))
    if told.busy:
        lines.append((f"On {console.count(told.busy, 'stack')} something is under way. Keep the older keys, and run this "
                      "again.", "yellow"))
    return lines
