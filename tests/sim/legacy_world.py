"""The simulator's world with an engine of the legacy path beside each worker, and stacks that are on that path.

The same histories, faults and cloud; what the witness knows of leases of nodes, it knows here of the locks of stacks.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from isotherm.config import Settings
from isotherm.engine.convergence.worker import Tuning, Worker
from isotherm.engine.legacy.engine import LegacyEngine
from isotherm.engine.legacy.engine import Tuning as LegacyTuning
from isotherm.engine.nested.inner_stacks import InnerStacksFactory
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.sim import run
from isotherm.sim.checks.witness import UNFINISHED, Witness
from isotherm.sim.clients import Clients
from isotherm.sim.histories.history import History
from isotherm.sim.hosts import IDLE_S, LEASE_S, Hosts, VirtualClock
from isotherm.sim.world import processes
from isotherm.sim.world.cloud import Thing
from isotherm.sim.world.threads import SimThreads
from isotherm.states import Action

SETTINGS = Settings(convergence_engine=False)


class Pair:
    """A worker and a legacy engine, in one process."""

    def __init__(self, name: str, store: Any, world: contract.World, types: Any, planning: Planning, new_id: Any,
                 tuning: Tuning, nesting: InnerStacksFactory) -> None:
        self._worker = Worker(name, store, world, types, planning, new_id, tuning, nesting)
        legacy = LegacyTuning(lease_s=LEASE_S, concurrency=tuning.concurrency, idle_s=IDLE_S / 8)
        self._engine = LegacyEngine(name, store, world, types, planning, new_id, legacy, nesting)

    def wake(self) -> None:
        self._worker.wake()
        self._engine.wake()

    async def run(self) -> None:
        await asyncio.gather(self._worker.run(), self._engine.run())


class LegacyWitness(Witness):
    """Knows the locks."""

    def _locks(self) -> dict[str, Any]:
        return {row.stack_id: row for row in self._database.look("stack_locks")}

    def _no_lost_wake_up(self, nodes: list[Any], stacks: dict[str, Any]) -> None:
        locks = self._locks()
        for operation in [one for one in self._database.look("operations") if one.state in UNFINISHED]:
            stack, lock = stacks.get(operation.stack_id), locks.get(operation.stack_id)
            if stack is None or stack.operation_id != operation.id:
                self.broken("I4", f"an operation that is not the newest of {operation.stack_id} goes on")
            if lock is None or lock.due is None or lock.operation_id != operation.id:
                self.broken("I10", f"{Action(operation.action).name} is under way, and nobody will ever look at it")
        for node in nodes:
            if node.due is not None:
                self.broken("I5", f"{node.name} is due: a worker would take it, and an engine has the stack")

    def _inside_a_lease(self, verb: str, by: processes.Process | None, thing: Thing, row: Any) -> None:
        lock, name = self._locks().get(row.stack_id), by.name if by is not None else "nobody"
        if lock is None or lock.engine != name:
            self.broken("I5", f"{verb} of {thing.id} by {name}, while {lock.engine if lock else 'nobody'} has the stack")
        elif lock.lease_until is None or lock.lease_until < self._clock():
            self.broken("I5", f"{verb} of {thing.id} by {name}, whose lease has run out")


class LegacyHosts(Hosts):
    """Boots pairs."""

    def _boot(self, name: str) -> None:
        super()._boot(name)
        host = self._hosts[name]
        host.task.cancel()
        clock = VirtualClock(self._loop)
        world = contract.World(clock, self._cloud, Random(self._chance.new_id()), threads=SimThreads())
        types = type(self._types)(self._types.types.values())
        planning = Planning(self._store, types, clock)
        nesting = InnerStacksFactory(self._store, types, planning, clock, self._chance.new_id, self.wake, SETTINGS)
        pair = host.context.run(Pair, host.process.name, self._store, world, types.implementation, planning,
                                self._chance.new_id, self._tuning, nesting)
        host.worker = pair  # type: ignore[assignment]
        host.task = host.context.run(lambda: self._loop.create_task(pair.run(), context=host.context))


class LegacyRun(run.Run):
    """A history, told on the legacy path."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self.witness = LegacyWitness(self.database, self.cloud, self.loop.time, self.log.note)
        self.store.witness = self.witness
        self.cloud.witness = self.witness
        self.hosts = LegacyHosts(self.loop, self.chance, self.faults, self.store, self.cloud)
        self.api = self._orchestrator(convergence=False)
        self.clients = Clients(self.loop, self.api, self.witness, self.cloud, self.chance, self.log.note)
        self.witness.on_wait = self.clients.signal_soon
