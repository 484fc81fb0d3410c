"""What resources may reach of the machine that the engine runs on, and of the network around it.

Both are the operator's to lend: where a port is missing in the World, types that need it say so and do nothing. `Local` is
a folder, and nothing outside it is touched; `Http` speaks to the addresses that the operator's rules allow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

HINT = "The operator allows them with the option enable_local_resources."


def _free() -> None:
    """Nothing to check: nobody works under a lease."""


@dataclass(frozen=True, slots=True)
class Local:
    """A folder of this machine. `environment` is all that a process started there gets, besides what a template says."""

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
    timeout_s: float = 30.0
    # Called when the way is open, right before anything is sent: raises once the lease has run out (I5).
    check: Callable[[], None] = _free


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. The names of headers are in small letters."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class Http(Protocol):
    """Calls by HTTP, to where the operator's rules allow.

    Raises UserError for what may not be called, Temporary when there is no answer, Permanent when there is one that no
    retry will mend, such as one beyond the size limit.
    """

    async def call(self, call: Call) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Guarded:
    """Calls that are sent inside a lease, or not at all: between a decision and its sending a machine may stand still."""

    http: Http
    check: Callable[[], None]

    async def call(self, call: Call) -> Reply:
        return await self.http.call(replace(call, check=self.check))


@dataclass(frozen=True, slots=True)
class Reach:
    """Both together; nothing, where the operator lends nothing."""

    local: Local | None = None
    http: Http | None = None
