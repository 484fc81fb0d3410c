"""Previews: the effect of a create or an update, in our own form and in Heat's. Nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from isotherm import errors
from isotherm.engine.operations import limited, patch
from isotherm.engine.operations.accept import Acceptor, Request, refuse_moves, refuse_suspended
from isotherm.engine.operations.patch import Change, Patch
from isotherm.engine.preview import heat_form, preview_tree, update_preview
from isotherm.engine.preview.preview_tree import PlannedItem, PreviewStack, PreviewTree
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, names
from isotherm.store.reads import lookups
from isotherm.store.records import OperationScope

__all__ = ["Planned", "PlannedItem", "PreviewService"]

# Heat's id of a stack that does not exist.
_NO_ID = "None"


@dataclass(frozen=True, slots=True)
class Planned:
    """The effects of a request, and its whole template."""

    items: list[PlannedItem]
    template: str
    # The resources that wait for another update, because this one leaves them out.
    waits: Sequence[str] = ()


class PreviewService:
    """Previews operations on one project's stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._project = requester.project
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)
        self._acceptor = Acceptor(ports, requester)

    async def changes(self, name: str, change: Change) -> update_preview.Preview:
        """Return the effect of an update, or of a create if there is no such stack, resource by resource."""
        found = await self._stacks.any_row(name)
        living = found if found is not None and not found["tomb"] else None
        if not isinstance(change, Request):
            change = await patch.whole(self._inputs, await self._stacks.row(name), change)
        goal = await self._acceptor.desire(change, name, living["id"] if living else _NO_ID)
        change, goal, left = await self._limited(name, living, change, goal)
        stack = PreviewStack(name, living["id"] if living else None)
        items = await self._tree().items(change.input, goal, stack, change.moves(goal), left)
        secrets = await self._inputs.secrets(living, change.input)
        return update_preview.Preview(await self._ports.planning.compute(
            change.input.size, lambda: [update_preview.without(secrets, item) for item in items]))

    async def planned(self, name: str, change: Change, *, restores: bool = False) -> Planned:
        """Return the effect as `changes` does, with the nested stack of each resource, and the template.

        `restores`: of a restore, which brings immutable parameters back.
        """
        found = await self._stacks.any_row(name)
        living = found if found is not None and not found["tomb"] else None
        if not isinstance(change, Request):
            change = await patch.whole(self._inputs, await self._stacks.row(name), change)
        if living is None:
            names.check_stack_name(name)
            refuse_moves(change)
        else:
            refuse_suspended(living)
        id_ = living["id"] if living else None
        goal = await self._acceptor.desire(change, living["name"] if living else name, id_ or _NO_ID)
        if living is not None and not restores:
            await self._inputs.refuse_immutable(living, goal)
        change, goal, left = await self._limited(name, living, change, goal)
        tree = await self._tree().tree(change.input, goal, PreviewStack(living["name"] if living else name, id_),
                                       change.moves(goal), left)
        secrets = await self._inputs.secrets(living, change.input)
        items = await self._ports.planning.compute(change.input.size, lambda: [
            replace(one, item=update_preview.without(secrets, one.item)) for one in preview_tree.planned(tree)])
        return Planned(items, change.template, change.parts.names)

    async def create(self, name: str, request: Request) -> dict[str, Any]:
        """Return the effect of a create in Heat's form: parameters, resources with those of nested stacks, outputs."""
        names.check_stack_name(name)
        found = await self._stacks.any_row(name)
        if found is not None and not found["tomb"]:
            raise errors.Conflict(f"The Stack ({name}) already exists.", kind="StackExists",
                                  hint="Preview an update of it, or choose another name.")
        goal = await self._acceptor.desire(request, name, _NO_ID)
        preview = await self._tree().tree(request.input, goal, PreviewStack(name, None))
        compute, size = self._ports.planning.compute, request.input.size
        identity = desired.Identity(name, _NO_ID, self._project)
        values = await compute(size, lambda: desired.values_of(request.input, identity))
        secrets = await self._inputs.secrets(None, request.input)
        shown = await compute(size, lambda: secrets.value(self._heat_form().created(preview)))
        return {"description": goal.description, "parameters": {one: values.text(one) for one in values},
                "resources": shown,
                "outputs": [{"output_key": one.name, "description": one.description, "output_value": None}
                            for one in goal.bound.outputs.values()]}

    async def update(self, name_or_id: str, change: Patch, *, nested: bool = False) -> dict[str, Any]:
        """Return the effect of an update in Heat's form: resources by kind; `nested`: with those of nested stacks."""
        stack = await self._stacks.row(name_or_id)
        request = await patch.patched(self._inputs, stack, change)
        refuse_suspended(stack)
        goal = await self._acceptor.desire(request, stack["name"], stack["id"])
        request, goal, scope = await self._limited(stack["name"], stack, request, goal)
        shown = await self._changed(stack, request, goal, scope, nested=nested)
        await self._inputs.refuse_immutable(stack, goal)
        return shown

    async def _limited(
        self, name: str, stack: lookups.Row | None, request: Request, goal: desired.Desired
    ) -> limited.Limited:
        """Limit a request for a stack that exists, or is to be created."""
        row = {"id": _NO_ID, "name": name, "project": self._project} if stack is None else stack
        return await limited.limit(self._ports, row, request, goal)

    async def _changed(
        self, stack: lookups.Row, request: Request, goal: desired.Desired, scope: OperationScope | None, *, nested: bool
    ) -> dict[str, Any]:
        preview = await self._tree().tree(request.input, goal, PreviewStack(stack["name"], stack["id"]),
                                          request.moves(goal), scope)
        secrets = await self._inputs.secrets(stack, request.input)
        shown: dict[str, Any] = await self._ports.planning.compute(
            request.input.size, lambda: secrets.value(self._heat_form().changed(preview, nested=nested)))
        return shown

    def _heat_form(self) -> heat_form.HeatForm:
        return heat_form.HeatForm(self._ports.types, self._project)

    def _tree(self) -> PreviewTree:
        return PreviewTree(self._ports.inner_reader(self._project), self._ports.inner_access(self._project),
                         self._ports.types, self._ports.settings.max_nested_stack_depth)
