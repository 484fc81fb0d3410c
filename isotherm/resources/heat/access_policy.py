"""OS::Heat::AccessPolicy: the resources of the stack that a stack user may read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

from isotherm.resources import contract
from isotherm.resources.schema import LIST, Schema

ALLOWED = "AllowedResources"


class AccessPolicy(contract.RowOnly):
    """A list of resource names. The API checks it when a stack user reads a resource."""

    TYPE = "OS::Heat::AccessPolicy"
    DESCRIPTION = "Says which resources of the stack may be seen by the users that it is given to."
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        ALLOWED: Schema(LIST, "The names of the resources that may be seen.", required=True),
    }

    @classmethod
    def validate_in_stack(cls, properties: Mapping[str, Any], names: Collection[str]) -> Iterator[str]:
        for name in properties[ALLOWED] or ():
            if not isinstance(name, str) or name not in names:
                yield f"AccessPolicy resource {name} not in stack"
