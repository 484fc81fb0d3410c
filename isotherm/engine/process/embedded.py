"""The whole engine inside one process, on one folder: no service, no broker, nothing to set up.

Several processes may use one folder at once: each has a worker of its own, and leases keep them apart.
"""

from __future__ import annotations

import asyncio
import functools
import random
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from isotherm import bus
from isotherm.config import Settings
from isotherm.engine import contexts
from isotherm.engine.convergence.worker import Tuning as WorkerTuning
from isotherm.engine.convergence.worker import Worker
from isotherm.engine.legacy.engine import LegacyEngine
from isotherm.engine.legacy.engine import Tuning as LegacyTuning
from isotherm.engine.nested.inner_stacks import InnerStacksFactory
from isotherm.engine.orchestrator import Orchestrator
from isotherm.engine.process import file_listener, local_access
from isotherm.engine.process.bus_listener import ProcessListener
from isotherm.engine.process.heartbeat import Heartbeat, Load
from isotherm.engine.process.home import JOURNAL, Folder
from isotherm.engine.queries.feed import Feed
from isotherm.engine.service_ports import ServicePorts
from isotherm.engine.steps.ports import EnginePorts
from isotherm.engine.steps.throttle import TypeThrottle
from isotherm.identity.requester import Requester
from isotherm.observer.hints import HintCollector
from isotherm.observer.service import Observer, ObserverPorts, Tuning
from isotherm.planning import off_loop, planner
from isotherm.plugins import discover
from isotherm.resources import contract
from isotherm.resources.context.local_access import Reach
from isotherm.resources.context.signal_urls import SignalUrls
from isotherm.resources.journal import JournalReality
from isotherm.resources.service_threads import ServiceThreads

# It takes a while to load: here, so that nobody spends it inside his first transaction.
from isotherm.secrets import ring as _ring  # noqa: F401
from isotherm.secrets.signing import Signer
from isotherm.states import ServiceKind


class Embedded(Folder):
    """An engine on a folder. Asking works at once; `driving` is what makes things happen."""

    def __init__(self, path: Path, files: Sequence[Path] = ()) -> None:
        super().__init__(path, files)
        self._worker: Worker | None = None
        self._legacy: LegacyEngine | None = None
        self._observer: Observer | None = None
        self._seen: JournalReality | None = None
        self.heartbeat = Heartbeat(self.store, self.clock, self.path)
        self.plugins = discover.load(self.settings.plugin_dirs)
        self.types = self.plugins.registry(reaching=local_access.is_allowed(self.settings))
        self.feed = Feed(self.store)
        self.bus = bus.of(self.settings.transport_url)
        # Shared by everything in this process: a service is called with at most so many threads.
        self._threads = ServiceThreads(self.settings.max_threads_per_service)
        self._plans = planner.Planning(self.store, self.types, self.clock, off_loop.beside)
        self.service_ports = ServicePorts(
            self.store, self.types, self.clock, new_id, self._plans, self.settings, self._wake,
            lambda: self._process_ports(self._look()))
        self.orchestrator = self.orchestrator_for(Requester())
        #: Takes what others say has happened to reality.
        self.hints = HintCollector(self.store, self.clock, self._wake)
        # Where the API can be reached, if this process or another serves it.
        self.address = ""

    def orchestrator_for(self, requester: Requester) -> Orchestrator:
        """Return the facade for one requester."""
        return Orchestrator(self.service_ports, requester)

    def close(self) -> None:
        super().close()
        if self._seen is not None:
            self._seen.close()
            self._seen = None

    def _look(self) -> contract.Reality:
        """The reality of this folder, for whoever only looks; opened when somebody does."""
        self._seen = self._seen or JournalReality(self.path / JOURNAL)
        return self._seen

    @functools.cached_property
    def signer(self) -> Signer:
        return Signer(self.ring().signing_keys())

    def signal_urls(self) -> SignalUrls:
        """How resources are reached from outside."""
        if not self.address:
            return SignalUrls()
        return SignalUrls(server_url(self.settings) or self.address, "", self.signer, self.settings.signal_url_lifetime)

    def reach(self) -> Reach:
        """What resources reach of this machine and its network."""
        return local_access.reach_of(self.settings, self.path)

    def _process_ports(self, reality: contract.Reality) -> contexts.ProcessPorts:
        return contexts.ProcessPorts(reality, random.SystemRandom(), self.signal_urls(), self.reach(), self._threads)

    @asynccontextmanager
    async def driving(self) -> AsyncIterator[None]:
        """Work on all that is under way in this folder, also on what a killed process left behind.

        On leaving, what has been begun is recorded first: that takes as long as the steps that are running, which
        never wait for the world. Cancelling cuts even that short, and leaves the rest to the next worker.
        """
        async with self._here(ServiceKind.ENGINE, self._carried) as (name, reality):
            context = contexts.shared(self.store, self.clock, self._process_ports(reality), self.settings)
            types = self.types
            nesting = InnerStacksFactory(self.store, types, self._plans, self.clock, new_id, self._look_here, self.settings)
            concurrency = self.settings.engine_concurrency
            ports = EnginePorts(self.store, context, types.implementation, self._plans, new_id, self.settings, nesting,
                                TypeThrottle.of(self.settings, context))
            self._worker = Worker(name, ports, WorkerTuning(concurrency=concurrency), self.bus)
            self._legacy = LegacyEngine(name, ports, LegacyTuning(concurrency=concurrency))
            tasks = [asyncio.create_task(self._legacy.run()), asyncio.create_task(self._worker.run())]
            try:
                yield
            finally:
                self._legacy.stop()
                self._worker.stop()
                await asyncio.gather(*tasks)
                self._worker = self._legacy = None

    @asynccontextmanager
    async def observing(self, tuning: Tuning = Tuning()) -> AsyncIterator[None]:  # noqa: B008 - frozen
        """Look at what the stacks of this folder have made, for as long as this lasts. Whoever drives mends it."""
        async with self._here(ServiceKind.OBSERVER, self._looked_after) as (name, reality):
            context = contexts.shared(self.store, self.clock, self._process_ports(reality), self.settings)
            ports = ObserverPorts(self.store, context, self.types.implementation, self._plans,
                                  lambda project: self.orchestrator_for(Requester(project)).drift, self.settings)
            observer = self._observer = Observer(name, ports, tuning)
            task = asyncio.create_task(observer.run())
            try:
                yield
            finally:
                observer.stop()
                await task
                self._observer = None if self._observer is observer else self._observer

    @asynccontextmanager
    async def _here(self, kind: ServiceKind, load: Callable[[], Load]) -> AsyncIterator[tuple[str, JournalReality]]:
        """Be there, under a name of one's own, and have the reality of this folder."""
        here = await self.heartbeat.join(kind, load)
        reality = JournalReality(self.path / JOURNAL)
        try:
            yield here.name, reality
        finally:
            reality.close()
            await self.heartbeat.leave(here)

    async def listen(self) -> None:
        """Look for work whenever another process has written something; until cancelled."""
        if self.database is not None:
            await file_listener.changes(self.database, self._look_here)

    def _carried(self) -> Load:
        engines = (self._worker, self._legacy)
        loads = [one.load() for one in engines if one is not None]
        return Load(sum(steps for steps, _ in loads), sum(leases for _, leases in loads))

    def _looked_after(self) -> Load:
        stacks = 0 if self._observer is None else self._observer.load()
        return Load(stacks, stacks)

    @asynccontextmanager
    async def on_bus(self) -> AsyncIterator[None]:
        """Hear of what others do, and be heard, for as long as this lasts."""
        async with self.bus.listening(ProcessListener(lambda: self._worker, self._look_here, self.hints.take)):
            yield
        await self.hints.close()

    def _wake(self, *stack_ids: str) -> None:
        """There is something to do on these stacks, for whoever works on them."""
        self._look_here()
        self.bus.announce(stack_ids)

    def _look_here(self) -> None:
        if self._worker is not None:
            self._worker.wake()
        if self._legacy is not None:
            self._legacy.wake()
        if self._observer is not None:
            self._observer.wake()


def server_url(settings: Settings) -> str:
    """The address under which servers reach the API, if the settings tell. Heat's option has a path; ours is another."""
    return settings.heat_waitcondition_server_url.rstrip("/").removesuffix("/waitcondition").removesuffix("/v1")


def new_id() -> str:
    return str(uuid.uuid4())
