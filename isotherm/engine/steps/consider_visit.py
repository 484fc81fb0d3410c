"""Considers claims of operations that visit every resource: check, suspend, resume, snapshot. Pure."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from isotherm.engine.steps import fail_early
from isotherm.engine.steps.outcomes import Answer, Begin, Continue, event, intent_of, part
from isotherm.planning import documents
from isotherm.resources import runner
from isotherm.states import VISITING, Action, NodeState, Status
from isotherm.store.records import Beginning, Claim, Report, Version

# A failure of these actions leaves the resource fit for another visit.
_HARMLESS = frozenset({Action.SUSPEND, Action.RESUME, Action.SNAPSHOT})


def consider(claim: Claim) -> Answer:
    """Return what to do about the resource of the claim."""
    version, action = claim.version, claim.operation.visit
    if version is None:
        return Report(claim, NodeState.DONE)
    if version.action is Action.DELETE:
        return _fail_invalid_state(claim, version)
    intent = intent_of(version)
    if intent is not None and intent.handled:
        return Continue(version, intent, _target(claim, intent))
    if intent is not None and intent.action not in VISITING and claim.operation.action not in VISITING:
        return Report(claim, NodeState.DONE)  # the update that follows the resume decides how to go on
    if intent is not None and intent.action is Action.ADOPT:
        return _fail_invalid_state(claim, version)
    if intent is not None and intent.action not in VISITING:
        return _fail_interrupted(claim, intent)
    if _is_done_already(version, action):
        if intent is None:
            kept = part(claim.operation.id, version, None) if action is Action.SNAPSHOT else None
            return Report(claim, NodeState.DONE, part=kept)
        # It is unknown how far the visit of an older operation came: its row must not stay IN_PROGRESS.
        if version.external:
            return Report(claim, NodeState.DONE, replace(version, status=Status.COMPLETE, intent=None))
        if version.digest is None:
            return _fail_interrupted(claim, intent)
    if _is_unfit(version, action):
        return _fail_invalid_state(claim, version)
    return begin(claim, version, action)


def _target(claim: Claim, intent: documents.Intent) -> documents.Target | None:
    """Return the target if an older operation changes the resource: its dependants need the new attributes."""
    if claim.definition is None or intent.action in VISITING:
        return None
    return documents.decode(claim.definition, documents.Target)


def begin(claim: Claim, version: Version, action: Action, target: documents.Target | None = None) -> Begin:
    """Begin the action of the operation, or a resume that has to come before it."""
    intent = documents.Intent(
        action, claim.operation.id, digest=version.digest,
        after=documents.decode(version.properties, dict[str, Any]), metadata=documents.decode_any(version.metadata),
        requires=documents.decode(version.requires, list[int]),
    )
    begun = replace(
        version, action=action, status=Status.IN_PROGRESS, reason="", intent=documents.encode(intent),
        operation_id=version.operation_id or claim.operation.id,
        # From now on the object may be suspended, and is resumed before any other action.
        suspended=version.suspended or action is Action.SUSPEND,
    )
    return Begin(Beginning(claim, begun, False, event(claim, begun)), intent, target)


def _fail_interrupted(claim: Claim, intent: documents.Intent) -> Report:
    """Fail the node: the action of an older operation may have begun or not. Only an update finds out."""
    return fail_early.failed(claim, f"{intent.action.name} was interrupted")


def _is_done_already(version: Version, action: Action) -> bool:
    if action is Action.CHECK:
        return False
    if version.external:
        return True  # an external resource is neither suspended nor part of a snapshot
    suspended = version.suspended and version.action is Action.SUSPEND and version.status is Status.COMPLETE
    return suspended if action is Action.SUSPEND else action is Action.RESUME and not version.suspended


def _is_unfit(version: Version, action: Action) -> bool:
    """Return whether a failed resource cannot be visited. A check can visit it if there is an object to check."""
    if action is Action.CHECK:
        return version.physical_id is None and version.digest is None
    return version.status is Status.FAILED and version.action not in _HARMLESS


def _fail_invalid_state(claim: Claim, version: Version) -> Report:
    """Fail the node in Heat's words; the object stays as it is."""
    state = f"{version.action.name}_{version.status.name}"
    action = claim.operation.visit.name.lower()
    return fail_early.failed(claim, f"Error: {runner.step(claim.name)}: State {state} invalid for {action}")
