"""`heat-manage migrate-convergence-1`: migrates stack trees from the legacy path to convergence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from isotherm.cli import codes, options
from isotherm.cli.client import home
from isotherm.cli.show import console
from isotherm.engine.admin.migrate import MigrationReport, Migrator, Outcome
from isotherm.engine.process.embedded import Embedded, new_id

_STYLES = {Outcome.MIGRATED: "green", Outcome.HERE: "dim", Outcome.REFUSED: "yellow"}
AGAIN = "Run the command again when operations in progress have ended and failed stacks are repaired."


@click.command("migrate-convergence-1", epilog=options.example(
    "isotherm manage migrate-convergence-1 --all --dry-run", "isotherm manage migrate-convergence-1 --all",
    "isotherm manage migrate-convergence-1 6f3c6bd8-2f52-4fc6-9a34-8f3e8a2f6b1c"))
@click.argument("stacks", nargs=-1, metavar="[STACK_ID]...")
@click.option("--all", "every", is_flag=True, help="Migrate all stacks on the legacy path.")
@click.option("--dry-run", is_flag=True, help="Report what would be migrated; migrate nothing.")
@click.option("--report", type=click.Path(dir_okay=False, writable=True, path_type=Path),
              help="Write the report to this file, as JSON.")
@options.json_option
@click.pass_obj
def migrate(printer: console.Printer, stacks: tuple[str, ...], every: bool, dry_run: bool, report: Path | None) -> int:
    """Migrate stacks from the legacy path to convergence.

    A stack is migrated together with its nested stacks, or not at all. Only idle stacks in state COMPLETE are migrated; the
    others are listed with the reason and stay as they are. Resources are not touched. The command may run beside the
    service, may be killed at any time, and may be repeated: migrated stacks are skipped.

    The exit code is 5 if requested stacks remain on the legacy path.
    """
    if every == bool(stacks):
        raise click.UsageError("Give either ids of stacks or --all.")

    async def work(engine: Embedded) -> list[MigrationReport]:
        migrating = Migrator(engine.store, engine.types, engine.clock, new_id)
        roots = await migrating.roots(stacks)
        with _bar(printer, len(roots)) as advance:
            results = []
            for root in roots:
                results.append(await migrating.migrate(root, dry_run=dry_run))
                advance(root.name)
            return results

    results = home.use(Embedded, work)
    data = _report(results, dry_run=dry_run)
    if report is not None:
        report.write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")
    printer.result(data, lambda: _draw(results, dry_run=dry_run))
    return codes.FAILED if data["summary"]["remaining"] else codes.OK


class _bar:  # noqa: N801 - used like a function
    """A progress bar on a terminal; nothing in a pipe or with --json."""

    def __init__(self, printer: console.Printer, total: int) -> None:
        columns = (TextColumn("migrating"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                   TextColumn("{task.description}", style="cyan"))
        self._progress = Progress(*columns, console=printer.err, transient=True,
                                  disable=printer.as_json or not sys.stderr.isatty())
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> Callable[[str], None]:
        self._progress.start()
        return lambda name: self._progress.update(self._task, advance=1, description=console.clean(name))

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def _report(results: Sequence[MigrationReport], *, dry_run: bool) -> dict[str, Any]:
    count = {outcome: sum(one.outcome is outcome for one in results) for outcome in Outcome}
    return {
        "dry_run": dry_run,
        "summary": {"migrated": count[Outcome.MIGRATED], "already": count[Outcome.HERE],
                    "remaining": count[Outcome.REFUSED]},
        "stacks": [one.as_dict() for one in results],
    }


def _draw(results: Sequence[MigrationReport], *, dry_run: bool) -> Iterator[RenderableType]:
    if not results:
        yield console.text("No stack is on the legacy path.", "dim")
        return
    rows = [
        (
            one.name,
            one.state,
            console.text(_word(one, dry_run=dry_run), _STYLES[one.outcome]),
            one.stacks,
            one.resources,
            one.id,
        )
        for one in results
    ]
    yield console.table(["stack", "status", "outcome", "stacks", "resources", "id"], rows, styles=["cyan"], keep=3)
    for one in results:
        for note in _notes(one):
            yield console.text(f"{one.name}: {note}", "dim")
    yield from _remaining([one for one in results if one.outcome is Outcome.REFUSED])
    done = sum(one.outcome is Outcome.MIGRATED for one in results)
    yield console.text(f"{console.count(done, 'tree')} {'would be migrated' if dry_run else 'migrated'}.", "bold")


def _notes(one: MigrationReport) -> Iterator[str]:
    """Yield the additional work of the next update."""
    if one.unproven:
        yield f"{console.count(one.unproven, 'resource')} will be observed by the next update"
    if one.leftovers:
        yield f"{console.count(one.leftovers, 'resource')} outside the template will be deleted by the next update"


def _remaining(refused: Sequence[MigrationReport]) -> Iterator[RenderableType]:
    for one in refused:
        for reason in one.reasons:
            yield console.text(f"{one.name} ({one.id}): {reason}", "yellow")
    if refused:
        yield console.text(f"WARNING: {console.count(len(refused), 'tree')} on the legacy path "
                        f"{'remains' if len(refused) == 1 else 'remain'} there. {AGAIN}", "bold yellow")


def _word(one: MigrationReport, *, dry_run: bool) -> str:
    return "would be migrated" if dry_run and one.outcome is Outcome.MIGRATED else one.outcome.value
