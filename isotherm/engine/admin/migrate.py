"""Migrates trees of stacks from the legacy path to convergence. Stacks must be idle; no cloud is called.

Each tree is checked, computed and written as a whole. A tree that is not idle is reported and left as it is, so that the
command can be run again. The wanted state comes from the template, the present state from the rows; where both agree, the
row gets the digest that proves it, so that the next update has nothing to do there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from isotherm import errors
from isotherm.engine.admin.prove import Prover
from isotherm.planning import desired
from isotherm.planning.planner import input_of
from isotherm.resources import contract
from isotherm.resources.registry import Registry
from isotherm.states import Status
from isotherm.store.database.writer import Connection, Store
from isotherm.store.operations import migrate
from isotherm.store.operations.migrate import Conversion, TreeStack

# Attempts, and the pause between them, until an engine has released the lock of an idle stack.
_ATTEMPTS, _PAUSE_S = 10, 0.1


class Outcome(Enum):
    """The result of migrating a tree, or of a dry run."""

    MIGRATED = "migrated"
    HERE = "already convergence"
    REFUSED = "left as it is"


@dataclass(slots=True)
class MigrationReport:
    """The report on one tree, for the operator."""

    id: str
    name: str
    project: str
    state: str
    outcome: Outcome = Outcome.MIGRATED
    stacks: int = 0
    resources: int = 0
    # Resources whose rows do not prove that they are as the template says: the next update considers them.
    unproven: int = 0
    # Versions that the template does not name: the next operation deletes them.
    leftovers: int = 0
    reasons: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {"id": self.id, "stack_name": self.name, "project": self.project, "stack_status": self.state,
                "outcome": self.outcome.value, "stacks": self.stacks, "resources": self.resources,
                "unproven": self.unproven, "leftovers": self.leftovers, "reasons": self.reasons}


class _DryRunDone(Exception):
    """Raised to roll a successful dry run back."""


class Migrator:
    """Migrates trees of stacks."""

    def __init__(self, store: Store, types: Registry, clock: contract.Clock, new_id: Callable[[], str]) -> None:
        self._store = store
        self._types = types
        self._clock = clock
        self._new_id = new_id

    async def roots(self, named: Sequence[str] = ()) -> list[TreeStack]:
        """Return the stacks to migrate: those that are named, or all legacy stacks and those with nested legacy stacks.

        Raises NotFound for an unknown name, and UserError for a nested stack.
        """
        living = await self._store.read(migrate.living)
        if named:
            return list({one.id: one for word in dict.fromkeys(named) for one in [_find(living, word)]}.values())
        around = {one.id: one for one in living}
        tops = {_top(one, around).id for one in living if not one.convergence}
        return [one for one in living if one.id in tops]

    async def migrate(self, root: TreeStack, *, dry_run: bool = False) -> MigrationReport:
        """Migrate one tree. A dry run does everything and rolls it back, so that refusals are reported."""
        report = MigrationReport(root.id, root.name, root.project, root.state)
        try:
            seen, reasons = await self._read_tree(root.id)
            report.stacks = len(seen)
            if all(one.convergence for one in seen):
                report.outcome = Outcome.HERE
                return report
            report.reasons = reasons
            if not reasons:
                await self._migrate(seen, report, dry_run=dry_run)
        except errors.UserError as error:
            report.reasons += [str(problem) for problem in error.problems] or [str(error)]
        except errors.Unreadable as error:
            report.reasons.append(str(error))
        if report.reasons:
            report.outcome = Outcome.REFUSED
        return report

    async def _read_tree(self, root: str) -> tuple[list[TreeStack], list[str]]:
        """Return the tree and the obstacles. An engine that has just ended its work releases the lock in a moment."""
        for patience in reversed(range(_ATTEMPTS)):
            seen, busy = await self._store.read(lambda connection: self._read(connection, root))
            reasons = list(_obstacles(seen, busy))
            idle = all(one.status is Status.COMPLETE for one in seen)
            if not (reasons and idle and patience):
                break
            await asyncio.sleep(_PAUSE_S)
        return seen, reasons

    def _read(self, connection: Connection, root: str) -> tuple[list[TreeStack], dict[str, str]]:
        seen = migrate.tree(connection, root)
        if not seen:
            raise errors.NotFound("it is gone")
        old = [one.id for one in seen if not one.convergence]
        return seen, migrate.busy(connection, [one.id for one in seen], self._clock.now()) if old else {}

    async def _migrate(self, seen: Sequence[TreeStack], report: MigrationReport, *, dry_run: bool) -> None:
        made = [await self._store.read(self._prepare(one, seen)) for one in seen if not one.convergence]
        report.resources = sum(len(one.contents.present()) for one in made)
        report.unproven = sum(len(one.wanted) - len(one.proven) for one in made)
        report.leftovers = sum(_leftovers(one) for one in made)

        def unit(connection: Connection) -> None:
            migrate.convert(connection, seen, made, self._clock.now())
            if dry_run:
                raise _DryRunDone

        try:
            await self._store.write(unit)
        except _DryRunDone:
            return

    def _prepare(self, member: TreeStack, seen: Sequence[TreeStack]) -> Callable[[Connection], Conversion]:
        def unit(connection: Connection) -> Conversion:
            found = migrate.contents(connection, member.id)
            if found.operation is None or not found.operation.input:
                # The stack was rolled back to nothing, so nothing is wanted.
                return Conversion(member, found, self._new_id(), (), frozenset())
            input_ = input_of(connection, member.id, found.operation.input)
            identity = desired.Identity(member.name, member.id, member.project)
            goal = desired.desire(input_, identity, self._types, validate=False)
            inner = {one.id for one in seen}
            proving = Prover(goal, input_, self._types, found.present(), lambda id_: _inner(connection, id_, inner))
            return Conversion(member, found, self._new_id(), goal.wanted, proving.proven())

        return unit


def _inner(connection: Connection, stack_id: str, tree: set[str]) -> desired.StackInput | None:
    """Return the request of a nested stack."""
    if stack_id not in tree:
        return None
    operation = migrate.contents(connection, stack_id).operation
    return input_of(connection, stack_id, operation.input) if operation is not None and operation.input else None


def _obstacles(seen: Sequence[TreeStack], busy: dict[str, str]) -> Iterator[str]:
    for one in seen:
        where = "" if one is seen[0] else f"{one.name}, inside it, "
        if one.status is not Status.COMPLETE:
            yield f"{where or 'it '}is {one.state}"
        elif one.id in busy:
            yield f"{where or 'it '}is {one.state}, but {busy[one.id]}"


def _leftovers(one: Conversion) -> int:
    wanted = {want.name for want in one.wanted}
    present = one.contents.present()
    return sum(version.name not in wanted or present.get(version.name) is not version
               for version in one.contents.versions.values())


def called(living: Sequence[TreeStack], word: str) -> TreeStack:
    """Return a stack of any project, by its id, or by its name if it is unique."""
    found = [one for one in living if one.id == word] or [one for one in living if one.name == word]
    if not found:
        raise errors.NotFound(f"The Stack ({word}) could not be found.")
    if len(found) > 1:
        raise errors.UserError(f"Several stacks are called {word}.", hint="Give the id: "
                               + ", ".join(f"{one.id} (project {one.project})" for one in found))
    return found[0]


def _find(living: Sequence[TreeStack], word: str) -> TreeStack:
    one = called(living, word)
    top = _top(one, {each.id: each for each in living})
    if top is not one:
        raise errors.UserError(f"Stack {word} is nested in {top.name}: a tree is migrated as a whole.", kind="NotSupported",
                               hint=f"heat-manage migrate-convergence-1 {top.id}")
    return one


def _top(one: TreeStack, around: dict[str, TreeStack]) -> TreeStack:
    while one.owner_id is not None and one.owner_id in around:
        one = around[one.owner_id]
    return one
