"""Observation of reality in operations that observe before they decide (`converge`, adoption), and after failures of
types that want it (the trait `failed_is_observed`). Pure.

Unknown is not gone: an object that could not be observed fails its node. Where the setting tolerates it, the properties
last applied are taken for the live ones, and the event of the resource says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.steps import decide, outcomes
from isotherm.observer import compare
from isotherm.resources import contract
from isotherm.states import Action, ObservationResult, Status
from isotherm.store.records import Beginning, Claim, Observation, Report, Version

UNSEEN = "It could not be looked at"
LOST = "gone already, forgotten"
_TAKEN = "; it is taken for what was last applied"
_VERDICTS = (decide.Verdict.NOTHING, decide.Verdict.UPDATE)


def is_requested(claim: Claim) -> bool:
    """Return whether the operation observes, or has to because the object has not been observed for long.

    That is so where the adoption by an older operation was never completed, and where a superseded version is taken up
    again: no check and no observer has observed it in between.
    """
    version, operation = claim.version, claim.operation
    if version is None or operation.converge or version.taken_up:
        return operation.converge or version is not None
    unknown = version.action is Action.ADOPT and version.status is not Status.COMPLETE
    return unknown and operation.action is not Action.ADOPT


def is_possible(claim: Claim, type_: type[contract.Resource]) -> bool:
    """Return whether the operation observes, and the stack owns an object whose type is observable."""
    return is_requested(claim) and _has_object(claim.version, type_)


def may_change_decision(claim: Claim, type_: type[contract.Resource], decision: decide.Decision) -> bool:
    """Return whether an observation may change a decision that was made by the rows alone."""
    compared = decision.verdict in _VERDICTS or decision.cause in type_.properties_schema
    if is_after_failure(claim, type_):
        return compared or follows_failure(claim, decision)
    return compared and is_possible(claim, type_)


def is_after_failure(claim: Claim, type_: type[contract.Resource]) -> bool:
    """Return whether the version has failed, and its type leaves it to the object what to do. A failed check replaces."""
    version = claim.version
    if version is None or not type_.traits.failed_is_observed or version.status is not Status.FAILED:
        return False
    return version.action not in (Action.CHECK, Action.DELETE) and _has_object(version, type_)


def follows_failure(claim: Claim, decision: decide.Decision) -> bool:
    """Return whether the decision is to replace the version because its last action failed."""
    return claim.version is not None and decision.cause == decide.had_failed(claim.version.action)


def _has_object(version: Version | None, type_: type[contract.Resource]) -> bool:
    ours = version is not None and version.physical_id is not None and not version.external
    return ours and contract.is_observable(type_)


def may_be_gone(claim: Claim, decision: decide.Decision, types: outcomes.Types) -> bool:
    """Return whether a version that another type replaces is observed: an object that is gone is not deleted."""
    replaced = decision.verdict is decide.Verdict.REPLACE and decision.cause == decide.TYPE
    return replaced and claim.version is not None and is_possible(claim, types(claim.version.implementation))


def request_first(claim: Claim, type_: type[contract.Resource], facts: outcomes.Facts | None) -> outcomes.LookUp | None:
    """Return the request for an observation, if the operation makes one and has not made it yet."""
    if claim.version is None or (facts is not None and facts.observed is not None) or not is_possible(claim, type_):
        return None
    return request(claim.version, facts)


def request(version: Version, facts: outcomes.Facts | None) -> outcomes.LookUp:
    """Return the request for an observation of this version."""
    return outcomes.LookUp(version, live=True, known=facts or outcomes.Facts())


def is_gone(facts: outcomes.Facts | None) -> bool:
    """Return whether the object was observed to be gone."""
    return facts is not None and facts.observed is not None and isinstance(facts.observed.reality, contract.Gone)


def with_live(applied: decide.Applied, observed: outcomes.Observed, *, tolerant: bool) -> decide.Applied:
    """Add the live state to what was applied. Raises Permanent if the object is unseen and that is not tolerated."""
    if not isinstance(observed.reality, contract.Unseen):
        return dataclasses.replace(applied, live=observed.reality)
    if tolerant:
        return applied
    raise errors.Permanent(f"{UNSEEN}: {observed.reality.reason}")


def observation(
    type_: type[contract.Resource], version: Version, observed: outcomes.Observed, wanted: Mapping[str, Any]
) -> Observation:
    """Return the Observation to store."""
    return compare.observation(type_, version, observed.reality, observed.at, wanted)


def without_drift(seen: Observation) -> Observation:
    """Clear the drift of an object that is as wanted: the live state counts as applied from now on."""
    return replace(seen, drift="[]") if seen.result is ObservationResult.SEEN else seen


def attach(answer: outcomes.Answer, seen: Observation | None, *, gone: bool = False) -> outcomes.Answer:
    """Add the observation to the answer that was decided with it, and say in its event if the object was unseen."""
    if gone and isinstance(answer, outcomes.Begin):
        answer = dataclasses.replace(answer, beginning=_with_lost_event(answer.beginning))
    if seen is None:
        return answer
    text = f"{UNSEEN}: {seen.reason}{_TAKEN}" if seen.result is ObservationResult.UNSEEN else ""
    if isinstance(answer, outcomes.Begin):
        return dataclasses.replace(answer, beginning=_observed(answer.beginning, seen, text))
    if isinstance(answer, outcomes.Republish):
        return dataclasses.replace(answer, observation=seen)
    if not isinstance(answer, Report):
        return answer
    version = answer.claim.version
    if text and answer.event is None and version is not None:
        # The event has the status of the resource, as an event of a paused hook does.
        answer = replace(answer, event=replace(outcomes.event(answer.claim, version), reason=text))
    return replace(answer, observation=seen)


def _observed(beginning: Beginning, seen: Observation, text: str) -> Beginning:
    event = replace(beginning.event, reason=text) if text else beginning.event
    return replace(beginning, observation=seen, event=event)


def _with_lost_event(beginning: Beginning) -> Beginning:
    """Add the event that the replaced version is gone already, so that nothing is left to delete."""
    version = beginning.claim.version
    if version is None:
        return beginning
    lost = replace(version, action=Action.DELETE, status=Status.COMPLETE, reason=LOST)
    return replace(beginning, lost=outcomes.event(beginning.claim, lost))
