"""Connections that are too many, too slow or too silent, over real sockets, by a clock that the tests set."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
import uvicorn

from isotherm.cli.service import connections
from isotherm.cli.service.connections import ConnectionLimits, Guard, RateLimitedLog
from isotherm.config import Settings

PATIENCE_S = 240.0
LIMITS = ConnectionLimits(header_s=20, body_s=30, keep_alive_s=5, most=8, most_per_peer=4)
HALF = b"GET / HTTP/1.1\r\nHost: x\r\n"
WHOLE = HALF + b"\r\n"
STREAM = b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Line:
    """A client's end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> Line:
        self.writer.write(data)
        await self.writer.drain()
        return self

    async def status(self) -> int:
        line = await self.reader.readline()
        return int(line.split()[1])

    async def answered(self) -> bool:
        """Read a whole answer of the app."""
        return b"fine" in await self.reader.readuntil(b"\r\n0\r\n\r\n")

    async def rest(self) -> bytes:
        """Return everything until the server closes the connection."""
        try:
            return await self.reader.read()
        except ConnectionResetError:
            return b""


class Stage:
    """A server with these limits, an app, and the lines to it."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.clock = Clock()
        self.guard = Guard(limits, self.clock)
        self.more = asyncio.Event()
        self.bodies: list[int] = []
        self._lines: list[Line] = []

    async def app(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        if scope["method"] == "POST":
            size, message = 0, {"more_body": True}
            while message.get("more_body"):
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                size += len(message["body"])
            self.bodies.append(size)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/flood":
            # More than the buffers of both ends can take.
            for _ in range(1000):
                await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})
        if scope["path"] == "/stream":
            await send({"type": "http.response.body", "body": b"first ", "more_body": True})
            await self.more.wait()
        await send({"type": "http.response.body", "body": b"fine"})

    async def line(self, host: str = "127.0.0.1") -> Line:
        made = Line(*await asyncio.open_connection("127.0.0.1", self.port, local_addr=(host, 0)))
        self._lines.append(made)
        return made

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.sleep(0.005)

    def phases(self) -> list[str]:
        return sorted(one.phase.name for one in self.guard._all)

    async def later(self, seconds: float) -> None:
        """Set the clock forward and check the deadlines twice: late connections are closed by then."""
        self.clock.now += seconds
        self.guard.sweep()
        self.guard.sweep()

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[Stage]:
        config = uvicorn.Config(self.app, http=connections.protocols(self.guard), ws="none", log_config=None,
                                access_log=False, lifespan="off", timeout_keep_alive=3600, interface="asgi3")
        server = uvicorn.Server(config)
        bound = socket.create_server(("127.0.0.1", 0))
        self.port = bound.getsockname()[1]
        task = asyncio.create_task(server._serve([bound]))
        try:
            await self.until(lambda: server.started)
            yield self
        finally:
            self.more.set()
            for one in self._lines:
                one.writer.close()
            server.should_exit = server.force_exit = True
            await task


def story(tell: Callable[[Stage], Any], limits: ConnectionLimits = LIMITS) -> None:
    async def told() -> None:
        async with asyncio.timeout(PATIENCE_S), Stage(limits).serving() as stage:
            await tell(stage)

    asyncio.run(told())


def test_headers_have_a_deadline_that_no_trickle_moves() -> None:
    async def tell(stage: Stage) -> None:
        silent, half = await stage.line(), await (await stage.line()).send(HALF)
        await stage.until(lambda: sum(one._begun for one in stage.guard._all) == 1)
        await stage.later(19)
        received = next(one for one in stage.guard._all if one._begun)
        await half.send(b"X: y\r\n")
        await stage.until(lambda: received._received > len(HALF))
        assert len(stage.guard) == 2
        await stage.later(2)
        assert await silent.rest() == b""
        await half.rest()
        await stage.until(lambda: len(stage.guard) == 0)

    story(tell)


def test_a_client_that_is_late_is_told_so() -> None:
    async def tell(stage: Stage) -> None:
        half = await (await stage.line()).send(HALF)
        body = await (await stage.line()).send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nx")
        await stage.until(lambda: stage.phases() == ["RECEIVING", "WAITING"] and all(
            one._begun or one.cycle for one in stage.guard._all))
        stage.clock.now += 31
        stage.guard.sweep()
        assert (await half.status(), await body.status()) == (408, 408)
        assert stage.bodies == []

    story(tell)


def test_a_body_has_to_make_progress() -> None:
    async def tell(stage: Stage) -> None:
        slow, fast = [await (await stage.line()).send(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n") for _ in range(2)]
        await stage.until(lambda: stage.phases() == ["RECEIVING", "RECEIVING"])
        first, second = stage.guard._all
        for _ in range(3):
            before = second._received
            await fast.send(bytes(50_000))
            await slow.send(b"x")
            await stage.until(partial(lambda old: second._received >= old + 50_000, before))
            await stage.later(29)
        await stage.until(lambda: stage.phases() == ["RECEIVING"])
        assert first not in stage.guard._all
        await fast.send(bytes(50_000))
        assert await fast.answered()
        assert stage.bodies == [200_000]

    story(tell)


def test_a_kept_connection_has_a_time_of_its_own() -> None:
    async def tell(stage: Stage) -> None:
        idle, late = await (await stage.line()).send(WHOLE), await (await stage.line()).send(WHOLE)
        assert await idle.answered() and await late.answered()
        await stage.later(50)
        assert len(stage.guard) == 2
        await late.send(HALF)
        await stage.until(lambda: any(one._begun for one in stage.guard._all))
        await stage.later(15)
        await stage.until(lambda: len(stage.guard) == 1)
        assert await idle.rest() == b""
        await late.send(b"\r\n")
        assert await late.answered()

    story(tell, ConnectionLimits(header_s=20, body_s=30, keep_alive_s=60, most=8, most_per_peer=4))


def test_an_answer_may_take_for_ever_if_it_is_read() -> None:
    async def tell(stage: Stage) -> None:
        stream, flood = await (await stage.line()).send(STREAM), await stage.line()
        assert await stream.status() == 200
        await flood.send(b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n")
        await stage.until(lambda: any(one._unread_since is not None for one in stage.guard._all))
        await stage.later(31)
        await stage.until(lambda: len(stage.guard) == 1)
        await stage.later(1_000_000)
        assert len(stage.guard) == 1
        stage.more.set()
        assert await stream.answered()

    story(tell)


def test_silent_connections_are_evicted_first() -> None:
    """Many half requests from one address do not keep whole requests from being answered."""
    async def tell(stage: Stage) -> None:
        for number in range(20):
            line = await stage.line()
            await line.send(HALF if number % 3 else b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
            whole = await (await stage.line()).send(WHOLE)
            assert await whole.answered()
            assert len(stage.guard) <= 4

    story(tell)


def test_one_address_has_a_limit_and_served_connections_stay() -> None:
    async def tell(stage: Stage) -> None:
        streams = [await (await stage.line()).send(STREAM) for _ in range(4)]
        assert [await one.status() for one in streams] == [200] * 4
        assert await (await stage.line()).status() == 503
        others = [await (await stage.line("127.0.0.2")).send(STREAM) for _ in range(4)]
        assert [await one.status() for one in others] == [200] * 4
        assert await (await stage.line("127.0.0.3")).status() == 503
        stage.more.set()
        assert all([await one.answered() for one in [*streams, *others]])

    story(tell)


def test_descriptors_stay_in_reserve() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (400, before[1]))
        few = ConnectionLimits.of(Settings(max_connections=100_000, max_connections_per_peer=50_000))
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert 1 <= few.most_per_peer == few.most < 300
    assert ConnectionLimits.of(Settings(max_connections=10, max_connections_per_peer=3)).most_per_peer == 3


def test_what_happens_often_is_logged_seldom(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    guard = Guard(LIMITS, clock)
    context = {"message": "socket.accept() out of system resource", "exception": OSError(24, "Too many open files")}

    async def tell() -> None:
        async with guard.sweeping():
            loop = asyncio.get_running_loop()
            for _ in range(1000):
                loop.call_exception_handler(context)
            clock.now += 61
            loop.call_exception_handler(context)
            loop.call_exception_handler({"message": "another"})

    with caplog.at_level(logging.WARNING):
        asyncio.run(tell())
    found = [(one.name, getattr(one, "times", None)) for one in caplog.records]
    assert found == [("isotherm.cli.service.connections", 1), ("isotherm.cli.service.connections", 1000), ("asyncio", None)]


def test_each_thing_is_logged_on_its_own(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    seldom = RateLimitedLog(clock)
    for message in ("a", "b", "a", "b"):
        seldom.warn(message)
    assert [one.message for one in caplog.records] == ["a", "b"]


def test_an_idle_connection_outlives_the_poll_of_heats_clients() -> None:
    # python-heatclient asks for events every 5 seconds over one connection. A server that closes it just then resets it.
    assert Settings().keep_alive_timeout >= 60
