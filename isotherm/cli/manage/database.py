"""`heat-manage db_sync`, `db_version`, `migrate_properties_data`: the schema of the database."""

from __future__ import annotations

import click

from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.show import console
from isotherm.engine.admin import housekeeping
from isotherm.engine.process.home import Folder

_NOTHING = ("Nothing to do: what a resource was made with has been in its own row from the beginning, so no properties "
            "have to move.")


@click.command("db_sync", epilog=options.example("isotherm manage db_sync"))
@click.argument("version", required=False)
@options.json_option
@click.pass_obj
def db_sync(printer: console.Printer, version: str | None) -> None:
    """Bring the database to the schema of this version.

    Every command does so at its start; this does only that. A VERSION, as Heat takes it, can only be the newest.
    """
    newest = housekeeping.newest_schema()
    if version not in (None, newest):
        raise click.UsageError(f"This version of Isotherm knows the schema {newest} only.")
    before = housekeeping.schema_version(home.folder(), home.files())
    home.use(Folder, _nothing)
    printer.result({"before": before, "version": newest},
                    lambda: [console.text(f"The schema is {newest}"
                                       + ("." if before == newest else f"; it was {before or 'not there'}."))])


@click.command("db_version", epilog=options.example("isotherm manage db_version"))
@options.json_option
@click.pass_obj
def db_version(printer: console.Printer) -> None:
    """Tell which schema the database has."""
    found = housekeeping.schema_version(home.folder(), home.files())
    printer.result({"version": found, "newest": housekeeping.newest_schema()},
                    lambda: [console.text(found or "There is no database yet: isotherm manage db_sync makes one.")])


@click.command("migrate_properties_data", epilog=options.example("isotherm manage migrate_properties_data"))
@options.json_option
@click.pass_obj
def migrate_properties_data(printer: console.Printer) -> None:
    """Do nothing: properties have always been where they belong.

    In Heat it moves properties out of the rows of resources from before its version Queens. There is nothing like it here.
    """
    printer.result({"migrated": 0, "message": _NOTHING}, lambda: [console.text(_NOTHING)])


async def _nothing(_folder: Folder) -> None:
    """Opening the home has done it."""
