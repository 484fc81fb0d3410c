"""The machines that workers run on: started, killed, started again, and told when there may be work."""

from __future__ import annotations

import asyncio
import contextvars
from dataclasses import dataclass
from random import Random

from isotherm.engine.convergence.worker import Tuning, Worker
from isotherm.engine.nesting import Nesting
from isotherm.engine.planning import Planning
from isotherm.resources import contract
from isotherm.resources.registry import Registry
from isotherm.sim import processes
from isotherm.sim.chance import Chance
from isotherm.sim.cloud import Cloud
from isotherm.sim.faults import Faults
from isotherm.sim.loop import SimLoop
from isotherm.sim.store import SimStore

LEASE_S = 30.0
IDLE_S = 40.0


@dataclass(frozen=True, slots=True)
class VirtualClock:
    """The engine's clock, turned by the loop."""

    loop: SimLoop

    def now(self) -> float:
        return self.loop.time()


@dataclass(slots=True)
class _Host:
    name: str
    process: processes.Process
    context: contextvars.Context
    worker: Worker
    task: asyncio.Task[None]


class Hosts:
    """All workers of a run."""

    def __init__(self, loop: SimLoop, chance: Chance, faults: Faults, store: SimStore, cloud: Cloud) -> None:
        self._loop = loop
        self._chance = chance
        self._faults = faults
        self._store = store
        self._cloud = cloud
        self._hosts: dict[str, _Host] = {}
        self._births = 0
        self._tuning = Tuning()
        self._types: Registry = Registry()
        faults.on_kill = self._killed

    def start(self, count: int, concurrency: int, types: Registry) -> None:
        self._types = types
        self._tuning = Tuning(lease_s=LEASE_S, concurrency=concurrency, batch=concurrency, idle_s=IDLE_S)
        for number in range(count):
            self._boot(f"w{number}")

    def _boot(self, name: str) -> None:
        self._births += 1
        process = processes.Process(f"{name}.{self._births}", mortal=True, since=self._loop.time())
        context = contextvars.copy_context()
        context.run(processes.OWNER.set, process)
        clock = VirtualClock(self._loop)
        world = contract.World(clock, self._cloud, Random(self._chance.new_id()))
        # Each process learns templates by itself.
        types = Registry(self._types.types.values())
        planning = Planning(self._store, types, clock)
        nesting = Nesting(self._store, types, planning, clock, self._chance.new_id, self.wake)
        worker = context.run(
            Worker, process.name, self._store, world, types.implementation, planning, self._chance.new_id, self._tuning,
            nesting,
        )
        task = context.run(lambda: self._loop.create_task(worker.run(), context=context))
        self._hosts[name] = _Host(name, process, context, worker, task)

    def _killed(self, process: processes.Process) -> None:
        name = process.name.partition(".")[0]
        self._loop.call_later(self._chance.world.uniform(0.1, 90.0), self._reboot, name, context=self._faults.nobody)

    def _reboot(self, name: str) -> None:
        if not self._hosts[name].process.alive:
            self._boot(name)

    def wake(self) -> None:
        """A hint to all workers; hints get lost, come late, and come twice."""
        for host in self._hosts.values():
            if not host.process.alive or self._chance.strikes("wake lost", "wake"):
                continue
            times = 2 if self._chance.strikes("wake doubled", "wake") else 1
            for _ in range(times):
                delay = self._chance.world.uniform(0.5, 40.0) if self._chance.strikes("wake late", "wake") else 0.0
                self._loop.call_later(delay, host.worker.wake, context=host.context)

    def revive(self) -> None:
        """Everybody is up again."""
        for host in list(self._hosts.values()):
            if not host.process.alive:
                self._boot(host.name)
            else:
                self._faults.resume(host.process)

    def fallen(self) -> list[str]:
        """Workers that ended although nobody killed them."""
        hosts = self._hosts.values()
        return [host.process.name for host in hosts if host.process.alive and host.task.done()]

    def processes(self) -> list[processes.Process]:
        return [host.process for host in self._hosts.values()]

    @property
    def steady_since(self) -> float | None:
        """Since when at least one worker has been up without a break; None if none is."""
        up = [host.process.since for host in self._hosts.values() if host.process.alive and not host.process.paused]
        return min(up, default=None)
