"""Masks secrets in reports before they are stored, and in exceptions before they are logged.

A reason may quote any value that a resource was given. Where the secrets of an operation cannot be read, the whole text is
withheld.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.steps import outcomes
from isotherm.planning import documents, masking, off_loop
from isotherm.planning.planner import Planning
from isotherm.resources.schema import Schema
from isotherm.secrets import Redactor
from isotherm.states import NodeState
from isotherm.store.records import Claim, Event, Operation, Report
from isotherm.template.model import definitions

# Operations whose secrets are kept in memory.
_KEPT = 64
_TRIES = 3
# Largest total length of the write-only values that a text is searched for. Beyond it the text is withheld: preparing
# the search costs a second and 25 MB for each million of characters.
_LARGEST = 1_048_576


class ReportMasker:
    """Masks reports with the secrets of their operations."""

    def __init__(self, planning: Planning, types: outcomes.Types) -> None:
        self._planning = planning
        self._types = types
        self._known: dict[str, Redactor] = {}
        self._lock = asyncio.Lock()

    def can_mask_now(self, report: Report) -> bool:
        """Return whether the report has no text, or the secrets are in memory and few enough to be searched for at once."""
        is_known = report.claim.operation.id in self._known and len(report.claim.definition or "") <= off_loop.SMALL
        return is_known or not _has_text(report)

    async def mask(self, report: Report, *properties: Mapping[str, Any]) -> Report:
        """Return the report without secrets. `properties` are the values that the step worked with."""
        if not _has_text(report):
            return report
        await self._learn_secrets(report.claim.operation)
        size = off_loop.weight(properties) + len(report.claim.definition or "")
        return await self._planning.compute(size, lambda: self.mask_now(report, *properties))

    def mask_now(self, report: Report, *properties: Mapping[str, Any]) -> Report:
        """Return the report without secrets, by the secrets in memory. Without them, its texts are withheld."""
        if not _has_text(report):
            return report
        secrets = self._known.get(report.claim.operation.id)
        if secrets is None:
            return _withheld(report, masking.WITHHELD)
        more = self._write_only(report, properties)
        if masking.total(more) > _LARGEST:
            return _withheld(report, masking.TOO_LARGE)
        return _with_texts(report, (secrets + more).text)

    async def mask_text(self, claim: Claim, text: str, *properties: Mapping[str, Any]) -> str:
        """Return a text about the resource of this claim without secrets."""
        return (await self.mask(Report(claim, NodeState.FAILED, reason=text), *properties)).reason

    def loggable(self, error: BaseException, claim: Claim) -> BaseException:
        """Return an error about this claim as it may be logged, its message masked like the reason of a report."""
        known = claim.operation.id in self._known
        text = self.mask_now(Report(claim, NodeState.FAILED, reason=str(error))).reason if known else ""
        return masking.loggable(error, text)

    def loggable_of(self, error: BaseException, operation: Operation) -> BaseException:
        """Return an error about this operation as it may be logged."""
        secrets = self._known.get(operation.id)
        return masking.loggable(error, "" if secrets is None else secrets.text(str(error)))

    async def _learn_secrets(self, operation: Operation) -> None:
        if operation.id in self._known:
            return
        # Steps that begin together end together: the first of them reads the secrets for all.
        async with self._lock:
            for _ in range(_TRIES):
                if operation.id in self._known:
                    return
                try:
                    found = await self._planning.all_secrets(operation.stack_id)
                except errors.Temporary:
                    continue
                except errors.IsothermError:
                    return
                while len(self._known) >= _KEPT:
                    self._known.pop(next(iter(self._known)))
                self._known[operation.id] = found

    def _write_only(self, report: Report, properties: tuple[Mapping[str, Any], ...]) -> list[object]:
        """Return the values of write-only properties, as far as they are known here."""
        claim, version = report.claim, report.version or report.claim.version
        try:
            target = None if claim.definition is None else documents.decode(claim.definition, documents.Target)
            name = target.implementation if target is not None else version.implementation if version else ""
            schema = self._types(name).properties_schema
        except (KeyError, errors.IsothermError):
            return []
        if not any(masking.has_write_only(one) for one in schema.values()):
            return []
        literal = None if target is None else definitions.thaw(target.definition).properties
        return list(_values(schema, [*properties, literal]))


def _values(schema: Mapping[str, Schema], several: list[Any]) -> Iterator[object]:
    for one in several:
        if isinstance(one, Mapping):
            yield from masking.write_only(schema, one)


def _has_text(report: Report) -> bool:
    version, event = report.version, report.event
    return bool(report.reason or (version is not None and version.reason) or (event is not None and event.reason))


def _withheld(report: Report, reason: str) -> Report:
    return _with_texts(report, lambda text: reason if text else "")


def _with_texts(report: Report, mask: Callable[[str], str]) -> Report:
    """Return the report with each of its texts masked."""

    def event(one: Event | None) -> Event | None:
        return None if one is None else replace(one, reason=mask(one.reason))

    version = report.version
    if version is not None:
        version = replace(version, reason=mask(version.reason))
    return replace(report, reason=mask(report.reason), version=version, event=event(report.event))
