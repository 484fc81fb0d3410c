"""The context of a resource: the ports through which a type reaches everything outside of itself."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from isotherm.resources.cloud_lookups import Lookups
from isotherm.resources.context import local_access, signals
from isotherm.resources.context.polls import PollHub
from isotherm.resources.context.servers import ServerRules
from isotherm.resources.context.shared_outputs import SharedOutputs
from isotherm.resources.context.signal_urls import SignalUrls
from isotherm.resources.context.software import Software
from isotherm.resources.context.stack_users import StackUsers
from isotherm.resources.context.stacks import Stacks
from isotherm.resources.gate import Threads
from isotherm.resources.service_threads import ServiceThreads


class Clock(Protocol):
    """Seconds since the epoch, as the engine sees them (virtual in the simulator)."""

    def now(self) -> float: ...


class Reality(Protocol):
    """A store of objects for types that have no cloud behind them. It is apart from the engine's tables on purpose.

    It answers for what exists, whatever the engine believes. `create` refuses a token that it has seen (Permanent);
    `delete` and `update` answer False for an object that does not exist.
    """

    async def create(self, kind: str, token: str, properties: Mapping[str, object], physical_id: str) -> None: ...

    async def get(self, physical_id: str) -> Mapping[str, Any] | None: ...

    async def find(self, token: str) -> str | None: ...

    async def update(self, physical_id: str, properties: Mapping[str, object]) -> bool: ...

    async def delete(self, physical_id: str) -> bool: ...


class Lease(Protocol):
    """The right of a worker to change a resource until a moment (I5)."""

    def check(self) -> None:
        """Raise Superseded if the lease has run out. Called right before each call that changes something."""
        ...


class Unleased:
    """The lease of a context outside of a step: there is none that could run out."""

    def check(self) -> None:
        return


@dataclass(frozen=True, slots=True)
class Credential:
    """The identity under which a cloud is called: of the caller at acceptance, of the stack in the engine.

    `key` tells credentials apart without revealing them; what is cached for one is not used for another.
    """

    key: str
    project: str


class Cloud(Protocol):
    """The services of a cloud, called with one credential."""

    @property
    def credential(self) -> Credential: ...

    def of_stack(self, stack_id: str) -> Cloud:
        """Return the same cloud, called with the credential of a stack. Nothing is asked before the first call."""
        ...

    async def call(self, service: str, call: local_access.Call) -> local_access.Reply:
        """Send a request to a service of the catalog (`network`, `compute`...); the URL is relative to its endpoint.

        Calls `call.check()` right before the request is sent, unless the request only reads.
        """
        ...

    async def endpoint(self, service: str) -> str:
        """Return the absolute URL of the endpoint of a service, without a slash at its end."""
        ...

    async def project_id(self) -> str:
        """Return the id of the project that the credential is for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Everything outside of itself that a resource may use. `isotherm.engine.contexts` builds it.

    A port that is None is not offered here: by the operator's choice (`local`, `http`), because no cloud is configured
    (`cloud`) or no domain for stack users (`stack_users`), or because nothing may be begun where the context is used
    (`stacks`).
    """

    clock: Clock
    random: random.Random
    reality: Reality
    project: str = ""
    lease: Lease = field(default_factory=Unleased)
    cloud: Cloud | None = None
    # Asks the cloud for ids of names; the answers are kept for a while.
    lookups: Lookups = field(default_factory=Lookups)
    # Reads many objects of one collection by one list.
    polls: PollHub = field(default_factory=PollHub)
    stacks: Stacks | None = None
    # Reads outputs of other stacks of the project.
    outputs: SharedOutputs | None = None
    signals: signals.Signals | None = None
    signal_urls: SignalUrls = field(default_factory=SignalUrls)
    software: Software | None = None
    servers: ServerRules = field(default_factory=ServerRules)
    stack_users: StackUsers | None = None
    # Returns the text at an address that the operator's rules allow. Raises UserError.
    fetch: Callable[[str], Awaitable[str]] | None = None
    local: local_access.Local | None = None
    http: local_access.Http | None = None
    # Runs plain methods, and lets them use the async ports.
    threads: Threads = field(default_factory=ServiceThreads)

    @property
    def credential(self) -> Credential | None:
        """The identity under which `cloud` is called."""
        return None if self.cloud is None else self.cloud.credential
