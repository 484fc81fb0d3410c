"""The preview of one stack: the effect of an update on each resource, decided by the code that applies it.

The values that a changed resource will publish are unknown before it is changed. Each property is therefore resolved twice,
with two different stand-ins for such values: a property that differs is "known only when applied". The same method, with
stand-ins for hidden parameters, finds the properties to mask.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from isotherm import errors
from isotherm.engine.steps import decide
from isotherm.graph.graph import DependencyTaskGraph
from isotherm.planning import desired, documents, masking
from isotherm.planning.references import PublishedReferences
from isotherm.resources import contract, registry
from isotherm.resources.nested import nested_stack
from isotherm.resources.registry import Registry
from isotherm.secrets import MASK, Redactor
from isotherm.states import KEPT, NodeKind, NodeState, Protection, Status
from isotherm.store.records import Input, Names, OperationScope, Wanted
from isotherm.store.versions import protection
from isotherm.template.model import definitions

NOTHING, DELETE, RETAIN, MOVE = decide.Verdict.NOTHING.value, "delete", "retain", "move"
UNKNOWN = "(known only when applied)"


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """The values of one property before and after."""

    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class PreviewItem:
    """The effect on one resource."""

    name: str
    type: str
    action: str
    cause: str = ""
    certain: bool = True
    changes: Mapping[str, PropertyChange] = field(default_factory=dict)
    # Why the operation would be refused: the object is protected.
    refused: str = ""
    # The name from which the resource is moved.
    moved_from: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    items: list[PreviewItem]

    @property
    def counts(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for item in self.items:
            found[item.action] = found.get(item.action, 0) + 1
        return found

    def as_dict(self) -> dict[str, Any]:
        return {
            "counts": self.counts,
            "resources": [
                {"resource_name": i.name, "resource_type": i.type, "action": i.action, "cause": i.cause,
                 "certain": i.certain, "refused": i.refused,
                 "changes": {k: {"from": c.before, "to": c.after} for k, c in i.changes.items()},
                 "moved_from": i.moved_from}
                for i in self.items
            ],
        }


class _StandIn(PublishedReferences):
    """References in which the values of resources that will change are a fixed word."""

    def __init__(self, inputs: Sequence[Input], changing: Mapping[str, str], word: str, parameter: Any) -> None:
        super().__init__(inputs, parameter)
        # The actions on the resources that will change, by name.
        self._changing = changing
        self._word = word

    def reference_id(self, resource: str) -> object:
        # An update in place does not change the reference.
        same = self._changing.get(resource, NOTHING) in (NOTHING, decide.Verdict.UPDATE.value)
        return super().reference_id(resource) if same else self._word

    def attribute(self, resource: str, attr: str, path: Sequence[Any] = ()) -> Any:
        return self._word if resource in self._changing else super().attribute(resource, attr, path)

    def attributes(self, resource: str) -> Mapping[str, Any]:
        return {"": self._word} if resource in self._changing else super().attributes(resource)


@dataclass(frozen=True, slots=True)
class ResourcePreview:
    """The effect on one resource, and its state after it; a resource that stays unchanged has no such state."""

    item: PreviewItem
    row: Mapping[str, Any] | None = None
    implementation: type[contract.Resource] | None = None
    exports: Sequence[str] = ()
    after: Mapping[str, Any] = field(default_factory=dict)
    metadata: Any = None
    secrets: frozenset[str] = frozenset()
    # The names of properties that must be masked.
    hidden: frozenset[str] = frozenset()
    # The metadata with secrets masked.
    shown: Any = None

    @property
    def is_stack(self) -> bool:
        return self.implementation is not None and issubclass(self.implementation, nested_stack.StackResource)


def preview_resources(
    goal: desired.Desired, present: Sequence[Mapping[str, Any]], types: Registry, scope: OperationScope | None = None
) -> list[ResourcePreview]:
    """Preview each resource of a stack. `present` are the rows of the stack; none if it does not exist yet.

    A limited update changes what its `scope` includes, and what an older operation has begun to change.
    """
    included = Names(None, frozenset()) if scope is None else scope.names
    rows = {row["name"]: row for row in present if not row["superseded"] and row["kind"] is not NodeKind.BARRIER}
    wanted = {want.name: want for want in goal.wanted}
    graph = DependencyTaskGraph[str]({name: want.requires for name, want in wanted.items()})
    changing: dict[str, str] = {}
    previews: dict[str, ResourcePreview] = {}
    for name in graph.order():
        upstream = {need: changing[need] for need in graph.requires(name) if need in changing}
        row = rows.get(name)
        if name not in included and (row is None or row["intent"] is None):
            previews[name] = ResourcePreview(PreviewItem(name, "" if row is None else row["type"] or "", NOTHING), row)
        elif row is not None and not upstream and not wanted[name].always and _is_unchanged(row, wanted[name].digest):
            previews[name] = ResourcePreview(PreviewItem(name, row["type"], NOTHING), row)
        else:
            previews[name] = _Previewer(goal, rows, types).preview(name, wanted[name], upstream)
        if previews[name].item.action != NOTHING:
            changing[name] = previews[name].item.action
    gone = [ResourcePreview(deletion(row), row) for name, row in rows.items()
            if name not in wanted and (name in included or row["intent"] is not None)]
    shown = (with_protection(previews[name], want.protection) for name, want in wanted.items())
    return [*shown, *(with_protection(one, None) for one in gone)]


# The level that forbids an action on an existing object.
_FORBIDDEN_BY = {DELETE: Protection.DELETE, decide.Verdict.REPLACE.value: Protection.REPLACE,
                 decide.Verdict.UPDATE.value: Protection.UPDATE}


def with_protection(one: ResourcePreview, said: Protection | None) -> ResourcePreview:
    """Return the preview with the reason why its action would be refused, if the object is protected from it."""
    wanted = _FORBIDDEN_BY.get(one.item.action)
    if one.row is None or one.row["type"] is None or wanted is None or one.item.cause == decide.GONE:
        return one
    refused = protection.forecast(one.row, wanted, said)
    return replace(one, item=replace(one.item, refused=refused)) if refused else one


def moved(present: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Return the rows of a stack as they are after moves, old name to new name."""
    taken = names.values() - names.keys()
    return [{**row, "name": names.get(row["name"], row["name"])} for row in present
            if row["name"] not in taken] if names else list(present)


def with_moves(previews: Sequence[ResourcePreview], names: Mapping[str, str]) -> list[ResourcePreview]:
    """Return the previews with the names from which resources are moved."""
    before = {new: old for old, new in names.items()}

    def one(preview: ResourcePreview) -> ResourcePreview:
        item = preview.item
        if item.name not in before:
            return preview
        action, cause = (MOVE, "") if item.action == NOTHING else (item.action, item.cause)
        return replace(preview, item=replace(item, action=action, cause=cause, moved_from=before[item.name]))

    return [one(preview) for preview in previews]


def _is_unchanged(row: Mapping[str, Any], digest: str) -> bool:
    return bool(
        row["digest"] == digest and row["state"] is NodeState.DONE and row["status"] is Status.COMPLETE
        and row["intent"] is None and row["kind"] is NodeKind.UPDATE and not row["suspended"]
    )


def deletion(row: Mapping[str, Any], cause: str = "not in the template any more") -> PreviewItem:
    kept = row["deletion_policy"] in KEPT
    return PreviewItem(row["name"], row["type"] or "", RETAIN if kept else DELETE, cause)


class _Previewer:
    """Previews single resources of one stack."""

    def __init__(self, goal: desired.Desired, rows: Mapping[str, Mapping[str, Any]], types: Registry) -> None:
        self._goal = goal
        self._rows = rows
        self._types = types

    def preview(self, name: str, want: Wanted, upstream: Mapping[str, str]) -> ResourcePreview:
        target = documents.decode(want.definition, documents.Target)
        definition = definitions.thaw(target.definition)
        implementation = self._types.implementation(target.implementation)
        known = self._goal.values_for(name).__getitem__
        resolve_with = functools.partial(self._resolve, definition, implementation, target.restored, upstream)
        after = resolve_with(UNKNOWN, known)
        unknown = _differing(after, resolve_with("!", known)) if upstream else set()
        secret = _differing(after, resolve_with(UNKNOWN, lambda name: "*")) if definition.secrets else set()
        secret |= {key for key, one in implementation.properties_schema.items() if masking.has_write_only(one)}
        row = self._rows.get(name)
        applied = self._applied(row, unknown)
        metadata = self._metadata(definition, upstream, known)
        shown = self._metadata(definition, upstream, lambda name: MASK) if definition.secrets else metadata
        decision = decide.decide(implementation, applied, after, metadata, renew=True)
        # Of a resource that does not exist yet: the properties that the template gives.
        before = {} if applied is None else applied.properties
        named = definition.properties or () if applied is None else decision.changed
        changes = {
            key: PropertyChange(_shown_value(before.get(key), key in secret),
                                UNKNOWN if key in unknown else _shown_value(after.get(key), key in secret))
            for key in named if applied is not None or after.get(key) is not None
        }
        certain = not unknown or decision.verdict is decide.Verdict.CREATE
        if applied is not None and decision.cause == decide.had_failed(applied.action):
            certain = certain and not implementation.traits.failed_is_observed
        item = PreviewItem(name, definition.type, decision.verdict.value, decision.cause, certain, changes)
        changed = row is not None and row["digest"] != want.digest
        if item.action == NOTHING and nested_stack.is_stack(implementation) and changed:
            item = replace(item, action=decide.Verdict.UPDATE.value, cause="what is inside may change")
        return ResourcePreview(item, row, implementation, target.exports, after, metadata, definition.secrets,
                               frozenset(secret), shown)

    def _metadata(self, definition: Any, upstream: Mapping[str, str], parameter: Any) -> Any:
        references = self._references(definition, upstream, UNKNOWN, parameter)
        try:
            return definitions.resolve_value(definition.metadata, references)
        except (errors.IsothermError, ValueError, TypeError):
            return UNKNOWN

    def _references(self, definition: Any, upstream: Mapping[str, str], word: str, parameter: Any) -> _StandIn:
        inputs = [Input(name, None, self._rows[name]["published"]) for name in definition.requires if name in self._rows]
        return _StandIn(inputs, upstream, word, parameter)

    def _resolve(
        self, definition: Any, implementation: type[contract.Resource], restored: Any, upstream: Mapping[str, str],
        word: str, parameter: Any,
    ) -> Mapping[str, Any]:
        try:
            resolved = definition.resolve(self._references(definition, upstream, word, parameter))
            given = decide.given(implementation, resolved.properties or {}, restored)
            return registry.typed_properties(implementation, given)
        except (errors.IsothermError, ValueError, TypeError):
            # A stand-in does not fit where a number belongs: the properties are known only when applied.
            return dict.fromkeys(definition.properties or (), word)

    @staticmethod
    def _applied(row: Mapping[str, Any] | None, unknown: set[str]) -> decide.Applied | None:
        if row is None or row["type"] is None or not row["token"]:
            return None
        return decide.Applied(
            row["implementation"], row["action"], Status.COMPLETE if row["status"] is Status.IN_PROGRESS else row["status"],
            documents.decode(row["properties"], dict[str, Any]), documents.decode_any(row["metadata"]), unknown,
            row["physical_id"] is not None, row["digest"] is not None, not row["operation_id"],
        )


def without(secrets: Redactor, item: PreviewItem) -> PreviewItem:
    """Return the item with secrets masked. A secret of the old input may be no secret of the new one, and vice versa."""
    if not secrets:
        return item
    changes = {name: PropertyChange(secrets.value(one.before), secrets.value(one.after))
               for name, one in item.changes.items()}
    return replace(item, changes=changes, cause=secrets.text(item.cause))


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def _shown_value(value: Any, secret: bool) -> Any:
    return MASK if secret and value is not None else value
