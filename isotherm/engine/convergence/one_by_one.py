"""Writes the parts of a turn one by one, after the database has refused the turn as a whole.

The database would refuse the same part again, and with it every other part of the same transaction. So each part gets a
transaction of its own: a part that is refused fails its node with the error of the database.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from isotherm import errors
from isotherm.engine.steps import fail_early, outcomes, reports
from isotherm.planning import masking
from isotherm.store.database.writer import Connection, Store
from isotherm.store.operations import settle
from isotherm.store.queue import claim as claiming
from isotherm.store.records import Begun, Claim, Report

log = logging.getLogger(__name__)


class OneByOne:
    """Writes reports and beginnings one by one."""

    def __init__(
        self, store: Store, masker: reports.ReportMasker, new_id: Callable[[], str], now: Callable[[], float]
    ) -> None:
        self._store = store
        self._masker = masker
        self._new_id = new_id
        self._now = now

    async def write(self, settled: Iterable[Report], begins: Iterable[outcomes.Begin]) -> dict[tuple[int, int], Begun]:
        """Return the claims that were begun. Claims that cannot be written at all are retried when their leases expire."""
        begun: dict[tuple[int, int], Begun] = {}
        for report in settled:
            await self._write_or_fail(report.claim, self._settle_unit(report))
        for begin in begins:
            begun |= await self._write_or_fail(begin.beginning.claim, self._begin_unit(begin)) or {}
        return begun

    async def _write_or_fail(self, claim: Claim, unit: Callable[[Connection], Any]) -> Any:
        answer, error = await self._try(claim, unit)
        if error is not None:
            reason = f"What came of it cannot be stored: {type(error).__name__}: {getattr(error, 'orig', error)}"
            failed = await self._masker.mask(fail_early.failed(claim, reason))
            await self._try(claim, self._settle_unit(failed))
        return answer

    async def _try(self, claim: Claim, unit: Callable[[Connection], Any]) -> tuple[Any, Exception | None]:
        try:
            return await self._store.write(unit), None
        except errors.Unavailable:
            raise
        except Exception as error:
            log.error("the result of a step cannot be stored", exc_info=masking.loggable(error),
                      extra={"node": claim.node_id, "resource": claim.name})
            return None, error

    def _begin_unit(self, begin: outcomes.Begin) -> Callable[[Connection], dict[tuple[int, int], Begun]]:
        return lambda connection: claiming.begin(connection, [begin.beginning], self._now())

    def _settle_unit(self, report: Report) -> Callable[[Connection], None]:
        return lambda connection: settle.reports(connection, [report], self._new_id(), self._now())
