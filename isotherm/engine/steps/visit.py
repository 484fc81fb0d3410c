"""Considers claims of operations that do the same to every resource: check, suspend, resume, snapshot."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from isotherm.engine.steps import fail_early
from isotherm.engine.steps.outcomes import Answer, Begin, Continue, event, intent_of, part
from isotherm.planning import documents
from isotherm.resources import runner
from isotherm.states import VISITING, Action, NodeState, Status
from isotherm.store.records import Beginning, Claim, Report, Version

# What may have failed before without making a resource unfit for another visit.
_HARMLESS = frozenset({Action.SUSPEND, Action.RESUME, Action.SNAPSHOT})


def consider(claim: Claim) -> Answer:
    version, action = claim.version, claim.operation.visit
    if version is None:
        return Report(claim, NodeState.DONE)
    if version.action is Action.DELETE:
        return _not_now(claim, version)
    intent = intent_of(version)
    if intent is not None and intent.handled:
        return Continue(version, intent, _target(claim, intent))
    if intent is not None and intent.action not in VISITING and claim.operation.action not in VISITING:
        return Report(claim, NodeState.DONE)  # the update that wakes it decides how to go on with it
    if intent is not None and intent.action is Action.ADOPT:
        return _not_now(claim, version)
    if intent is not None and intent.action not in VISITING:
        return _interrupted(claim, intent)
    if _is_so_already(version, action):
        if intent is None:
            kept = part(claim.operation.id, version, None) if action is Action.SNAPSHOT else None
            return Report(claim, NodeState.DONE, part=kept)
        # A visit of an older operation began and nobody knows how far it came: its row must not stay IN_PROGRESS.
        if version.external:
            return Report(claim, NodeState.DONE, replace(version, status=Status.COMPLETE, intent=None))
        if version.digest is None:
            return _interrupted(claim, intent)
    if _is_unfit(version, action):
        return _not_now(claim, version)
    return begin(claim, version, action)


def _target(claim: Claim, intent: documents.Intent) -> documents.Target | None:
    """What others want to know of it, where an older operation began to change it: they would go on with what it was."""
    if claim.definition is None or intent.action in VISITING:
        return None
    return documents.decode(claim.definition, documents.Target)


def begin(claim: Claim, version: Version, action: Action, target: documents.Target | None = None) -> Begin:
    """Begin what the operation does, or what has to come before it."""
    wish = documents.Intent(
        action, claim.operation.id, digest=version.digest,
        after=documents.decode(version.properties, dict[str, Any]), metadata=documents.decode_any(version.metadata),
        requires=documents.decode(version.requires, list[int]),
    )
    begun = replace(
        version, action=action, status=Status.IN_PROGRESS, reason="", intent=documents.encode(wish),
        operation_id=version.operation_id or claim.operation.id,
        # From this moment on it may be at rest, and is woken before anything else is done to it.
        suspended=version.suspended or action is Action.SUSPEND,
    )
    return Begin(Beginning(claim, begun, False, event(claim, begun)), wish, target)


def _interrupted(claim: Claim, intent: documents.Intent) -> Report:
    """What an older operation was about to do may have been begun or not: the next update finds out, a visit does not."""
    return fail_early.failed(claim, f"{intent.action.name} was interrupted")


def _is_so_already(version: Version, action: Action) -> bool:
    if action is Action.CHECK:
        return False
    if version.external:
        return True  # somebody else's: not ours to put to rest, and none of our snapshot
    at_rest = version.suspended and version.action is Action.SUSPEND and version.status is Status.COMPLETE
    return at_rest if action is Action.SUSPEND else action is Action.RESUME and not version.suspended


def _is_unfit(version: Version, action: Action) -> bool:
    """What failed must not look well because of a visit. A check may find it well, if there is anything to look at."""
    if action is Action.CHECK:
        return version.physical_id is None and version.digest is None
    return version.status is Status.FAILED and version.action not in _HARMLESS


def _not_now(claim: Claim, version: Version) -> Report:
    """The operation fails on it, in Heat's words; the object stays as it is."""
    state = f"{version.action.name}_{version.status.name}"
    action = claim.operation.visit.name.lower()
    return fail_early.failed(claim, f"Error: {runner.step(claim.name)}: State {state} invalid for {action}")
