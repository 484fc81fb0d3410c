"""Units of work for signals: a signal is stored, and the waiting nodes are made due in the same transaction.

Signals are rows of their own and never part of a resource's document (lesson A7, lesson A9): storing one changes nothing
that a worker writes, so neither can undo the other. The version only counts its signals. The count shows the transaction
that records a wait whether a signal came first.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import Action, NodeKind, Status
from isotherm.store import missing, rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.records import Event
from isotherm.store.transitions import nodes, versions

# Maximum size of one signal; maximum size and number of all signals of one resource.
SIGNAL_BYTES = 1 << 20
TOTAL_BYTES = 16 << 20
KEYS = 10_000

_NODE, _VERSION, _SIGNAL = t.nodes.c, t.resources.c, t.signals.c


class Addressee(NamedTuple):
    """A resource that can be signalled: its current version."""

    id: int
    stack_id: str
    name: str
    type: str
    implementation: str
    physical_id: str | None
    action: int
    status: int
    taken: int
    size: int
    kind: int
    token: str


class NewSignal(NamedTuple):
    """A signal that the resource type has accepted."""

    id: str
    key: str
    details: str
    reason: str


_FIND = (
    sa.select(_VERSION.id, _NODE.stack_id, _NODE.name, _VERSION.type, _VERSION.implementation,
              _VERSION.physical_id, _VERSION.action, _VERSION.status, _VERSION.signals, _VERSION.signal_bytes, _NODE.kind,
              _VERSION.token)
    .outerjoin(t.resources, _VERSION.id == _NODE.resource_id)
    .where(_NODE.stack_id == sa.bindparam("stack_id"), _NODE.name == sa.bindparam("name"), _NODE.kind != NodeKind.BARRIER,
           sa.or_(_VERSION.superseded.is_(None), _VERSION.superseded == sa.false()))
)


def addressee(connection: sa.Connection, stack_id: str, name: str) -> Addressee:
    """Find the resource of that name, or the one that had it before a move. Raises NotFound, with Heat's message."""
    row = connection.execute(_FIND, {"stack_id": stack_id, "name": name}).first() or _moved(connection, stack_id, name)
    if row is None:
        raise missing.resource(connection, stack_id, name)
    if row[0] is None:
        raise errors.NotFound(f"The Resource ({name}) is not available.", kind="ResourceNotAvailable",
                              hint="The resource has not been created yet.")
    return Addressee._make(row)


def _moved(connection: sa.Connection, stack_id: str, name: str) -> Any:
    """Find the resource that was made under a name: its signal URL still has it."""
    moved = sa.select(_VERSION.name).where(_VERSION.stack_id == stack_id, _VERSION.made_as == name,
                                           _VERSION.superseded == sa.false())
    found = connection.execute(moved).scalars().first()
    return None if found is None else connection.execute(_FIND, {"stack_id": stack_id, "name": found}).first()


# Built once: a burst of signals should cost no more than its rows.
_OF = _SIGNAL.resource_id == sa.bindparam("s_resource_id")
_COUNT = sa.select(sa.func.count()).select_from(t.signals).where(_OF)
_KNOWN = sa.select(_SIGNAL.number).where(_OF, _SIGNAL.id == sa.bindparam("s_id"))
_SIZE = sa.select(_SIGNAL.size).where(_OF, _SIGNAL.key == sa.bindparam("s_key"))
_DROP = sa.delete(t.signals).where(_OF, _SIGNAL.key == sa.bindparam("s_key"))
_KEEP = sa.insert(t.signals)


def count(connection: sa.Connection, resource_id: int) -> int:
    """Return the number of stored signals of a resource."""
    return connection.execute(_COUNT, {"s_resource_id": resource_id}).scalar_one()


def is_known(connection: sa.Connection, resource_id: int, signal_id: str) -> bool:
    """Return whether a signal with this id is stored already: a repeated signal changes nothing (I11)."""
    return connection.execute(_KNOWN, {"s_resource_id": resource_id, "s_id": signal_id}).first() is not None


def take(connection: sa.Connection, to: Addressee, signal: NewSignal, operation_id: str, now: float) -> None:
    """Store a signal with its event, and wake the nodes that wait for it. Raises UserError beyond the limits.

    `to` was read in the same transaction: its count gives the signal its number.
    """
    size = len(signal.details.encode())
    same = {"s_resource_id": to.id, "s_key": signal.key}
    replaced = connection.execute(_SIZE, same).scalar()
    growth = size - (replaced or 0)
    _refuse_too_many(connection, to, growth, new=replaced is None)
    versions.count_signal(connection, to.id, growth)
    if replaced is not None:
        connection.execute(_DROP, same)
    kept = {"resource_id": to.id, "number": to.taken + 1, "id": signal.id, "key": signal.key,
            "details": sealing.of(connection).seal(signal.details, "details", to.id, str(to.taken + 1)), "size": size,
            "created_at": now}
    connection.execute(_KEEP, kept)
    event = Event(to.stack_id, operation_id, to.name, to.type, to.physical_id, Action.SIGNAL, Status(to.status),
                 signal.reason)
    rows.insert_events(connection, [event], now, is_progress=False)
    nodes.wake_waiters(connection, str(to.id), now)


def _refuse_too_many(connection: sa.Connection, to: Addressee, growth: int, *, new: bool) -> None:
    if to.size + growth > TOTAL_BYTES or (new and count(connection, to.id) >= KEYS):
        raise errors.UserError(
            f"Resource {to.name} has more signals than can be kept ({KEYS:,}, or {TOTAL_BYTES >> 20} MiB).",
            kind="RequestLimitExceeded", hint="A signal with the same id replaces the earlier one.",
        )


def wake_resource(connection: sa.Connection, resource_id: int, now: float) -> None:
    """Wake the nodes that wait for signals of a resource without a signal, by raising its count."""
    versions.count_signal(connection, resource_id, 0)
    nodes.wake_waiters(connection, str(resource_id), now)


_COUNTS = sa.select(_VERSION.id, _VERSION.signals).where(rows.among(_VERSION.id))


def counts(connection: sa.Connection, topics: Collection[str]) -> dict[str, int]:
    """Return the count of signals by topic, for the transaction that records a wait.

    It holds the write lane: a signal is stored before it, and counted, or after it, and wakes the node.
    """
    if not topics:
        return {}
    return {str(id_): number for id_, number in connection.execute(_COUNTS, rows.ids(int(topic) for topic in topics))}


class Kept(NamedTuple):
    """The stored inbox of a resource. Details are JSON text."""

    topic: str
    type: str
    seen: int
    signals: list[tuple[int, str, str]]


_BOX = sa.select(_VERSION.id, _VERSION.implementation, _VERSION.signals).where(
    _VERSION.stack_id == sa.bindparam("stack_id"),
    sa.or_(_VERSION.physical_id == sa.bindparam("reference"), _VERSION.token == sa.bindparam("reference")),
)
_KEPT = (
    sa.select(_SIGNAL.number, _SIGNAL.key, _SIGNAL.details)
    .where(_SIGNAL.resource_id == sa.bindparam("resource_id"))
    .order_by(_SIGNAL.number)
)


def inbox(connection: sa.Connection, stack_id: str, reference: str, near: Collection[int]) -> Kept | None:
    """Return the signals of the resource with this physical id or token, oldest first.

    The versions in `near` are searched first. Only a reference that was given as plain text needs a search of the whole
    stack and of the stacks that contain it.
    """
    wanted = {"stack_id": stack_id, "reference": reference}
    found: Any = connection.execute(_BOX.where(rows.among(_VERSION.id)), {**wanted, **rows.ids(near)}).first()
    outer: str | None = stack_id
    while found is None and outer is not None:
        found = connection.execute(_BOX, wanted | {"stack_id": outer}).first()
        outer = connection.execute(sa.select(t.stacks.c.owner_id).where(t.stacks.c.id == outer)).scalar()
    if found is None:
        return None
    id_, implementation, seen = found
    kept = connection.execute(_KEPT, {"resource_id": id_})
    opened = sealing.of(connection).open
    return Kept(str(id_), implementation, seen,
                [(number, key, opened(details, "details", id_, str(number))) for number, key, details in kept])


def clear(connection: sa.Connection, topic: str, seen: int) -> None:
    """Delete the signals up to this number."""
    resource = int(topic)
    old = sa.and_(_SIGNAL.resource_id == resource, _SIGNAL.number <= seen)
    size = connection.execute(sa.select(sa.func.coalesce(sa.func.sum(_SIGNAL.size), 0)).where(old)).scalar_one()
    connection.execute(sa.delete(t.signals).where(old))
    versions.drop_signals(connection, resource, size)


def forget(connection: sa.Connection, resource_ids: Collection[int]) -> None:
    """Delete the signals of deleted resources."""
    rows.delete_by_id(connection, _SIGNAL.resource_id, resource_ids)
