"""Limits the number of API connections and the time a client may take to send a request.

A connection is dropped if the headers of a request are late, if its body makes no progress, or if the client does not read
the response. Producing a response has no time limit: event streams stay open for hours. At the connection limit, a new
connection replaces the one that has been waiting for its client the longest, so clients that send half a request, or
nothing, block no other client. If all connections wait for responses, the new one is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import logging
import resource
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from isotherm.config import Settings

log = logging.getLogger(__name__)

# Connections accepted in one go, before the existing ones are served.
AT_ONCE = 16
# File descriptors reserved for the rest of the process: at least this many, and this fraction (1/4) of the limit.
_RESERVED, _RESERVED_SHARE = 64, 4
# Minimum rate of a body, on top of its fixed time.
_BYTES_A_SECOND = 1024
# Interval between checks of the deadlines; minimum interval between two log lines with the same message.
_SWEEP_S, _REPEAT_S = 0.5, 60.0
_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_NO_ACCEPT = "socket.accept() out of system resource"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Deadlines and limits for the connections of clients."""

    header_s: float
    body_s: float
    keep_alive_s: float
    most: int
    most_per_peer: int

    @classmethod
    def of(cls, settings: Settings) -> ConnectionLimits:
        """Return the limits of the options, reduced to what the operating system lets the process open."""
        allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if allowed == resource.RLIM_INFINITY:
            most = settings.max_connections
        else:
            free = allowed - _open_descriptors() - max(_RESERVED, allowed // _RESERVED_SHARE)
            most = max(1, min(settings.max_connections, free))
        return cls(settings.client_header_timeout, settings.client_body_timeout, settings.keep_alive_timeout, most,
                   max(1, min(settings.max_connections_per_peer, most)))


def _open_descriptors() -> int:
    """Return the number of open file descriptors, or an estimate where the system does not list them."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with contextlib.suppress(OSError):
            return sum(1 for _ in Path(folder).iterdir())
    return _RESERVED


class RateLimitedLog:
    """Logs a frequent message at most once per _TELL_S, with the number of its occurrences."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._warned_at: dict[str, float] = {}
        self._times: Counter[str] = Counter()

    def warn(self, message: str, **facts: object) -> None:
        self._times[message] += 1
        now = self._clock()
        if now - self._warned_at.get(message, -_REPEAT_S) >= _REPEAT_S:
            self._warned_at[message] = now
            log.warning(message, extra={"times": self._times.pop(message), **facts})


class ConnectionPhase(enum.IntEnum):
    """The phase of a connection. Connections of an earlier phase are evicted first."""

    #: Waits for the headers of a request.
    WAITING = 0
    #: Waits for the body of a request.
    RECEIVING = 1
    #: The API works on the response.
    ANSWERING = 2


class Guard:
    """Tracks the connections of a server and enforces the limits."""

    def __init__(self, limits: ConnectionLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self.clock = clock
        self.seldom = RateLimitedLog(clock)
        self._all: dict[ClientConnection, str] = {}
        self._of_peer: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._all)

    def admit(self, one: ClientConnection, peer: str) -> bool:
        """Register a connection, evicting another if needed. Return False if there is no capacity."""
        for full, whose in ((self._of_peer[peer] >= self.limits.most_per_peer, peer), (len(self) >= self.limits.most, "")):
            if full and not self._evict_one(whose):
                self.seldom.warn("connection refused: all connections wait for responses", peer=peer,
                                 connections=len(self))
                return False
        self._all[one] = peer
        self._of_peer[peer] += 1
        return True

    def leave(self, one: ClientConnection) -> None:
        peer = self._all.pop(one, None)
        if peer is None:
            return
        self._of_peer[peer] -= 1
        if not self._of_peer[peer]:
            del self._of_peer[peer]

    def _evict_one(self, peer: str) -> bool:
        """Drop the connection that has waited for its client the longest. Return False if there is none."""
        found = min((one for one, whose in self._all.items() if not peer or whose == peer),
                    key=lambda one: (one.phase, one.since), default=None)
        if found is None or found.phase is ConnectionPhase.ANSWERING:
            return False
        self.seldom.warn("idle connection dropped for a new one: connection limit reached", peer=self._all[found],
                         connections=len(self))
        found.transport.abort()
        # Now, not when the loop reports the loss: the new connection counts already.
        self.leave(found)
        return True

    def sweep(self) -> None:
        """Drop the connections whose deadline has passed."""
        now = self.clock()
        for one in [one for one in self._all if one.is_late(now)]:
            self.seldom.warn("connection dropped: client too slow", peer=self._all[one], phase=one.phase.name)
            one.drop()

    @contextlib.asynccontextmanager
    async def sweeping(self) -> AsyncIterator[None]:
        """Check deadlines inside the block, and log rarely when connections cannot be accepted."""
        loop = asyncio.get_running_loop()
        before = loop.get_exception_handler()
        loop.set_exception_handler(self._handle)
        task = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            task.cancel()
            loop.set_exception_handler(before)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_S)
            self.sweep()

    def _handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context.get("message") == _NO_ACCEPT:
            self.seldom.warn("connections cannot be accepted", reason=str(context.get("exception")), connections=len(self))
        else:
            loop.default_exception_handler(context)


class ClientConnection(H11Protocol):
    """One connection, with its phase and the time that phase began."""

    def __init__(self, guard: Guard, **known: Any) -> None:
        super().__init__(**known)
        self._guard = guard
        #: When the phase began; for a request on a kept connection, when its first bytes arrived.
        self.since = guard.clock()
        self._phase = ConnectionPhase.WAITING
        self._begun = False
        self._received = 0
        self._unread_since: float | None = None

    @property
    def phase(self) -> ConnectionPhase:
        if self.cycle is None or self.cycle.response_complete:
            return ConnectionPhase.WAITING
        return ConnectionPhase.RECEIVING if self.cycle.more_body else ConnectionPhase.ANSWERING

    def is_late(self, now: float) -> bool:
        limits, phase = self._guard.limits, self.phase
        if phase is ConnectionPhase.ANSWERING:
            return self._unread_since is not None and now - self._unread_since > limits.body_s
        if phase is ConnectionPhase.RECEIVING:
            if self.flow.read_paused or self.cycle.waiting_for_100_continue:
                # The API has to read first: the client is not late.
                self.since, self._received = now, 0
            return now - self.since > limits.body_s + self._received / _BYTES_A_SECOND
        # A kept connection may be idle for longer; a request that has begun has the usual time.
        idle = self.cycle is not None and not self._begun
        return now - self.since > (max(limits.keep_alive_s, limits.header_s) if idle else limits.header_s)

    def drop(self) -> None:
        """Close the connection, with a 408 if a request has begun and has no response. Abort it at the second call."""
        begun = self.phase is ConnectionPhase.RECEIVING or (self.phase is ConnectionPhase.WAITING and self._begun)
        answered = self.phase is not ConnectionPhase.WAITING and self.cycle.response_started
        if self.transport.is_closing() or not begun or answered:
            self.transport.abort()
            return
        self.transport.write(_LATE)
        self.transport.close()

    # Events of the protocol.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self._guard.admit(self, self.client[0] if self.client else ""):
            transport.write(_TOO_MANY)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._guard.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._phase is ConnectionPhase.WAITING and not self._begun:
            self._begun, self.since = True, self._guard.clock()
        self._received += len(data)
        super().data_received(data)
        self._note()

    def on_response_complete(self) -> None:
        self._phase, self._begun, self.since = ConnectionPhase.WAITING, False, self._guard.clock()
        super().on_response_complete()
        self._note()

    def _note(self) -> None:
        if self.phase is not self._phase:
            self._phase, self._received, self.since = self.phase, 0, self._guard.clock()
            self._begun = False

    def pause_writing(self) -> None:
        self._unread_since = self._guard.clock()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._unread_since = None
        super().resume_writing()


def protocols(guard: Guard) -> Any:
    """Return the protocol factory for uvicorn."""
    def make(**known: Any) -> ClientConnection:
        return ClientConnection(guard, **known)

    return make
