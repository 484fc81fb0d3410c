"""Repair records of drifted resources: the time of the report, the number of repairs, the time they were given up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec
import sqlalchemy as sa

from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database.bulk import Bulk, insert
from isotherm.store.records import Event

_REPAIR = t.repairs.c
#: Beginnings of the reasons of events.
DRIFT_SEEN, GIVEN_UP = "Drift seen: ", "Repair given up: "
_COLUMNS = (_REPAIR.name, _REPAIR.reported_at, _REPAIR.rounds, _REPAIR.since, _REPAIR.last_at, _REPAIR.tripped_at)


class Repair(msgspec.Struct, gc=False):
    """The repair record of one resource.

    `reported_at`: when its drift was reported; `tripped_at`: when its breaker opened.
    """

    name: str
    reported_at: float | None = None
    rounds: int = 0
    since: float | None = None
    last_at: float | None = None
    tripped_at: float | None = None


def of_stack(connection: sa.Connection, stack_id: str) -> dict[str, Repair]:
    found = connection.execute(sa.select(*_COLUMNS).where(_REPAIR.stack_id == stack_id))
    return {row[0]: Repair(*row) for row in found}


_NAMES = ("reported_at", "rounds", "since", "last_at", "tripped_at")
_INSERT = insert(t.repairs, "stack_id", "name", *_NAMES)
_DELETE_ONE = Bulk(
    sa.delete(t.repairs).where(_REPAIR.stack_id == sa.bindparam("r_stack"), _REPAIR.name == sa.bindparam("r_name")),
    "r_stack", "r_name",
)


def write(connection: sa.Connection, stack_id: str, changed: Iterable[Repair]) -> None:
    """Store repair records; delete those that hold no time."""
    many = list(changed)
    _DELETE_ONE(connection, ((stack_id, one.name) for one in many))
    kept = [one for one in many if (one.reported_at, one.last_at, one.tripped_at) != (None, None, None)]
    _INSERT(connection, ((stack_id, one.name, *(getattr(one, name) for name in _NAMES)) for one in kept))


def rename(connection: sa.Connection, stack_id: str, names: Mapping[str, str]) -> None:
    """Give the records of resources to their new names, all at once."""
    found = [one for one in of_stack(connection, stack_id).values() if one.name in names]
    write(connection, stack_id, [*(Repair(name) for name in (*names, *names.values())),
                                 *(msgspec.structs.replace(one, name=names[one.name]) for one in found)])


def hand_over(connection: sa.Connection, from_: tuple[str, str], to: tuple[str, str]) -> None:
    """Give the record of a resource to another stack, each given as stack and name."""
    kept = of_stack(connection, from_[0]).get(from_[1])
    write(connection, from_[0], [Repair(from_[1])])
    write(connection, to[0], [Repair(to[1]) if kept is None else msgspec.structs.replace(kept, name=to[1])])


def reset(connection: sa.Connection, stack_ids: Collection[str], name: str | None = None) -> None:
    """Allow repairs again after they were given up: of one resource, or of all resources of the stacks.

    The time of the last repair is kept: a failed repair is found by it (see goals.failed).
    """
    where = [rows.among(_REPAIR.stack_id), *([] if name is None else [_REPAIR.name == name])]
    connection.execute(
        sa.update(t.repairs).where(*where).values(rounds=0, since=None, tripped_at=None), rows.ids(stack_ids))


def given_up(connection: sa.Connection, stack_ids: Collection[str]) -> dict[str, int]:
    """Return, by stack, the number of resources whose repair was given up, without stacks that have none."""
    query = (
        sa.select(_REPAIR.stack_id, sa.func.count())
        .where(rows.among(_REPAIR.stack_id), _REPAIR.tripped_at.is_not(None)).group_by(_REPAIR.stack_id)
    )
    return {row[0]: row[1] for row in connection.execute(query, rows.ids(stack_ids))}


def event(stack_id: str, operation_id: str, name: str, type_: str, physical_id: str | None, text: str) -> Event:
    return Event(stack_id, operation_id, name, type_, physical_id, Action.OBSERVE, Status.COMPLETE, text)


class Tally(msgspec.Struct):
    """Numbers that an observer has counted since its last heartbeat. `observations`: observed resources."""

    observations: int = 0
    calls: int = 0
    repairs: int = 0
    trips: int = 0


_OBSERVER = t.observers.c


def beat(connection: sa.Connection, name: str, tally: Tally, now: float, lease_s: float) -> int:
    """Write the heartbeat of an observer, remove dead observers, and return the number of observers."""
    _add(connection, name, tally, now)
    dead = connection.execute(
        sa.select(_OBSERVER.name, _OBSERVER.observations, _OBSERVER.calls, _OBSERVER.repairs, _OBSERVER.trips)
        .where(_OBSERVER.beat_at < now - lease_s, _OBSERVER.name != "")
    ).all()
    for gone in dead:
        leave(connection, gone[0], now)
    return int(connection.execute(sa.select(sa.func.count()).where(_OBSERVER.name != "")).scalar_one())


def leave(connection: sa.Connection, name: str, now: float) -> None:
    """Remove an observer, and add its numbers to the row that keeps the totals of past observers."""
    found = connection.execute(
        sa.select(_OBSERVER.observations, _OBSERVER.calls, _OBSERVER.repairs, _OBSERVER.trips).where(_OBSERVER.name == name)
    ).one_or_none()
    if found is not None:
        connection.execute(sa.delete(t.observers).where(_OBSERVER.name == name))
        _add(connection, "", Tally(*found), now)


def _add(connection: sa.Connection, name: str, tally: Tally, now: float) -> None:
    hit = connection.execute(
        sa.update(t.observers).where(_OBSERVER.name == name).values(
            beat_at=now, observations=_OBSERVER.observations + tally.observations, calls=_OBSERVER.calls + tally.calls,
            repairs=_OBSERVER.repairs + tally.repairs, trips=_OBSERVER.trips + tally.trips))
    if not hit.rowcount:
        connection.execute(sa.insert(t.observers).values(name=name, beat_at=now, **msgspec.structs.asdict(tally)))
