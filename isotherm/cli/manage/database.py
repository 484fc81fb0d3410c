"""`heat-manage db_sync`, `db_version`, `migrate_properties_data`: the schema of the database."""

from __future__ import annotations

import click

from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.show import console
from isotherm.engine.admin import housekeeping
from isotherm.engine.process.home import Folder

_NOTHING = "Nothing to do: Isotherm has always stored the properties of a resource in their own row."


@click.command("db_sync", epilog=options.example("isotherm manage db_sync"))
@click.argument("version", required=False)
@options.json_option
@click.pass_obj
def db_sync(printer: console.Printer, version: str | None) -> None:
    """Migrate the database to the schema of this version.

    Every command migrates the database when it starts; this one does nothing else. VERSION, if given, must be the newest.
    """
    newest = housekeeping.newest_schema()
    if version not in (None, newest):
        raise click.UsageError(f"This version of Isotherm supports schema {newest} only.")
    before = housekeeping.schema_version(home.folder(), home.files())
    home.use(Folder, _nothing)
    printer.result({"before": before, "version": newest},
                    lambda: [console.text(f"The schema is {newest}"
                                       + ("." if before == newest else f"; before, it was {before or 'missing'}."))])


@click.command("db_version", epilog=options.example("isotherm manage db_version"))
@options.json_option
@click.pass_obj
def db_version(printer: console.Printer) -> None:
    """Print the schema version of the database."""
    found = housekeeping.schema_version(home.folder(), home.files())
    printer.result({"version": found, "newest": housekeeping.newest_schema()},
                    lambda: [console.text(found or "There is no database. To create it: isotherm manage db_sync")])


@click.command("migrate_properties_data", epilog=options.example("isotherm manage migrate_properties_data"))
@options.json_option
@click.pass_obj
def migrate_properties_data(printer: console.Printer) -> None:
    """Do nothing; exists for compatibility with Heat.

    In Heat, this command moves properties stored by releases before Queens.
    """
    printer.result({"migrated": 0, "message": _NOTHING}, lambda: [console.text(_NOTHING)])


async def _nothing(_folder: Folder) -> None:
    """Do nothing: opening the home migrates the database."""
