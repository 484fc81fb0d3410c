"""One node, from its claim to a report: decided, made durable, acted on. What the engine shares between all its stacks."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine.legacy.fair_semaphore import FairSemaphore
from isotherm.engine.steps import act, consider, fail_early, hooks, lookup, outcomes, reports
from isotherm.engine.steps.throttle import TypeThrottle
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.states import NodeState
from isotherm.store.database.writer import Store
from isotherm.store.records import Beginning, Claim, Report

log = logging.getLogger(__name__)

Begin = Callable[[Beginning], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class WalkerPorts:
    """The ports of an engine, one each."""

    store: Store
    clock: contract.Clock
    planning: Planning
    new_id: Callable[[], str]
    settings: Settings
    consider: consider.Decider
    act: act.StepRunner
    tell: reports.ReportMasker
    # How many steps may be under way at once: of all, and of each type.
    room: FairSemaphore
    slots: TypeThrottle
    # How many nodes stand in line before the store, to be taken and to begin: others want to write too.
    takes: FairSemaphore
    begins: FairSemaphore


class StepDriver:
    """Brings claims to reports. `begin` makes an intent durable and tells whether to act, or raises Superseded."""

    def __init__(self, shared: WalkerPorts, guard: act.LeaseGuard, begin: Begin) -> None:
        self._shared = shared
        self._guard = guard
        self._begin = begin
        self._find_out = lookup.FactFinder(shared.act, shared.planning, shared.tell)

    async def __call__(self, claim: Claim) -> Report:
        """However it ends, it ends in a report, unless the operation has been overtaken."""
        tell = self._shared.tell
        try:
            return await self._step(claim)
        except errors.Superseded:
            raise
        except errors.Temporary as error:
            return await tell(Report(claim, NodeState.WAITING, wake_in_s=error.retry_after_s, reason=str(error)))
        except Exception as error:
            log.error("a step failed in the engine", exc_info=reports.quiet(error),
                      extra={"node": claim.node_id, "resource": claim.name})
            return await tell(fail_early.raised(claim, error))
        finally:
            self._shared.slots.free(claim.key)

    async def _step(self, claim: Claim) -> Report:
        answer = await self._decide(claim)
        if isinstance(answer, Report):
            return await self._shared.tell(answer)
        if isinstance(answer, outcomes.Republish):
            return await self._shared.act.republish(claim, answer, self._guard)
        version = answer.beginning.version if isinstance(answer, outcomes.Begin) else answer.version
        if isinstance(answer, outcomes.Begin) and not await self._begin(answer.beginning):
            return answer.forgotten()
        intent = answer.intent
        report = await self._shared.act.step(claim, version, intent, answer.target, self._guard)
        return hooks.after(claim, await self._shared.tell(report, intent.after, intent.before))

    async def _decide(self, claim: Claim) -> outcomes.Begin | outcomes.Continue | outcomes.Republish | Report:
        facts = None
        while True:
            answer = hooks.before(claim, self._shared.consider(claim, facts))
            answer = self._shared.slots.take(claim, answer) or answer
            if not isinstance(answer, outcomes.LookUp):
                return answer
            facts = await self._find_out(claim, answer, self._guard)
