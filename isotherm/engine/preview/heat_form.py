"""What would happen, as Heat's previews tell it: a document for each resource, in the shape of Heat's engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isotherm.engine.preview import update_preview
from isotherm.engine.preview.preview_tree import Place, Sight
from isotherm.engine.preview.update_preview import UNKNOWN
from isotherm.engine.queries import views
from isotherm.engine.steps import decide
from isotherm.planning import documents
from isotherm.resources import attributes, contract
from isotherm.resources.registry import Registry
from isotherm.secrets import MASK
from isotherm.states import Action, Status

KINDS = ("unchanged", "updated", "replaced", "added", "deleted")
_KIND = {
    update_preview.NOTHING: "unchanged", decide.Verdict.UPDATE.value: "updated", decide.Verdict.REPLACE.value: "replaced",
    decide.Verdict.CREATE.value: "added", update_preview.DELETE: "deleted", update_preview.RETAIN: "deleted",
}
# Told as they are now; the others as they would be.
_NOW = ("updated", "deleted")


class Teller:
    """Tells what was seen."""

    def __init__(self, types: Registry, project: str) -> None:
        self._types = types
        self._project = project

    def made(self, sights: Iterable[Sight]) -> list[Any]:
        """What a create would make: a stack inside stands as the list of what is in it."""
        return [self.made(one.below) if one.seen.is_stack and not one.dim else
                {**self._then(one), "properties": _properties(one)} for one in sights]

    def changed(self, sights: Iterable[Sight], *, nested: bool) -> dict[str, list[dict[str, Any]]]:
        """What an update would do, by kind."""
        found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
        for one in _all(sights) if nested else sights:
            kind = _KIND[one.seen.item.action]
            found[kind].append(self._now(one) if kind in _NOW else self._then(one))
        return found

    def _then(self, sight: Sight) -> dict[str, Any]:
        """As it would be, before anything is done to it."""
        definition = sight.definition
        return {
            "resource_action": Action.INIT.name, "resource_status": Status.COMPLETE.name, "resource_status_reason": "",
            "physical_resource_id": "", "creation_time": None, "updated_time": None,
            "required_by": list(sight.required_then), "description": definition.description if definition else "",
            "metadata": sight.seen.shown or {}, "attributes": dict.fromkeys(self._attributes(sight)),
            **self._named(sight),
        }

    def _now(self, sight: Sight) -> dict[str, Any]:
        row = sight.seen.row or {}
        published = row.get("published")
        known = documents.decode(published, documents.Published).attributes if published else {}
        return {
            "resource_action": row["action"].name, "resource_status": row["status"].name,
            "resource_status_reason": row["reason"] or "", "physical_resource_id": row["physical_id"] or "",
            "creation_time": views.time(row["created_at"]),
            "updated_time": views.time(row["updated_at"] or row["created_at"]),
            "required_by": list(sight.required_now),
            "description": sight.definition.description if sight.definition else "",
            "metadata": documents.decode_any(row["metadata"] or "{}"),
            "attributes": {name: known.get(name) for name in self._attributes(sight)}, **self._named(sight),
        }

    def _named(self, sight: Sight) -> dict[str, Any]:
        name, place = sight.seen.item.name, sight.place
        stack = self._identity(place)
        around = {"parent_resource": place.resource} if place.resource else {}
        return {"resource_name": name, "resource_type": sight.seen.item.type, "stack_name": place.stack_name,
                "stack_identity": stack, "resource_identity": {**stack, "path": f"/resources/{name}"}, **around}

    def _identity(self, place: Place) -> dict[str, Any]:
        return {"tenant": self._project, "stack_name": place.stack_name, "stack_id": place.stack_id or "None", "path": ""}

    def _attributes(self, sight: Sight) -> list[str]:
        one = self._type(sight)
        return [] if one is None else [name for name in one.attributes_schema if name != attributes.SHOW_ATTRIBUTE]

    def _type(self, sight: Sight) -> type[contract.Resource] | None:
        if sight.seen.implementation is not None or sight.seen.row is None:
            return sight.seen.implementation
        try:
            return self._types.implementation(sight.seen.row["implementation"] or "")
        except LookupError:
            return None  # a template that this process has not met yet


def _all(sights: Iterable[Sight]) -> Iterator[Sight]:
    """With what would happen inside; where nothing would happen to a stack, nothing would inside."""
    for one in sights:
        yield one
        if one.seen.item.action != update_preview.NOTHING:
            yield from _all(one.below)


def _properties(sight: Sight) -> dict[str, Any]:
    schema: Mapping[str, Any] = sight.seen.implementation.properties_schema if sight.seen.implementation else {}
    after = sight.seen.after
    return {name: MASK if name in sight.seen.hidden else _known(after.get(name)) for name in {**schema, **after}}


def _known(value: Any) -> Any:
    """Nothing in place of what is known only when it is applied."""
    if isinstance(value, str):
        return None if value == UNKNOWN else value
    if isinstance(value, Mapping):
        return {key: _known(one) for key, one in value.items()}
    return [_known(one) for one in value] if isinstance(value, list) else value
