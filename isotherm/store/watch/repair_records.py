"""What is known of each resource that has drifted: whether that was told, how often it was repaired, whether in vain."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec
import sqlalchemy as sa

from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database.bulk import Bulk, insert
from isotherm.store.records import Event

_REPAIR = t.repairs.c
_COLUMNS = (_REPAIR.name, _REPAIR.told_at, _REPAIR.rounds, _REPAIR.since, _REPAIR.last_at, _REPAIR.tripped_at)


class Repair(msgspec.Struct, gc=False):
    """One resource."""

    name: str
    told_at: float | None = None
    rounds: int = 0
    since: float | None = None
    last_at: float | None = None
    tripped_at: float | None = None


def of_stack(connection: sa.Connection, stack_id: str) -> dict[str, Repair]:
    found = connection.execute(sa.select(*_COLUMNS).where(_REPAIR.stack_id == stack_id))
    return {row[0]: Repair(*row) for row in found}


_NAMES = ("told_at", "rounds", "since", "last_at", "tripped_at")
_INSERT = insert(t.repairs, "stack_id", "name", *_NAMES)
_DELETE_ONE = Bulk(
    sa.delete(t.repairs).where(_REPAIR.stack_id == sa.bindparam("r_stack"), _REPAIR.name == sa.bindparam("r_name")),
    "r_stack", "r_name",
)


def write(connection: sa.Connection, stack_id: str, changed: Iterable[Repair]) -> None:
    """Keep what is known of these; what says nothing is forgotten."""
    many = list(changed)
    _DELETE_ONE(connection, ((stack_id, one.name) for one in many))
    kept = [one for one in many if (one.told_at, one.last_at, one.tripped_at) != (None, None, None)]
    _INSERT(connection, ((stack_id, one.name, *(getattr(one, name) for name in _NAMES)) for one in kept))


def reset(connection: sa.Connection, stack_ids: Collection[str], name: str | None = None) -> None:
    """Let what was given up be repaired again. None: all resources of the stacks.

    When it was last repaired stays: if that has failed, this is how it is found (see watch_goals.failed).
    """
    where = [rows.among(_REPAIR.stack_id), *([] if name is None else [_REPAIR.name == name])]
    connection.execute(
        sa.update(t.repairs).where(*where).values(rounds=0, since=None, tripped_at=None), rows.ids(stack_ids))


def given_up(connection: sa.Connection, stack_ids: Collection[str]) -> dict[str, int]:
    """By stack: how many of its resources are not repaired any more. Those that have none are left out."""
    query = (
        sa.select(_REPAIR.stack_id, sa.func.count())
        .where(rows.among(_REPAIR.stack_id), _REPAIR.tripped_at.is_not(None)).group_by(_REPAIR.stack_id)
    )
    return {row[0]: row[1] for row in connection.execute(query, rows.ids(stack_ids))}


def event(stack_id: str, operation_id: str, name: str, type_: str, physical_id: str | None, text: str) -> Event:
    return Event(stack_id, operation_id, name, type_, physical_id, Action.OBSERVE, Status.COMPLETE, text)


class Tally(msgspec.Struct):
    """What an observer has done since it last said so."""

    looks: int = 0
    calls: int = 0
    repairs: int = 0
    trips: int = 0


_OBSERVER = t.observers.c


def beat(connection: sa.Connection, name: str, tally: Tally, now: float, lease_s: float) -> int:
    """Be there, with what was done. Answers how many observers there are."""
    _add(connection, name, tally, now)
    dead = connection.execute(
        sa.select(_OBSERVER.name, _OBSERVER.looks, _OBSERVER.calls, _OBSERVER.repairs, _OBSERVER.trips)
        .where(_OBSERVER.beat_at < now - lease_s, _OBSERVER.name != "")
    ).all()
    for gone in dead:
        leave(connection, gone[0], now)
    return int(connection.execute(sa.select(sa.func.count()).where(_OBSERVER.name != "")).scalar_one())


def leave(connection: sa.Connection, name: str, now: float) -> None:
    """Its numbers stay."""
    found = connection.execute(
        sa.select(_OBSERVER.looks, _OBSERVER.calls, _OBSERVER.repairs, _OBSERVER.trips).where(_OBSERVER.name == name)
    ).one_or_none()
    if found is not None:
        connection.execute(sa.delete(t.observers).where(_OBSERVER.name == name))
        _add(connection, "", Tally(*found), now)


def _add(connection: sa.Connection, name: str, tally: Tally, now: float) -> None:
    hit = connection.execute(
        sa.update(t.observers).where(_OBSERVER.name == name).values(
            beat_at=now, looks=_OBSERVER.looks + tally.looks, calls=_OBSERVER.calls + tally.calls,
            repairs=_OBSERVER.repairs + tally.repairs, trips=_OBSERVER.trips + tally.trips))
    if not hit.rowcount:
        connection.execute(sa.insert(t.observers).values(name=name, beat_at=now, **msgspec.structs.asdict(tally)))
