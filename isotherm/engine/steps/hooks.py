"""Hooks: breakpoints of the environment at which an operation pauses until a user clears them. Pure.

A pre-hook holds an answer back before its intent is stored. A post-hook holds the end of a step back: the resource is
complete, and its dependants have not begun. Heat's rule says which hooks apply: those of create and delete while a stack is
created or deleted, those of update in every update, whether it changes the resource or not.
"""

from __future__ import annotations

from msgspec.structs import replace

from isotherm.engine.steps import outcomes
from isotherm.planning import documents
from isotherm.states import Action, NodeKind, NodeState, Status
from isotherm.store.records import Claim, Event, Pause, Report, Version
from isotherm.template.model import definitions

# Clearing the hook wakes the node. This is the longest wait if that wake-up is lost.
_WAKE_ANYWAY_S = 3600.0
_UPDATING = (Action.UPDATE, Action.ROLLBACK, Action.RESTORE)


def before(claim: Claim, answer: outcomes.Answer) -> outcomes.Answer:
    """Return the answer, or the pause that a pre-hook puts before it."""
    target = _target(claim)
    if target is None:
        return answer
    if isinstance(answer, Report) and answer.state is NodeState.DONE and any(claim.hooks.values()):
        # The resource was changed before the pause: its dependants have to be visited now.
        answer = replace(answer, changed=True)
    hook = _before(claim, answer)
    if not hook or hook not in target.hooks or hook in claim.hooks:
        return answer
    return _pause(Report(claim, NodeState.WAITING), hook, _event(claim, claim.version, target, hook))


def _before(claim: Claim, answer: outcomes.Answer) -> str:
    """Return the name of the pre-hook that applies to the answer, or ""."""
    if isinstance(answer, outcomes.Continue | outcomes.LookUp):
        return ""
    starts = answer.intent.action if isinstance(answer, outcomes.Begin) else None
    operation = claim.operation.action
    if claim.kind is NodeKind.CLEANUP:
        return "pre-delete" if operation is Action.DELETE and starts is Action.DELETE else ""
    if claim.kind is not NodeKind.UPDATE:
        return ""
    if starts is Action.CREATE and operation is Action.CREATE:
        return "pre-create"
    exists = claim.version is not None and claim.version.operation_id != claim.operation.id
    return "pre-update" if exists and operation in _UPDATING else ""


def after(claim: Claim, report: Report) -> Report:
    """Return the report, or the pause that a post-hook puts after it."""
    target = _target(claim)
    if target is None or report.state is not NodeState.DONE or report.event is None:
        return report
    hook = _after(claim, report.event.action)
    if not hook or hook not in target.hooks or hook in claim.hooks:
        return report
    version = report.version
    if version is not None and report.removed:
        # The object is gone, so the digest proves nothing.
        version = replace(version, digest=None)
    paused = replace(report, state=NodeState.WAITING, version=version, removed=False)
    return _pause(paused, hook, _event(claim, report.version, target, hook), changed=report.changed)


def _after(claim: Claim, ended: Action) -> str:
    operation = claim.operation.action
    if ended in (Action.CREATE, Action.DELETE):
        return f"post-{ended.name.lower()}" if operation is ended else ""
    return "post-update" if ended is Action.UPDATE and operation in _UPDATING else ""


def _target(claim: Claim) -> documents.Target | None:
    """Return the target if it has hooks. Searching the text first avoids decoding most targets."""
    text = claim.definition
    if text is None or ('"pre-' not in text and '"post-' not in text):
        return None
    target = documents.decode(text, documents.Target)
    return target if target.hooks else None


def _pause(report: Report, hook: str, event: Event, *, changed: bool = False) -> Report:
    return replace(report, pause=Pause(hook, event, changed), wake_in_s=_WAKE_ANYWAY_S, reason=event.reason)


def _event(claim: Claim, version: Version | None, target: documents.Target, hook: str) -> Event:
    """Return the event of a pause. It has the status of the resource, because a pause changes none."""
    reason = f"{hook.partition('-')[2].upper()} paused until Hook {hook} is cleared"
    if version is None:
        type_ = definitions.thaw(target.definition).type
        return Event(claim.stack_id, claim.operation.id, claim.name, type_, None, Action.INIT, Status.COMPLETE, reason)
    return Event(claim.stack_id, claim.operation.id, claim.name, version.type, version.physical_id, version.action,
                 version.status, reason)
