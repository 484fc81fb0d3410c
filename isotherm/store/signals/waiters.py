"""Who waits for the signals of a resource: what tells whether a signed address is still good for something."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.states import ENDED, EdgeKind, Status
from isotherm.store import tables as t
from isotherm.store.signals.signals import Addressee

_NODE, _VERSION = t.nodes.c, t.resources.c

_NAMED = sa.select(_VERSION.name).where(
    _VERSION.stack_id == sa.bindparam("stack_id"), _VERSION.token == sa.bindparam("token"))


def name_of(connection: sa.Connection, stack_id: str, token: str) -> str | None:
    """The name of the resource of which this is a version, living or not."""
    return connection.execute(_NAMED, {"stack_id": stack_id, "token": token}).scalar()


_WAITER = t.nodes.alias("waiter")
_PLACE = sa.and_(_NODE.stack_id == sa.bindparam("stack_id"), _NODE.name == sa.bindparam("name"),
                 _NODE.resource_id == sa.bindparam("v_id"))
_ITSELF = (
    sa.select(_NODE.state, _NODE.digest, _VERSION.status, _VERSION.digest)
    .join(t.resources, _VERSION.id == _NODE.resource_id)
    .where(_PLACE)
)
# Of what has not been made yet, nobody knows here of what type it will be.
_WAITERS = (
    sa.select(_WAITER.c.state, _WAITER.c.digest, _VERSION.status, _VERSION.digest)
    .select_from(t.nodes)
    .join(t.edges, sa.and_(t.edges.c.src == _NODE.id, t.edges.c.kind == EdgeKind.REQUIRES))
    .join(_WAITER, _WAITER.c.id == t.edges.c.dst)
    .outerjoin(t.resources, _VERSION.id == _WAITER.c.resource_id)
    .where(_PLACE, sa.or_(_VERSION.id.is_(None), _VERSION.implementation == sa.bindparam("type")))
)


def is_waited_for(connection: sa.Connection, to: Addressee, type_: str) -> bool:
    """Whether a resource of the type may still wait for signals of this one: it, or one that requires it.

    Where there is none at all, somebody in another stack may.
    """
    query = _ITSELF if type_ == to.implementation else _WAITERS
    found = connection.execute(query, {"stack_id": to.stack_id, "name": to.name, "v_id": to.id, "type": type_}).all()
    return not found or any(
        state not in ENDED and (status != Status.COMPLETE or wanted != applied) for state, wanted, status, applied in found)
