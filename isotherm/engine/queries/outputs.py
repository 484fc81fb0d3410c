"""Outputs of stacks: their names without values, and one or all values."""

from __future__ import annotations

from typing import Any

from isotherm import errors
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.secrets import Redactor
from isotherm.store.reads.lookups import Row

_Views = list[dict[str, Any]]


class OutputService:
    """Reads the outputs of one project's stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._project = requester.project
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)

    async def list(self, name_or_id: str) -> _Views:
        """Return every output with its value."""
        row = await self._stacks.row(name_or_id)
        reader = self._ports.inner_reader(self._project)
        return await reader.output_views(row, secrets=await self._secrets(row))

    async def names(self, name_or_id: str) -> _Views:
        """Return the names and descriptions of all outputs; no value is computed."""
        operation = await self._inputs.operation(await self._stacks.row(name_or_id))
        if operation is None or not operation.input:
            return []
        found = (await self._ports.planning.summary(operation)).outputs
        return [{"output_key": one.name, "description": one.description} for one in found.values()]

    async def show(self, name_or_id: str, key: str) -> dict[str, Any]:
        """Return one output with its value; only the resources that it needs are read."""
        stack = await self._stacks.row(name_or_id)
        reader = self._ports.inner_reader(self._project)
        views = await reader.output_views(stack, key, secrets=await self._secrets(stack))
        found = [one for one in views if one["output_key"] == key]
        if not found:
            names = [one["output_key"] for one in await self.names(name_or_id)]
            raise errors.NotFound(f"Specified output key {key} not found.", kind="NotFound",
                                  hint=errors.meant(key, names) or "`isotherm outputs STACK` shows what there is.")
        return found[0]

    async def _secrets(self, stack: Row) -> Redactor | None:
        """Return what masks the outputs of a stack, or None where outputs are shown as they are."""
        return await self._inputs.secrets(stack) if self._ports.settings.mask_hidden_outputs else None
