"""Units of work that store observations of resources, apart from the desired and the applied state.

An older observation never overwrites a newer one (I19). An observation is dropped if the version was written after it: it
was compared with properties that are no longer applied. A failed observation erases nothing that was known.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace

from isotherm.states import ObservationResult
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.database.bulk import Bulk, insert
from isotherm.store.records import Observation, Version

_SEEN, _VERSION = t.observations.c, t.resources.c
_COLUMNS = (_SEEN.resource_id, _SEEN.stack_id, _SEEN.seen_at, _SEEN.result, _SEEN.reason, _SEEN.live, _SEEN.drift,
            _SEEN.drifted_since, _SEEN.digest)
_NAMES = tuple(column.name for column in _COLUMNS)
_RESULTS = {int(member): member for member in ObservationResult}

_BEFORE = (
    sa.select(_VERSION.id, _VERSION.updated_at, _VERSION.physical_id, *_COLUMNS)
    .outerjoin(t.observations, _SEEN.resource_id == _VERSION.id)
    .where(rows.among(_VERSION.id))
)
_INSERT = insert(t.observations, *_NAMES, "physical_id")
_UPDATE = Bulk(
    sa.update(t.observations)
    .where(_SEEN.resource_id == sa.bindparam("o_resource_id"))
    .values({column: sa.bindparam(f"o_{column.name}") for column in (*_COLUMNS[1:], _SEEN.physical_id)}),
    *(f"o_{name}" for name in (*_NAMES[1:], "physical_id", _NAMES[0])),
)


def record(connection: sa.Connection, seen: Sequence[Observation]) -> set[int]:
    """Store observations. Return the ids of the resources whose observation was stored; the others came too late."""
    if not seen:
        return set()
    found = {row[0]: row for row in connection.execute(_BEFORE, rows.ids(one.resource_id for one in seen))}
    box = sealing.of(connection)
    new, changed = [], []
    for one in seen:
        row = found.get(one.resource_id)
        if row is None or (row[1] is not None and row[1] > one.seen_at):
            continue
        before = None if row[3] is None else _observation(row[3:], box)
        if before is None:
            new.append(_since(one, None))
        elif before.seen_at <= one.seen_at:
            changed.append(_since(one, before))
    _INSERT(connection, ((*_row(one, box), found[one.resource_id][2]) for one in new))
    _UPDATE(connection, ((*values[1:], found[one.resource_id][2], values[0])
                         for one in changed if (values := _row(one, box))))
    return {one.resource_id for one in (*new, *changed)}


def _since(one: Observation, before: Observation | None) -> Observation:
    since = None if before is None else before.drifted_since
    if one.result is ObservationResult.UNSEEN and before is not None:
        # Unknown is neither gone nor in sync: the last known state is kept.
        return replace(before, seen_at=one.seen_at, result=one.result, reason=one.reason)
    return replace(one, drifted_since=(one.seen_at if since is None else since) if one.has_drifted else None)


_PUT_RIGHT = (
    sa.update(t.observations)
    .where(rows.among(_SEEN.resource_id), _SEEN.seen_at <= sa.bindparam("o_now"))
    .values(seen_at=sa.bindparam("o_now"), result=int(ObservationResult.SEEN), reason="", live=None, drift="[]",
            drifted_since=None)
)


def put_right(connection: sa.Connection, resource_ids: Collection[int], now: float) -> None:
    """Mark repaired resources as in sync: their earlier observations are out of date."""
    if resource_ids:
        connection.execute(_PUT_RIGHT, {**rows.ids(resource_ids), "o_now": now})


def hand_over(connection: sa.Connection, before: Version, after: Version) -> None:
    """Give the observation of a version to another stack, in which its definition has another digest."""
    found = connection.execute(_BEFORE, rows.ids([before.id])).one_or_none()
    if found is None or found[3] is None:
        return
    box = sealing.of(connection)
    seen = _observation(found[3:], box)
    seen = replace(seen, stack_id=after.stack_id, digest=after.digest if seen.digest == before.digest else seen.digest)
    values = dict(zip(_NAMES, _row(seen, box), strict=True))
    connection.execute(sa.update(t.observations).where(_SEEN.resource_id == before.id).values(values))


def forget(connection: sa.Connection, resource_ids: Collection[int]) -> None:
    """Delete the observations of resources whose rows are deleted."""
    rows.delete_by_id(connection, _SEEN.resource_id, resource_ids)


def drifted(connection: sa.Connection, stack_ids: Collection[str]) -> dict[str, int]:
    """Return the number of drifted resources by stack, without stacks that have none."""
    found = connection.execute(
        sa.select(_SEEN.stack_id, sa.func.count())
        .join(t.resources, sa.and_(_VERSION.id == _SEEN.resource_id, _VERSION.superseded == sa.false()))
        .where(rows.among(_SEEN.stack_id), _SEEN.drifted_since.is_not(None))
        .group_by(_SEEN.stack_id),
        rows.ids(stack_ids),
    )
    return {row[0]: row[1] for row in found}


def _observation(row: Any, box: sealing.Clear) -> Observation:
    id_, stack_id, seen_at, result, reason, live, drift, since, digest = row
    return Observation(id_, stack_id, seen_at, _RESULTS[result], reason, box.open(live, "live", id_, stack_id),
                       box.open(drift, "drift", id_, stack_id), since, digest)


def _row(one: Observation, box: sealing.Clear) -> tuple[Any, ...]:
    return (one.resource_id, one.stack_id, one.seen_at, int(one.result), one.reason,
            box.seal(one.live, "live", one.resource_id, one.stack_id),
            box.seal(one.drift, "drift", one.resource_id, one.stack_id), one.drifted_since, one.digest)
