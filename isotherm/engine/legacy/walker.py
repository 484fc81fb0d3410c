"""Walks one stack whose lock the engine holds: phase after phase, operation after operation, until nothing is left to do.

Each node is a task: it takes steps, waits in memory between them, and starts its successors at its end. When the operation
is superseded (by a delete, a cancel, a rollback, its deadline), no more steps begin, waiting nodes are dropped, and running
steps are recorded; then the walker reads the newest operation.
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
from isotherm.planning import masking
from isotherm.states import NodeState
from isotherm.store import legacy_walk as walking
from isotherm.store.database.writer import Connection
from isotherm.store.locks import Lock
from isotherm.store.records import Beginning, Begun, Claim, Operation, Report

log = logging.getLogger(__name__)
T = TypeVar("T")
_ENDED = (NodeState.DONE, NodeState.FAILED)
# The pause of a node over the limit of its project: a step elsewhere may end meanwhile.
_HELD_BACK_S = 0.2


class _HeldBack:
    """The project has as many steps under way as its limit allows."""


class _WaitingNode:
    """A node that waits for its wake-up time or an event."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.woken = asyncio.Event()


class Walker:
    """Walks one stack while the engine renews the lease of its lock (`guard`)."""

    def __init__(self, lock: Lock, ports: WalkerPorts, guard: act.LeaseGuard, wake: Callable[[], None]) -> None:
        self.lock = lock
        self.guard = guard
        self._ports = ports
        self._clock = ports.engine.context.clock
        self._wake = wake
        self._driver = StepDriver(ports, guard, self._begin)
        self._recorder = Recorder(self._consequences, self._record)
        self._graph: PhaseGraph | None = None
        self._operation: Operation | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._waiting_nodes: dict[int, _WaitingNode] = {}
        self._idle = asyncio.Event()
        # No more steps begin: the operation is superseded, or the engine stops.
        self._halted = False
        self._leaving = False
        self._lost = False
        self._cancelled = False
        self._checking: asyncio.Task[None] | None = None

    @property
    def steps(self) -> int:
        """The number of nodes under way."""
        return len(self._tasks)

    async def run(self) -> None:
        """Walk until nothing is left to do, or the stack is lost to another engine."""
        try:
            while not self._leaving and (phase := await self._write(self._next_phase)) is not None:
                await (self._walk_phase(phase) if phase.planned else self._plan(phase.operation))
            if not self._lost and self._leaving:
                await self._write(lambda connection: walking.hand_on(connection, self.lock, self._clock.now()))
        except errors.Superseded:
            self.lose()
        finally:
            for task in (*self._tasks.values(), *([self._checking] if self._checking else [])):
                task.cancel()
            self._wake()

    def _next_phase(self, connection: Connection) -> walking.Phase | None:
        return walking.phase(connection, self.lock, self._clock.now())

    async def _plan(self, operation: Operation) -> None:
        try:
            await self._ports.engine.planning.plan(operation)
        except errors.Superseded:
            return
        except errors.Temporary as error:
            # The plan may have been written all the same: reading the phase again shows it.
            await asyncio.sleep(error.retry_after_s)
        except errors.IsothermError as error:
            log.error("planning an operation failed", exc_info=self._ports.parts.masker.loggable_of(error, operation),
                      extra={"operation": operation.id})
            failure = f"{type(error).__name__}: {error}"[:1000]
            now = self._clock.now()
            await self._write(lambda c: walking.give_up(c, self.lock, operation, failure, now))

    # One phase: start the ready nodes, drive each of them to its end, start those that are ready then.

    async def _walk_phase(self, phase: walking.Phase) -> None:
        self._graph, self._operation = PhaseGraph(phase), phase.operation
        self._halted = self._leaving
        self._cancelled = False
        self._idle.clear()
        step = self._graph.start()
        if step.ended:
            await self._write(lambda c: walking.follow(c, self.lock, phase.operation, step.changes))
        self._start_ready(step)
        if self._tasks:
            await self._idle.wait()
        if self._graph.is_over and not self._halted:
            await self._end_phase(phase.operation)

    async def _end_phase(self, operation: Operation) -> None:
        try:
            await self._write(lambda c: walking.end_phase(c, self.lock, operation, self._clock.now()))
        except errors.Superseded:
            return  # superseded at the last moment; if the lock is lost too, the next read of the phase raises
        self._wake()

    def _start_ready(self, step: Consequences) -> None:
        for node_id in () if self._halted else step.ready:
            task = asyncio.create_task(self._drive(node_id))
            self._tasks[node_id] = task
            task.add_done_callback(functools.partial(self._node_ended, node_id))

    def _node_ended(self, node_id: int, _task: asyncio.Task[None]) -> None:
        self._tasks.pop(node_id, None)
        self._waiting_nodes.pop(node_id, None)
        if not self._tasks:
            self._idle.set()

    async def _drive(self, node_id: int) -> None:
        assert self._graph is not None
        try:
            while not self._halted:
                answer = await self._take_step(node_id)
                if answer is None:
                    return
                if isinstance(answer, _HeldBack):
                    await asyncio.sleep(_HELD_BACK_S)
                elif answer.wake_in_s:
                    await self._sleep(answer)
        except errors.Superseded:
            self.halt()
        except Exception as error:
            log.error("a walk failed", exc_info=masking.loggable(error), extra={"stack": self.lock.stack_id})
            self.lose()

    async def _take_step(self, node_id: int) -> Report | _HeldBack | None:
        """Claim the node and run one step of it. Return what the node waits for, or None if it has ended."""
        assert self._graph is not None and self._operation is not None
        async with self._ports.steps.slot(self._operation.project, self.lock.stack_id):
            claim = None if self._halted else await self._claim(node_id)
            if isinstance(claim, Claim):
                return await self._run_step(claim)
        if claim is None and not self._halted:
            # A cancellation has skipped the node and its successors.
            self._start_ready(self._graph.end(node_id, NodeState.SKIPPED))
        return claim

    async def _run_step(self, claim: Claim) -> Report | None:
        report = await self._driver.run(claim)
        woken, follows = await self._recorder.record(report)
        if woken is None:
            self.halt()
            return None
        if report.state in _ENDED:
            self._start_ready(follows)
            return None
        return replace(report, wake_in_s=0.0) if woken else report

    async def _sleep(self, report: Report) -> None:
        if self._halted:
            return
        node = self._waiting_nodes[report.claim.node_id] = _WaitingNode(report)
        try:
            async with asyncio.timeout(report.wake_in_s):
                await node.woken.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting_nodes.pop(report.claim.node_id, None)

    # What happens meanwhile: news of the operation, the end of the engine, the loss of the lock.

    def check(self) -> None:
        """Read in the background whether waiting nodes are ready or the operation is superseded."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check())

    async def _check(self) -> None:
        operation = self._operation
        if operation is None or self._halted:
            return
        waiting = [node.report for node in self._waiting_nodes.values()]
        try:
            found = await self._ports.engine.store.read(lambda c: walking.read_news(c, self.lock, operation, waiting))
        except errors.Superseded:
            self.lose()
            return
        except errors.IsothermError:
            return  # the store does not answer; the next turn checks again
        if operation is not self._operation:
            return
        if found.superseded:
            self.halt()
        first = found.cancelled and not self._cancelled
        self._cancelled = found.cancelled
        for node_id, node in self._waiting_nodes.items():
            if first or node_id in found.ready:
                node.woken.set()

    def halt(self) -> None:
        """Begin no more steps. Waiting nodes are dropped; running steps end and are recorded."""
        self._halted = True
        for node_id in list(self._waiting_nodes):
            self._tasks[node_id].cancel()

    def hand_over(self) -> None:
        """Leave the stack to another engine: this one stops."""
        self._leaving = True
        self.halt()

    def lose(self) -> None:
        """Stop at once: another engine holds the stack. Nothing more is recorded, and reality is not changed any more."""
        self._halted = self._leaving = self._lost = True
        self.guard.until = 0.0
        for task in self._tasks.values():
            task.cancel()

    # Units of work.

    async def _claim(self, node_id: int) -> Claim | _HeldBack | None:
        operation, most = self._operation, self._ports.engine.settings.max_parallel_steps_per_project
        assert operation is not None

        def unit(connection: Connection) -> Claim | _HeldBack | None:
            now = self._clock.now()
            if most and not walking.may_take(connection, self.lock, operation, node_id, most, now):
                return _HeldBack()
            return walking.take(connection, self.lock, operation, node_id, self.guard.until, now)

        async with self._ports.claims.slot(operation.project, operation.stack_id):
            return await self._write(unit)

    async def _begin(self, beginning: Beginning) -> Begun:
        operation = beginning.claim.operation
        async with self._ports.begins.slot(operation.project, operation.stack_id):
            return await self._write(lambda c: walking.begin(c, self.lock, beginning, self._clock.now()))

    def _consequences(self, report: Report) -> Consequences:
        """Return what the end of a node means to its successors."""
        assert self._graph is not None
        if report.state not in _ENDED:
            return Consequences()
        return self._graph.end(report.claim.node_id, report.state, changed=report.changed)

    async def _record(self, reports: Sequence[tuple[Report, Consequences]]) -> list[bool | None]:
        def unit(connection: Connection) -> list[bool | None]:
            now = self._clock.now()
            return [
                walking.record(connection, self.lock, report, step.changes, self._ports.engine.new_id(), now)
                for report, step in reports
            ]

        return await self._write(unit)

    async def _write(self, unit: Callable[[Connection], T]) -> T:
        return await self._ports.engine.store.write(unit)
