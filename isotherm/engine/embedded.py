"""The whole engine inside one process, on one folder: no service, no broker, nothing to set up.

The folder holds the database, the journal of a reality for types that have no cloud, and the locks of the workers that
are alive. Several processes may use one folder at once: each has a worker of its own, and leases keep them apart.
"""

from __future__ import annotations

import asyncio
import os
import random
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from isotherm.clock import SystemClock
from isotherm.engine import planning, presence
from isotherm.engine.convergence.worker import Worker
from isotherm.engine.following import Following
from isotherm.engine.orchestrator import PROJECT, Orchestrator
from isotherm.resources import contract, known
from isotherm.resources.reality import JournalReality
from isotherm.store import live, release
from isotherm.store.database import ThreadedStore

DATABASE, JOURNAL, WORKERS = "isotherm.db", "reality.journal", "workers"


class Embedded:
    """An engine on a folder. Reading and asking work at once; `driving` is what makes things happen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._clock = SystemClock()
        self.store = ThreadedStore.open(f"sqlite:///{folder / DATABASE}")
        self._worker: Worker | None = None
        self.orchestrator = Orchestrator(self.store, known.registry(), self._clock, new_id, self._wake)

    def close(self) -> None:
        self.store.close()

    def follow(self, stack_id: str) -> Following:
        return Following(self.store, self._clock, stack_id)

    async def in_progress(self, besides: Sequence[str] = ()) -> list[str]:
        """The names of stacks on which something is under way."""
        return await self.store.read(lambda connection: live.others_in_progress(connection, PROJECT, besides))

    def is_driven(self) -> bool:
        """Whether some process works on what is under way in this folder."""
        return presence.anybody(self.folder / WORKERS)

    @asynccontextmanager
    async def driving(self) -> AsyncIterator[None]:
        """Work on all that is under way in this folder, also on what a killed process left behind.

        On leaving, what has been begun is recorded first: that takes as long as the steps that are running, which
        never wait for the world. Cancelling cuts even that short, and leaves the rest to the next worker.
        """
        name = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        here = presence.Presence(self.folder / WORKERS, name)
        dead = here.join()
        if dead:
            await self.store.write(lambda connection: release.workers(connection, dead, self._clock.now()))
            here.bury(dead)
        reality = JournalReality(self.folder / JOURNAL)
        world = contract.World(self._clock, reality, random.Random())
        types = known.registry()
        plans = planning.Planning(self.store, types, self._clock)
        self._worker = Worker(name, self.store, world, types.get, plans, new_id)
        task = asyncio.create_task(self._worker.run())
        try:
            yield
        finally:
            self._worker.stop()
            await task
            self._worker = None
            reality.close()
            here.leave()

    def _wake(self) -> None:
        if self._worker is not None:
            self._worker.wake()


def new_id() -> str:
    return str(uuid.uuid4())
