"""Heat's form of previews: a document for each resource, in the shape of Heat's engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isotherm.engine.preview import update_preview
from isotherm.engine.preview.preview_tree import PreviewNode, PreviewStack
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
    update_preview.NOTHING: "unchanged", update_preview.MOVE: "unchanged",
    decide.Verdict.UPDATE.value: "updated", decide.Verdict.REPLACE.value: "replaced",
    decide.Verdict.CREATE.value: "added", update_preview.DELETE: "deleted", update_preview.RETAIN: "deleted",
}
# Kinds that are shown as they are now; the others are shown as the operation would leave them.
_AS_IS = ("updated", "deleted")


class HeatForm:
    """Turns preview nodes into Heat's documents."""

    def __init__(self, types: Registry, project: str) -> None:
        self._types = types
        self._project = project

    def created(self, nodes: Iterable[PreviewNode]) -> list[Any]:
        """Return the resources that a create would make; a nested stack is the list of its resources."""
        return [self.created(one.children) if one.preview.is_stack and not one.children_unknown else
                {**self._as_planned(one), "properties": _properties(one)} for one in nodes]

    def changed(self, nodes: Iterable[PreviewNode], *, nested: bool) -> dict[str, list[dict[str, Any]]]:
        """Return the resources of an update by kind; `nested`: with those of nested stacks."""
        found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
        for one in _with_children(nodes) if nested else nodes:
            kind = _KIND[one.preview.item.action]
            found[kind].append(self._as_is(one) if kind in _AS_IS else self._as_planned(one))
        return found

    def _as_planned(self, node: PreviewNode) -> dict[str, Any]:
        """Return a resource as the operation would leave it."""
        definition = node.definition
        return {
            "resource_action": Action.INIT.name, "resource_status": Status.COMPLETE.name, "resource_status_reason": "",
            "physical_resource_id": "", "creation_time": None, "updated_time": None,
            "required_by": list(node.required_then), "description": definition.description if definition else "",
            "metadata": node.preview.shown or {}, "attributes": dict.fromkeys(self._attributes(node)),
            **self._named(node),
        }

    def _as_is(self, node: PreviewNode) -> dict[str, Any]:
        row = node.preview.row or {}
        published = row.get("published")
        known = documents.decode(published, documents.Published).attributes if published else {}
        return {
            "resource_action": row["action"].name, "resource_status": row["status"].name,
            "resource_status_reason": row["reason"] or "", "physical_resource_id": row["physical_id"] or "",
            "creation_time": views.time(row["created_at"]),
            "updated_time": views.time(row["updated_at"] or row["created_at"]),
            "required_by": list(node.required_now),
            "description": node.definition.description if node.definition else "",
            "metadata": documents.decode_any(row["metadata"] or "{}"),
            "attributes": {name: known.get(name) for name in self._attributes(node)}, **self._named(node),
        }

    def _named(self, node: PreviewNode) -> dict[str, Any]:
        name, stack = node.preview.item.name, node.stack
        identity = self._identity(stack)
        around = {"parent_resource": stack.resource} if stack.resource else {}
        return {"resource_name": name, "resource_type": node.preview.item.type, "stack_name": stack.stack_name,
                "stack_identity": identity, "resource_identity": {**identity, "path": f"/resources/{name}"}, **around}

    def _identity(self, stack: PreviewStack) -> dict[str, Any]:
        return {"tenant": self._project, "stack_name": stack.stack_name, "stack_id": stack.stack_id or "None", "path": ""}

    def _attributes(self, node: PreviewNode) -> list[str]:
        one = self._type(node)
        return [] if one is None else [name for name in one.attributes_schema if name != attributes.SHOW_ATTRIBUTE]

    def _type(self, node: PreviewNode) -> type[contract.Resource] | None:
        if node.preview.implementation is not None or node.preview.row is None:
            return node.preview.implementation
        try:
            return self._types.implementation(node.preview.row["implementation"] or "")
        except LookupError:
            return None  # a template that this process has not loaded


def _with_children(nodes: Iterable[PreviewNode]) -> Iterator[PreviewNode]:
    """Yield the nodes and their children. A nested stack that stays unchanged has no changed children."""
    for one in nodes:
        yield one
        if one.preview.item.action != update_preview.NOTHING:
            yield from _with_children(one.children)


def _properties(node: PreviewNode) -> dict[str, Any]:
    schema: Mapping[str, Any] = node.preview.implementation.properties_schema if node.preview.implementation else {}
    after = node.preview.after
    return {name: MASK if name in node.preview.hidden else _known(after.get(name)) for name in {**schema, **after}}


def _known(value: Any) -> Any:
    """Return the value with None in place of parts that are known only when applied."""
    if isinstance(value, str):
        return None if value == UNKNOWN else value
    if isinstance(value, Mapping):
        return {key: _known(one) for key, one in value.items()}
    return [_known(one) for one in value] if isinstance(value, list) else value
