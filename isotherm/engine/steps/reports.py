"""What a worker tells: reasons, to the user, and troubles of its own, to the log. Secrets are in neither.

A reason may quote whatever a resource was given: it is masked before it is stored. The text of an exception is not
logged at all: it is the reason of something, and told there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.steps import outcomes
from isotherm.planning import documents, masking, off_loop
from isotherm.planning.planner import Planning
from isotherm.resources.schema import Schema
from isotherm.secrets import Redactor
from isotherm.states import NodeState
from isotherm.store.records import Claim, Event, Report
from isotherm.template.model import definitions

# Operations whose secrets are kept at hand.
_KEPT = 64
_TRIES = 3
_BLIND = Redactor(())


class ReportMasker:
    """Masks reports."""

    def __init__(self, planning: Planning, types: outcomes.Types) -> None:
        self._planning = planning
        self._types = types
        self._known: dict[str, Redactor] = {}
        self._asking = asyncio.Lock()

    def knows(self, report: Report) -> bool:
        """Whether the report can be masked without asking anybody, or has nothing to mask."""
        return not _says_something(report) or report.claim.operation.id in self._known

    async def __call__(self, report: Report, *properties: Mapping[str, Any]) -> Report:
        """The report without secrets. `properties` are those that the resource had to do with."""
        if not _says_something(report):
            return report
        await self._learn(report)
        return await self._planning.compute(off_loop.weight(properties), lambda: self.masked(report, *properties))

    def masked(self, report: Report, *properties: Mapping[str, Any]) -> Report:
        if not _says_something(report):
            return report
        secrets = self._known.get(report.claim.operation.id, _BLIND)
        if secrets is not _BLIND:
            secrets = secrets + self._write_only(report, properties)
        return _retold(report, secrets)

    async def text(self, claim: Claim, said: str, *properties: Mapping[str, Any]) -> str:
        """A text about the resource of this claim, without secrets."""
        return (await self(Report(claim, NodeState.FAILED, reason=said), *properties)).reason

    async def _learn(self, report: Report) -> None:
        """What is secret in the report's operation. If that cannot be known, nothing is told."""
        operation = report.claim.operation
        if operation.id in self._known:
            return
        # Steps that begin together end together: the first of them asks, for all of them.
        async with self._asking:
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
        """The values of properties that can never be read back, as far as they are known here."""
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


def _says_something(report: Report) -> bool:
    version, event = report.version, report.event
    return bool(report.reason or (version is not None and version.reason) or (event is not None and event.reason))


def _retold(report: Report, secrets: Redactor) -> Report:
    def told(text: str) -> str:
        return masking.WITHHELD if secrets is _BLIND and text else secrets.text(text)

    def event(one: Event | None) -> Event | None:
        return None if one is None else replace(one, reason=told(one.reason))

    version = report.version
    if version is not None:
        version = replace(version, reason=told(version.reason))
    return replace(report, reason=told(report.reason), version=version, event=event(report.event))


def quiet(error: BaseException) -> BaseException:
    """What is logged of an exception: its kind and where it happened, and nothing of what it says."""
    if isinstance(error, errors.Unavailable):
        # It happens to everybody at once, and where is of no interest: one line, and no traceback.
        error.__cause__, error.__suppress_context__ = None, True
        return error.with_traceback(None)
    kind = type(type(error).__name__, (Exception,), {"__module__": type(error).__module__})
    shown: BaseException = kind("(what it says may be secret: it is told as the reason of what failed)")
    # For a debugger; no formatter prints it.
    shown.original = error  # type: ignore[attr-defined]
    return shown.with_traceback(error.__traceback__)
