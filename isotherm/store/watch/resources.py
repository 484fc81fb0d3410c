"""Resources as the observer reads them, some hundred at a time and with few columns.

They are read in the order of their names, along the index of the nodes, so that a chunk costs the same at the end of a
large stack as at its beginning. If an observation has not changed, only its time is written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import NodeKind, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.records import Observation

_NODE, _VERSION, _SEEN = t.nodes.c, t.resources.c, t.observations.c


class WatchedResource(msgspec.Struct, frozen=True, gc=False):
    """A resource to observe, with its applied properties and its last observation."""

    id: int
    stack_id: str
    name: str
    type: str
    implementation: str
    token: str
    physical_id: str
    properties: str
    metadata: str
    data: str
    requires: str
    external: bool
    digest: str | None
    seen_at: float | None
    result: int | None
    live: str | None
    drift: str | None
    # Digest of the definition that was applied when the observation was compared.
    seen_digest: str | None
    # When the row was last written.
    updated_at: float | None = None
    # The name under which the version was made, if a move has given it another.
    made_as: str | None = None
    # The stack in which it was made, as name/id, if a move has taken it to another one.
    made_in: str | None = None

    @property
    def is_compared(self) -> bool:
        """Return whether the last observation was compared with the properties that are applied now.

        Equal digests do not prove it: the same definition may resolve to other values.
        """
        written = self.seen_at is None or (self.updated_at is not None and self.updated_at > self.seen_at)
        return self.drift is not None and self.digest == self.seen_digest and not written


_TARGETS = (
    sa.select(_VERSION.id, _VERSION.stack_id, _VERSION.name, _VERSION.type, _VERSION.implementation, _VERSION.token,
              _VERSION.physical_id, _VERSION.properties, _VERSION.metadata, _VERSION.data, _VERSION.requires,
              _VERSION.external, _VERSION.digest, _SEEN.seen_at, _SEEN.result, _SEEN.live, _SEEN.drift, _SEEN.digest,
              _VERSION.updated_at, _VERSION.made_as, _VERSION.made_in)
    .select_from(t.nodes)
    .join(t.resources, _VERSION.id == _NODE.resource_id)
    .outerjoin(t.observations, _SEEN.resource_id == _VERSION.id)
    .where(_NODE.stack_id == sa.bindparam("stack_id"), _NODE.kind.not_in([NodeKind.CLEANUP, NodeKind.BARRIER]),
           _VERSION.superseded == sa.false(), _VERSION.physical_id.is_not(None), _VERSION.status != Status.IN_PROGRESS,
           # The properties of a suspended object need not be the applied ones.
           _VERSION.suspended == sa.false())
)
_AFTER = _TARGETS.where(_NODE.name > sa.bindparam("cursor")).order_by(_NODE.name).limit(sa.bindparam("most"))
_NAMED = _TARGETS.where(rows.among(_NODE.name)).order_by(_NODE.name)


def after(connection: sa.Connection, stack_id: str, cursor: str, most: int) -> list[WatchedResource]:
    """Return the next resources of a stack after the cursor, in the order of their names."""
    return _targets(connection, connection.execute(_AFTER, {"stack_id": stack_id, "cursor": cursor, "most": most}))


def named(connection: sa.Connection, stack_id: str, names: Collection[str]) -> list[WatchedResource]:
    return _targets(connection, connection.execute(_NAMED, {"stack_id": stack_id, **rows.ids(names)}))


def _targets(connection: sa.Connection, found: Any) -> list[WatchedResource]:
    opened = sealing.of(connection).open
    return [_target(row, opened) for row in found]


def _target(row: Any, opened: Any) -> WatchedResource:
    (id_, stack_id, name, type_, implementation, token, physical_id, properties, metadata, data, requires, external,
     digest, seen_at, result, live, drift, seen_digest, updated_at, made_as, made_in) = row
    return WatchedResource(
        id_, stack_id, name, type_, implementation, token, physical_id, opened(properties, "properties", id_, stack_id),
        opened(metadata, "metadata", id_, stack_id), opened(data, "data", id_, stack_id), requires, bool(external), digest,
        seen_at, result, opened(live, "live", id_, stack_id), opened(drift, "drift", id_, stack_id), seen_digest,
        updated_at, made_as, made_in)


_SAME = (
    sa.update(t.observations)
    .where(rows.among(_SEEN.resource_id), _SEEN.seen_at <= sa.bindparam("o_at"))
    .values(seen_at=sa.bindparam("o_at"))
)


def same(connection: sa.Connection, resource_ids: Sequence[int], at: float) -> None:
    """Record the time of observations that have not changed."""
    if resource_ids:
        connection.execute(_SAME, {**rows.ids(resource_ids), "o_at": at})


def with_reason(one: Observation, reason: str) -> Observation:
    return msgspec.structs.replace(one, reason=reason)
