"""Finds out what has to be known before a decision: objects by their tokens, hidden parameters, templates, reality."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from isotherm.engine.steps import act, outcomes, reports
from isotherm.planning import documents
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.store.records import Claim, Version

# A service that is busy is asked again so often, and with no longer pauses than this.
_LOOKS, _LONGEST_PAUSE_S = 3, 5.0


class FactFinder:
    """Answers questions about claims."""

    def __init__(self, acting: act.StepRunner, planning: Planning, tell: reports.ReportMasker) -> None:
        self._act = acting
        self._planning = planning
        self._tell = tell

    async def __call__(self, claim: Claim, question: outcomes.LookUp, guard: act.LeaseGuard) -> outcomes.Facts | None:
        if question.template:
            await self._planning.learn(question.template, needed=question.needed)
            return None
        if question.version is None:
            parameter = await self._planning.hidden_parameters(claim.operation)
            return dataclasses.replace(question.known, parameter=parameter)
        if question.live:
            return dataclasses.replace(question.known, look=await self._look(claim, question.version, guard))
        found = await self._act.find(claim, question.version, guard)
        return dataclasses.replace(question.known, search=found)

    async def _look(self, claim: Claim, version: Version, guard: act.LeaseGuard) -> outcomes.Look:
        look = await self._patient_look(claim, version, guard)
        if not isinstance(look.sight, contract.Unseen):
            return look
        # Why it could not be seen may quote anything.
        reason = await self._tell.text(claim, look.sight.reason, documents.decode(version.properties, dict[str, Any]))
        return dataclasses.replace(look, sight=dataclasses.replace(look.sight, reason=reason))

    async def _patient_look(self, claim: Claim, version: Version, guard: act.LeaseGuard) -> outcomes.Look:
        for _ in range(_LOOKS - 1):
            look = await self._act.look(claim, version, guard)
            if not isinstance(look.sight, contract.Unseen) or look.sight.retry_after_s is None:
                return look
            await asyncio.sleep(min(look.sight.retry_after_s, _LONGEST_PAUSE_S))
        return await self._act.look(claim, version, guard)
