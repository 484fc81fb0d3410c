"""Answers the questions of a decision: an object by its token, hidden parameters, a template, reality, the cloud."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from isotherm.engine.steps import act, outcomes, reports
from isotherm.planning import documents
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.store.records import Claim, Version

# Attempts to observe an object whose service is busy, and the longest pause between two of them.
_ATTEMPTS, _LONGEST_PAUSE_S = 3, 5.0


class FactFinder:
    """Finds the facts that a decision asks for."""

    def __init__(self, runner: act.StepRunner, planning: Planning, masker: reports.ReportMasker) -> None:
        self._runner = runner
        self._planning = planning
        self._masker = masker

    async def find(self, claim: Claim, question: outcomes.LookUp, guard: act.LeaseGuard) -> outcomes.Facts | None:
        """Return the facts known before and the answer. A template is registered as a type; that returns no facts."""
        if question.template:
            await self._planning.learn(question.template, needed=question.needed)
            return None
        if question.questions:
            answers = await self._runner.ask_cloud(claim, question.questions)
            return dataclasses.replace(question.known, answers={**(question.known.answers or {}), **answers})
        if question.version is None:
            parameter = await self._planning.hidden_parameters(claim.operation, claim.name)
            return dataclasses.replace(question.known, parameter=parameter)
        if question.live:
            return dataclasses.replace(question.known, observed=await self._observe(claim, question.version, guard))
        found = await self._runner.find_object(claim, question.version, guard)
        return dataclasses.replace(question.known, search=found)

    async def _observe(self, claim: Claim, version: Version, guard: act.LeaseGuard) -> outcomes.Observed:
        observed = await self._observe_patiently(claim, version, guard)
        if not isinstance(observed.reality, contract.Unseen):
            return observed
        # A type may quote any value in the reason.
        properties = documents.decode(version.properties, dict[str, Any])
        reason = await self._masker.mask_text(claim, observed.reality.reason, properties)
        return dataclasses.replace(observed, reality=dataclasses.replace(observed.reality, reason=reason))

    async def _observe_patiently(self, claim: Claim, version: Version, guard: act.LeaseGuard) -> outcomes.Observed:
        for _ in range(_ATTEMPTS - 1):
            observed = await self._runner.observe(claim, version, guard)
            if not isinstance(observed.reality, contract.Unseen) or observed.reality.retry_after_s is None:
                return observed
            await asyncio.sleep(min(observed.reality.retry_after_s, _LONGEST_PAUSE_S))
        return await self._runner.observe(claim, version, guard)
