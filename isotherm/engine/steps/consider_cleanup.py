"""Considers claims that delete one version. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from isotherm.engine.steps import search
from isotherm.engine.steps.outcomes import Answer, Begin, Continue, Facts, LookUp, Types, event, intent_of
from isotherm.planning import documents
from isotherm.resources import contract
from isotherm.resources.nested.nested_stack import owns_nested_stack
from isotherm.secrets import is_sealed
from isotherm.states import KEPT, Action, DeletionPolicy, NodeState, Status
from isotherm.store.records import Beginning, Claim, Report, Version

# The pause before the next step while the replacement is being created.
_REPLACEMENT_S = 1.0
_NEVER_MADE = "nothing had been made"


class CleanupDecider:
    """Decides how a version is deleted, retained or forgotten."""

    def __init__(self, types: Types) -> None:
        self._types = types

    def consider(self, claim: Claim, facts: Facts | None) -> Answer:
        """Return what to do about the version of the claim."""
        version = claim.version
        if version is None:
            return Report(claim, NodeState.DONE)
        if version.action is Action.DELETE and version.status is Status.COMPLETE:
            # A post-delete hook had paused the node after the deletion.
            return Report(claim, NodeState.DONE, version, removed=True)
        begun = None if is_sealed(version.intent) else intent_of(version)
        if version.physical_id is None and version.digest is None:
            found = _find_object(claim, version, begun, facts)
            if not isinstance(found, Version):
                return found
            version = found
        if self._is_kept(version):
            return _removed(claim, version, "retained", retained=True)
        # A deletion whose intent cannot be read begins again, and so does one of an older operation: another version may
        # have an object of the same id by now, and the deletion would wait for that object to go.
        if begun is not None and begun.action is Action.DELETE and begun.handled and _is_of(claim, begun):
            return Continue(version, begun, None)
        if version.implementation in claim.unsettled:
            # A type may give the replacement the same id, and the deletion would delete the object that is being created.
            return Report(claim, NodeState.WAITING, wake_in_s=_REPLACEMENT_S, reason="its replacement is being made")
        return _begin_delete(claim, version)

    def _is_kept(self, version: Version) -> bool:
        """Return whether the object outlives its version. An abandoned nested stack does not: it has to be abandoned."""
        abandoned = version.deletion_policy is DeletionPolicy.ABANDON
        goes = abandoned and owns_nested_stack(self._types(version.implementation))
        return version.external or (version.deletion_policy in KEPT and not goes)


def _find_object(
    claim: Claim, version: Version, begun: documents.Intent | None, facts: Facts | None
) -> Answer | Version:
    """Search for an object whose id is unknown. Return the version with its id, or the answer if there is none."""
    if not version.token or (begun is not None and begun.not_begun):
        return _removed(claim, version, _NEVER_MADE)
    if facts is None or facts.search is None:
        return LookUp(version)
    if isinstance(facts.search, contract.Absent):
        return _removed(claim, version, _NEVER_MADE)
    if isinstance(facts.search, contract.CannotTell):
        return _not_found(claim, version, facts.search)
    return replace(version, physical_id=facts.search.physical_id)


def _not_found(claim: Claim, version: Version, cannot_tell: contract.CannotTell) -> Report:
    """Fail the deletion if its creation has an open intent; remove the row if that failure was reported before."""
    if version.intent is not None:
        return search.fail_unknown(
            claim, replace(version, action=Action.DELETE, operation_id=claim.operation.id), cannot_tell)
    return _removed(claim, version, str(search.CreationUnknown(version.type, cannot_tell)))


def _begin_delete(claim: Claim, version: Version) -> Begin:
    intent = documents.Intent(Action.DELETE, claim.operation.id)
    unwanted = replace(
        version, action=Action.DELETE, status=Status.IN_PROGRESS, reason="", operation_id=claim.operation.id,
        intent=documents.encode(intent),
    )
    return Begin(Beginning(claim, unwanted, False, event(claim, unwanted)), intent, None)


def _removed(claim: Claim, version: Version, reason: str, *, retained: bool = False) -> Report:
    gone = replace(version, action=Action.DELETE, status=Status.COMPLETE, reason=reason)
    return Report(claim, NodeState.DONE, gone, removed=True, retained=retained, event=event(claim, gone))


def _is_of(claim: Claim, intent: documents.Intent) -> bool:
    return intent.operation_id == claim.operation.id
