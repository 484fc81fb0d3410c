"""`heat-manage purge_deleted` and `purge_deleted_tenant`."""

from __future__ import annotations

import click

from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.show import console
from isotherm.engine.admin import housekeeping
from isotherm.engine.process.home import Folder

_SECONDS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
DEFAULT = 90

_age = click.argument("age", type=click.IntRange(min=0), default=DEFAULT)
_granularity = click.option("-g", "--granularity", type=click.Choice(list(_SECONDS)), default="days", show_default=True,
                            help="The unit of AGE.")
_dry_run = click.option("--dry-run", is_flag=True, help="Print the number of stacks to purge; purge nothing.")
_batch = click.option("-b", "--batch_size", "--batch-size", "batch", type=click.IntRange(min=1), default=housekeeping.PAGE,
                      show_default=True, help="The number of stacks purged per transaction.")


@click.command("purge_deleted", epilog=options.example(
    "isotherm manage purge_deleted 30", "isotherm manage purge_deleted -g hours -p 3f0c5b4e 12"))
@_age
@_granularity
@click.option("-p", "--project-id", "project", help="Purge only stacks of this project.")
@_batch
@_dry_run
@options.json_option
@click.pass_obj
def purge_deleted(
    printer: console.Printer, age: int, granularity: str, project: str | None, batch: int, dry_run: bool
) -> None:
    """Purge deleted stacks from the database.

    Deletes the rows, events and templates of stacks that were deleted more than AGE days ago; by default 90. A deleted
    stack that still has a resource or a snapshot is kept.
    """
    _purge(printer, age * _SECONDS[granularity], project, batch, dry_run=dry_run)


@click.command("purge_deleted_tenant", epilog=options.example("isotherm manage purge_deleted_tenant 3f0c5b4e 30"))
@click.argument("project")
@_age
@_granularity
@_batch
@_dry_run
@options.json_option
@click.pass_obj
def purge_deleted_tenant(
    printer: console.Printer, project: str, age: int, granularity: str, batch: int, dry_run: bool
) -> None:
    """Purge deleted stacks of one project from the database."""
    _purge(printer, age * _SECONDS[granularity], project, batch, dry_run=dry_run)


def _purge(printer: console.Printer, age_s: int, project: str | None, batch: int, *, dry_run: bool) -> None:
    async def work(folder: Folder) -> int:
        if dry_run:
            return await housekeeping.count_deleted(folder, age_s, project)
        return await housekeeping.purge_deleted(folder, age_s, project, batch)

    gone = home.use(Folder, work)
    would = "would be purged" if dry_run else "purged"
    printer.result({"purged": gone, "dry_run": dry_run},
                    lambda: [console.text(f"{console.count(gone, 'deleted stack')} {would}.")])
