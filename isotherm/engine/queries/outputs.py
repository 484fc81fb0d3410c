"""What can be read of outputs one by one: which there are, without working any of them out, and the value of one."""

from __future__ import annotations

from typing import Any

from isotherm import errors
from isotherm.engine.accept import Accepting


class OutputReading(Accepting):
    """The part of the Orchestrator that shows single outputs."""

    async def output_names(self, name_or_id: str) -> list[dict[str, Any]]:
        """Every output, with what its template says of it."""
        operation = await self._operation(await self._find(name_or_id))
        if operation is None or not operation.input:
            return []
        found = (await self._planning.face(operation)).outputs
        return [{"output_key": one.name, "description": one.description} for one in found.values()]

    async def output(self, name_or_id: str, key: str) -> dict[str, Any]:
        """One output with its value; only what it needs is read."""
        stack = await self._find(name_or_id)
        views = await self._inside().output_views(stack, key, secrets=await self._secrets(stack))
        found = [one for one in views if one["output_key"] == key]
        if not found:
            raise errors.NotFound(f"Specified output key {key} not found.", kind="NotFound",
                                  hint="`isotherm outputs STACK` shows what there is.")
        return found[0]
