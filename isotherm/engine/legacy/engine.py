"""The legacy engine: takes the locks of stacks with unfinished operations, and walks each of them with a Walker.

The engine keeps a stack while it renews the lease of its lock. If it dies, the lease expires, and the engine that finds
that fails the operation ("Engine went down"). If it is stopped in order, it hands its stacks over.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from isotherm import errors
from isotherm.engine.legacy.fair_semaphore import FairSemaphore
from isotherm.engine.legacy.step import WalkerPorts
from isotherm.engine.legacy.walker import Walker
from isotherm.engine.steps import act
from isotherm.engine.steps.ports import EnginePorts, step_parts
from isotherm.planning import masking
from isotherm.store import locks
from isotherm.store.database.writer import Connection
from isotherm.store.fairness.shares import START, Cursor

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tuning:
    """Timing and limits of an engine. The stacks of a dead engine are idle for `lease_s`."""

    lease_s: float = 30.0
    concurrency: int = 1000
    # Nodes that wait for the store at once.
    line: int = 32
    # Stacks that the engine holds at once.
    stacks: int = 100
    # The longest sleep before the engine searches by itself: a message is only a hint.
    idle_s: float = 1.0


class LegacyEngine:
    """One engine of the legacy path."""

    def __init__(self, name: str, ports: EnginePorts, tuning: Tuning = Tuning()) -> None:  # noqa: B008 - frozen
        self.name = name
        self._store = ports.store
        self._clock = ports.context.clock
        self._tuning = tuning
        most = ports.settings.max_parallel_steps_per_project
        self._ports = WalkerPorts(
            ports, step_parts(ports),
            # One more than the limit of the project: it waits there, and its reason shows the limit to the user.
            FairSemaphore(tuning.concurrency, most and most + 1), FairSemaphore(tuning.line), FairSemaphore(tuning.line),
        )
        self._walkers: dict[str, tuple[Walker, asyncio.Task[None]]] = {}
        self._wake = asyncio.Event()
        self._stopping = False
        self._renew_at = 0.0
        # The round-robin cursor over stacks that wait for an engine.
        self._cursor = START

    def wake(self) -> None:
        """Search for work now instead of after the sleep."""
        self._wake.set()

    def stop(self) -> None:
        """Take no more stacks, and hand over those that are held. `run` returns when that is done."""
        self._stopping = True
        for walker, _ in self._walkers.values():
            walker.hand_over()
        self._wake.set()

    def load(self) -> tuple[int, int]:
        """Return the number of steps under way, and of stacks that are held."""
        return sum(walker.steps for walker, _ in self._walkers.values()), len(self._walkers)

    async def run(self) -> None:
        """Take turns until stopped."""
        while not self._stopping or self._walkers:
            self._wake.clear()
            try:
                await self._turn()
            except Exception as error:
                log.error("a turn failed", exc_info=masking.loggable(error), extra={"engine": self.name})
                await asyncio.sleep(self._tuning.idle_s)
            await self._sleep()

    async def _turn(self) -> None:
        self._drop_ended_walkers()
        await self._renew_locks()
        now = self._clock.now()
        capacity = self._tuning.stacks - len(self._walkers)
        due = await self._store.read(locks.next_due)
        if not self._stopping and capacity > 0 and due is not None and due <= now:
            await self._take_locks(capacity)
        for walker, _ in self._walkers.values():
            walker.check()

    def _drop_ended_walkers(self) -> None:
        for stack_id in [stack_id for stack_id, (_, task) in self._walkers.items() if task.done()]:
            del self._walkers[stack_id]

    async def _renew_locks(self) -> None:
        now = self._clock.now()
        if now < self._renew_at or not self._walkers:
            return
        self._renew_at = now + self._tuning.lease_s / 3
        until = now + self._tuning.lease_s
        held = [walker.lock for walker, task in self._walkers.values() if not task.done()]
        try:
            ours = await self._store.write(lambda connection: locks.renew(connection, held, until))
        except errors.Unavailable:
            self._renew_at = now + self._tuning.idle_s
            raise
        for walker, task in self._walkers.values():
            if walker.lock.stack_id in ours:
                walker.guard.until = until
            elif not task.done():
                walker.lose()

    async def _take_locks(self, capacity: int) -> None:
        until = self._clock.now() + self._tuning.lease_s

        def unit(connection: Connection) -> tuple[list[locks.Lock], Cursor]:
            return locks.take(connection, locks.LockRequest(self.name, until, capacity, self._cursor), self._clock.now())

        taken, self._cursor = await self._store.write(unit)
        for lock in taken:
            if lock.stack_id in self._walkers:
                # This engine was suspended for longer than its lease: the old walker has lost the stack.
                self._walkers[lock.stack_id][0].lose()
            walker = Walker(lock, self._ports, act.LeaseGuard(self._clock, until), self.wake)
            if self._stopping:
                walker.hand_over()
            task = asyncio.create_task(self._walk(walker))
            self._walkers[lock.stack_id] = walker, task

    async def _walk(self, walker: Walker) -> None:
        try:
            await walker.run()
        except Exception as error:
            # The lease expires, and the engine that finds that fails the operation.
            log.error("a walk failed", exc_info=masking.loggable(error), extra={"stack": walker.lock.stack_id})
        finally:
            self.wake()

    async def _sleep(self) -> None:
        """Sleep until the engine is woken or the idle time has passed."""
        if self._wake.is_set() or (self._stopping and not self._walkers):
            return
        try:
            async with asyncio.timeout(self._tuning.idle_s):
                await self._wake.wait()
        except TimeoutError:
            return
