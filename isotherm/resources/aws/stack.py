"""AWS::CloudFormation::Stack: a nested stack whose template is at a URL. It is read at each create and update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.nested import nested_stack
from isotherm.resources.schema import INTEGER, MAP, STRING, AttributeSchema, Schema

URL, PARAMETERS, TIMEOUT = "TemplateURL", "Parameters", "TimeoutInMinutes"
_OUTPUTS = "Outputs."


class Stack(nested_stack.StackResource):
    """A nested stack from a template at a URL."""

    TYPE = "AWS::CloudFormation::Stack"
    DESCRIPTION = "A nested stack whose template is read from a URL."
    # Each output is an attribute.
    traits = contract.Traits(has_more_attributes=True)
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        URL: Schema(STRING, "The URL of the template.", required=True, update_allowed=True),
        TIMEOUT: Schema(INTEGER, "How long making the stack may take, in minutes.", update_allowed=True),
        PARAMETERS: Schema(MAP, "The parameters of the stack.", update_allowed=True),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {}

    async def wanted(self) -> contract.Child:
        """Return the wanted nested stack, with the template as it is at the URL now."""
        fetch = self.context.fetch
        if fetch is None:
            raise errors.Permanent(f"{URL} cannot be read here: this engine fetches nothing.")
        try:
            text = await fetch(self.properties[URL])
        except errors.UserError as error:
            raise errors.Permanent(f"{URL}: {error}") from error
        minutes = self.properties[TIMEOUT]
        return contract.Child(text, self.properties[PARAMETERS] or {}, timeout_s=minutes * 60.0 if minutes else None)

    async def foreseen(self, changed: Mapping[str, Any]) -> contract.Child:
        return await self.wanted()

    async def handle_create(self) -> object:
        self.physical_id, operation = await self.stacks.create(self.physical_name, await self.wanted())
        return {"operation": operation}

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if self.physical_id is None:
            return await self.handle_create()
        return {"operation": await self.stacks.update(self.physical_id, await self.wanted())}

    async def reference(self) -> object:
        return self.name if self.physical_id is None else await self.stacks.arn(self.physical_id)

    async def attribute(self, name: str) -> object:
        if not name.startswith(_OUTPUTS):
            return await super().attribute(name)
        if self.physical_id is None:
            return None
        outputs = await self.stacks.outputs(self.physical_id)
        if name.removeprefix(_OUTPUTS) not in outputs:
            raise errors.Permanent(f"The Referenced Attribute ({self.name} {name}) is incorrect.")
        return outputs[name.removeprefix(_OUTPUTS)]
