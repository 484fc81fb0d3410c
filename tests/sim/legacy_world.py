"""The simulator's world on the legacy path: a legacy engine beside each worker, and stack locks instead of node leases."""

from __future__ import annotations

import asyncio
from typing import Any

from isotherm.config import Settings
from isotherm.engine.convergence.worker import Tuning, Worker
from isotherm.engine.legacy.engine import LegacyEngine
from isotherm.engine.legacy.engine import Tuning as LegacyTuning
from isotherm.engine.nested.inner_stacks import InnerStacksFactory
from isotherm.engine.steps.ports import EnginePorts
from isotherm.planning.planner import Planning
from isotherm.sim import run
from isotherm.sim.checks.evidence import UNFINISHED, Evidence
from isotherm.sim.checks.mutations import Mutations
from isotherm.sim.checks.progress import Progress
from isotherm.sim.checks.witness import Witness
from isotherm.sim.clients import Clients
from isotherm.sim.histories.history import History
from isotherm.sim.hosts import IDLE_S, LEASE_S, Hosts, VirtualClock
from isotherm.sim.world import processes
from isotherm.sim.world.cloud import Thing
from isotherm.states import Action

SETTINGS = Settings(convergence_engine=False)


class Pair:
    """A worker and a legacy engine, in one process."""

    def __init__(self, name: str, ports: EnginePorts, tuning: Tuning) -> None:
        self._worker = Worker(name, ports, tuning)
        legacy = LegacyTuning(lease_s=LEASE_S, concurrency=tuning.concurrency, idle_s=IDLE_S / 8)
        self._engine = LegacyEngine(name, ports, legacy)

    def wake(self) -> None:
        self._worker.wake()
        self._engine.wake()

    async def run(self) -> None:
        await asyncio.gather(self._worker.run(), self._engine.run())


def stack_locks(evidence: Evidence) -> dict[str, Any]:
    return {row.stack_id: row for row in evidence.database.read_table("stack_locks")}


class LegacyProgress(Progress):
    """I4, I10: every unfinished operation has a stack lock that is due; no node is due for a worker (I5)."""

    def check(self, nodes: list[Any], stacks: dict[str, Any]) -> None:
        broken = self._evidence.broken
        locks = stack_locks(self._evidence)
        for operation in [one for one in self._evidence.database.read_table("operations") if one.state in UNFINISHED]:
            stack, lock = stacks.get(operation.stack_id), locks.get(operation.stack_id)
            if stack is None or stack.operation_id != operation.id:
                broken("I4", f"an operation that is not the newest of {operation.stack_id} goes on")
            if lock is None or lock.due is None or lock.operation_id != operation.id:
                broken("I10", f"{Action(operation.action).name} is under way, and its stack lock is not due")
        for node in nodes:
            if node.due is not None:
                broken("I5", f"{node.name} is due: a worker would take it, and an engine has the stack")


class LegacyMutations(Mutations):
    """I5: the engine that calls the cloud holds the stack lock."""

    def _check_lease(self, verb: str, by: processes.Process | None, thing: Thing, row: Any) -> None:
        broken = self._evidence.broken
        lock, name = stack_locks(self._evidence).get(row.stack_id), by.name if by is not None else ""
        if lock is None or lock.engine != name:
            broken("I5", f"{verb} of {thing.id} by {name}, while {lock.engine if lock else 'no engine'} has the stack")
        elif lock.lease_until is None or lock.lease_until < self._evidence.clock():
            broken("I5", f"{verb} of {thing.id} by {name}, whose lease has expired")


class LegacyWitness(Witness):
    """Checks stack locks instead of the leases of nodes."""

    progress_check = LegacyProgress
    mutation_check = LegacyMutations


class LegacyHosts(Hosts):
    """Hosts that run pairs."""

    def _boot(self, name: str) -> None:
        super()._boot(name)
        host = self._hosts[name]
        host.task.cancel()
        clock = VirtualClock(self._loop)
        types = type(self._types)(self._types.types.values())
        planning = Planning(self._store, types, clock)
        context = self._ports(clock, planning)
        nesting = InnerStacksFactory(self._store, types, planning, clock, self._chance.new_id, self.wake, SETTINGS)
        ports = EnginePorts(self._store, context, types.implementation, planning, self._chance.new_id, inner_stacks=nesting)
        pair = host.context.run(Pair, host.process.name, ports, self._tuning)
        host.worker = pair  # type: ignore[assignment]
        host.task = host.context.run(lambda: self._loop.create_task(pair.run(), context=host.context))


class LegacyRun(run.Run):
    """A run of a history on the legacy path."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self.witness = LegacyWitness(self.database, self.cloud, self.loop.time, self.log.note)
        self.store.witness = self.witness
        self.cloud.witness = self.witness
        self.hosts = LegacyHosts(self.loop, self.chance, self.faults, self.store, self.cloud, self.twin)
        self.api = self._orchestrator(convergence=False)
        self.clients = Clients(self.loop, self.api, self.witness, self.cloud, self.chance, self.log.note)
        self.witness.on_wait = self.clients.signal_soon
