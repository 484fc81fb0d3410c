"""A proxy between an engine and the services of a cloud, which ends the engine at the requests that write."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

_ID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
# Headers of one connection, which are not passed on.
_OF_CONNECTION = frozenset({"host", "connection", "content-length", "transfer-encoding", "content-encoding",
                            "accept-encoding", "keep-alive"})
#: How long a request is on its way at most: as long as the engine of the tests waits for an answer.
HELD_S = 5.0
Answer = tuple[int, dict[str, str], bytes]


class Moment(Enum):
    """The moment of a request at which the engine dies, or loses the answer."""

    BEFORE = "before the request reaches the service"
    DURING = "while the request is on its way: the service carries it out after the next engine has looked for it"
    AFTER = "after the service has carried it out, before it answers"
    LATE = "not at all: the answer comes after the engine's time limit"


class Proxy:
    """Passes requests on. The first writing request of each kind meets the moment; the later ones are passed on at once."""

    def __init__(self, upstreams: Mapping[str, str], moment: Moment, kill: Callable[[], None]) -> None:
        self._upstreams = upstreams
        self._moment = moment
        self._kill = kill
        self.struck: list[str] = []
        self._held: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[Answer]] = set()
        self._stopped = asyncio.Event()
        self.ports: dict[str, int] = {}

    async def handle(self, service: str, request: web.Request) -> web.Response:
        body = await request.read()
        kind = _kind(service, request, body)
        if request.method not in ("GET", "HEAD") and kind not in self.struck:
            self.struck.append(kind)
            return await self._strike(kind, service, request, body)
        answer = await self._passed_on(service, request, body)
        # The engine has looked, or has tried again: now the held request arrives at the service.
        for held, event in self._held.items():
            if held.startswith(f"{service} "):
                event.set()
        return _response(answer)

    async def _strike(self, kind: str, service: str, request: web.Request, body: bytes) -> web.Response:
        match self._moment:
            case Moment.BEFORE:
                self._kill()
            case Moment.DURING:
                self._held[kind] = asyncio.Event()
                self._kill()
                # A busy machine may start the next engine when no request of the former one can be on its way any more.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._held[kind].wait(), HELD_S)
                await self._carried_out(service, request, body)
            case Moment.AFTER:
                await self._carried_out(service, request, body)
                self._kill()
            case Moment.LATE:
                await self._carried_out(service, request, body)
                await self._stopped.wait()
        return web.Response(status=502, text="the engine has gone")

    async def _carried_out(self, service: str, request: web.Request, body: bytes) -> Answer:
        task = asyncio.ensure_future(self._passed_on(service, request, body))
        self._tasks.add(task)
        return await asyncio.shield(task)

    async def _passed_on(self, service: str, request: web.Request, body: bytes) -> Answer:
        parts = urlsplit(self._upstreams[service])
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_CONNECTION}
        async with aiohttp.ClientSession(auto_decompress=True) as session, session.request(
            request.method, f"{parts.scheme}://{parts.netloc}{request.raw_path}", headers=headers, data=body or None,
            allow_redirects=False,
        ) as reply:
            kept = {name: value for name, value in reply.headers.items() if name.lower() not in _OF_CONNECTION}
            return reply.status, kept, await reply.read()

    async def serve(self, ready: threading.Event, stop: asyncio.Event) -> None:
        """Listen for each service on a port of its own, until `stop` is set."""
        runners = []
        for service in self._upstreams:
            runner = web.ServerRunner(web.Server(partial(self.handle, service)), shutdown_timeout=1.0)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.ports[service] = runner.addresses[0][1]
            runners.append(runner)
        ready.set()
        await stop.wait()
        self._stopped.set()
        for event in self._held.values():
            event.set()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for runner in runners:
            await runner.cleanup()


def _kind(service: str, request: web.Request, body: bytes) -> str:
    """Return the kind of a request: the path without ids, and the action that the body names."""
    action = "".join(json.loads(body)) if request.path.endswith("/action") else ""
    return f"{service} {request.method} {_ID.sub('*', request.path)} {action}".strip()


def _response(answer: Answer) -> web.Response:
    status, headers, body = answer
    return web.Response(status=status, headers=headers, body=body)


@contextlib.contextmanager
def running(upstreams: Mapping[str, str], moment: Moment, kill: Callable[[], None]) -> Iterator[Proxy]:
    """Run a proxy in a thread. `kill` is called in that thread."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    proxy, stop = Proxy(upstreams, moment, kill), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(proxy.serve(ready, stop),), daemon=True)
    thread.start()
    assert ready.wait(30), "the proxy did not start"
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()
