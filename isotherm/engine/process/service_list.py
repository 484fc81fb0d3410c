"""Lists the processes of a service, by their rows and by the locks of this machine.

A row says when a process last sent a heartbeat. A lock in the home folder, where there is one, proves whether the process
lives: a killed process is down at once.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from isotherm.clock import SystemClock
from isotherm.engine.process import heartbeat, liveness
from isotherm.engine.process.heartbeat import FOLDERS
from isotherm.states import ServiceKind
from isotherm.store.admin import services
from isotherm.store.admin.services import Service
from isotherm.store.database.writer import Store

# A process that has missed three heartbeats is down.
PATIENCE_S = 3 * heartbeat.PERIOD_S


class Home(Protocol):
    """The parts of a home folder that lists of processes are read from."""

    path: Path
    clock: SystemClock

    @property
    def store(self) -> Store: ...


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """One process, and whether it is up."""

    service: Service
    alive: bool


async def engines(folder: Home) -> list[ServiceStatus]:
    """Return the engines of the service."""
    return await list_all(folder, ServiceKind.ENGINE)


async def is_driven(folder: Home) -> bool:
    """Return whether a live engine works on the stacks of the folder."""
    return any(one.alive for one in await engines(folder))


async def list_all(folder: Home, *kinds: ServiceKind) -> list[ServiceStatus]:
    """Return the processes of these kinds, or all, with dead ones that have not been cleaned up."""
    rows, ahead = await folder.store.read(lambda connection: (services.read(connection), services.clock_offset(connection)))
    # Rows have the time of the database. This process may never have measured how far its clock is off.
    now = folder.clock.local() + ahead.by_s
    others = {row.name: row for row in rows}
    found = []
    for kind, name in FOLDERS.items():
        for lock in liveness.list_locks(folder.path / name):
            row = others.pop(lock.name, None) or _unlisted(lock, kind, now)
            found.append(ServiceStatus(row, lock.alive and _is_recent(row, now)))
    found += [ServiceStatus(row, not row.lost and _is_recent(row, now)) for row in others.values()]
    several = [one for one in found if not kinds or one.service.kind in kinds]
    return sorted(several, key=lambda one: (one.service.started_at, one.service.name))


def _is_recent(row: Service, now: float) -> bool:
    return row.seen_at > now - PATIENCE_S


def _unlisted(lock: liveness.LockState, kind: ServiceKind, now: float) -> Service:
    """Return a row for a process that has a lock and no row: it has just started, or died long ago."""
    return Service(heartbeat.id_of(lock.name), lock.name, kind, socket.gethostname(), 0, lock.since,
                   now if lock.alive else lock.since, 0, 0, "")
