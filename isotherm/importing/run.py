"""Runs an import: reads Heat's database, judges and prepares each stack tree, and writes it unless this is a dry run.

A tree is imported as a whole or not at all, in one transaction. A repeated import skips what is here already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from isotherm import errors
from isotherm.engine.process.embedded import Embedded, new_id
from isotherm.engine.process.home_files import JOURNAL
from isotherm.importing import decrypt, heat_rows, judge, prepare, records
from isotherm.resources.reality.journal import JournalReality
from isotherm.store.database.writer import Connection
from isotherm.store.operations import arrive


class ImportOutcome(Enum):
    """The outcome of a tree, or what it would be in a dry run."""

    IMPORTED = "imported"
    HERE = "already here"
    REFUSED = "refused"


@dataclass(slots=True)
class TreeReport:
    """The report on one stack tree, for the operator."""

    name: str
    id: str
    project: str
    state: str
    outcome: ImportOutcome = ImportOutcome.IMPORTED
    stacks: int = 0
    resources: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {"stack_name": self.name, "id": self.id, "project": self.project, "stack_status": self.state,
                "outcome": self.outcome.value, "stacks": self.stacks, "resources": self.resources,
                "problems": self.problems, "notes": self.notes}


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """The stacks to import, and how."""

    # Names or ids; empty: all.
    stacks: Sequence[str] = ()
    key: str | None = None
    project: str | None = None
    dry_run: bool = False


async def import_stacks(engine: Embedded, heat: heat_rows.Heat, request: ImportRequest) -> list[TreeReport]:
    """Import the requested stacks. Return a report for each tree."""
    tools = records.ImportTools(heat, decrypt.Decryptor(request.key), engine.types, engine.clock, new_id, request.project)
    return [await _import_tree(engine, tools, heat.tree(stack_id), request) for stack_id in _chosen(heat, request.stacks)]


def _chosen(heat: heat_rows.Heat, wanted: Sequence[str]) -> list[str]:
    roots = heat.roots()
    for word in wanted:
        if not any(word in root for root in roots):
            raise errors.NotFound(f"Heat has no stack {word} that is not nested in another.",
                                  hint="Nested stacks are imported with their root stack.")
    return [id_ for id_, name in roots if not wanted or id_ in wanted or name in wanted]


async def _import_tree(
    engine: Embedded, tools: records.ImportTools, tree: heat_rows.HeatStack, request: ImportRequest
) -> TreeReport:
    report = TreeReport(tree.name, tree.id, request.project or tree.project, tree.state)
    try:
        if await engine.store.read(lambda connection: arrive.known(connection, [tree.id])):
            report.outcome = ImportOutcome.HERE
            return report
        report.problems += judge.problems(tree)
        if not report.problems:
            ready = await prepare.prepare(tree, tools)
            report.stacks = len(ready.arrivals)
            report.resources = sum(len(one.versions) for one in ready.arrivals)
            report.notes += [*judge.notes(tree), *ready.notes]
            await _write(engine, ready, dry_run=request.dry_run)
    except records.NotImportable as error:
        report.problems.append(str(error))
    except errors.UserError as error:
        report.problems += [str(problem) for problem in error.problems] or [str(error)]
    if report.problems:
        report.outcome = ImportOutcome.REFUSED
    return report


class _DryRun(Exception):
    """Raised to roll back a dry run that has succeeded."""


async def _write(engine: Embedded, ready: records.Prepared, *, dry_run: bool) -> None:
    """Write a tree in one transaction. A dry run does the same and rolls back, so that it reports every refusal."""

    def unit(connection: Connection) -> None:
        for arrival in ready.arrivals:
            arrive.write_idle(connection, arrival, engine.clock.now())
        if dry_run:
            raise _DryRun

    if not dry_run:
        await _create_objects(engine, ready.objects)
    try:
        await engine.store.write(unit)
    except _DryRun:
        return


async def _create_objects(engine: Embedded, objects: Sequence[records.HeatObject]) -> None:
    """Create the objects before the rows: after a kill in between, the next import finds them by their tokens."""
    if not objects:
        return
    reality = JournalReality(engine.path / JOURNAL)
    try:
        for heat_object in objects:
            if await reality.find(heat_object.token) is None:
                await reality.create(heat_object.type, heat_object.token, heat_object.properties, heat_object.physical_id)
    except errors.Permanent as error:
        raise records.NotImportable(f"an object of the same id is here already: {error}") from error
    finally:
        reality.close()
