"""The places of resources in the template of a stack."""

from __future__ import annotations

from isotherm import errors
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.service_ports import ServicePorts
from isotherm.planning.desired import StackInput
from isotherm.store.reads import lookups
from isotherm.template.text import document

Place = tuple[int | None, int | None]
# Sections of the dialects that hold resources.
_SECTIONS = ("resources", "Resources")


class TemplatePlaces:
    """Finds lines and columns in stored templates."""

    def __init__(self, ports: ServicePorts, project: str) -> None:
        self._ports = ports
        self._inputs = StackInputs(ports, project)

    async def of(self, stack: lookups.Row, resource: str) -> Place:
        """Return line and column of a resource; None where the template has no such resource, or cannot be read."""
        try:
            input_: StackInput = await self._inputs.input(stack)
        except (errors.UserError, errors.Unreadable):
            return None, None
        return (await self.in_text(input_.template, [resource])).get(resource, (None, None))

    async def in_text(self, template: str, resources: list[str]) -> dict[str, Place]:
        """Return the places of these resources in a template."""
        return await self._ports.planning.compute(len(template), lambda: _found(template, resources))


def _found(template: str, resources: list[str]) -> dict[str, Place]:
    try:
        read = document.load(template)
    except errors.UserError:
        return {}
    found: dict[str, Place] = {}
    for name in resources:
        mark = next((one for section in _SECTIONS if (one := read.mark([section, name])) is not None), None)
        if mark is not None:
            found[name] = (mark.line, mark.column)
    return found
