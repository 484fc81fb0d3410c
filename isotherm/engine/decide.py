"""What to do with a resource: nothing, create, update, replace or refuse. Pure, and used by plan and apply alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from isotherm import errors
from isotherm.resources import contract, drift, properties
from isotherm.states import Action, Status

GONE = "it is gone"


class Verdict(Enum):
    NOTHING = "no change"
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Applied:
    """What is known of the version that exists."""

    type: str
    action: Action
    status: Status
    properties: Mapping[str, Any]
    metadata: Any
    # Properties of which it is not known whether they were applied: an update was begun and nobody saw its end.
    uncertain: Collection[str] = ()
    # Whether an object is known at all, and whether it was ever seen to be what its row says.
    made: bool = True
    proven: bool = True
    # What was seen of the object, if somebody looked: then this is compared, and what was applied only where nothing can
    # be seen.
    live: contract.Seen | contract.Gone | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    verdict: Verdict
    # The property, or whatever else, that is the reason for a replacement.
    cause: str = ""
    changed: Mapping[str, Any] = field(default_factory=dict)


def decide(
    implementation: type[contract.Resource], type_: str, applied: Applied | None, after: Mapping[str, Any], metadata: Any,
    *, renew: bool = False,
) -> Decision:
    """Compare what was applied with what should be. Raises UserError where the type forbids the change.

    `renew`: an update asks that has not had its turn with the resource yet.
    """
    if applied is None:
        return Decision(Verdict.CREATE)
    if applied.type != type_:
        return Decision(Verdict.REPLACE, "type")
    if applied.action is Action.DELETE:
        return Decision(Verdict.REPLACE, "its deletion had begun")
    if renew and implementation.replaced_by_each_update:
        return Decision(Verdict.REPLACE, "each update makes it anew")
    if isinstance(applied.live, contract.Gone):
        return Decision(Verdict.REPLACE, GONE)
    names = _differing(implementation, applied, after, applied.live)
    changed = {name: after.get(name) for name in sorted(names)}
    resource = _stand_in(implementation, after)
    lost = applied.action is Action.CHECK or not applied.made
    # One that could not be put to rest, copied or adopted is still what it was: no reason to make it anew.
    harmless = applied.action in (Action.SUSPEND, Action.SNAPSHOT, Action.ADOPT) and not lost
    if applied.status is Status.FAILED and not harmless and (lost or resource.needs_replace_failed()):
        return Decision(Verdict.REPLACE, f"{applied.action.name} had failed", changed)
    if not applied.made and not applied.proven:
        return Decision(Verdict.REPLACE, "nothing had been made", changed)
    before = applied.properties if applied.live is None else {**applied.properties, **applied.live.properties}
    cause = _forced_by(implementation, resource, applied.properties, before, after, changed)
    if cause:
        return Decision(Verdict.REPLACE, cause, changed)
    same = not changed and metadata == applied.metadata and applied.status is Status.COMPLETE
    return Decision(Verdict.NOTHING) if same else Decision(Verdict.UPDATE, changed=changed)


def _differing(
    implementation: type[contract.Resource], applied: Applied, after: Mapping[str, Any], live: contract.Seen | None
) -> set[str]:
    """The names of properties that are not, or may not be, what they should be."""
    doubtful = set(applied.uncertain)
    if not applied.proven:
        # Something failed half-way: whatever could have been changed in place may have been.
        doubtful |= {name for name, one in implementation.properties_schema.items() if one.update_allowed}
    if live is None:
        return properties.diff(applied.properties, after) | doubtful
    found = drift.to_change(implementation, applied.properties, live, after)
    return found.keys() | (doubtful - drift.visible(implementation, live, after))


def given(implementation: type[contract.Resource], properties: Mapping[str, Any], restored: Any) -> Mapping[str, Any]:
    """The properties to apply: those of the definition, or those that bring back what was kept for a snapshot."""
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
    # What the template has not changed, it cannot be refused for.
    drifted = {name for name in changed if applied.get(name) == after.get(name)}
    for name in changed:
        known = schema.get(name)
        if known is not None and known.immutable and name not in drifted:
            text = f"Update to properties {name} of {resource.name} ({implementation.TYPE}) is not supported"
            raise errors.UserError(text, kind="NotSupported")
        if known is not None and not known.update_allowed:
            return name
    return (resource.needs_replace(before, after, changed) or "") if changed else ""


def _stand_in(implementation: type[contract.Resource], after: Mapping[str, Any]) -> contract.Resource:
    # The decision methods of a type are pure: they get an object without a world behind it.
    return implementation(contract.Self("", "", "", "", after), None)  # type: ignore[arg-type]
