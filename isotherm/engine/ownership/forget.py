"""Forget: a resource or a stack leaves Isotherm, and its objects stay in the cloud as they are.

A resource is forgotten by an update: it leaves the template that is stored with the stack, and its objects are listed as
retained. Without that, the next operation with this template would create it again. A resource that others refer to is not
forgotten, since they could not be brought to their definitions any more.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.operations import patch
from isotherm.engine.operations.accept import Accepted, Acceptor, Request, refuse_suspended
from isotherm.engine.operations.patch import Patch
from isotherm.engine.operations.stacks import expect_seen
from isotherm.engine.ownership.export import ExportService
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, documents
from isotherm.states import Action
from isotherm.store.database.writer import Connection
from isotherm.store.operations import adopt, plan
from isotherm.store.reads import lookups
from isotherm.store.versions import protection, readers
from isotherm.template.text import cut


class ForgetService:
    """Forgets stacks of one project, and their resources."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._project = requester.project
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)
        self._acceptor = Acceptor(ports, requester)
        self._exports = ExportService(ports, requester)

    async def stack(self, name_or_id: str, *, force: bool = False) -> Accepted:
        """Delete a stack without deleting its objects, as abandon does."""
        return (await self._exports.abandon(name_or_id, force=force, command="forget")).accepted

    async def resource(
        self, name_or_id: str, name: str, *, generation: int | None = None, force: bool = False
    ) -> Accepted:
        """Update a stack to its template without the resource, whose objects stay.

        With `force`: also a resource with a nested stack whose outputs other stacks read.
        """
        stack = await self._stacks.row(name_or_id)
        expect_seen(stack, generation)
        refuse_suspended(stack)
        _refuse_nested(stack)
        request = await patch.patched(self._inputs, stack, await self._patch(stack, name))
        goal = await self._acceptor.desire(request, stack["name"], stack["id"])
        acceptance = replace(await self._accepted(stack, request, goal), reason=f"Resource {name} is forgotten", stays=True)

        def write(connection: Connection, operation_id: str, now: float) -> None:
            for inside in adopt.forget(connection, stack["id"], name):
                protection.refuse_leaving(connection, inside)
                if not force:
                    readers.refuse_leaving(connection, self._project, inside, "forget")
            plan.write(connection, operation_id, goal.wanted, now)

        return await self._acceptor.supersede(acceptance, write)

    async def _accepted(self, stack: lookups.Row, request: Request, goal: desired.Desired) -> Any:
        return await self._acceptor.acceptance(stack["id"], stack["generation"], Action.UPDATE, request, goal)

    async def _patch(self, stack: lookups.Row, name: str) -> Patch:
        """Return the change of the stack's input that leaves the resource out."""
        input_ = await self._inputs.input(stack)
        identity = desired.Identity(stack["name"], stack["id"], self._project)
        text = await self._inputs.compute(input_.size, lambda: _without(input_, identity, name))
        if text is not None:
            return Patch(template=text)
        # It may have left the template, while its object could not be deleted.
        if not await self._ports.store.read(lambda connection: protection.has_resource(connection, stack["id"], name)):
            raise errors.NotFound(f"The Resource ({name}) could not be found in Stack {stack['name']}.",
                                  kind="ResourceNotFound", hint="`isotherm resources STACK` shows what there is.")
        return Patch()


def _refuse_nested(stack: lookups.Row) -> None:
    if stack["owner_id"] is not None:
        raise errors.UserError("A resource of a nested stack cannot be forgotten: the outer stack has its template.",
                               kind="NotSupported", hint="Forget the resource that holds the nested stack.")


def _without(input_: desired.StackInput, identity: desired.Identity, name: str) -> str | None:
    """Return the template without the resource; None if it has no such resource. Raises UserError if others refer to it."""
    bound = desired.bound(input_, identity)
    section = bound.dialect.words.resources
    if name not in bound.template.resources:
        return None
    users = [one for one, definition in bound.definitions.items() if one != name and name in definition.requires]
    users += [f"output {one}" for one, output in bound.outputs.items() if name in output.requires]
    if users:
        raise errors.UserError(
            f"Resource {name} cannot be forgotten: {', '.join(users)} {'refers' if len(users) == 1 else 'refer'} to it.",
            kind="NotSupported", hint="Update the stack to a template in which nothing refers to it.")
    text = cut.without(input_.template, section, name)
    if text is not None:
        return text
    whole = bound.template.data
    return documents.encode({**whole, section: {key: one for key, one in whole[section].items() if key != name}})
