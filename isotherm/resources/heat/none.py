"""OS::Heat::None: replaces any type, to switch a resource off in the environment."""

from __future__ import annotations

from isotherm.resources import contract
from isotherm.resources.schema import Support


class NoneResource(contract.RowOnly):
    """Accepts any property and has any attribute (null); is never changed or replaced."""

    TYPE = "OS::Heat::None"
    DESCRIPTION = "Does nothing, takes any property and has any attribute: stands in for a type that is not wanted."
    support = Support(version="5.0.0")
    traits = contract.Traits(accepts_anything=True)

    async def handle_create(self) -> object:
        self.physical_id = self.physical_name
        return None

    async def attribute(self, name: str) -> object:
        return None
