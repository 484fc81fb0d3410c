"""Search by token: the object of a creation whose answer was lost. Pure.

Unknown is not absent: if the type cannot search, the resource fails, and its reason names the object to look for.
"""

from __future__ import annotations

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.steps.outcomes import Answer, Continue, Facts, LookUp, event
from isotherm.planning import documents
from isotherm.resources import contract, runner
from isotherm.states import Action, NodeState, Status
from isotherm.store.records import Claim, Report, Version


class CreationUnknown(errors.Permanent):
    """The answer to a creation was lost, and its type cannot search for the object."""

    def __init__(self, type_: str, search: contract.CannotTell) -> None:
        super().__init__(f"Whether it was made is not known: the answer was lost, and {type_} cannot search for it. Look "
                         f"for {search.look_for} and delete it if it is there.")


def is_needed(version: Version, intent: documents.Intent) -> bool:
    """Return whether an object may exist whose id is unknown: its creation was begun, here or before an adoption."""
    if intent.action is Action.ADOPT:
        return version.physical_id is None
    return intent.action is Action.CREATE and not intent.not_begun


def go_on(
    claim: Claim, version: Version, intent: documents.Intent, target: documents.Target, facts: Facts | None
) -> Answer | Claim:
    """Search for the object, then continue its creation. Return the claim where a decision is still to be made."""
    if facts is None or facts.search is None:
        return LookUp(version)
    search = facts.search
    if isinstance(search, contract.CannotTell) and not (search.repeat_is_harmless and _can_repeat_now(claim, intent)):
        return fail_unknown(claim, version, search)
    if isinstance(search, contract.Found):
        version = replace(version, physical_id=search.physical_id)
    if intent.action is Action.CREATE and not isinstance(search, contract.Absent):
        # The object may exist as the first request asked for it, so the repeated request asks for the same. A newer
        # operation decides after that what to change.
        intent.handled, intent.repeated = isinstance(search, contract.Found), True
        return Continue(version, intent, target)
    return replace(claim, version=version)


def _can_repeat_now(claim: Claim, intent: documents.Intent) -> bool:
    """Return whether all resources that the first request named come before the node in this operation too.

    Any other resource may be changing at this moment.
    """
    return {*intent.requires} <= {one.resource_id for one in claim.inputs}


def fail_unknown(claim: Claim, version: Version, search: contract.CannotTell) -> Report:
    """Fail the resource and close its intent. The reason names the object; the next operation continues without it."""
    reason = runner.describe(claim.name, CreationUnknown(version.type, search))
    failed = replace(version, status=Status.FAILED, reason=reason, intent=None)
    return Report(claim, NodeState.FAILED, failed, reason=reason, event=event(claim, failed))
