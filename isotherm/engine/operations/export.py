"""Stacks that come and go without anything being made or deleted: export, abandon, adopt.

Abandoning is a delete that leaves everything where it is: what is under way is waited for and recorded, what remains is
listed under the stack's id as retained. Adopting is a create whose objects are there already: each has to belong to no
other stack, and is looked at through its type before the stack counts as adopted. What had not been made is created.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isotherm.engine.operations import adopt as adopt_operations
from isotherm.engine.operations import patch
from isotherm.engine.operations.accept import Accepted, Acceptor, Request
from isotherm.engine.operations.patch import Patch
from isotherm.engine.queries import stack_inputs
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, export_document, names, request_limits
from isotherm.states import Action, NodeKind
from isotherm.store.database.writer import Connection
from isotherm.store.operations import adopt, arrive, plan, stop
from isotherm.store.reads import lookups, stack_list
from isotherm.store.reads.stack_list import Filters, Wish


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A stack that is being let go of, and its papers as they were at that moment."""

    accepted: Accepted
    papers: dict[str, Any]


class Exports:
    """Exports, abandons and adopts stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._requester = requester
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)
        self._acceptor = Acceptor(ports, requester)

    async def export(self, name_or_id: str, *, hidden: bool = False) -> dict[str, Any]:
        """The papers of a stack, which stays as it is; `hidden`: with the values that are otherwise masked."""
        stack = await self._stacks.row(name_or_id)
        drawn = await self._ports.store.read(lambda connection: self._drawn(connection, stack))
        return await self._told(drawn, hidden=hidden)

    async def abandon(self, name_or_id: str, *, hidden: bool = False) -> Abandoned:
        """Let go of a stack: it is gone, and everything that it made stays."""
        stack = await self._stacks.row(name_or_id)
        drawn: list[_Drawn] = []

        def write(connection: Connection, operation_id: str, now: float) -> None:
            # In the same moment in which nothing more is begun: what they do not know of does not exist.
            drawn[:] = [self._drawn(connection, stack)]
            stop.cancel_within(connection, stack["id"], "The stack around it was abandoned", now)
            adopt.let_go(connection, stack["id"])
            plan.write(connection, operation_id, [], now)

        accepted = await self._acceptor.supersede(self._acceptor.repetition(stack, Action.DELETE), write)
        return Abandoned(accepted, await self._told(drawn[0], hidden=hidden))

    async def adopt(self, name: str, data: str | bytes | Mapping[str, Any], change: Patch | None = None) -> Accepted:
        """A new stack from the papers of another. What is asked to change in them is changed first."""
        names.check_stack_name(name)
        found, change = adopt_operations.read(data), change or Patch()
        asked = patch.apply(found.asked, change)
        adopt_operations.refuse_masked(asked.environment["parameters"])
        rolls_back = change.disable_rollback is False
        request = Request(asked.template, asked.files, asked.environment, not rolls_back,
                          change.timeout_s, change.tags or ())
        stack_id = self._ports.new_id()
        goal = await self._acceptor.desire(request, name, stack_id)
        adopt_operations.refuse_masked({name: goal.values[name] for name in goal.values.hidden})
        acceptance = await self._acceptor.acceptance(stack_id, 0, Action.ADOPT, request, goal)
        new = self._acceptor.new_stack(stack_id, name)
        ports = self._ports
        adopting = adopt_operations.Adopting(ports.types, ports.new_id, ports.clock.now(), self._desire_inside)
        taken = adopting.taken(found.resources, adopt_operations.Around(new, acceptance.operation_id, request.asked, goal))

        def write(connection: Connection, operation_id: str, now: float) -> None:
            plan.write(connection, operation_id, goal.wanted, now)
            adopt.take_over(connection, taken.versions, {want.name: want.requires for want in goal.wanted}, now)
            for one in taken.inside:
                arrive.at_rest(connection, one, now)

        return await self._acceptor.create(new, acceptance, write)

    def _desire_inside(self, asked: desired.Asked, identity: desired.Identity) -> desired.Desired:
        types, bounds = self._ports.types.limited(self._requester.may_use), request_limits.bounds(self._ports.settings)
        return desired.desire(asked, identity, types, bounds=bounds)

    def _drawn(self, connection: Connection, stack: lookups.Row) -> _Drawn:
        within = Wish(Filters(owner_id=[stack["id"]]), nested=True)
        children = stack_list.page(connection, self._requester.project, within)
        # One whose resource has not heard of it yet goes by the end of its name.
        inner = {child["id"]: child for child in children} | {child["name"][-_TOKEN:]: child for child in children}
        drawn = _Drawn(stack, stack_inputs.read_input(connection, stack), {}, {})
        for row in lookups.resources(connection, stack["id"]):
            if row["kind"] is NodeKind.CLEANUP or row["superseded"]:
                continue
            drawn.resources[row["name"]] = row
            child = inner.get(row["physical_id"] or (row["token"] or "")[-_TOKEN:])
            if child is not None:
                drawn.inside[row["name"]] = self._drawn(connection, child)
        return drawn

    async def _told(self, drawn: _Drawn, *, hidden: bool) -> dict[str, Any]:
        resources = {}
        for name, row in drawn.resources.items():
            if name in drawn.inside:
                resources[name] = export_document.inside(row, await self._told(drawn.inside[name], hidden=hidden))
            else:
                resources[name] = export_document.resource(row)
        whole = export_document.stack(drawn.stack, drawn.asked, resources)
        return whole if hidden else await self._inputs.masked(drawn.stack, drawn.asked, whole)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What papers are made of, as it was at one moment: the resources by name, and the stacks that some of them are."""

    stack: lookups.Row
    asked: desired.Asked
    resources: dict[str, dict[str, Any]]
    inside: dict[str, _Drawn]


# As many characters of a resource's token end the name of its stack.
_TOKEN = 12
