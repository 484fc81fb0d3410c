"""Stacks that come and go without anything being made or deleted: export, abandon, adopt.

Abandoning is a delete that leaves everything where it is: what is under way is waited for and recorded, what remains is
listed under the stack's id as retained. Adopting is a create that makes nothing: every object has to be there already,
has to belong to no other stack, and is looked at through its type before the stack counts as adopted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isotherm.engine import adoption, names, papers, patching
from isotherm.engine.accepting import Accepted, Accepting, Request
from isotherm.engine.patching import Patch
from isotherm.states import Action, NodeKind
from isotherm.store import accept, adopt, limits, listing, plan, reads
from isotherm.store.database import Connection
from isotherm.store.listing import Filters, Wish
from isotherm.store.records import NewStack


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A stack that is being let go of, and its papers as they were at that moment."""

    accepted: Accepted
    papers: dict[str, Any]


class Moving(Accepting):
    """What can be done with papers."""

    async def export(self, name_or_id: str, *, hidden: bool = False) -> dict[str, Any]:
        """The papers of a stack, which stays as it is; `hidden`: with the values that are otherwise masked."""
        return await self._papers(await self._find(name_or_id), hidden=hidden)

    async def abandon(self, name_or_id: str, *, hidden: bool = False) -> Abandoned:
        """Let go of a stack: it is gone, and everything that it made stays."""
        stack = await self._find(name_or_id)
        whole = await self._papers(stack, hidden=hidden)

        def write(connection: Connection, operation_id: str, now: float) -> None:
            adopt.let_go(connection, stack["id"])
            plan.write(connection, operation_id, [], now)

        return Abandoned(await self._supersede(self._again(stack, Action.DELETE), write), whole)

    async def adopt(self, name: str, data: str | bytes | Mapping[str, Any], change: Patch | None = None) -> Accepted:
        """A new stack from the papers of another. What is asked to change in them is changed first."""
        names.check_stack_name(name)
        found, change = adoption.read(data), change or Patch()
        asked = patching.apply(found.asked, change)
        adoption.refuse_masked(asked.environment["parameters"])
        rolls_back = change.disable_rollback is False
        request = Request(asked.template, asked.files, asked.environment, not rolls_back,
                          change.timeout_s, change.tags or ())
        stack_id = self._new_id()
        goal = await self._desire(request, name, stack_id)
        adoption.refuse_masked({name: goal.values[name] for name in goal.values.hidden})
        acceptance = self._acceptance(stack_id, 0, Action.ADOPT, request, goal)
        versions = adoption.versions(found, goal, stack_id, acceptance.operation_id, self._new_id)

        new = NewStack(stack_id, self._project, name, self._settings.convergence_engine, username=self._username)

        def unit(connection: Connection) -> None:
            now = self._clock.now()
            limits.stacks(connection, self._project, self._settings.max_stacks_per_tenant)
            accept.create(connection, new, acceptance, now)
            plan.write(connection, acceptance.operation_id, goal.wanted, now)
            adopt.take_over(connection, versions, {want.name: want.requires for want in goal.wanted}, now)

        await self._store.write(unit)
        self._wake(stack_id)
        return Accepted(stack_id, acceptance.operation_id, 1)

    async def _papers(self, stack: reads.Row, *, hidden: bool) -> dict[str, Any]:
        asked = await self._asked(stack)
        found = await self._store.read(lambda connection: reads.resources(connection, stack["id"]))
        within = Wish(Filters(owner_id=[stack["id"]]), nested=True)
        children = await self._store.read(lambda connection: listing.page(connection, self._project, within))
        inner = {child["id"]: child for child in children}
        resources = {}
        for row in found:
            if row["kind"] is NodeKind.CLEANUP or row["superseded"]:
                continue
            child = inner.get(row["physical_id"])
            told = papers.resource(row) if child is None else papers.inside(row, await self._papers(child, hidden=hidden))
            resources[row["name"]] = told
        whole = papers.stack(stack, asked, resources)
        return whole if hidden else papers.masked(whole, self._hidden(stack, asked))


def completed(whole: Mapping[str, Any], retained: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Papers with what was still under way when they were made: what the abandoned stack has retained in the end."""
    resources = {name: dict(one) for name, one in whole["resources"].items()}
    for row in retained:
        if row["resource_name"] in resources:
            resources[row["resource_name"]]["resource_id"] = row["physical_resource_id"]
    return {**whole, "resources": resources}
