"""One stack in the hands of one engine: phase after phase, operation after operation, until nothing is left to do.

Each node is a task, which takes its turn, acts, waits in memory, and says in the end who goes next. When the operation is
overtaken (a delete, a cancel, a rollback, its deadline) nothing more is begun, what waits is dropped, what is being done
is recorded; then the walker looks what is wanted now.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.legacy.graph import Consequences, PhaseGraph
from isotherm.engine.legacy.recorder import Recorder
from isotherm.engine.legacy.step import StepDriver, WalkerPorts
from isotherm.engine.steps import act
from isotherm.engine.steps import reports as reports_steps
from isotherm.states import NodeState
from isotherm.store import legacy_walk as walking
from isotherm.store.database.writer import Connection
from isotherm.store.locks import Lock
from isotherm.store.records import Beginning, Claim, Operation, Report

log = logging.getLogger(__name__)
T = TypeVar("T")
_ENDED = (NodeState.DONE, NodeState.FAILED)
# When to look again where a project has all the steps that it may have: the end of a step elsewhere may let this one go on.
_HELD_BACK_S = 0.2


class _HeldBack:
    """The project has all the steps under way that it may have."""


class _Sleeper:
    """A node that waits for the world."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.woken = asyncio.Event()


class Walker:
    """Has the lock of one stack, for as long as somebody renews the lease (`guard`)."""

    def __init__(self, lock: Lock, shared: WalkerPorts, guard: act.LeaseGuard, wake: Callable[[], None]) -> None:
        self.lock = lock
        self.guard = guard
        self._shared = shared
        self._wake = wake
        self._step = StepDriver(shared, guard, self._begin)
        self._recorder = Recorder(self._follow, self._record)
        self._walk: PhaseGraph | None = None
        self._operation: Operation | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._sleepers: dict[int, _Sleeper] = {}
        self._idle = asyncio.Event()
        # Nothing more is begun: the operation has been overtaken, or the engine leaves.
        self._halted = False
        self._leaving = False
        self._lost = False
        self._cancelled = False
        self._look: asyncio.Task[None] | None = None

    @property
    def steps(self) -> int:
        """How many are under way."""
        return len(self._tasks)

    async def run(self) -> None:
        """Until nothing is left to do, or the stack is somebody else's."""
        try:
            while not self._leaving and (phase := await self._write(self._next)) is not None:
                await (self._pass(phase) if phase.planned else self._plan(phase.operation))
            if not self._lost and self._leaving:
                await self._write(lambda connection: walking.hand_on(connection, self.lock, self._shared.clock.now()))
        except errors.Superseded:
            self.lose()
        finally:
            for task in (*self._tasks.values(), *([self._look] if self._look else [])):
                task.cancel()
            self._wake()

    def _next(self, connection: Connection) -> walking.Phase | None:
        return walking.phase(connection, self.lock, self._shared.clock.now())

    async def _plan(self, operation: Operation) -> None:
        try:
            await self._shared.planning.plan(operation)
        except errors.Superseded:
            return
        except errors.Temporary as error:
            # It may have been written all the same: the next look at the operation tells.
            await asyncio.sleep(error.retry_after_s)
        except errors.IsothermError as error:
            log.error(
                "planning an operation failed", exc_info=reports_steps.quiet(error), extra={"operation": operation.id}
            )
            failure = f"{type(error).__name__}: {error}"[:1000]
            now = self._shared.clock.now()
            await self._write(lambda c: walking.give_up(c, self.lock, operation, failure, now))

    # One phase.

    async def _pass(self, phase: walking.Phase) -> None:
        self._walk, self._operation = PhaseGraph(phase), phase.operation
        self._halted = self._leaving
        self._cancelled = False
        self._idle.clear()
        step = self._walk.start()
        if step.ended:
            await self._write(lambda c: walking.follow(c, self.lock, phase.operation, step.wave))
        self._go_on(step)
        if self._tasks:
            await self._idle.wait()
        if self._walk.is_over and not self._halted:
            await self._end(phase.operation)

    async def _end(self, operation: Operation) -> None:
        try:
            await self._write(lambda c: walking.end_phase(c, self.lock, operation, self._shared.clock.now()))
        except errors.Superseded:
            return  # overtaken at the last moment; if the lock is gone too, the next look at it says so
        self._wake()

    def _go_on(self, step: Consequences) -> None:
        for node_id in () if self._halted else step.ready:
            task = asyncio.create_task(self._visit(node_id))
            self._tasks[node_id] = task
            task.add_done_callback(functools.partial(self._is_through, node_id))

    def _is_through(self, node_id: int, _task: asyncio.Task[None]) -> None:
        self._tasks.pop(node_id, None)
        self._sleepers.pop(node_id, None)
        if not self._tasks:
            self._idle.set()

    async def _visit(self, node_id: int) -> None:
        assert self._walk is not None
        try:
            while not self._halted:
                answer = await self._turn(node_id)
                if answer is None:
                    return
                if isinstance(answer, _HeldBack):
                    await asyncio.sleep(_HELD_BACK_S)
                elif answer.wake_in_s:
                    await self._sleep(answer)
        except errors.Superseded:
            self.halt()
        except Exception as error:
            log.error("a walk failed", exc_info=reports_steps.quiet(error), extra={"stack": self.lock.stack_id})
            self.lose()

    async def _turn(self, node_id: int) -> Report | _HeldBack | None:
        """One step, when there is room for it. Answers what it waits for; None: the node has come to its end."""
        assert self._walk is not None and self._operation is not None
        async with self._shared.room.slot(self._operation.project, self.lock.stack_id):
            claim = None if self._halted else await self._take(node_id)
            if isinstance(claim, Claim):
                return await self._bring(claim)
        if claim is None and not self._halted:
            # It was skipped by a cancellation, and so was all that needs it.
            self._go_on(self._walk.end(node_id, NodeState.SKIPPED))
        return claim

    async def _bring(self, claim: Claim) -> Report | None:
        report = await self._step(claim)
        over, step = await self._recorder(report)
        if over is None:
            self.halt()
            return None
        if report.state in _ENDED:
            self._go_on(step)
            return None
        return replace(report, wake_in_s=0.0) if over else report

    async def _sleep(self, report: Report) -> None:
        if self._halted:
            return
        sleeper = self._sleepers[report.claim.node_id] = _Sleeper(report)
        try:
            async with asyncio.timeout(report.wake_in_s):
                await sleeper.woken.wait()
        except TimeoutError:
            pass
        finally:
            self._sleepers.pop(report.claim.node_id, None)

    # What happens meanwhile.

    def look(self) -> None:
        """There may be news: for those who wait, or of the operation itself."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._look_now())

    async def _look_now(self) -> None:
        operation = self._operation
        if operation is None or self._halted:
            return
        waiting = [sleeper.report for sleeper in self._sleepers.values()]
        try:
            found = await self._shared.store.read(lambda c: walking.look(c, self.lock, operation, waiting))
        except errors.Superseded:
            self.lose()
            return
        except errors.IsothermError:
            return  # the store does not answer; there will be another look
        if operation is not self._operation:
            return
        if found.overtaken:
            self.halt()
        first = found.cancelled and not self._cancelled
        self._cancelled = found.cancelled
        for node_id, sleeper in self._sleepers.items():
            if first or node_id in found.ready:
                sleeper.woken.set()

    def halt(self) -> None:
        """Begin nothing more. Those who wait are dropped; steps that run end, and are recorded."""
        self._halted = True
        for node_id in list(self._sleepers):
            self._tasks[node_id].cancel()

    def leave(self) -> None:
        """The engine stops: somebody else goes on."""
        self._leaving = True
        self.halt()

    def lose(self) -> None:
        """The stack is somebody else's: no word more, and nothing more to reality."""
        self._halted = self._leaving = self._lost = True
        self.guard.until = 0.0
        for task in self._tasks.values():
            task.cancel()

    # Units of work.

    async def _take(self, node_id: int) -> Claim | _HeldBack | None:
        operation, most = self._operation, self._shared.settings.max_parallel_steps_per_project
        assert operation is not None

        def unit(connection: Connection) -> Claim | _HeldBack | None:
            now = self._shared.clock.now()
            if most and not walking.may_take(connection, self.lock, operation, node_id, most, now):
                return _HeldBack()
            return walking.take(connection, self.lock, operation, node_id, self.guard.until, now)

        async with self._shared.takes.slot(operation.project, operation.stack_id):
            return await self._write(unit)

    async def _begin(self, beginning: Beginning) -> bool:
        operation = beginning.claim.operation
        async with self._shared.begins.slot(operation.project, operation.stack_id):
            return await self._write(lambda c: walking.begin(c, self.lock, beginning, self._shared.clock.now()))

    def _follow(self, report: Report) -> Consequences:
        """What follows from a report."""
        assert self._walk is not None
        if report.state not in _ENDED:
            return Consequences()
        return self._walk.end(report.claim.node_id, report.state, changed=report.changed)

    async def _record(self, reports: Sequence[tuple[Report, Consequences]]) -> list[bool | None]:
        def unit(connection: Connection) -> list[bool | None]:
            now = self._shared.clock.now()
            return [
                walking.record(connection, self.lock, report, step.wave, self._shared.new_id(), now)
                for report, step in reports
            ]

        return await self._write(unit)

    async def _write(self, unit: Callable[[Connection], T]) -> T:
        return await self._shared.store.write(unit)
