"""Units of work: what was seen of resources, kept apart from what is wanted and from what was last applied.

An older look never overwrites a newer one (I19), and none is recorded of a row that was written after it: what it was
compared with is not what is applied any more. What could not be seen erases nothing of what had been.
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
from isotherm.store.records import Observation

_SEEN, _VERSION = t.observations.c, t.resources.c
_COLUMNS = (_SEEN.resource_id, _SEEN.stack_id, _SEEN.seen_at, _SEEN.sight, _SEEN.reason, _SEEN.live, _SEEN.drift,
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
    """Keep what was seen. Answers the resources of which it counted; the rest came too late."""
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
        # Unknown is not gone, and not well either: what was known of it stays.
        return replace(before, seen_at=one.seen_at, result=one.result, reason=one.reason)
    return replace(one, drifted_since=(one.seen_at if since is None else since) if one.has_drifted else None)


_PUT_RIGHT = (
    sa.update(t.observations)
    .where(rows.among(_SEEN.resource_id), _SEEN.seen_at <= sa.bindparam("o_now"))
    .values(seen_at=sa.bindparam("o_now"), sight=int(ObservationResult.SEEN), reason="", live=None, drift="[]",
            drifted_since=None)
)


def put_right(connection: sa.Connection, resource_ids: Collection[int], now: float) -> None:
    """What had drifted was brought back: what was seen before is out of date."""
    if resource_ids:
        connection.execute(_PUT_RIGHT, {**rows.ids(resource_ids), "o_now": now})


def forget(connection: sa.Connection, resource_ids: Collection[int]) -> None:
    """The rows of these resources are gone."""
    rows.delete_by_id(connection, _SEEN.resource_id, resource_ids)


def of_stack(connection: sa.Connection, stack_id: str) -> dict[str, Observation]:
    """By resource: what was last seen of the version that its name stands for."""
    box = sealing.of(connection)
    found = connection.execute(
        sa.select(_VERSION.name, *_COLUMNS)
        .join(t.resources, sa.and_(_VERSION.id == _SEEN.resource_id, _VERSION.superseded == sa.false()))
        .where(_SEEN.stack_id == stack_id)
        .order_by(_VERSION.name)
    )
    return {row[0]: _observation(row[1:], box) for row in found}


def of_resource(connection: sa.Connection, resource_id: int) -> Observation | None:
    row = connection.execute(sa.select(*_COLUMNS).where(_SEEN.resource_id == resource_id)).one_or_none()
    return None if row is None else _observation(row, sealing.of(connection))


def drifted(connection: sa.Connection, stack_ids: Collection[str]) -> dict[str, int]:
    """By stack: how many of its resources are known to have drifted. Those that have none are left out."""
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
