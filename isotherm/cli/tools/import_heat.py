"""`isotherm import-heat`."""

from __future__ import annotations

import configparser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from isotherm.cli import codes, options
from isotherm.cli.client import home
from isotherm.cli.show import console
from isotherm.engine.process.embedded import Embedded
from isotherm.importing import heat_rows, run
from isotherm.importing.run import ImportOutcome, TreeReport

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_STYLES = {ImportOutcome.IMPORTED: "green", ImportOutcome.HERE: "dim", ImportOutcome.REFUSED: "red"}


@click.command("import-heat", epilog=options.example(
    "isotherm import-heat --heat-conf /etc/heat/heat.conf --dry-run",
    "isotherm import-heat --database-url mysql+pymysql://heat:secret@db/heat --key-file key web"))
@click.argument("stacks", nargs=-1, metavar="[STACK]...")
@click.option("--heat-conf", type=_FILE, help="Heat's configuration file. It contains the database URL and the key.")
@click.option("--database-url", metavar="URL", envvar="HEAT_DATABASE_URL", help="Heat's database. Overrides --heat-conf.")
@click.option("--key-file", type=_FILE,
              help="A file with Heat's auth_encryption_key only. Overrides --heat-conf. Needed if values are encrypted.")
@click.option("--project", help="The project to import into. By default each stack keeps its project.")
@click.option("--dry-run", is_flag=True, help="Report what would be imported and what would be refused; import nothing.")
@options.json_option
@click.pass_obj
def import_heat(  # noqa: PLR0913 - one for each option
    printer: console.Printer, stacks: tuple[str, ...], heat_conf: Path | None, database_url: str | None,
    key_file: Path | None, project: str | None, dry_run: bool,
) -> int:
    """Import stacks from the database of a Heat installation.

    Stop Heat's engines first: Heat must not work on the stacks after the import.

    Imports templates, environments, files, parameters, states and physical ids, one stack tree at a time. STACK is a name
    or an id; by default all stacks are imported. Resources are not touched, and nothing is written to Heat's database.
    Stacks that cannot be imported are listed with the reason. A repeated import skips stacks that were imported before.
    """
    configured_url, configured_key = _configured(heat_conf)
    url = database_url or configured_url
    if not url:
        raise click.UsageError("Heat's database is not given: add --heat-conf or --database-url.")
    request = run.ImportRequest(stacks, key_file.read_text().strip() if key_file else configured_key, project, dry_run)

    async def work(engine: Embedded) -> list[TreeReport]:
        with heat_rows.opened(url) as heat, printer.busy("reading Heat's database"):
            return await run.import_stacks(engine, heat, request)

    results = home.use(Embedded, work)
    printer.result({"dry_run": dry_run, "stacks": [one.as_dict() for one in results]},
                   lambda: _draw(results, dry_run=dry_run))
    return codes.FAILED if any(one.outcome is ImportOutcome.REFUSED for one in results) else codes.OK


def _configured(file: Path | None) -> tuple[str | None, str | None]:
    """Return the database URL and the key in Heat's configuration."""
    parser = configparser.RawConfigParser(strict=False)
    if file is not None:
        parser.read(file)
    return (parser.get("database", "connection", fallback=None),
            parser.get("DEFAULT", "auth_encryption_key", fallback=None))


def _draw(results: list[TreeReport], *, dry_run: bool) -> Iterator[RenderableType]:
    if not results:
        yield console.text("Heat has no stacks.", "dim")
        return
    rows: list[tuple[Any, ...]] = [
        (one.name, one.state, console.text(_word(one, dry_run=dry_run), _STYLES[one.outcome]), one.stacks or "",
         one.resources or "", one.project) for one in results]
    yield console.table(["stack", "status", "outcome", "stacks", "resources", "project"], rows, styles=["cyan"], keep=3)
    for one in results:
        for problem in one.problems:
            yield console.text(f"{one.name}: {problem}", "red")
        for note in one.notes:
            yield console.text(f"{one.name}: {note}", "dim")


def _word(one: TreeReport, *, dry_run: bool) -> str:
    return "would be imported" if dry_run and one.outcome is ImportOutcome.IMPORTED else one.outcome.value
