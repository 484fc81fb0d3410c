"""A Keystone, and a Heat behind it: an Isotherm without the routes, fields and headers that Heat's API does not have."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import aiohttp
from aiohttp import web

from tests.cli.service import PATIENCE_S, Service

_ROUTES = re.compile(
    r"/stacks(/preview|/[^/]+(/(resources|events|template|actions|environment|files))?|/[^/]+/[0-9a-f-]{36}"
    r"(/(preview|events|template|environment|files|actions|export|abandon|(outputs|snapshots)(/.*)?"
    r"|resources(/[^/]+(/(metadata|signal|events))?)?))?)?")
_OWN = {"generation", "operation_id", "stack_path", "problems", "progress", "retained", "drift", "timeout_s"}
_PASSED = ("X-Auth-Token", "Content-Type", "Accept")
_DROPPED = {"content-length", "content-encoding", "transfer-encoding", "connection", "isotherm-operation", "date", "server"}


class Heat:
    """Passes on what a Heat would know, from an address of its own."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.url = ""
        self.logins: list[Any] = []

    async def login(self, request: web.Request) -> web.Response:
        self.logins.append(await request.json())
        expires = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
        catalogue = [{"type": "orchestration", "endpoints": [
            {"interface": "public", "region_id": "one", "url": f"{self.url}/v1/default"}]}]
        token = {"expires_at": expires.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "catalog": catalogue,
                 "project": {"id": "default", "name": "demo"}, "user": {"id": "u1"}}
        return web.json_response({"token": token}, status=201, headers={"X-Subject-Token": self._service.token})

    async def serve(self, request: web.Request) -> web.Response:
        path = request.path.removeprefix("/v1/default")
        if not _ROUTES.fullmatch(path):
            return web.Response(status=404, text="404 Not Found")
        query = [(key, value.removeprefix("event-")) for key, value in request.query.items()]
        headers = {key: value for key, value in request.headers.items() if key in _PASSED}
        async with (aiohttp.ClientSession() as client,
                    client.request(request.method, self._service.url + path, params=query, data=await request.read(),
                                   headers=headers, allow_redirects=False) as answer):
            raw = await answer.read()
            kept = {key: value for key, value in answer.headers.items() if key.lower() not in _DROPPED}
        return web.Response(status=answer.status, body=_as_heat(raw), headers=kept)

    async def run(self, ready: threading.Event, stop: asyncio.Event) -> None:
        app = web.Application()
        app.router.add_post("/identity/v3/auth/tokens", self.login)
        app.router.add_route("*", "/{tail:.*}", self.serve)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = site.name if site.name.rpartition(":")[2] != "0" else _address(runner)
        ready.set()
        await stop.wait()
        await runner.cleanup()


def _address(runner: web.AppRunner) -> str:
    host, port = runner.addresses[0][:2]
    return f"http://{host}:{port}"


def _as_heat(raw: bytes) -> bytes:
    try:
        return json.dumps(_without_own(json.loads(raw))).encode() if raw else raw
    except ValueError:
        return raw


def _without_own(data: Any) -> Any:
    if isinstance(data, list):
        return [_without_own(one) for one in data]
    if not isinstance(data, dict):
        return data
    shown = {key: _without_own(value) for key, value in data.items() if key not in _OWN}
    # Heat's events have uuids.
    return {**shown, "id": f"event-{shown['id']}"} if "event_time" in shown else shown


@contextlib.contextmanager
def beside(service: Service) -> Iterator[Heat]:
    """Run the Heat in front of a service, on a loop of its own."""
    heat, ready, loop = Heat(service), threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    def main() -> None:
        try:
            loop.run_until_complete(heat.run(ready, stop))
        finally:
            loop.close()

    thread = threading.Thread(target=main)
    thread.start()
    assert ready.wait(PATIENCE_S)
    try:
        yield heat
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
