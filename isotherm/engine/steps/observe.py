"""What a look at reality leads to, in an operation that looks before it decides. Pure.

Unknown is not gone: what could not be seen fails the node, or, where the option says so, is taken for what was last
applied. Neither happens silently.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.steps import decide, outcomes
from isotherm.planning import documents
from isotherm.resources import contract, drift
from isotherm.states import Action, Sight, Status
from isotherm.store.records import Beginning, Claim, Observation, Report, Version

UNSEEN = "It could not be looked at"
LOST = "gone already, forgotten"
_TAKEN = "; it is taken for what was last applied"
_VERDICTS = (decide.Verdict.NOTHING, decide.Verdict.UPDATE)


def looks(claim: Claim) -> bool:
    """Tell whether the operation looks; or has to, since the object has not been seen for long.

    That is so where an older operation was to adopt it, and where its version was superseded and is taken up again: no
    check and no observer has looked at it in between.
    """
    version, operation = claim.version, claim.operation
    if version is None or operation.converge or version.taken_up:
        return operation.converge or version is not None
    unknown = version.action is Action.ADOPT and version.status is not Status.COMPLETE
    return unknown and operation.action is not Action.ADOPT


def is_possible(claim: Claim, type_: type[contract.Resource]) -> bool:
    """Whether the operation looks, and there is something of ours to look at."""
    version = claim.version
    ours = version is not None and version.physical_id is not None and not version.external
    return looks(claim) and ours and contract.is_observable(type_)


def first(claim: Claim, type_: type[contract.Resource], facts: outcomes.Facts | None) -> outcomes.LookUp | None:
    """A look, if the operation takes one and has not done so yet."""
    if claim.version is None or (facts is not None and facts.look is not None) or not is_possible(claim, type_):
        return None
    return outcomes.LookUp(claim.version, live=True, known=facts or outcomes.Facts())


def is_gone(facts: outcomes.Facts | None) -> bool:
    """Whether somebody looked, and found nothing."""
    return facts is not None and facts.look is not None and isinstance(facts.look.sight, contract.Gone)


def is_worth_while(claim: Claim, type_: type[contract.Resource], decision: decide.Decision) -> bool:
    """Whether what was decided by the rows alone may be decided otherwise by looking."""
    return is_possible(claim, type_) and (decision.verdict in _VERDICTS or decision.cause in type_.properties_schema)


def may_be_gone(claim: Claim, decision: decide.Decision, types: outcomes.Types) -> bool:
    """Tell whether a version that another type replaces is looked at: an object that is gone is not deleted."""
    replaced = decision.verdict is decide.Verdict.REPLACE and decision.cause == decide.TYPE
    return replaced and claim.version is not None and is_possible(claim, types(claim.version.implementation))


def with_live(applied: decide.Applied, look: outcomes.Look, *, tolerant: bool) -> decide.Applied:
    """What to compare with. Raises if nothing could be seen and that is not tolerated."""
    if not isinstance(look.sight, contract.Unseen):
        return dataclasses.replace(applied, live=look.sight)
    if tolerant:
        return applied
    raise errors.Permanent(f"{UNSEEN}: {look.sight.reason}")


def observation(
    type_: type[contract.Resource], version: Version, look: outcomes.Look, wanted: Mapping[str, Any] | None = None
) -> Observation:
    """What is kept of a look. Without `wanted`, what was applied is wanted."""
    seen = look.sight
    if isinstance(seen, contract.Unseen):
        return Observation(version.id, version.stack_id, look.at, Sight.UNSEEN, seen.reason, digest=version.digest)
    if isinstance(seen, contract.Gone):
        return Observation(version.id, version.stack_id, look.at, Sight.GONE, digest=version.digest)
    applied = documents.decode(version.properties, dict[str, Any])
    found = [{"property": one.property, "applied": one.applied, "live": one.live, "wanted": one.wanted}
             for one in drift.compare(type_, applied, seen, wanted)]
    return Observation(version.id, version.stack_id, look.at, Sight.SEEN, "", documents.encode(dict(seen.properties)),
                       documents.encode(found), digest=version.digest)


def as_wanted(seen: Observation) -> Observation:
    """It is found to be what is wanted, and counts as applied from now on: whatever it was before, it has not drifted."""
    return replace(seen, drift="[]") if seen.sight is Sight.SEEN else seen


def told(answer: outcomes.Answer, seen: Observation | None, *, gone: bool = False) -> outcomes.Answer:
    """The answer, with what was seen before it was decided, and a word of what could not be seen."""
    if gone and isinstance(answer, outcomes.Begin):
        answer = dataclasses.replace(answer, beginning=_lost(answer.beginning))
    if seen is None:
        return answer
    said = f"{UNSEEN}: {seen.reason}{_TAKEN}" if seen.sight is Sight.UNSEEN else ""
    if isinstance(answer, outcomes.Begin):
        return dataclasses.replace(answer, beginning=_begun(answer.beginning, seen, said))
    if isinstance(answer, outcomes.Republish):
        return dataclasses.replace(answer, observation=seen)
    if not isinstance(answer, Report):
        return answer
    version = answer.claim.version
    if said and answer.event is None and version is not None:
        # As with a pause: the event has the status that the resource has.
        answer = replace(answer, event=replace(outcomes.event(answer.claim, version), reason=said))
    return replace(answer, observation=seen)


def _begun(beginning: Beginning, seen: Observation, said: str) -> Beginning:
    event = replace(beginning.event, reason=said) if said else beginning.event
    return replace(beginning, observation=seen, event=event)


def _lost(beginning: Beginning) -> Beginning:
    """Tell of the version that it takes the place of that nothing is left to delete."""
    version = beginning.claim.version
    if version is None:
        return beginning
    lost = replace(version, action=Action.DELETE, status=Status.COMPLETE, reason=LOST)
    return replace(beginning, lost=outcomes.event(beginning.claim, lost))
