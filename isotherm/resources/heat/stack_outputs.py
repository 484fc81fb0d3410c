"""Isotherm::Stack::Outputs: reads outputs of another stack of the project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context.shared_outputs import ReadStack
from isotherm.resources.schema import LIST, MAP, STRING, AttributeSchema, Schema
from isotherm.resources.traits import Traits
from isotherm.states import OUTPUTS_OF
from isotherm.template.parameters import constraints

STACK, OUTPUTS = "stack", "outputs"
STACK_ID = "stack_id"
_NOT_EMPTY = (constraints.Length(minimum=1),)


class StackOutputs(contract.RowOnly):
    """Has the outputs of another stack as its attributes, as they were when it was created or last updated.

    The reality of the resource is the outputs as they are now: a change of them is drift. The physical id names the outputs
    of the stack, and not the stack itself: the stack is no object of the resource.
    """

    TYPE = "Isotherm::Stack::Outputs"
    DESCRIPTION = "Reads outputs of another stack of the same project. A change of them is seen as drift."
    traits = Traits(has_more_attributes=True)
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        STACK: Schema(STRING, "The name or id of the stack that is read.", required=True, constraints=_NOT_EMPTY),
        OUTPUTS: Schema(LIST, "The names of the outputs that are read.", required=True, update_allowed=True,
                        schema=Schema(STRING, "The name of an output."), constraints=_NOT_EMPTY),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        OUTPUTS: AttributeSchema("The outputs that were read, by name. Each is also an attribute of its own.", MAP),
        STACK_ID: AttributeSchema("The id of the stack that was read.", STRING),
    }

    @classmethod
    def bound_to_stack(cls, properties: Mapping[str, Any]) -> str:
        return "it has no object, and the stack may be the one that it reads"

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        found = await self._read(self.properties[STACK])
        if found is None:
            raise errors.Permanent(f"{STACK}: the project has no stack {self.properties[STACK]}, or it is being deleted. "
                                   "Give the name or id of a stack of the same project.")
        if found.id == self.stack_id:
            raise errors.Permanent(f"{STACK}: a stack cannot read its own outputs. Give another stack of the project.")
        return self._take(found)

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        found = await self._read(self._read_id())
        if found is None:
            raise errors.Permanent(f"{STACK}: stack {self.properties[STACK]} is deleted, or being deleted.")
        return self._take(found)

    def _take(self, found: ReadStack) -> bool | contract.Wait:
        """Keep the outputs of the stack, or wait while they may still come."""
        names = self.properties[OUTPUTS]
        for name in names:
            if name in found.secret:
                raise errors.Permanent(f"{OUTPUTS}: output {name} of stack {found.name} is secret: it depends on a hidden "
                                       "parameter or has its value in it. Other stacks cannot read it.")
            if name not in found.values:
                there = ", ".join(found.values) or "none that can be read"
                raise errors.Permanent(f"{OUTPUTS}: stack {found.name} has no output {name}. It has: {there}.")
            if _is_coming(found, name):
                return contract.Wait(reason=f"output {name} of stack {found.name}, which is in progress")
            if name in found.problems:
                raise errors.Permanent(f"{OUTPUTS}: output {name} of stack {found.name} has no value: "
                                       f"{found.problems[name]}")
        self.physical_id = found.id + OUTPUTS_OF
        self.data[OUTPUTS] = {name: found.values[name] for name in names}
        return True

    async def handle_get_reality(self) -> contract.LiveState:
        found = await self._read(self._read_id())
        if found is None:
            return contract.Gone()
        names = self.properties[OUTPUTS] or ()
        if any(_is_coming(found, name) for name in names):
            return contract.Unseen(f"stack {found.name} is in progress")
        last = self.data.get(OUTPUTS, {})
        changed = {name: found.values.get(name) for name in names
                   if name not in found.values or found.values[name] != last.get(name)}
        # What has changed stands in the place of the names: drift compares properties only.
        return contract.Seen({STACK: self.properties[STACK], OUTPUTS: changed or names})

    async def reference(self) -> object:
        return self._read_id() or self.name

    async def attribute(self, name: str) -> object:
        if name == STACK_ID:
            return self._read_id()
        values = self.data.get(OUTPUTS, {})
        if name == OUTPUTS:
            return values
        if name not in values:
            raise errors.Permanent(f"output {name} is not among the outputs that are read")
        return values[name]

    def _read_id(self) -> str:
        """Return the id of the stack that was read; empty if none was."""
        return (self.physical_id or "").removesuffix(OUTPUTS_OF)

    async def _read(self, name_or_id: str) -> ReadStack | None:
        if self.context.outputs is None:
            raise errors.Permanent("outputs of other stacks cannot be read here")
        return await self.context.outputs.read(name_or_id)


def _is_coming(found: ReadStack, name: str) -> bool:
    return found.in_progress and name in found.values and found.values[name] is None
