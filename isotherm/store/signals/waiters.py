"""Reads that decide whether a signal URL is still of use: whether a resource may wait for its signals."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from isotherm.states import ENDED, EdgeKind, Status
from isotherm.store import tables as t
from isotherm.store.signals.signals import Addressee

_NODE, _VERSION = t.nodes.c, t.resources.c

_NAMED = sa.select(_VERSION.name).where(
    _VERSION.stack_id == sa.bindparam("stack_id"), _VERSION.token == sa.bindparam("token"))


def name_of(connection: sa.Connection, stack_id: str, token: str) -> str | None:
    """Return the name of the resource that a version belongs to, current or superseded."""
    return connection.execute(_NAMED, {"stack_id": stack_id, "token": token}).scalar()


_WAITER = t.nodes.alias("waiter")
_PLACE = sa.and_(_NODE.stack_id == sa.bindparam("stack_id"), _NODE.name == sa.bindparam("name"),
                 _NODE.resource_id == sa.bindparam("v_id"))
_ITSELF = (
    sa.select(_NODE.state, _NODE.digest, _VERSION.status, _VERSION.digest)
    .join(t.resources, _VERSION.id == _NODE.resource_id)
    .where(_PLACE)
)
# A node without a version has no type yet, so it counts.
_WAITERS = (
    sa.select(_WAITER.c.state, _WAITER.c.digest, _VERSION.status, _VERSION.digest)
    .select_from(t.nodes)
    .join(t.edges, sa.and_(t.edges.c.src == _NODE.id, t.edges.c.kind == EdgeKind.REQUIRES))
    .join(_WAITER, _WAITER.c.id == t.edges.c.dst)
    .outerjoin(t.resources, _VERSION.id == _WAITER.c.resource_id)
    .where(_PLACE, sa.or_(_VERSION.id.is_(None), _VERSION.implementation.in_(sa.bindparam("types", expanding=True))))
)


def is_waited_for(connection: sa.Connection, to: Addressee, types: Sequence[str]) -> bool:
    """Return whether a resource of one of the types may still wait for signals: this one, or a dependant of it.

    If the stack has no such resource, one in another stack may wait.
    """
    query = _ITSELF if to.implementation in types else _WAITERS
    place = {"stack_id": to.stack_id, "name": to.name, "v_id": to.id}
    found = connection.execute(query, place | ({} if query is _ITSELF else {"types": list(types)})).all()
    return not found or any(
        state not in ENDED and (status != Status.COMPLETE or wanted != applied) for state, wanted, status, applied in found)
