"""Plans: the effect of a create or an update as the page shows it, with paths, places, drift and the generation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from isotherm.engine.operations.patch import Change, Patch
from isotherm.engine.overview.places import Place, TemplatePlaces
from isotherm.engine.preview.previews import PlannedItem, PreviewService
from isotherm.engine.preview.update_preview import NOTHING
from isotherm.engine.queries import drift
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import documents
from isotherm.states import ObservationResult, Status
from isotherm.store.reads import lookups
from isotherm.store.watch import views

# Resources, and drifted resources, that a plan lists.
_MOST, _DRIFTED = 2000, 200
__all__ = ["PlanService"]


class PlanService:
    """Plans operations on one project's stacks. Nothing is changed."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._store = ports.store
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)
        self._preview = PreviewService(ports, requester)
        self._places = TemplatePlaces(ports, requester.project)

    async def plan(self, name: str, change: Change, *, restores: bool = False) -> dict[str, Any]:
        """Return the effect of an update or a restore of the stack, or of a create if there is no such stack."""
        found = await self._stacks.any_row(name)
        stack = found if found is not None and not found["tomb"] else None
        planned = await self._preview.planned(name, change, restores=restores)
        changing = [one for one in planned.items if one.item.action != NOTHING]
        own = {one.item.name: one.item.action for one in changing if not one.around}
        # Places are in the text that was sent.
        text = (change.template if isinstance(change, Patch) else None) or planned.template
        places = await self._places.in_text(text, sorted(own)) if own else {}
        drifted = [] if stack is None else await self._drift(stack, own)
        words = {one["resource_name"]: one["drift"] for one in drifted}
        counts: dict[str, int] = {}
        for one in planned.items:
            action = "nothing" if one.item.action == NOTHING else one.item.action
            counts[action] = counts.get(action, 0) + 1
        generation = 0 if stack is None else stack["generation"]
        return {
            "id": _digest(generation, changing, drifted), "generation": generation, "counts": counts,
            "operation_in_progress": stack is not None and stack["status"] == Status.IN_PROGRESS,
            "resources": [_resource(one, places, words) for one in changing[:_MOST]],
            "left_out": max(0, len(changing) - _MOST), "drift": drifted, "waits": list(planned.waits[:_MOST]),
        }

    async def _drift(self, stack: lookups.Row, own: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return what has drifted, and whether the plan touches it."""
        rows = await self._store.read(partial(views.resources, stack_id=stack["id"]))
        shown = [{
            "resource_name": row["name"], "drift": "gone" if row["result"] == ObservationResult.GONE else "drifted",
            "touched": row["name"] in own, "properties": drift.properties(row),
        } for row in rows if row["drifted_since"] is not None][:_DRIFTED]
        masked: list[dict[str, Any]] = await self._ports.planning.masked(await self._inputs.secrets(stack), shown)
        return masked


def _digest(generation: int, changing: Sequence[PlannedItem], drifted: Sequence[Mapping[str, Any]]) -> str:
    """Return the id of a plan: that of another plan of the same stack is the same only if both say the same."""
    said = documents.encode([generation, [[one.around, _resource(one, {}, {})] for one in changing], drifted])
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def _resource(one: PlannedItem, places: Mapping[str, Place], drifted: Mapping[str, str]) -> dict[str, Any]:
    item = one.item
    line, column = (None, None) if one.around else places.get(item.name, (None, None))
    return {
        "resource_name": item.name, "resource_type": item.type, "moved_from": item.moved_from or None,
        "action": item.action, "cause": item.cause, "certain": item.certain, "refused": item.refused,
        "changes": {k: {"from": c.before, "to": c.after} for k, c in item.changes.items()},
        "stack": list(one.around), "line": line, "column": column, "drift": None if one.around else drifted.get(item.name),
    }
