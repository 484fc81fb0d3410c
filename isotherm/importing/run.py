"""The whole way: Heat's database is read, each tree is judged, prepared and, if that is wanted, written.

A tree comes over as a whole or not at all, in one transaction. Doing it again passes over what is here already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from isotherm import errors
from isotherm.engine.process.embedded import Embedded, new_id
from isotherm.engine.process.home import JOURNAL
from isotherm.importing import decrypt, heat_rows, judge, prepare, records
from isotherm.resources.journal import JournalReality
from isotherm.store.database.writer import Connection
from isotherm.store.operations import arrive


class Outcome(Enum):
    """What became of a tree, or would."""

    IMPORTED = "imported"
    HERE = "already here"
    REFUSED = "refused"


@dataclass(slots=True)
class Told:
    """One tree, for the operator."""

    name: str
    id: str
    project: str
    state: str
    outcome: Outcome = Outcome.IMPORTED
    stacks: int = 0
    resources: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {"stack_name": self.name, "id": self.id, "project": self.project, "stack_status": self.state,
                "outcome": self.outcome.value, "stacks": self.stacks, "resources": self.resources,
                "problems": self.problems, "notes": self.notes}


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to come over, and how."""

    # Names or ids; none: all.
    stacks: Sequence[str] = ()
    key: str | None = None
    project: str | None = None
    dry_run: bool = False


async def bring(engine: Embedded, heat: heat_rows.Heat, wish: Wish) -> list[Told]:
    """Bring over what is wished for; answers what became of each tree."""
    tools = records.Tools(heat, decrypt.Opener(wish.key), engine.types, engine.clock, new_id, wish.project)
    return [await _bring_one(engine, tools, heat.tree(stack_id), wish) for stack_id in _chosen(heat, wish.stacks)]


def _chosen(heat: heat_rows.Heat, wanted: Sequence[str]) -> list[str]:
    roots = heat.roots()
    for word in wanted:
        if not any(word in root for root in roots):
            raise errors.NotFound(f"Heat has no stack {word} that is not inside of another.",
                                  hint="Stacks inside come along with the one around them.")
    return [id_ for id_, name in roots if not wanted or id_ in wanted or name in wanted]


async def _bring_one(engine: Embedded, tools: records.Tools, tree: heat_rows.Stack, wish: Wish) -> Told:
    told = Told(tree.name, tree.id, wish.project or tree.project, tree.state)
    try:
        if await engine.store.read(lambda connection: arrive.known(connection, [tree.id])):
            told.outcome = Outcome.HERE
            return told
        told.problems += judge.problems(tree)
        if not told.problems:
            ready = await prepare.prepare(tree, tools)
            told.stacks = len(ready.arrivals)
            told.resources = sum(len(one.versions) for one in ready.arrivals)
            told.notes += [*judge.notes(tree), *ready.notes]
            await _write(engine, ready, dry_run=wish.dry_run)
    except records.Refused as error:
        told.problems.append(str(error))
    except errors.UserError as error:
        told.problems += [str(problem) for problem in error.problems] or [str(error)]
    if told.problems:
        told.outcome = Outcome.REFUSED
    return told


class _OnlyTrying(Exception):
    """Everything went well, and is taken back."""


async def _write(engine: Embedded, ready: records.Prepared, *, dry_run: bool) -> None:
    """All of the tree in one transaction. Trying it is doing it, and taking it back: what would be refused is told."""

    def unit(connection: Connection) -> None:
        for arrival in ready.arrivals:
            arrive.at_rest(connection, arrival, engine.clock.now())
        if dry_run:
            raise _OnlyTrying

    if not dry_run:
        await _place(engine, ready.things)
    try:
        await engine.store.write(unit)
    except _OnlyTrying:
        return


async def _place(engine: Embedded, things: Sequence[records.Thing]) -> None:
    """Before the rows are written: whoever is killed in between does it again, and finds them by their tokens."""
    if not things:
        return
    reality = JournalReality(engine.path / JOURNAL)
    try:
        for thing in things:
            if await reality.find(thing.token) is None:
                await reality.create(thing.type, thing.token, thing.properties, thing.physical_id)
    except errors.Permanent as error:
        raise records.Refused(f"an object of the same id is here already: {error}") from error
    finally:
        reality.close()
