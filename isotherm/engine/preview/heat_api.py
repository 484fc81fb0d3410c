"""Previews as Heat's API gives them: of a stack that is yet to be, and of an update to one that is."""

from __future__ import annotations

from typing import Any

from isotherm import errors
from isotherm.engine.accept import Accepting, Request, refuse_suspended
from isotherm.engine.preview import heat_form
from isotherm.engine.preview.preview_tree import Foresight, Place
from isotherm.planning import desired, names
from isotherm.store.reads import lookups

_NOBODY = "None"


class Foreseeing(Accepting):
    """The part of the Orchestrator that looks ahead. Nothing is changed."""

    async def preview_create(self, name: str, request: Request) -> dict[str, Any]:
        """What a create would make: parameters, and resources with those of stacks inside."""
        names.check_stack_name(name)
        found = await self._store.read(lambda connection: lookups.stack(connection, self._project, name))
        if found is not None and not found["tomb"]:
            raise errors.Conflict(f"The Stack ({name}) already exists.", kind="StackExists",
                                  hint="Preview an update of it, or choose another name.")
        goal = await self._desire(request, name, _NOBODY)
        seen = await self._foresight().tree(request.asked, goal, Place(name, None))
        compute, size = self._planning.compute, request.asked.size
        nobody = desired.Identity(name, _NOBODY, self._project)
        values = await compute(size, lambda: desired.values_of(request.asked, nobody))
        secrets = await self._secrets(None, request.asked)
        shown = await compute(size, lambda: secrets.value(heat_form.Teller(self._types, self._project).made(seen)))
        return {"description": goal.description, "parameters": {one: values.text(one) for one in values},
                "resources": shown,
                "outputs": [{"output_key": one.name, "description": one.description, "output_value": None}
                            for one in goal.bound.outputs.values()]}

    async def _changes(self, stack: lookups.Row, request: Request, *, nested: bool) -> dict[str, Any]:
        """What an update of the stack would do to its resources, by kind."""
        refuse_suspended(stack)
        goal = await self._desire(request, stack["name"], stack["id"])
        seen = await self._foresight().tree(request.asked, goal, Place(stack["name"], stack["id"]))
        secrets = await self._secrets(stack, request.asked)
        teller = heat_form.Teller(self._types, self._project)
        shown: dict[str, Any] = await self._planning.compute(
            request.asked.size, lambda: secrets.value(teller.changed(seen, nested=nested)))
        return shown

    def _foresight(self) -> Foresight:
        return Foresight(self._inside(), self._access(), self._types, self._settings.max_nested_stack_depth)
