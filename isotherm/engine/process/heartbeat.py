"""Registers a process: by a lock for the processes of its machine, and by a row that it renews every ten seconds.

The lock (`liveness`) ends with the process and proves its death at once. The row is for other machines and for listings.
Each heartbeat also measures the time of the database, in which leases are given: a machine whose clock is wrong neither
takes leases of others nor loses its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import isotherm
from isotherm import errors
from isotherm.clock import SystemClock
from isotherm.engine.process.home_files import OBSERVERS, WORKERS
from isotherm.engine.process.liveness import ProcessLock
from isotherm.states import ServiceKind
from isotherm.store.admin import services
from isotherm.store.database.writer import Connection, Store
from isotherm.store.queue import release
from isotherm.store.watch import schedule

log = logging.getLogger(__name__)

PERIOD_S = 10.0
# A larger step of the clock is logged.
JUMP_S = 1.0
#: The folder of the home in which the locks of each kind are.
FOLDERS: Mapping[ServiceKind, str] = {
    ServiceKind.ENGINE: WORKERS, ServiceKind.OBSERVER: OBSERVERS, ServiceKind.API: "apis"}
_NAMESPACE = uuid.UUID("0d4b8b57-7c1c-4f1a-9c62-0c6f6a1b7b60")


class Load(NamedTuple):
    """The load of a process: steps under way, and rows that it holds a lease of."""

    steps: int = 0
    leases: int = 0


@dataclass(frozen=True, slots=True)
class Registration:
    """One role of this process: an engine, an API, or an observer."""

    name: str
    kind: ServiceKind
    started_at: float
    load: Callable[[], Load]
    lock: ProcessLock


def new_name() -> str:
    """Return a unique name for a process."""
    return f"{os.getpid()}-{uuid.uuid4().hex[:12]}"


def id_of(name: str) -> str:
    """Return the id of a process in the table of services."""
    return str(uuid.uuid5(_NAMESPACE, name))


def release_dead_services(connection: Connection, kind: ServiceKind, dead: Collection[str], now: float) -> None:
    """Release the leases of processes that are proved dead, and mark their rows as lost."""
    if kind is ServiceKind.ENGINE:
        release.workers(connection, dead, now)
    elif kind is ServiceKind.OBSERVER:
        schedule.release(connection, dead, now)
    services.lose(connection, [id_of(name) for name in dead])


class Heartbeat:
    """The registrations of this process in one home folder."""

    def __init__(self, store: Store, clock: SystemClock, home: Path) -> None:
        self._store = store
        self._clock = clock
        self._home = home
        self._mine: list[Registration] = []
        self._beating: asyncio.Task[None] | None = None

    async def join(self, kind: ServiceKind, load: Callable[[], Load], name: str = "") -> Registration:
        """Register a role of this process, and release what dead processes of this machine held."""
        name = name or new_name()
        await self.set_clock()
        here = ProcessLock(self._home / FOLDERS[kind], name)
        dead = here.join()
        now = self._clock.now()
        one = Registration(name, kind, now, load, here)

        def unit(connection: Connection) -> None:
            if dead:
                release_dead_services(connection, kind, dead, now)
            services.beat(connection, [_row(one, now)])

        await self._store.write(unit)
        here.forget(dead)
        self._mine.append(one)
        self._beating = self._beating or asyncio.create_task(self._beat())
        return one

    async def leave(self, one: Registration) -> None:
        """Remove a registration."""
        self._mine.remove(one)
        if not self._mine and self._beating is not None:
            self._beating.cancel()
            self._beating = None
        try:
            await self._store.write(lambda connection: services.forget(connection, [id_of(one.name)]))
        except errors.Unavailable:
            log.warning("the database does not answer; the row of this process expires by itself")
        one.lock.leave()

    async def set_clock(self) -> None:
        """Set the clock to the time of the database."""
        found = await self._store.read(services.clock_offset)
        moved = found.by_s - self._clock.skew
        # A smaller difference may be an error of the measurement.
        if abs(moved) <= found.error_s:
            return
        self._clock.skew = found.by_s
        if abs(moved) > JUMP_S:
            log.warning("the clock of this machine differs from the database's; using the database's",
                        extra={"ahead_s": round(found.by_s, 3), "moved_s": round(moved, 3)})

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            try:
                await self.set_clock()
                await self._write_rows()
            except errors.Unavailable:
                # The engine or the API of this process logs it, and tries again.
                continue

    async def _write_rows(self) -> None:
        """Renew the rows of this process, and release what processes of this machine held that have died since."""
        now = self._clock.now()
        rows = [_row(one, now) for one in self._mine]
        dead = [(one, one.lock.dead()) for one in self._mine]

        def unit(connection: Connection) -> None:
            services.beat(connection, rows)
            for one, names in dead:
                if names:
                    release_dead_services(connection, one.kind, names, now)

        await self._store.write(unit)
        for one, names in dead:
            one.lock.forget(names)


def _row(one: Registration, now: float) -> services.Service:
    load = one.load()
    return services.Service(id_of(one.name), one.name, one.kind, socket.gethostname(), os.getpid(), one.started_at, now,
                            load.steps, load.leases, isotherm.__version__)
