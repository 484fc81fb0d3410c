"""Ports to the machine that the engine runs on, and to its network.

The operator enables both: where a port is None, types that need it fail with an explanation. `Local` is a folder, and
nothing outside of it is touched; `Http` reaches the addresses that the operator's rules allow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

# The header by which services of a cloud note in their logs for what they were called.
REQUEST_ID = "X-OpenStack-Request-ID"
HINT = "The operator allows them with the option enable_local_resources."


def _free() -> None:
    """Check nothing: there is no lease."""


@dataclass(frozen=True, slots=True)
class Local:
    """A folder of this machine. `environment` is the whole environment of processes, besides the template's variables."""

    base: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    # Called before each change: raises once the lease has run out (I5).
    check: Callable[[], None] = _free

    def guarded(self, check: Callable[[], None]) -> Local:
        return Local(self.base, self.environment, check)


@dataclass(frozen=True, slots=True)
class Call:
    """One request. Redirects are not followed."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    # None: the time limit of the port.
    timeout_s: float | None = None
    # Called when the way is open, right before anything is sent: raises once the lease has run out (I5).
    check: Callable[[], None] = _free


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Http(Protocol):
    """Sends HTTP requests to the addresses that the operator's rules allow.

    Raises UserError for a forbidden address, Temporary if there is no reply, Permanent for a reply that no retry
    changes, such as one that is too large.
    """

    async def call(self, call: Call) -> Reply: ...


@dataclass(frozen=True, slots=True)
class LeasedHttp:
    """Sends requests inside a lease: the client checks the lease right before it sends, since a process may be paused
    before that.
    """

    http: Http
    check: Callable[[], None]

    async def call(self, call: Call) -> Reply:
        return await self.http.call(replace(call, check=self.check))


@dataclass(frozen=True, slots=True)
class Reach:
    """Both ports; None where the operator allows nothing."""

    local: Local | None = None
    http: Http | None = None
