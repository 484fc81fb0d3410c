"""Export, abandon, adopt: stacks that leave and arrive without any object being created or deleted.

Abandon is a delete that leaves every object in place: running steps end and are recorded, and the objects are listed as
retained under the stack's id. Adopt is a create whose objects exist already: each must belong to no other stack, and its
type checks it before the stack is adopted. Resources that had never been created are created.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isotherm import errors
from isotherm.engine.operations import patch
from isotherm.engine.operations.accept import Accepted, Acceptor, Request
from isotherm.engine.operations.patch import Patch
from isotherm.engine.ownership import adopt as adoption
from isotherm.engine.queries import stack_inputs
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, export_document, masking, names, off_loop, request_limits
from isotherm.states import Action, NodeKind
from isotherm.store.database.writer import Connection
from isotherm.store.operations import adopt, arrive, plan, stop
from isotherm.store.reads import lookups, stack_list
from isotherm.store.reads.stack_list import Filters, StackQuery
from isotherm.store.versions import protection, readers

# The name of a nested stack ends with this many characters of its resource's token.
_TOKEN = 12


@dataclass(frozen=True, slots=True)
class Abandoned:
    """An accepted abandon, with the stack's export document of that moment."""

    accepted: Accepted
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Contents:
    """A stack at one moment: its input, its resources by name, and the nested stacks of some of them."""

    stack: lookups.Row
    input: desired.StackInput
    resources: dict[str, dict[str, Any]]
    nested: dict[str, _Contents]


class ExportService:
    """Exports, abandons and adopts stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._requester = requester
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)
        self._acceptor = Acceptor(ports, requester)

    async def export(self, name_or_id: str, *, hidden: bool = False) -> dict[str, Any]:
        """Return the export document of a stack; `hidden`: with its secrets."""
        stack = await self._stacks.row(name_or_id)
        contents = await self._ports.store.read(lambda connection: self._contents(connection, stack))
        return await self._document(contents, hidden=hidden)

    async def abandon(
        self, name_or_id: str, *, hidden: bool = False, force: bool = False, command: str = "abandon"
    ) -> Abandoned:
        """Delete a stack without deleting its objects; `hidden`: the document has its secrets.

        With `force`: also a stack whose outputs other stacks read. `command` is the one that hints name.
        """
        stack = await self._stacks.row(name_or_id)
        contents: list[_Contents] = []

        def write(connection: Connection, operation_id: str, now: float) -> None:
            protection.refuse_leaving(connection, stack["id"])
            # A deletion that is repeated was allowed before.
            if not force and stack["action"] != Action.DELETE:
                readers.refuse_leaving(connection, stack["project"], stack["id"], command)
            # In the transaction that stops the stack: a later object would be missing in the document.
            contents[:] = [self._contents(connection, stack)]
            stop.cancel_within(connection, stack["id"], "The outer stack was abandoned", now)
            adopt.let_go(connection, stack["id"])
            plan.write(connection, operation_id, [], now)

        accepted = await self._acceptor.supersede(self._acceptor.repetition(stack, Action.DELETE), write)
        return Abandoned(accepted, await self._document(contents[0], hidden=hidden))

    async def adopt(self, name: str, data: str | bytes | Mapping[str, Any], change: Patch | None = None) -> Accepted:
        """Create a stack from an export document, after `change` was applied to the document's input."""
        names.check_stack_name(name)
        change = change or Patch()
        found, request = await self._ports.planning.compute(_size(data), lambda: _adoption_request(data, change))
        stack_id = self._ports.new_id()
        goal = await self._acceptor.desire(request, name, stack_id)
        adoption.refuse_masked({name: goal.values[name] for name in goal.values.hidden})
        acceptance = await self._acceptor.acceptance(stack_id, 0, Action.ADOPT, request, goal)
        new = self._acceptor.new_stack(stack_id, name)
        planner = adoption.AdoptionPlanner(
            self._ports.types, self._ports.new_id, self._ports.clock.now(), self._desire_nested)
        adopted = adoption.AdoptedStack(new, acceptance.operation_id, request.input, goal)
        taken = await self._ports.planning.compute(_size(data), lambda: planner.plan(found.resources, adopted))

        def write(connection: Connection, operation_id: str, now: float) -> None:
            plan.write(connection, operation_id, goal.wanted, now)
            adopt.take_over(connection, taken.versions, {want.name: want.requires for want in goal.wanted}, now)
            protection.bring(connection, taken.versions, taken.protections)
            protection.keep_all(connection, stack_id, goal.wanted)
            if found.stack_protection.protected:
                protection.protect_stack(connection, stack_id, new.username)
            for one in taken.nested:
                arrive.write_idle(connection, one, now)

        return await self._acceptor.create(new, acceptance, write)

    def _desire_nested(self, input_: desired.StackInput, identity: desired.Identity) -> desired.Desired:
        types, bounds = self._ports.types.limited(self._requester.may_use), request_limits.bounds(self._ports.settings)
        try:
            return desired.desire(input_, identity, types, bounds=bounds)
        except errors.UserError as error:
            raise masking.error(error, input_, types, self._ports.settings.max_hidden_size) from None

    def _contents(self, connection: Connection, stack: lookups.Row) -> _Contents:
        within = StackQuery(Filters(owner_id=[stack["id"]]), nested=True)
        children = stack_list.page(connection, self._requester.project, within)
        # A nested stack whose id its resource has not recorded yet is found by the end of its name.
        inner = {child["id"]: child for child in children} | {child["name"][-_TOKEN:]: child for child in children}
        contents = _Contents(stack, stack_inputs.read_input(connection, stack), {}, {})
        for row in lookups.resources(connection, stack["id"]):
            if row["kind"] is NodeKind.CLEANUP or row["superseded"]:
                continue
            contents.resources[row["name"]] = row
            child = inner.get(row["physical_id"] or (row["token"] or "")[-_TOKEN:])
            if child is not None:
                contents.nested[row["name"]] = self._contents(connection, child)
        return contents

    async def _document(self, contents: _Contents, *, hidden: bool) -> dict[str, Any]:
        resources = {}
        for name, row in contents.resources.items():
            if name in contents.nested:
                resources[name] = export_document.inside(row, await self._document(contents.nested[name], hidden=hidden))
            else:
                resources[name] = export_document.resource(row)
        return await self._inputs.export_document(contents.stack, contents.input, resources, hidden=hidden)


def _adoption_request(data: str | bytes | Mapping[str, Any], change: Patch) -> tuple[adoption.ExportDocument, Request]:
    found = adoption.read(data)
    input_ = patch.apply(found.input, change)
    adoption.refuse_masked(input_.environment["parameters"])
    rolls_back = change.disable_rollback is False
    return found, Request(input_.template, input_.files, input_.environment, not rolls_back, change.timeout_s,
                          change.tags or ())


def _size(data: str | bytes | Mapping[str, Any]) -> int:
    return len(data) if isinstance(data, str | bytes) else off_loop.weight(data)
