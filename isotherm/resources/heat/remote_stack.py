"""OS::Heat::Stack: an independent stack from a template that is a property.

Heat creates it through the orchestration endpoint of a region. Here only this engine is known: other regions and
credentials of other clouds are refused, in Heat's words, before anything is created.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.nested import nested_stack
from isotherm.resources.schema import BOOLEAN, INTEGER, MAP, STRING, AttributeSchema, Schema, Support

CONTEXT, TEMPLATE, TIMEOUT, PARAMETERS = "context", "template", "timeout", "parameters"
STACK_NAME, OUTPUTS = "stack_name", "outputs"
# The region that this engine is in.
HERE = "RegionOne"

_SINCE = Support(version="12.0.0")


class RemoteStack(nested_stack.StackResource):
    """An independent stack."""

    owned = False
    TYPE = "OS::Heat::Stack"
    DESCRIPTION = "A stack of its own, from a template that is a property."
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        CONTEXT: Schema(MAP, "Where the stack is made.", update_allowed=True, schema={
            "region_name": Schema(STRING, "The region in which the stack is made."),
            "credential_secret_id": Schema(STRING, "A secret with the credentials of another cloud.",
                                           update_allowed=True, support=_SINCE),
            "ca_cert": Schema(STRING, "The certificate of the other cloud.", update_allowed=True, support=_SINCE),
            "insecure": Schema(BOOLEAN, "Whether certificates are not looked at.", default=False, update_allowed=True,
                               support=_SINCE),
        }),
        TEMPLATE: Schema(STRING, "The template of the stack.", required=True, update_allowed=True),
        TIMEOUT: Schema(INTEGER, "How long making the stack may take, in minutes.", update_allowed=True),
        PARAMETERS: Schema(MAP, "The parameters of the stack.", default={}, update_allowed=True),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        STACK_NAME: AttributeSchema("The name of the stack.", STRING),
        OUTPUTS: AttributeSchema("The outputs of the stack, by name.", MAP),
    }

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        given = properties.get(CONTEXT) or {}
        region = given.get("region_name") or HERE
        if given.get("credential_secret_id"):
            yield _unreachable("remote cloud", "credentials of another cloud are not supported")
        elif region != HERE:
            yield _unreachable(f'region "{region}"',
                               f"public endpoint for orchestration service in {region} region not found")

    @classmethod
    def template_for(cls, properties: Mapping[str, Any]) -> str | None:
        return properties.get(TEMPLATE) or None

    @classmethod
    def parameters_for(cls, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        return properties.get(PARAMETERS) or {}

    @classmethod
    def relocated(cls, problem: errors.Problem, around: str) -> errors.Problem:
        cause = f"ERROR: {problem}"
        return errors.Problem(f'Failed validating stack template using Heat endpoint at region "{HERE}" due to "{cause}"')

    def child(self) -> contract.Child:
        for refusal in self.validate_properties(self.properties):
            raise errors.Permanent(refusal)
        minutes = self.properties[TIMEOUT]
        return contract.Child(self.properties[TEMPLATE], self.parameters_for(self.properties),
                              timeout_s=minutes * 60.0 if minutes else None, owned=self.owned)

    async def find_by_token(self) -> contract.Search:
        return contract.found(await self.stacks.find(self.physical_name, owned=self.owned))

    async def attribute(self, name: str) -> object:
        if self.physical_id is None:
            return None
        return self.physical_name if name == STACK_NAME else dict(await self.stacks.outputs(self.physical_id))


def _unreachable(where: str, why: str) -> str:
    return f'Cannot establish connection to Heat endpoint at {where} due to "{why}"'
