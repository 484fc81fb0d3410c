"""The objects that all requests of one API process share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine.orchestrator import Orchestrator
from isotherm.engine.process.gauges import Gauges
from isotherm.engine.process.metrics import ServiceMetrics
from isotherm.engine.process.service_list import ServiceStatus
from isotherm.engine.queries.feed import Feed
from isotherm.identity.delegation import Delegation, NoDelegation
from isotherm.identity.requester import Requester
from isotherm.identity.stack_users import KeystoneStackUsers
from isotherm.resources.registry import Registry
from isotherm.secrets.signing import Signer

if TYPE_CHECKING:
    from isotherm.secrets.ring import KeyRing


async def _unknown() -> Gauges:
    raise errors.Unavailable("this process has no gauges")


def _no_keys() -> KeyRing:
    raise errors.Unavailable("this process has no keys")


async def _no_load() -> dict[str, Any]:
    raise errors.Unavailable("this process knows nothing of the service")


async def _no_engines() -> list[ServiceStatus]:
    return []


@dataclass(frozen=True, slots=True)
class ApiPorts:
    """The ports of the API, built once per process."""

    # Makes the facade of the engine for one requester.
    orchestrator_for: Callable[[Requester], Orchestrator]
    types: Registry
    settings: Settings = Settings()  # noqa: RUF009 - frozen
    # Lists the engines of all hosts, alive or not.
    engines: Callable[[], Awaitable[list[ServiceStatus]]] = _no_engines
    # Source of the event streams.
    feed: Feed | None = None
    # Checks signed signal URLs.
    signer: Signer | None = None
    # Reads the gauges of the database.
    gauges: Callable[[], Awaitable[Gauges]] = _unknown
    # What this process counts.
    metrics: ServiceMetrics = field(default_factory=ServiceMetrics)
    # Reads the state of the service for operators.
    load: Callable[[], Awaitable[dict[str, Any]]] = _no_load
    # Source of stack credentials, which outlive the caller's token.
    delegation: Delegation = NoDelegation()  # noqa: RUF009 - it has no state
    # Finds the resource of a stack user; None where there are no stack users.
    stack_users: KeystoneStackUsers | None = None
    # The keys that seal the tokens of plans.
    key_ring: Callable[[], KeyRing] = _no_keys
