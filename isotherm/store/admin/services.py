"""Units of work for heartbeats of processes, and a measurement of the database's clock."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec
import sqlalchemy as sa

from isotherm.states import ServiceKind
from isotherm.store.tables import services

# How long the row of a process without a heartbeat is kept.
KEPT_S = 86_400.0
# Number of measurements of the clock; the one with the shortest round trip is the most exact.
_SAMPLES = 3
_SERVICE = services.c
# Seconds since 1970, independent of the server's time zone. SQLite has no clock but that of this machine.
_OF_MARIADB = sa.text("SELECT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(6)) / 1000000")
_TIMES = {
    "postgresql": sa.text("SELECT extract(epoch FROM clock_timestamp())"),
    "mysql": _OF_MARIADB,
    "mariadb": _OF_MARIADB,
}


class Service(msgspec.Struct, frozen=True):
    """The row of one process: its last heartbeat."""

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


class ClockOffset(NamedTuple):
    """The seconds by which the clock of the database is ahead of this machine's, and the error of that number."""

    by_s: float
    error_s: float


def beat(connection: sa.Connection, mine: Iterable[Service]) -> None:
    """Write the heartbeats of these processes, and delete rows without a heartbeat for long."""
    for one in mine:
        said = {**msgspec.structs.asdict(one), "kind": int(one.kind)}
        hit = connection.execute(sa.update(services).where(_SERVICE.id == one.id).values(said))
        if not hit.rowcount:
            connection.execute(sa.insert(services).values(said))
        connection.execute(sa.delete(services).where(_SERVICE.seen_at < one.seen_at - KEPT_S))


def forget(connection: sa.Connection, ids: Collection[str]) -> None:
    """Delete the rows of processes that have shut down, or that an operator removes."""
    connection.execute(sa.delete(services).where(_SERVICE.id.in_(list(ids))))


def lose(connection: sa.Connection, ids: Collection[str]) -> None:
    """Mark processes as down that are proved dead, however recent their heartbeat is."""
    connection.execute(sa.update(services).where(_SERVICE.id.in_(list(ids))).values(lost=True))


def read(connection: sa.Connection) -> list[Service]:
    """Return all known processes, oldest first."""
    found = connection.execute(sa.select(services).order_by(_SERVICE.started_at, _SERVICE.id)).mappings()
    return [Service(**{**row, "kind": ServiceKind(row["kind"])}) for row in found]


def clock_offset(connection: sa.Connection) -> ClockOffset:
    """Measure how far the clock of the database is ahead of this machine's."""
    query = _TIMES.get(connection.dialect.name)
    if query is None:
        return ClockOffset(0.0, 0.0)
    return min((_measure(connection, query) for _ in range(_SAMPLES)), key=lambda one: one.error_s)


def _measure(connection: sa.Connection, query: sa.TextClause) -> ClockOffset:
    # The round trip is measured with the monotonic clock: the system's clock may be set at any moment.
    here, before = time.time(), time.monotonic()
    there = float(connection.execute(query).scalar_one())
    half = (time.monotonic() - before) / 2
    return ClockOffset(there - (here + half), half)
