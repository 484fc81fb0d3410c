"""Reads of drift: of a stack, of one resource, and of all watched stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import NodeKind, ObservationResult
from isotherm.store import tables as t
from isotherm.store.database import sealing

_NODE, _VERSION, _SEEN, _REPAIR = t.nodes.c, t.resources.c, t.observations.c, t.repairs.c

_SEEN_OF = (
    sa.select(_VERSION.id, _VERSION.name, _VERSION.type, _VERSION.physical_id, _VERSION.stack_id, _VERSION.metadata,
              (_NODE.digest != _VERSION.digest).label("pending"), _SEEN.seen_at, _SEEN.result, _SEEN.reason, _SEEN.drift,
              _SEEN.drifted_since, _REPAIR.rounds, _REPAIR.last_at, _REPAIR.tripped_at)
    .select_from(t.resources)
    .join(t.nodes, sa.and_(_NODE.stack_id == _VERSION.stack_id, _NODE.name == _VERSION.name,
                           _NODE.resource_id == _VERSION.id, _NODE.kind.not_in([NodeKind.CLEANUP, NodeKind.BARRIER])))
    .outerjoin(t.observations, _SEEN.resource_id == _VERSION.id)
    .outerjoin(t.repairs, sa.and_(_REPAIR.stack_id == _VERSION.stack_id, _REPAIR.name == _VERSION.name))
    .where(_VERSION.stack_id == sa.bindparam("stack_id"), _VERSION.superseded == sa.false())
    .order_by(_VERSION.name)
)
_WORTH_SHOWING = sa.or_(
    _SEEN.drifted_since.is_not(None), _SEEN.result == int(ObservationResult.UNSEEN), _REPAIR.tripped_at.is_not(None))


def resources(
    connection: sa.Connection, stack_id: str, name: str | None = None, *, whole: bool = False
) -> list[dict[str, Any]]:
    """Return observations of a stack: of one resource, of all (`whole`), or of those with drift or a problem."""
    query = _SEEN_OF
    if name is not None:
        query = query.where(_VERSION.name == name)
    elif not whole:
        query = query.where(_WORTH_SHOWING)
    opened = sealing.of(connection).open
    found = [dict(row) for row in connection.execute(query, {"stack_id": stack_id}).mappings()]
    for row in found:
        row["drift"] = opened(row["drift"] or "[]", "drift", row["id"], stack_id)
        row["metadata"] = opened(row["metadata"], "metadata", row["id"], stack_id)
    return found


_WORDS = {int(ObservationResult.GONE): "gone", int(ObservationResult.UNSEEN): "unseen"}


def counts(connection: sa.Connection, stack_id: str) -> dict[str, int]:
    """Count the resources of a stack by the result of their observation: in sync, drifted, gone, unseen."""
    drifted = _SEEN.drifted_since.is_not(None)
    found = connection.execute(
        sa.select(_SEEN.result, drifted, sa.func.count())
        .join(t.resources, sa.and_(_VERSION.id == _SEEN.resource_id, _VERSION.superseded == sa.false()))
        .where(_SEEN.stack_id == stack_id).group_by(_SEEN.result, drifted))
    totals = dict.fromkeys(("in_sync", "drifted", "gone", "unseen"), 0)
    for result, has_drifted, count in found:
        word = _WORDS.get(result, "drifted" if has_drifted else "in_sync")
        totals[word] += count
    return totals


class Numbers(msgspec.Struct, frozen=True):
    """Gauges of the observers at one moment."""

    watched: int = 0
    lag_s: float = 0.0
    drifted: int = 0
    unseen: int = 0
    given_up: int = 0
    observers: int = 0
    observations: int = 0
    calls: int = 0
    repairs: int = 0
    trips: int = 0


def numbers(connection: sa.Connection, now: float) -> Numbers:
    def one(query: Any) -> Sequence[Any]:
        return connection.execute(query).one()

    watched, first = one(sa.select(sa.func.count(), sa.func.min(t.watches.c.due)))
    (drifted,) = one(sa.select(sa.func.count()).where(_SEEN.drifted_since.is_not(None)))
    (unseen,) = one(sa.select(sa.func.count()).where(_SEEN.result == int(ObservationResult.UNSEEN)))
    (given_up,) = one(sa.select(sa.func.count()).where(_REPAIR.tripped_at.is_not(None)))
    o = t.observers.c
    (there,) = one(sa.select(sa.func.count()).where(o.name != ""))
    sums = one(sa.select(*(sa.func.coalesce(sa.func.sum(c), 0) for c in (o.observations, o.calls, o.repairs, o.trips))))
    lag_s = 0.0 if first is None else max(0.0, now - first)
    return Numbers(watched, lag_s, drifted, unseen, given_up, there, *map(int, sums))
