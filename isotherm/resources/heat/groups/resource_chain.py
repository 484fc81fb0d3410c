"""OS::Heat::ResourceChain: resources of several types with the same properties, one after the other or all at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm.resources import contract
from isotherm.resources.nested import group_base
from isotherm.resources.nested.group_base import ATTRIBUTES, REFS
from isotherm.resources.schema import BOOLEAN, LIST, MAP, AttributeSchema, Schema, Support

RESOURCES, CONCURRENT, PROPERTIES = "resources", "concurrent", "resource_properties"


class ResourceChain(group_base.NumberedGroup):
    """Resources of several types."""

    TYPE = "OS::Heat::ResourceChain"
    DESCRIPTION = "Resources of several types with the same properties, one after the other."
    support = Support(version="6.0.0")
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        RESOURCES: Schema(LIST, "The types of the resources, in the order in which they are made.", required=True,
                          update_allowed=True),
        CONCURRENT: Schema(BOOLEAN, "Whether they are made all at once.", default=False),
        PROPERTIES: Schema(MAP, "The properties that each of them gets."),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        REFS: AttributeSchema("The references of all members, in a list.", LIST),
        ATTRIBUTES: AttributeSchema("The attribute of each member that the path names, by the members' names.", MAP),
    }

    @classmethod
    def template_for(cls, properties: Mapping[str, Any]) -> str | None:
        return group_base.template(_members(properties)) if properties.get(RESOURCES) else None

    def names(self) -> list[str]:
        return [str(number) for number in range(len(self.properties[RESOURCES]))]

    async def whole(self) -> contract.Child:
        return self.child_of(_members(self.properties))

    async def handle_create(self) -> object:
        return await self.at_once()

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        return await self.at_once()


def _members(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    group_base.check_size(len(given[RESOURCES]))
    found: dict[str, dict[str, Any]] = {}
    for number, type_ in enumerate(given[RESOURCES]):
        made: dict[str, Any] = {"type": type_}
        if given.get(PROPERTIES):
            made["properties"] = given[PROPERTIES]
        if number and not given.get(CONCURRENT):
            made["depends_on"] = [str(number - 1)]
        found[str(number)] = made
    return found
