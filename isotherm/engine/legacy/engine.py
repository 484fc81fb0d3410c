"""The legacy engine: takes the locks of stacks on which something is to be done, and walks each of them by itself.

It keeps a stack for as long as it renews the lease of the lock. If it dies, the lease runs out, and whoever finds that says
of the stack that its engine went down. If it is stopped in good order, it hands its stacks on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine.legacy.fair_semaphore import FairSemaphore
from isotherm.engine.legacy.step import WalkerPorts
from isotherm.engine.legacy.walker import Walker
from isotherm.engine.nested.inner_stacks import InnerStacksFactory
from isotherm.engine.steps import act, consider, outcomes, reports
from isotherm.engine.steps.throttle import TypeThrottle
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.store import locks
from isotherm.store.database.writer import Connection, Store
from isotherm.store.fairness.shares import START, Place

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tuning:
    """How an engine works. `lease_s` is how long a dead engine's stacks lie idle."""

    lease_s: float = 30.0
    concurrency: int = 1000
    # How many nodes stand in line before the store.
    line: int = 32
    # How many stacks it has at a time.
    stacks: int = 100
    # How long it sleeps at most before it looks by itself: a message is only a hint.
    idle_s: float = 1.0


class LegacyEngine:
    """One engine of the legacy path."""

    def __init__(  # noqa: PLR0913 - the ports of an engine, one each
        self, name: str, store: Store, context: contract.Context, types: outcomes.Types, planning: Planning,
        new_id: Callable[[], str], tuning: Tuning = Tuning(), nesting: InnerStacksFactory | None = None,  # noqa: B008 - frozen
        settings: Settings = Settings(), slots: TypeThrottle | None = None,  # noqa: B008 - frozen
    ) -> None:
        self.name = name
        self._store = store
        self._clock = context.clock
        self._tuning = tuning
        most = settings.max_parallel_steps_per_project
        self._shared = WalkerPorts(
            store, context.clock, planning, new_id, settings,
            consider.Decider(types, new_id, tolerant=settings.tolerates_unseen),
            act.StepRunner(types, context, nesting), reports.ReportMasker(planning, types),
            # One more than may have a step stands there, and tells the user what it waits for.
            FairSemaphore(tuning.concurrency, most and most + 1), slots or TypeThrottle.of(settings, context),
            FairSemaphore(tuning.line), FairSemaphore(tuning.line),
        )
        self._walkers: dict[str, tuple[Walker, asyncio.Task[None]]] = {}
        self._wake = asyncio.Event()
        self._stopping = False
        self._renew_at = 0.0
        # Where the last look at the stacks that wait for an engine ended.
        self._place = START

    def wake(self) -> None:
        """There may be something to do: look now rather than later."""
        self._wake.set()

    def stop(self) -> None:
        """Take nothing more, and hand on what is under way. `run` returns when that is done."""
        self._stopping = True
        for walker, _ in self._walkers.values():
            walker.leave()
        self._wake.set()

    def load(self) -> tuple[int, int]:
        """How many steps are under way, and how many stacks it holds."""
        return sum(walker.steps for walker, _ in self._walkers.values()), len(self._walkers)

    async def run(self) -> None:
        while not self._stopping or self._walkers:
            self._wake.clear()
            try:
                await self._turn()
            except Exception as error:
                log.error("a turn failed", exc_info=reports.quiet(error), extra={"engine": self.name})
                await asyncio.sleep(self._tuning.idle_s)
            await self._rest()

    async def _turn(self) -> None:
        self._forget()
        await self._renew()
        now = self._clock.now()
        room = self._tuning.stacks - len(self._walkers)
        due = await self._store.read(locks.next_due)
        if not self._stopping and room > 0 and due is not None and due <= now:
            await self._take(room)
        for walker, _ in self._walkers.values():
            walker.look()

    async def _take(self, room: int) -> None:
        until = self._clock.now() + self._tuning.lease_s

        def unit(connection: Connection) -> tuple[list[locks.Lock], Place]:
            return locks.take(connection, locks.Wish(self.name, until, room, self._place), self._clock.now())

        taken, self._place = await self._store.write(unit)
        for lock in taken:
            if lock.stack_id in self._walkers:
                # This engine was away for longer than its lease: what it did is somebody else's by now, be it its own.
                self._walkers[lock.stack_id][0].lose()
            walker = Walker(lock, self._shared, act.LeaseGuard(self._clock, until), self.wake)
            if self._stopping:
                walker.leave()
            task = asyncio.create_task(self._walk(walker))
            self._walkers[lock.stack_id] = walker, task

    async def _walk(self, walker: Walker) -> None:
        try:
            await walker.run()
        except Exception as error:
            # The lease runs out, and whoever finds that says so.
            log.error("a walk failed", exc_info=reports.quiet(error), extra={"stack": walker.lock.stack_id})
        finally:
            self.wake()

    def _forget(self) -> None:
        for stack_id in [stack_id for stack_id, (_, task) in self._walkers.items() if task.done()]:
            del self._walkers[stack_id]

    async def _renew(self) -> None:
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

    async def _rest(self) -> None:
        """Sleep until something happens, or it is time to look."""
        if self._wake.is_set() or (self._stopping and not self._walkers):
            return
        try:
            async with asyncio.timeout(self._tuning.idle_s):
                await self._wake.wait()
        except TimeoutError:
            return
