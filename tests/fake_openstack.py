"""A Keystone with a catalogue, and services behind it, which behave on demand."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

from aiohttp import web

NOW = 1_800_000_000.0


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> float:
        return self.time


class Server:
    """Keystone and a network service. `answers` are given one by one; then every request succeeds."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.clock = Hands()
        self.logins: list[Any] = []
        self.calls: list[tuple[str, str, dict[str, str]]] = []
        self.answers: list[int | str] = []
        self.revoked: set[str] = set()
        self.refusal: tuple[int, str] | None = None
        self.slow: asyncio.Event | None = None
        self.lasts_s = 3600.0
        # By the name of the project that is asked for: its id.
        self.projects = {"demo": "p1"}

    async def login(self, request: web.Request) -> web.Response:
        self.logins.append(await request.json())
        number = len(self.logins)
        await asyncio.sleep(0)
        if self.refusal is not None:
            status, text = self.refusal
            return web.json_response({"error": {"code": status, "message": text}}, status=status)
        project = self.logins[-1]["auth"].get("scope", {}).get("project", {}).get("name", "demo")
        return web.json_response(self._token(project), status=201, headers={"X-Subject-Token": f"token-{number}"})

    async def validate(self, request: web.Request) -> web.Response:
        self.logins.append({"validated": request.headers["X-Subject-Token"]})
        return web.json_response(self._token())

    def _token(self, project: str = "demo") -> dict[str, Any]:
        expires = datetime.datetime.fromtimestamp(self.clock.time + self.lasts_s, datetime.UTC)
        catalogue = [{"type": type_, "endpoints": [
            {"interface": interface, "region_id": region, "url": f"{self.url}/{region}/{interface}{path}"}
            for region in ("one", "two") for interface in ("public", "internal")]}
            for type_, path in (("network", ""), ("volumev3", "/v3/p1"), ("object-store", "/v1/AUTH_p1"))]
        return {"token": {"expires_at": expires.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "catalog": catalogue,
                          "project": {"id": self.projects[project], "name": project}, "user": {"id": "u1"}}}

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.calls.append((request.method, request.path_qs, dict(request.headers)))
        if self.slow is not None:
            await self.slow.wait()
        if request.headers["X-Auth-Token"] in self.revoked:
            return web.Response(status=401)
        answer = self.answers.pop(0) if self.answers else 200
        if answer == "lost":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        return web.json_response({"networks": []}, status=int(answer))


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    """Serve on a free port inside of the context."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    server = Server(bound.getsockname()[1])
    app = web.Application()
    app.router.add_post("/v3/auth/tokens", server.login)
    app.router.add_get("/v3/auth/tokens", server.validate)
    app.router.add_route("*", "/{path:.*}", server.serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.SockSite(runner, bound).start()
    try:
        yield server
    finally:
        await runner.cleanup()


@contextlib.contextmanager
def beside() -> Iterator[Server]:
    """Serve on a thread, for commands that run a loop of their own."""
    ready, made, ends = threading.Event(), [], []

    async def run() -> None:
        end = asyncio.Event()
        async with serving() as server:
            made.append(server)
            ends.append((asyncio.get_running_loop(), end))
            ready.set()
            await end.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert ready.wait(30)
    try:
        yield made[0]
    finally:
        loop, end = ends[0]
        loop.call_soon_threadsafe(end.set)
        thread.join()
