"""When a turn cannot be written: each of its parts alone.

What the database does not take, it will not take next time either, and whoever shares a transaction with it is refused
along with it. So nobody shares one with it: the others are written, and it fails with what was said of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from isotherm import errors
from isotherm.engine.steps import fail_early, outcomes
from isotherm.engine.steps import reports as reports_steps
from isotherm.store.database.writer import Connection, Store
from isotherm.store.operations import settle
from isotherm.store.queue import claim as claiming
from isotherm.store.records import Claim, Report

log = logging.getLogger(__name__)


class OneByOne:
    """Writes reports and beginnings one by one."""

    def __init__(
        self, store: Store, tell: reports_steps.ReportMasker, new_id: Callable[[], str], now: Callable[[], float]
    ) -> None:
        self._store = store
        self._tell = tell
        self._new_id = new_id
        self._now = now

    async def __call__(self, reports: Iterable[Report], begins: Iterable[outcomes.Begin]) -> dict[tuple[int, int], bool]:
        """What was begun. What can be written in no way is nobody's any more when its lease has run out."""
        begun: dict[tuple[int, int], bool] = {}
        for report in reports:
            await self._alone(report.claim, self._settled(report))
        for begin in begins:
            begun |= await self._alone(begin.beginning.claim, self._begun(begin)) or {}
        return begun

    async def _alone(self, claim: Claim, unit: Callable[[Connection], Any]) -> Any:
        answer, error = await self._tried(claim, unit)
        if error is not None:
            reason = f"What came of it cannot be stored: {type(error).__name__}: {getattr(error, 'orig', error)}"
            failed = await self._tell(fail_early.failed(claim, reason))
            await self._tried(claim, self._settled(failed))
        return answer

    async def _tried(self, claim: Claim, unit: Callable[[Connection], Any]) -> tuple[Any, Exception | None]:
        try:
            return await self._store.write(unit), None
        except errors.Unavailable:
            raise
        except Exception as error:
            log.error("what came of a node cannot be stored", exc_info=reports_steps.quiet(error),
                      extra={"node": claim.node_id, "resource": claim.name})
            return None, error

    def _begun(self, begin: outcomes.Begin) -> Callable[[Connection], dict[tuple[int, int], bool]]:
        return lambda connection: claiming.begin(connection, [begin.beginning], self._now())

    def _settled(self, report: Report) -> Callable[[Connection], None]:
        return lambda connection: settle.reports(connection, [report], self._new_id(), self._now())
