"""One node of the legacy path, from its claim to a report: considered, begun, acted on."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from isotherm import errors
from isotherm.engine.legacy.fair_semaphore import FairSemaphore
from isotherm.engine.steps import act, fail_early, hooks, outcomes
from isotherm.engine.steps.ports import EnginePorts, StepParts
from isotherm.states import NodeState
from isotherm.store.records import Beginning, Begun, Claim, Report

log = logging.getLogger(__name__)

Begin = Callable[[Beginning], Awaitable[Begun]]


@dataclass(frozen=True, slots=True)
class WalkerPorts:
    """The ports and limits that all walkers of an engine share."""

    engine: EnginePorts
    parts: StepParts
    # Steps that run at once.
    steps: FairSemaphore
    # Nodes that wait for the store at once, to be claimed and to begin: other units of work need it too.
    claims: FairSemaphore
    begins: FairSemaphore


class StepDriver:
    """Brings claims to reports. `begin` stores an intent or refuses it, or raises Superseded."""

    def __init__(self, ports: WalkerPorts, guard: act.LeaseGuard, begin: Begin) -> None:
        self._parts = ports.parts
        self._guard = guard
        self._begin = begin

    async def run(self, claim: Claim) -> Report:
        """Run a step of the claim and return its report. Raises Superseded if the operation was superseded."""
        masker = self._parts.masker
        try:
            return await self._run(claim)
        except errors.Superseded:
            raise
        except errors.Temporary as error:
            return await masker.mask(Report(claim, NodeState.WAITING, wake_in_s=error.retry_after_s, reason=str(error)))
        except Exception as error:
            report = await masker.mask(fail_early.raised(claim, error))
            log.error("a step failed in the engine", exc_info=masker.loggable(error, claim),
                      extra={"node": claim.node_id, "resource": claim.name})
            return report
        finally:
            self._parts.throttle.free(claim.key)

    async def _run(self, claim: Claim) -> Report:
        answer = await self._consider(claim)
        if isinstance(answer, Report):
            return await self._parts.masker.mask(answer)
        if isinstance(answer, outcomes.Republish):
            return await self._parts.runner.republish(claim, answer, self._guard)
        version = answer.beginning.version if isinstance(answer, outcomes.Begin) else answer.version
        if isinstance(answer, outcomes.Begin):
            begun = await self._begin(answer.beginning)
            if not begun.acts:
                return await self._parts.masker.mask(fail_early.not_begun(answer.beginning, begun))
        intent = answer.intent
        report = await self._parts.runner.run(claim, version, intent, answer.target, self._guard)
        return hooks.after(claim, await self._parts.masker.mask(report, intent.after, intent.before))

    async def _consider(self, claim: Claim) -> outcomes.Begin | outcomes.Continue | outcomes.Republish | Report:
        """Consider the claim, and find the facts that the decision asks for, until there is an answer."""
        facts = None
        while True:
            answer = hooks.before(claim, self._parts.decider.consider(claim, facts))
            answer = self._parts.throttle.take(claim, answer) or answer
            if not isinstance(answer, outcomes.LookUp):
                return answer
            facts = await self._parts.facts.find(claim, answer, self._guard)
