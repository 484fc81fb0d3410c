"""The hosts of workers and observers: started, restarted after a kill, and woken by hints."""

from __future__ import annotations

import asyncio
import contextvars
from dataclasses import dataclass
from random import Random

from isotherm.config import Settings
from isotherm.engine import contexts
from isotherm.engine.convergence.worker import Tuning, Worker
from isotherm.engine.nested.inner_reads import Access
from isotherm.engine.nested.inner_stacks import InnerStacksFactory
from isotherm.engine.nested.shared_outputs import ProjectOutputs
from isotherm.engine.orchestrator import Orchestrator, Requester, ServicePorts
from isotherm.engine.steps.ports import EnginePorts
from isotherm.observer import service
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.resources.registry import Registry
from isotherm.sim.histories.history import Watched
from isotherm.sim.world import processes
from isotherm.sim.world.chance import Chance
from isotherm.sim.world.cloud import Cloud
from isotherm.sim.world.faults import Faults
from isotherm.sim.world.loop import SimLoop
from isotherm.sim.world.store import SimStore
from isotherm.sim.world.threads import SimThreads
from isotherm.sim.world.twin import Twin

LEASE_S = 30.0
IDLE_S = 40.0
# Intervals at which observers look for due resources, and at which they send their heartbeat.
PEEK_S = 15.0
BEAT_S = 45.0


@dataclass(frozen=True, slots=True)
class VirtualClock:
    """The engine's clock: the virtual time of the loop."""

    loop: SimLoop

    def now(self) -> float:
        return self.loop.time()


@dataclass(slots=True)
class _Host:
    name: str
    process: processes.Process
    context: contextvars.Context
    worker: Worker | service.Observer
    task: asyncio.Task[None]


def settings(watched: Watched, *, convergence: bool = True) -> Settings:
    """Return the settings of a run. Repairs count towards the limit for the whole run."""
    return Settings(
        observer_interval=watched.interval_s, observer_rate=watched.rate, observer_batch=watched.batch,
        observer_policy=watched.policy, observer_repair_limit=watched.limit, observer_repair_window=1e9,
        observer_repair_rest=0.0, convergence_engine=convergence,
    )


class Hosts:
    """All workers and observers of a run."""

    def __init__(self, loop: SimLoop, chance: Chance, faults: Faults, store: SimStore, cloud: Cloud, twin: Twin) -> None:
        self._loop = loop
        self._chance = chance
        self._faults = faults
        self._store = store
        self._cloud = cloud
        self._twin = twin
        self._hosts: dict[str, _Host] = {}
        self._starts = 0
        self._tuning = Tuning()
        self._types: Registry = Registry()
        self._settings = Settings()
        faults.on_kill = self._killed

    def start(self, count: int, concurrency: int, types: Registry) -> None:
        self._types = types
        self._tuning = Tuning(lease_s=LEASE_S, concurrency=concurrency, batch=concurrency, idle_s=IDLE_S)
        for number in range(count):
            self._boot(f"w{number}")

    def watch(self, observers: int, settings: Settings) -> None:
        """Start the observers."""
        self._settings = settings
        for number in range(observers):
            self._boot_observer(f"o{number}")

    def _process(self, name: str) -> tuple[processes.Process, contextvars.Context]:
        self._starts += 1
        process = processes.Process(f"{name}.{self._starts}", killable=True, since=self._loop.time())
        context = contextvars.copy_context()
        context.run(processes.OWNER.set, process)
        return process, context

    def _boot_observer(self, name: str) -> None:
        process, context = self._process(name)
        clock = VirtualClock(self._loop)
        types = Registry(self._types.types.values())
        planning = Planning(self._store, types, clock)
        resource_context = self._ports(clock, planning)
        ports = ServicePorts(self._store, types, clock, self._chance.new_id, planning, self._settings, self.wake)

        def repairer(project: str) -> service.Repairer:
            return Orchestrator(ports, Requester(project)).drift

        tuning = service.Tuning(lease_s=LEASE_S, concurrency=2, idle_s=PEEK_S, enrol_s=BEAT_S, beat_s=BEAT_S)
        observed = service.ObserverPorts(self._store, resource_context, types.implementation, planning, repairer,
                                         self._settings)
        observer = context.run(service.Observer, process.name, observed, tuning, Random(self._chance.new_id()))
        task = context.run(lambda: self._loop.create_task(observer.run(), context=context))
        self._hosts[name] = _Host(name, process, context, observer, task)

    def _boot(self, name: str) -> None:
        process, context = self._process(name)
        clock = VirtualClock(self._loop)
        # Each process has its own registry of template resources.
        types = Registry(self._types.types.values())
        planning = Planning(self._store, types, clock)
        resource_context = self._ports(clock, planning)
        nesting = InnerStacksFactory(self._store, types, planning, clock, self._chance.new_id, self.wake)
        ports = EnginePorts(self._store, resource_context, types.implementation, planning, self._chance.new_id,
                            inner_stacks=nesting)
        worker = context.run(Worker, process.name, ports, self._tuning)
        task = context.run(lambda: self._loop.create_task(worker.run(), context=context))
        self._hosts[name] = _Host(name, process, context, worker, task)

    def _ports(self, clock: VirtualClock, planning: Planning) -> contract.Context:
        process_ports = contexts.ProcessPorts(self._cloud, Random(self._chance.new_id()), threads=SimThreads(),
                                               cloud=self._twin)
        outputs = ProjectOutputs(Access(self._store, planning, clock, ""))
        return contexts.shared(self._store, clock, process_ports, self._settings, outputs)

    def _killed(self, process: processes.Process) -> None:
        name = process.name.partition(".")[0]
        self._loop.call_later(self._chance.world.uniform(0.1, 90.0), self._reboot, name, context=self._faults.no_process)

    def _reboot(self, name: str) -> None:
        host = self._hosts.get(name)
        if host is None or host.process.alive:
            return
        if isinstance(host.worker, service.Observer):
            self._boot_observer(name)
        else:
            self._boot(name)

    def wake(self, *_stack_ids: str) -> None:
        """Send a hint to all hosts; it may get lost, be late or come twice."""
        for host in self._hosts.values():
            if not host.process.alive or self._chance.strikes("wake lost", "wake"):
                continue
            times = 2 if self._chance.strikes("wake doubled", "wake") else 1
            for _ in range(times):
                delay = self._chance.world.uniform(0.5, 40.0) if self._chance.strikes("wake late", "wake") else 0.0
                self._loop.call_later(delay, host.worker.wake, context=host.context)

    def restart(self) -> None:
        """Restart the killed processes, and resume the paused ones."""
        for host in list(self._hosts.values()):
            if not host.process.alive:
                self._reboot(host.name)
            else:
                self._faults.resume(host.process)

    def dead(self) -> list[str]:
        """Return the names of the processes that ended without being killed."""
        hosts = self._hosts.values()
        return [host.process.name for host in hosts if host.process.alive and host.task.done()]

    def dismiss_observers(self) -> list[asyncio.Task[None]]:
        """Stop the observers; return their tasks, which finish what they have begun."""
        ending = []
        for host in list(self._hosts.values()):
            if isinstance(host.worker, service.Observer):
                host.context.run(host.worker.stop)
                ending.append(self._hosts.pop(host.name).task)
        return ending

    def processes(self) -> list[processes.Process]:
        return [host.process for host in self._hosts.values()]

    @property
    def steady_since(self) -> float | None:
        """Return the time since which at least one worker has been up; None if none is."""
        up = [host.process.since for host in self._hosts.values()
              if host.process.alive and not host.process.paused and not isinstance(host.worker, service.Observer)]
        return min(up, default=None)
