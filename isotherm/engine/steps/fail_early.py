"""Reports nodes that fail before a handler of their type has run. Pure.

Properties may not resolve, a type may be missing, a context may not be built. The node and its resource fail, and the
object stays as it is. So the values that decide later on a replacement are kept: a resource that had failed before keeps
its action, and one whose update never began keeps its digest, which proves what was last applied.
"""

from __future__ import annotations

import contextlib

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.steps import outcomes
from isotherm.planning import documents
from isotherm.resources import runner
from isotherm.secrets import is_sealed
from isotherm.states import Action, DeletionPolicy, NodeKind, NodeState, Status
from isotherm.store.records import Beginning, Begun, Claim, Event, Report, Version
from isotherm.template.model import definitions

# It is unknown how much an interrupted intent of these has changed.
_CHANGING = (Action.CREATE, Action.UPDATE)
REASON_LIMIT = 1000


def failed(claim: Claim, reason: str) -> Report:
    """Report that the node has failed, with a FAILED resource and an event."""
    reason, version = reason[:REASON_LIMIT], claim.version
    action = _action(claim)
    shown = _never_made(claim, action, reason) if version is None else _stopped(claim, version, action, reason)
    event = Event(claim.stack_id, claim.operation.id, claim.name, shown.type, shown.physical_id, action, Status.FAILED,
                 reason)
    return Report(claim, NodeState.FAILED, shown, reason=reason, event=event)


def untouched(claim: Claim, reason: str) -> Report:
    """Report that the node has failed and the resource stays as it is, as after a restricted action in Heat.

    The resource fails too where an interrupted action has left its state unknown.
    """
    report = failed(claim, reason)
    unknown = claim.version is not None and claim.version.intent is not None
    return report if unknown else replace(report, version=None)


def not_begun(beginning: Beginning, answer: Begun) -> Report:
    """Report the end of a step that the store did not let act: the object is protected, or another version holds it."""
    if answer.refusal:
        return untouched(beginning.claim, answer.refusal)
    return Report(beginning.claim, NodeState.DONE, beginning.version, removed=True)


def raised(claim: Claim, error: Exception) -> Report:
    """Report an error that no handler has raised: where it happened and, if it is unexpected, where to read more."""
    text = str(error)
    if not isinstance(error, errors.IsothermError):
        text = f"the engine failed before it called the resource type ({text}). The log of the engine says where."
    return failed(claim, f"Error: {runner.step(claim.name)}: {text}")


def _action(claim: Claim) -> Action:
    """Return the action that the node was to do."""
    if claim.kind is NodeKind.CLEANUP:
        return Action.DELETE
    if claim.kind is NodeKind.VISIT:
        return claim.operation.visit
    return Action.CREATE if claim.version is None else Action.UPDATE


def _stopped(claim: Claim, version: Version, action: Action, reason: str) -> Version:
    if is_sealed(version.intent):
        # The operation goes on when the key is available again.
        return replace(version, status=Status.FAILED, reason=reason)
    intent = outcomes.intent_of(version)
    if intent is not None and intent.action is Action.ADOPT and claim.kind is not NodeKind.CLEANUP:
        return replace(version, status=Status.FAILED, reason=reason)
    unknown = intent is not None and intent.action in _CHANGING
    had_failed = version.status is Status.FAILED and action is not Action.CHECK
    if action is not Action.DELETE and (unknown or had_failed or version.action is Action.DELETE):
        action = version.action
    return replace(version, action=action, status=Status.FAILED, reason=reason, intent=None,
                   digest=None if unknown else version.digest)


def _never_made(claim: Claim, action: Action, reason: str) -> Version:
    """Return a row for a resource that was never created. It has no token, because there is no object to find."""
    type_ = implementation = ""
    # An unreadable definition may be the reason why the node fails.
    with contextlib.suppress(Exception):
        target = documents.decode(claim.definition or "", documents.Target)
        type_, implementation = definitions.thaw(target.definition).type, target.implementation
    return Version(
        0, claim.stack_id, claim.name, type_, implementation, "", None, action, Status.FAILED, reason, "{}", None, "null",
        "{}", None, "[]", None, False, DeletionPolicy.DELETE, False, claim.operation.id, None,
    )
