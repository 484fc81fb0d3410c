"""Sends HTTP requests to the services of clouds: one connection pool per event loop, within limits.

A reply of any status is returned. Without a reply NotBegun says that nothing was sent, and Temporary that the request may
have been carried out. Only GET and HEAD are repeated here.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from isotherm import errors, loading
from isotherm.config import Settings
from isotherm.fetch import before_send
from isotherm.resources.context import local_access
from isotherm.resources.openstack.port.access import Tls

if TYPE_CHECKING:
    import aiohttp

_READS = frozenset({"GET", "HEAD"})
# Replies of proxies in front of a service that is being restarted or is busy.
_BUSY = frozenset({502, 503, 504})
# The pause before the first repetition; each further one is twice as long.
_PAUSE_S = 0.2
# Services close idle connections after 5 seconds or more; a POST on a closed one would be an unknown one.
_IDLE_S = 3.0


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The limits on the calls of a process."""

    connect_s: float = 5.0
    # From the first byte sent to the last byte received, and the wait for a free place.
    whole_s: float = 60.0
    # Repetitions of a GET or HEAD.
    repetitions: int = 3
    body_bytes: int = 16 * 1024 * 1024
    # For each service and endpoint.
    concurrent: int = 30
    per_second: float = 0.0

    @classmethod
    def of(cls, settings: Settings) -> CallLimits:
        return cls(settings.client_connect_timeout, settings.client_request_timeout, settings.client_retry_limit,
                   settings.max_json_body_size, settings.client_concurrency, settings.client_rate)


class _Attempt:
    """One request on its way: whether any of it was sent."""

    __slots__ = ("_check", "sent")

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self.sent = False

    def begin(self) -> None:
        """Check the lease when the connection is open (I5), and note that the request leaves."""
        self._check()
        self.sent = True


class _Gate:
    """Lets a number of calls of one service run at once, and so many begin in a second."""

    def __init__(self, limits: CallLimits) -> None:
        self._places = asyncio.Semaphore(limits.concurrent)
        self._apart_s = 1.0 / limits.per_second if limits.per_second else 0.0
        self._next = 0.0

    @contextlib.asynccontextmanager
    async def passed(self) -> AsyncIterator[None]:
        async with self._places:
            if self._apart_s:
                now = asyncio.get_running_loop().time()
                at, self._next = max(now, self._next), max(now, self._next) + self._apart_s
                await asyncio.sleep(at - now)
            yield


class _Pool:
    """The connections and gates of one event loop."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._gates: dict[str, _Gate] = {}
        self._holder: AsyncIterator[aiohttp.ClientSession] | None = None
        self._session: aiohttp.ClientSession | None = None

    async def session(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._holder = _held_session(self._limits)
            self._session = await anext(self._holder)
        return self._session

    def gate(self, name: str) -> _Gate:
        found = self._gates.get(name)
        if found is None:
            found = self._gates[name] = _Gate(self._limits)
        return found

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


async def _held_session(limits: CallLimits) -> AsyncIterator[aiohttp.ClientSession]:
    """Yield a session. A loop that ends closes its asynchronous generators, and so the session."""
    http = loading.load("aiohttp")
    session = http.ClientSession(
        connector=http.TCPConnector(limit=0, keepalive_timeout=_IDLE_S), request_class=before_send.request_class(),
        timeout=http.ClientTimeout(total=None, sock_connect=limits.connect_s), cookie_jar=http.DummyCookieJar())
    try:
        yield session
    finally:
        await session.close()


class Transport:
    """Sends the requests of a process to all clouds."""

    def __init__(self, limits: CallLimits | None = None) -> None:
        self.limits = limits or CallLimits()
        self._pools: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool] = weakref.WeakKeyDictionary()

    async def send(self, service: str, call: local_access.Call, tls: Tls) -> local_access.Reply:
        """Send a request to an absolute URL. Reads are repeated if the service is not reached or busy."""
        within_s = self.limits.whole_s if call.timeout_s is None else call.timeout_s
        attempt = _Attempt(call.check if call.method not in _READS else _nothing)
        try:
            async with asyncio.timeout(within_s):
                return await self._sent_again(service, call, tls, attempt)
        except TimeoutError:
            kind = errors.Temporary if attempt.sent else errors.NotBegun
            raise kind(f"The service {service} did not answer {call.method} within {within_s:g} seconds.") from None

    async def close(self) -> None:
        """Close the connections of the running loop. They are closed with the loop otherwise."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close()

    def _pool(self) -> _Pool:
        loop = asyncio.get_running_loop()
        found = self._pools.get(loop)
        if found is None:
            found = self._pools[loop] = _Pool(self.limits)
        return found

    async def _sent_again(
        self, service: str, call: local_access.Call, tls: Tls, attempt: _Attempt
    ) -> local_access.Reply:
        left = self.limits.repetitions if call.method in _READS else 0
        pause_s = _PAUSE_S
        while True:
            try:
                reply = await self._sent_once(service, call, tls, attempt)
                if reply.status not in _BUSY or not left:
                    return reply
            except errors.Temporary:
                if not left:
                    raise
            left -= 1
            # Random, so that calls that failed together do not come back together.
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))
            pause_s *= 2

    async def _sent_once(
        self, service: str, call: local_access.Call, tls: Tls, attempt: _Attempt
    ) -> local_access.Reply:
        http = loading.load("aiohttp")
        pool = self._pool()
        session = await pool.session()
        before_send.call_before_send(attempt.begin)
        where = f"{service} at {urlsplit(call.url).netloc}"
        try:
            async with pool.gate(where).passed(), session.request(
                call.method, http_url(call.url), headers=call.headers, data=call.body or None, ssl=ssl_context(tls),
                allow_redirects=False,
            ) as response:
                return await self._read(service, response)
        except (http.ClientConnectorCertificateError, http.ClientConnectorSSLError) as error:
            raise errors.NotBegun(f"The service {where} has no valid certificate: {error}") from error
        except (http.ClientError, OSError) as error:
            if attempt.sent:
                raise errors.Temporary(f"The connection to the service {where} broke before it answered.") from error
            raise errors.NotBegun(f"The service {where} cannot be reached: {error}") from error

    async def _read(self, service: str, response: aiohttp.ClientResponse) -> local_access.Reply:
        content = bytearray()
        async for chunk in response.content.iter_chunked(64 * 1024):
            content += chunk
            if len(content) > self.limits.body_bytes:
                raise errors.Permanent(f"The answer of the service {service} has more than {self.limits.body_bytes} bytes.")
        return local_access.Reply(response.status, _headers(response.headers), bytes(content))


def _nothing() -> None:
    """Check nothing: a request that only reads needs no lease."""


def http_url(url: str) -> Any:
    """Return a URL whose escapes stay as they are."""
    return loading.load("yarl").URL(url, encoded=True)


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in given.items()}


@cache
def ssl_context(tls: Tls) -> ssl.SSLContext | bool:
    """Return the settings of TLS in the form that aiohttp takes."""
    if tls == Tls():
        return True
    try:
        context = ssl.create_default_context(cafile=tls.ca_file or None)
        if tls.cert_file:
            context.load_cert_chain(tls.cert_file, tls.key_file or None)
    except OSError as error:
        files = ", ".join(filter(None, (tls.ca_file, tls.cert_file, tls.key_file)))
        raise errors.Permanent(f"The certificates of the cloud cannot be read ({files}): {error}") from error
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
