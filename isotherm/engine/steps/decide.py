"""Decides what to do with a resource: nothing, create, update, replace, or refuse. Pure; previews use it too."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from isotherm import errors
from isotherm.resources import contract, properties
from isotherm.resources.nested import nested_stack
from isotherm.resources.nested.nested_stack import is_template
from isotherm.resources.reality import drift
from isotherm.resources.validation import protection
from isotherm.states import HARMLESS, Action, Status

GONE = "it is gone"
TYPE = "type"


class Verdict(Enum):
    """The kinds of decisions."""

    NOTHING = "no change"
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Applied:
    """The known state of the existing version."""

    # The class or template that implements the resource; the template may use another name for the type.
    implementation: str
    action: Action
    status: Status
    properties: Mapping[str, Any]
    metadata: Any
    # Properties that may or may not be applied: the end of their update is unknown.
    uncertain: Collection[str] = ()
    # Whether an object is known, and whether a digest proves that it is as its row says.
    made: bool = True
    proven: bool = True
    # Whether a user has marked it as unhealthy.
    marked: bool = False
    # The observed state, if any. It is compared instead of what was applied, except for properties that cannot be observed.
    live: contract.Seen | contract.Gone | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and the properties that change."""

    verdict: Verdict
    # The reason for a replacement: a property, or a text.
    cause: str = ""
    changed: Mapping[str, Any] = field(default_factory=dict)


def decide(
    implementation: type[contract.Resource], applied: Applied | None, after: Mapping[str, Any], metadata: Any,
    *, renew: bool = False,
) -> Decision:
    """Compare the applied with the wanted state. Raises UserError where the type forbids the change.

    `renew`: the update meets this resource for the first time.
    """
    if applied is None:
        return Decision(Verdict.CREATE)
    if not makes_the_same(applied.implementation, implementation.implementation_name()):
        return Decision(Verdict.REPLACE, TYPE)
    if applied.action is Action.DELETE:
        return Decision(Verdict.REPLACE, "its deletion had begun")
    if renew and implementation.traits.replaced_by_each_update:
        return Decision(Verdict.REPLACE, "each update makes it anew")
    if isinstance(applied.live, contract.Gone):
        return Decision(Verdict.REPLACE, GONE)
    names = _differing(implementation, applied, after, applied.live)
    changed = {name: after.get(name) for name in sorted(names)}
    resource = _stand_in(implementation, after)
    # A nested stack that failed its check is repaired from inside, as in Heat.
    inside = nested_stack.is_stack(implementation) and not applied.marked
    lost = (applied.action is Action.CHECK and not inside) or not applied.made
    # An update that never began left the digest: the object is unchanged.
    untouched = applied.action is Action.UPDATE and applied.proven and not lost
    harmless = untouched or (applied.action in HARMLESS and not lost)
    live = applied.live if implementation.traits.failed_is_observed else None
    replaced = (not harmless and (lost or resource.needs_replace_failed())) if live is None or lost else live.broken
    if applied.status is Status.FAILED and replaced:
        return Decision(Verdict.REPLACE, had_failed(applied.action), changed)
    if not applied.made and not applied.proven:
        return Decision(Verdict.REPLACE, "nothing had been made", changed)
    before = applied.properties if applied.live is None else {**applied.properties, **applied.live.properties}
    cause = _forced_by(implementation, resource, applied.properties, before, after, changed)
    if cause:
        return Decision(Verdict.REPLACE, cause, changed)
    same = not changed and protection.without_own(metadata) == protection.without_own(applied.metadata)
    same = same and (untouched or applied.status is Status.COMPLETE)
    return Decision(Verdict.NOTHING) if same else Decision(Verdict.UPDATE, changed=changed)


def had_failed(action: Action) -> str:
    """Return the cause of a replacement after a failure."""
    return f"{action.name} had failed"


def makes_the_same(one: str, other: str) -> bool:
    """Return whether the same class implements both types.

    One class implements all templates: another template is an update of the nested stack, as in Heat.
    """
    return one == other or (is_template(one) and is_template(other))


def _differing(
    implementation: type[contract.Resource], applied: Applied, after: Mapping[str, Any], live: contract.Seen | None
) -> set[str]:
    """Return the names of properties that differ, or may differ, from the wanted ones."""
    doubtful = set(applied.uncertain)
    if not applied.proven:
        # An action failed half-way: every property that can be updated in place may have changed.
        doubtful |= {name for name, one in implementation.properties_schema.items() if one.update_allowed}
    if live is None:
        return properties.diff(applied.properties, after) | doubtful
    found = drift.to_change(implementation, applied.properties, live, after)
    return found.keys() | (doubtful - drift.visible(implementation, live, after))


def given(implementation: type[contract.Resource], properties: Mapping[str, Any], restored: Any) -> Mapping[str, Any]:
    """Return the properties to apply: those of the definition, or those that restore a snapshot."""
    return properties if restored is None else implementation.restored_properties(properties, restored)


def _forced_by(
    implementation: type[contract.Resource],
    resource: contract.Resource,
    applied: Mapping[str, Any],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    changed: Mapping[str, Any],
) -> str:
    schema = implementation.properties_schema
    # A property that the template has not changed cannot be the reason for a refusal.
    drifted = {name for name in changed if applied.get(name) == after.get(name)}
    for name in changed:
        known = schema.get(name)
        if known is not None and known.immutable and name not in drifted:
            text = f"Update to property {name} of {implementation.TYPE} is not supported."
            raise errors.UserError(text, kind="NotSupported")
        if known is not None and not known.update_allowed:
            return name
    return (resource.needs_replace(before, after, changed) or "") if changed else ""


def _stand_in(implementation: type[contract.Resource], after: Mapping[str, Any]) -> contract.Resource:
    # The decision methods of a type are pure: they get an instance without a world.
    return implementation(contract.ResourceState(name="", stack_name="", stack_id="", token="", properties=after), None)  # type: ignore[arg-type]
