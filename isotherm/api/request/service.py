"""What one process shares between all requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine.orchestrator import Orchestrator
from isotherm.engine.process.gauges import Gauges
from isotherm.engine.process.service_list import ServiceStatus
from isotherm.engine.queries.feed import Feed
from isotherm.identity.lending import Lending, Nothing
from isotherm.identity.requester import Requester
from isotherm.resources.registry import Registry
from isotherm.secrets.signing import Signer


async def _unknown() -> Gauges:
    raise errors.Unavailable("nobody looks")


async def _nobody() -> list[ServiceStatus]:
    return []


@dataclass(frozen=True, slots=True)
class Service:
    """The ports of the API."""

    # Makes the facade of the engine for one requester.
    orchestrator_for: Callable[[Requester], Orchestrator]
    types: Registry
    settings: Settings = Settings()  # noqa: RUF009 - frozen
    # The engines there are, on all hosts, alive or not.
    engines: Callable[[], Awaitable[list[ServiceStatus]]] = _nobody
    # What happens, as it happens.
    feed: Feed | None = None
    # Knows the signatures in addresses that need no token.
    signer: Signer | None = None
    # How much there is to do.
    gauges: Callable[[], Awaitable[Gauges]] = _unknown
    # What callers lend, for work that goes on when they have gone.
    lending: Lending = Nothing()  # noqa: RUF009 - it has no state
