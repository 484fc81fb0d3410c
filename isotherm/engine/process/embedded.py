"""The whole engine inside one process, on one home folder: no service, no broker, nothing to set up.

Several processes may use one folder at once: each has its own worker, and leases keep them apart.
"""

from __future__ import annotations

import asyncio
import functools
import getpass
import random
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from isotherm import bus, loading
from isotherm.engine import contexts
from isotherm.engine.nested.inner_reads import Access
from isotherm.engine.nested.shared_outputs import ProjectOutputs
from isotherm.engine.orchestrator import Orchestrator
from isotherm.engine.process import cloud_access, file_listener, local_access
from isotherm.engine.process.bus_listener import ProcessListener
from isotherm.engine.process.committed import ReportingStore
from isotherm.engine.process.heartbeat import Heartbeat, Load
from isotherm.engine.process.home import Folder
from isotherm.engine.process.home_files import JOURNAL
from isotherm.engine.service_ports import ServicePorts
from isotherm.engine.stack_lifecycle import StackLifecycle
from isotherm.identity.requester import Requester
from isotherm.planning import off_loop, planner
from isotherm.plugins import discover
from isotherm.resources import contract
from isotherm.resources.context.local_access import Reach
from isotherm.resources.context.polls import PollHub
from isotherm.resources.context.signal_urls import SignalUrls
from isotherm.resources.reality.journal import JournalReality
from isotherm.resources.service_threads import ServiceThreads

# The import is slow: done here, it does not delay the first transaction.
from isotherm.secrets import ring as _ring  # noqa: F401
from isotherm.secrets.signing import Signer
from isotherm.states import ServiceKind
from isotherm.store.admin import type_origins

if TYPE_CHECKING:
    # Loaded when the process takes up the role that needs them (decision 33).
    from isotherm.engine.convergence.worker import Worker
    from isotherm.engine.delivery.service import Count
    from isotherm.engine.legacy.engine import LegacyEngine
    from isotherm.engine.queries.feed import Feed
    from isotherm.observer.hints import HintCollector
    from isotherm.observer.service import Observer, Tuning


class Embedded(Folder):
    """An engine on a home folder. Requests are accepted at once; `driving` works on them."""

    def __init__(self, path: Path, files: Sequence[Path] = (), cloud_name: str = "") -> None:
        super().__init__(path, files, cloud_name)
        self.clouds = self._clouds()
        self._worker: Worker | None = None
        self._legacy: LegacyEngine | None = None
        self._observer: Observer | None = None
        self._seen: JournalReality | None = None
        self.heartbeat = Heartbeat(self.store, self.clock, self.path)
        self.plugins = discover.load(self.settings.plugin_dirs)
        origins = self.type_origins()
        self.types = self.plugins.registry(
            lambda name: origins.get(name, ""), reaching=local_access.is_allowed(self.settings))
        # The plug-in types whose origin is not recorded yet, or has changed.
        self._new_origins = dict(self.plugins.origins.items() - origins.items())
        self._lifecycle = StackLifecycle(self.plugins.lifecycle)
        #: Reports committed changes of stacks to its listeners: the log and the metrics of a service.
        self.committed = ReportingStore(self.store)
        # The store for all that may end an operation: lifecycle plug-ins learn of the end.
        self._watched_store = self._lifecycle.watched(self.committed)
        self.bus = bus.of(self.settings.transport_url)
        # Shared by everything in this process: a service is called with at most so many threads.
        self._threads = ServiceThreads(self.settings.max_threads_per_service)
        # Workers and the observer of this process share it.
        self._polls = PollHub()
        self._plans = planner.Planning(self._watched_store, self.types, self.clock, off_loop.beside)
        self.service_ports = ServicePorts(
            self._watched_store, self.types, self.clock, new_id, self._plans, self.settings, self._wake,
            lambda: self._process_ports(self._reality()), cloud_of=self.clouds.of_requester,
            cloud_binding=self.clouds.binding, lifecycle=self._lifecycle)
        self.orchestrator = self.orchestrator_for(Requester(username=_user(), cloud=cloud_name))
        # The address of the API, if this process or another serves it.
        self.address = ""

    def _clouds(self) -> cloud_access.StandaloneClouds | cloud_access.ServiceClouds:
        if self.settings.auth_strategy == "keystone":
            credential_store = loading.load("isotherm.identity.credentials:CredentialStore")(self.store, self.clock, new_id)
            return cloud_access.ServiceClouds(self.settings, self.clock, credential_store)
        return cloud_access.StandaloneClouds(self.store, self.settings, self.clock)

    def orchestrator_for(self, requester: Requester) -> Orchestrator:
        """Return the facade for one requester."""
        return Orchestrator(self.service_ports, requester)

    def close(self) -> None:
        super().close()
        self._lifecycle.close()
        if self._seen is not None:
            self._seen.close()
            self._seen = None

    def _reality(self) -> contract.Reality:
        """Return the reality of this folder for observations, opened at first use."""
        self._seen = self._seen or JournalReality(self.path / JOURNAL)
        return self._seen

    @functools.cached_property
    def feed(self) -> Feed:
        """The events of all stacks as they are committed."""
        found: Feed = loading.load("isotherm.engine.queries.feed:Feed")(self.store)
        return found

    @functools.cached_property
    def hints(self) -> HintCollector:
        """Takes notifications about reality."""
        found: HintCollector = loading.load("isotherm.observer.hints:HintCollector")(self.store, self.clock, self._wake)
        return found

    @functools.cached_property
    def signer(self) -> Signer:
        return Signer(self.ring().signing_keys())

    def signal_urls(self) -> SignalUrls:
        """Return the builder of signal URLs."""
        if not self.address:
            return SignalUrls()
        address = server_url(self.settings.heat_waitcondition_server_url) or self.address
        metadata = server_url(self.settings.heat_metadata_server_url)
        return SignalUrls(address, "", self.signer, self.settings.signal_url_lifetime, metadata)

    def reach(self) -> Reach:
        """Return the access of resources to this machine and its network."""
        return local_access.reach_of(self.settings, self.path)

    def _process_ports(self, reality: contract.Reality) -> contexts.ProcessPorts:
        return contexts.ProcessPorts(reality, random.SystemRandom(), self.signal_urls(), self.reach(), self._threads,
                                     cloud=self.clouds.cloud, polls=self._polls, stack_users=self.clouds.stack_users)

    def _context(self, reality: JournalReality) -> contract.Context:
        outputs = ProjectOutputs(Access(self.store, self._plans, self.clock, ""))
        return contexts.shared(self.store, self.clock, self._process_ports(reality), self.settings, outputs)

    @asynccontextmanager
    async def driving(self) -> AsyncIterator[None]:
        """Work on the unfinished operations of this folder inside of the context, also on those of a killed process.

        At the end, running steps are recorded first; steps never wait for the outside, so that is short. Cancelling skips
        even that, and leaves the rest to the next worker.
        """
        async with self._registered(ServiceKind.ENGINE, self._engine_load) as (name, reality):
            if self._new_origins:
                await self.store.write(lambda connection: type_origins.record(connection, self._new_origins))
            worker, legacy = self._worker, self._legacy = self._engines(name, self._context(reality))
            tasks = [asyncio.create_task(legacy.run()), asyncio.create_task(worker.run())]
            try:
                yield
            finally:
                legacy.stop()
                worker.stop()
                await asyncio.gather(*tasks)
                self._worker = self._legacy = None

    def _engines(self, name: str, context: contract.Context) -> tuple[Worker, LegacyEngine]:
        """Return the engines of both architectures."""
        types, store = self.types, self._watched_store
        nesting = loading.load("isotherm.engine.nested.inner_stacks:InnerStacksFactory")(
            store, types, self._plans, self.clock, new_id, self._wake_here, self.settings)
        throttle = loading.load("isotherm.engine.steps.throttle:TypeThrottle").of(self.settings, context)
        ports = loading.load("isotherm.engine.steps.ports:EnginePorts")(
            store, context, types.implementation, self._plans, new_id, self.settings, nesting, throttle)
        convergence = loading.load("isotherm.engine.convergence.worker")
        one_by_one = loading.load("isotherm.engine.legacy.engine")
        concurrency = self.settings.engine_concurrency
        worker = convergence.Worker(name, ports, convergence.Tuning(concurrency=concurrency), self.bus)
        return worker, one_by_one.LegacyEngine(name, ports, one_by_one.Tuning(concurrency=concurrency))

    @asynccontextmanager
    async def observing(self, tuning: Tuning | None = None) -> AsyncIterator[None]:
        """Observe the stacks of this folder inside of the context. An engine that drives repairs them."""
        async with self._registered(ServiceKind.OBSERVER, self._observer_load) as (name, reality):
            context, service = self._context(reality), loading.load("isotherm.observer.service")
            ports = service.ObserverPorts(self.store, context, self.types.implementation, self._plans,
                                          lambda project: self.orchestrator_for(Requester(project)).drift, self.settings)
            observer: Observer = service.Observer(name, ports, tuning or service.Tuning())
            self._observer = observer
            task = asyncio.create_task(observer.run())
            try:
                yield
            finally:
                observer.stop()
                await task
                self._observer = None if self._observer is observer else self._observer

    @asynccontextmanager
    async def delivering(self, count: Count) -> AsyncIterator[None]:
        """Deliver events to the sinks of the options inside of the context."""
        sinks = loading.load("isotherm.engine.delivery.sinks").of(self.settings, self.clock)
        service = loading.load("isotherm.engine.delivery.service:DeliveryService")(self.store, self.clock, sinks, count)
        task = asyncio.create_task(service.run())
        try:
            yield
        finally:
            service.stop()
            await task

    @asynccontextmanager
    async def _registered(self, kind: ServiceKind, load: Callable[[], Load]) -> AsyncIterator[tuple[str, JournalReality]]:
        """Register a role of this process, and open the reality of this folder."""
        here = await self.heartbeat.join(kind, load)
        reality = JournalReality(self.path / JOURNAL)
        try:
            yield here.name, reality
        finally:
            reality.close()
            await self.heartbeat.leave(here)

    async def listen(self) -> None:
        """Search for work whenever another process has written to the database, until cancelled."""
        if self.database is not None:
            await file_listener.watch(self.database, self._wake_here)

    def _engine_load(self) -> Load:
        engines = (self._worker, self._legacy)
        loads = [one.load() for one in engines if one is not None]
        return Load(sum(steps for steps, _ in loads), sum(leases for _, leases in loads))

    def _observer_load(self) -> Load:
        stacks = 0 if self._observer is None else self._observer.load()
        return Load(stacks, stacks)

    @asynccontextmanager
    async def on_bus(self) -> AsyncIterator[None]:
        """Be connected to the bus inside of the context."""
        async with self.bus.listening(ProcessListener(lambda: self._worker, self._wake_here, self.hints.take)):
            yield
        await self.hints.close()

    def _wake(self, *stack_ids: str) -> None:
        """Wake this process, and announce to the others that these stacks have changed."""
        self._wake_here()
        self.bus.announce(stack_ids)

    def _wake_here(self) -> None:
        if self._worker is not None:
            self._worker.wake()
        if self._legacy is not None:
            self._legacy.wake()
        if self._observer is not None:
            self._observer.wake()


def server_url(given: str) -> str:
    """Return the address of the API in an option that says how servers reach it. The path of Heat's option is removed."""
    return given.rstrip("/").removesuffix("/waitcondition").removesuffix("/v1")


def new_id() -> str:
    """Return a new unique id."""
    return str(uuid.uuid4())


def _user() -> str:
    """Return the name of the user of this process; empty if the system does not know it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
