"""Builds the contexts of resources. No other module of the package constructs a `contract.Context`.

`shared` is built once per process and holds the ports that all its resources use. `leased` derives the context of one step
from it: each call that changes something checks the step's lease first (I5). `reading` is for code that only asks types.
"""

from __future__ import annotations

import random as random_
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from isotherm import loading
from isotherm.config import Settings
from isotherm.engine import stored_ports
from isotherm.resources import cloud_lookups, contract, gate, service_threads
from isotherm.resources.context import local_access
from isotherm.resources.context.polls import PollHub
from isotherm.resources.context.shared_outputs import SharedOutputs
from isotherm.resources.context.signal_urls import SignalUrls
from isotherm.resources.context.stack_users import StackUsers
from isotherm.resources.reality.journal import MemoryReality
from isotherm.store.database.writer import Store

_SETTINGS, _REACH, _SIGNAL_URLS = Settings(), local_access.Reach(), SignalUrls()
# One for the process: requests and steps share the answers, apart for each credential.
_LOOKUPS = cloud_lookups.Lookups()


@dataclass(frozen=True, slots=True)
class ProcessPorts:
    """The ports of a process that are not the store: objects, the network, threads, randomness."""

    reality: contract.Reality
    random: random_.Random
    signal_urls: SignalUrls = _SIGNAL_URLS
    reach: local_access.Reach = _REACH
    threads: gate.Threads | None = None
    cloud: contract.Cloud | None = None
    lookups: cloud_lookups.Lookups = _LOOKUPS
    polls: PollHub = field(default_factory=PollHub)
    stack_users: StackUsers | None = None


def nothing() -> ProcessPorts:
    """Return the ports of a process in which resources reach nothing outside of the store."""
    return ProcessPorts(MemoryReality(), random_.SystemRandom())


def shared(
    store: Store, clock: contract.Clock, process: ProcessPorts, settings: Settings = _SETTINGS,
    outputs: SharedOutputs | None = None,
) -> contract.Context:
    """Build the context that the steps of one process have in common. Signals and software configs are rows."""
    threads = process.threads or service_threads.ServiceThreads(settings.max_threads_per_service)
    return contract.Context(
        clock=clock, random=process.random, reality=process.reality, signal_urls=process.signal_urls,
        signals=stored_ports.StoredSignals(store), software=stored_ports.StoredSoftware(store, clock, settings),
        local=process.reach.local, http=process.reach.http, threads=threads, cloud=process.cloud,
        lookups=process.lookups, polls=process.polls, stack_users=process.stack_users, fetch=_fetch(settings),
        servers=stored_ports.server_rules(store, settings), outputs=outputs,
    )


def _fetch(settings: Settings) -> Callable[[str], Awaitable[str]]:
    async def text(url: str) -> str:
        # Loaded at the first use: few templates name another by a URL.
        found: str = await loading.load("isotherm.fetch:Fetcher")(settings).text(url)
        return found

    return text


def leased(
    base: contract.Context, lease: contract.Lease, project: str, stack_id: str, stacks: contract.Stacks | None = None, *,
    operation_id: str = "",
) -> contract.Context:
    """Derive the context of one step: of a project and a stack, and under a lease.

    Services find the id of the operation in the requests, and log it.
    """
    check = lease.check
    return contract.Context(
        clock=base.clock, random=base.random, reality=LeasedReality(base.reality, lease), project=project, lease=lease,
        cloud=_leased_cloud(base, lease, stack_id, operation_id), lookups=base.lookups, polls=base.polls, stacks=stacks,
        signals=base.signals and base.signals.guarded(check),
        signal_urls=base.signal_urls.of(project), software=base.software and base.software.guarded(check),
        stack_users=base.stack_users and base.stack_users.guarded(check), servers=base.servers,
        local=base.local and base.local.guarded(check), http=base.http and local_access.LeasedHttp(base.http, check),
        threads=base.threads, fetch=base.fetch, outputs=base.outputs and base.outputs.of(project),
    )


def cloud_of(base: contract.Context, stack_id: str) -> contract.Cloud | None:
    """Return the cloud with the credential of a stack."""
    return None if base.cloud is None else base.cloud.of_stack(stack_id)


def _leased_cloud(
    base: contract.Context, lease: contract.Lease, stack_id: str, operation_id: str
) -> contract.Cloud | None:
    request_id = f"req-{operation_id}" if operation_id else ""
    return None if base.cloud is None else LeasedCloud(base.cloud.of_stack(stack_id), lease, request_id)


def reading(base: contract.Context, project: str, stacks: Any) -> contract.Context:
    """Derive a context outside of any step, for methods that change nothing; `stacks` need only answer."""
    return replace(base, project=project, stacks=stacks, signal_urls=base.signal_urls.of(project),
                   outputs=base.outputs and base.outputs.of(project))


def inner(clock: contract.Clock, project: str, stacks: Any) -> contract.Context:
    """Build a context for reading nested stacks. It has no port but `stacks`, which is only read."""
    return contract.Context(clock=clock, random=random_.Random(0), reality=MemoryReality(), project=project, stacks=stacks)


def arriving(clock: contract.Clock, reality: contract.Reality, prepared: Any) -> contract.Context:
    """Build a context for resources that are imported; `prepared` answers for stacks, signals and software configs."""
    return contract.Context(clock=clock, random=random_.Random(0), reality=reality, stacks=prepared, signals=prepared,
                            software=prepared)


@dataclass(frozen=True, slots=True)
class LeasedCloud:
    """A cloud whose calls are sent as long as the lease lasts: the adapter checks it right before it sends."""

    cloud: contract.Cloud
    lease: contract.Lease
    # Empty: the adapter gives each request an id of its own.
    request_id: str = ""

    @property
    def credential(self) -> contract.Credential:
        return self.cloud.credential

    def of_stack(self, stack_id: str) -> contract.Cloud:
        return replace(self, cloud=self.cloud.of_stack(stack_id))

    async def call(self, service: str, call: local_access.Call) -> local_access.Reply:
        named = {local_access.REQUEST_ID: self.request_id} if self.request_id else {}
        return await self.cloud.call(service, replace(call, check=self.lease.check, headers={**named, **call.headers}))

    async def endpoint(self, service: str) -> str:
        return await self.cloud.endpoint(service)

    async def project_id(self) -> str:
        return await self.cloud.project_id()


class LeasedReality:
    """Reality, as long as the lease lasts."""

    __slots__ = ("_lease", "_reality")

    def __init__(self, reality: contract.Reality, lease: contract.Lease) -> None:
        self._reality = reality
        self._lease = lease

    async def create(self, kind: str, token: str, properties: Mapping[str, object], physical_id: str) -> None:
        self._lease.check()
        await self._reality.create(kind, token, properties, physical_id)

    async def get(self, physical_id: str) -> Mapping[str, Any] | None:
        return await self._reality.get(physical_id)

    async def find(self, token: str) -> str | None:
        return await self._reality.find(token)

    async def update(self, physical_id: str, properties: Mapping[str, object]) -> bool:
        self._lease.check()
        return await self._reality.update(physical_id, properties)

    async def delete(self, physical_id: str) -> bool:
        self._lease.check()
        return await self._reality.delete(physical_id)
