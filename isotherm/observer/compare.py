"""Turns the result of a type's `handle_get_reality` into the Observation that is stored. Pure.

The observer uses it for its rounds, the engine for operations that observe before they decide (`engine.steps.observe`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from isotherm.planning import documents
from isotherm.resources import contract
from isotherm.resources.reality import drift
from isotherm.states import ObservationResult
from isotherm.store.records import Observation


class Subject(Protocol):
    """The version that was observed: a `Version` of the engine or a `Target` of the observer."""

    @property
    def id(self) -> int: ...

    @property
    def stack_id(self) -> str: ...

    @property
    def properties(self) -> str: ...

    @property
    def digest(self) -> str | None: ...


class Comparison(NamedTuple):
    """An earlier comparison with the same applied properties: the live properties and their drift, as stored."""

    live: str | None
    drift: str


def observation(
    type_: type[contract.Resource], subject: Subject, reality: contract.LiveState, at: float,
    wanted: Mapping[str, Any] | None = None, earlier: Comparison | None = None,
) -> Observation:
    """Return the Observation of a version at a time. Without `wanted`, the applied properties are wanted.

    Where the live properties are those of `earlier`, its drift is taken over instead of compared again.
    """
    id_, stack_id, digest = subject.id, subject.stack_id, subject.digest
    if isinstance(reality, contract.Unseen):
        return Observation(id_, stack_id, at, ObservationResult.UNSEEN, reality.reason, digest=digest)
    if isinstance(reality, contract.Gone):
        return Observation(id_, stack_id, at, ObservationResult.GONE, digest=digest)
    live = documents.encode(dict(reality.properties))
    if earlier is not None and live == earlier.live:
        return Observation(id_, stack_id, at, ObservationResult.SEEN, "", live, earlier.drift, digest=digest)
    found = _drift(type_, subject, reality, wanted)
    return Observation(id_, stack_id, at, ObservationResult.SEEN, "", live, documents.encode(found), digest=digest)


def _drift(
    type_: type[contract.Resource], subject: Subject, seen: contract.Seen, wanted: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    applied = documents.decode(subject.properties, dict[str, Any])
    return [{"property": one.property, "applied": one.applied, "live": one.live, "wanted": one.wanted}
            for one in drift.compare(type_, applied, seen, wanted)]
