"""Units of work: the processes of the service say that they are there; and what time it is where all of them meet."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec
import sqlalchemy as sa

from isotherm.states import ServiceKind
from isotherm.store.tables import services

# For so long the row of a process is kept that says nothing any more.
KEPT_S = 86_400.0
# How often the time is asked for: the quickest answer tells it best.
_LOOKS = 3
_SERVICE = services.c
# Each tells seconds since 1970, whatever zone it is set to. SQLite has no time of its own: it is this very machine.
_OF_MARIADB = sa.text("SELECT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) / 1000000")
_TIMES = {
    "postgresql": sa.text("SELECT extract(epoch FROM clock_timestamp())"),
    "mysql": _OF_MARIADB,
    "mariadb": _OF_MARIADB,
}


class Service(msgspec.Struct, frozen=True):
    """One process, as it last spoke of itself."""

    id: str
    name: str
    kind: ServiceKind
    host: str
    pid: int
    started_at: float
    seen_at: float
    load: int
    leases: int
    version: str
    lost: bool = False


class Ahead(NamedTuple):
    """By how many seconds the database is ahead of this machine, and by how many that may be wrong."""

    by_s: float
    error_s: float


def beat(connection: sa.Connection, mine: Iterable[Service]) -> None:
    """These are there. Whoever has long said nothing is forgotten on the way."""
    for one in mine:
        said = {**msgspec.structs.asdict(one), "kind": int(one.kind)}
        hit = connection.execute(sa.update(services).where(_SERVICE.id == one.id).values(said))
        if not hit.rowcount:
            connection.execute(sa.insert(services).values(said))
        connection.execute(sa.delete(services).where(_SERVICE.seen_at < one.seen_at - KEPT_S))


def forget(connection: sa.Connection, ids: Collection[str]) -> None:
    """These have left in good order, or are to be seen no more."""
    connection.execute(sa.delete(services).where(_SERVICE.id.in_(list(ids))))


def lose(connection: sa.Connection, ids: Collection[str]) -> None:
    """These are proved dead: they are down from now on, however short ago they were seen."""
    connection.execute(sa.update(services).where(_SERVICE.id.in_(list(ids))).values(lost=True))


def read(connection: sa.Connection) -> list[Service]:
    """All that are known, the oldest first."""
    found = connection.execute(sa.select(services).order_by(_SERVICE.started_at, _SERVICE.id)).mappings()
    return [Service(**{**row, "kind": ServiceKind(row["kind"])}) for row in found]


def ahead(connection: sa.Connection) -> Ahead:
    """How far the time of the database is from this machine's."""
    asked = _TIMES.get(connection.dialect.name)
    if asked is None:
        return Ahead(0.0, 0.0)
    return min((_look(connection, asked) for _ in range(_LOOKS)), key=lambda one: one.error_s)


def _look(connection: sa.Connection, asked: sa.TextClause) -> Ahead:
    # A monotonic clock in between: this machine's own may be set at any moment.
    here, before = time.time(), time.monotonic()
    there = float(connection.execute(asked).scalar_one())
    half = (time.monotonic() - before) / 2
    return Ahead(there - (here + half), half)
