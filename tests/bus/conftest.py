"""A real broker, a proxy between it and a bus, and a listener that records messages."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import aio_pika
import pytest
from aio_pika.abc import AbstractChannel

from isotherm import bus
from tests import patience
from tools import services

T = TypeVar("T")

Story = Callable[[Coroutine[Any, Any, None]], None]

#: A busy machine is no failure.
PATIENCE_S = 240.0


class Listener:
    """A listener that records its calls."""

    def __init__(self, *, room: bool = True) -> None:
        self.heard: list[str] = []
        self.hints: list[Mapping[str, Any]] = []
        self.came = 0
        self.has_room = room
        self.held: asyncio.Event | None = None

    def stacks_changed(self, stack_ids: Sequence[str]) -> None:
        self.heard += stack_ids

    async def take_turn(self) -> None:
        self.came += 1
        if self.held is not None:
            await self.held.wait()

    def has_capacity(self) -> bool:
        return self.has_room

    def reality_hint(self, what: Mapping[str, Any]) -> None:
        self.hints.append(what)


class Broken(Listener):
    """A listener whose methods all raise."""

    def stacks_changed(self, stack_ids: Sequence[str]) -> None:
        raise RuntimeError("broken")

    def reality_hint(self, what: Mapping[str, Any]) -> None:
        raise RuntimeError("broken")

    async def take_turn(self) -> None:
        self.came += 1
        raise RuntimeError("broken")


class Broker:
    """A private RabbitMQ, which can be killed and started again."""

    def __init__(self, folder: Path, url: str) -> None:
        self._keeper = services.Keeper(folder, sync=False)
        self.url = url

    @property
    def port(self) -> int:
        return self._keeper.status()["rabbitmq"].port

    def kill(self) -> None:
        killed = self._keeper.status()["rabbitmq"].processes[0]
        os.kill(killed.pid, signal.SIGKILL)
        while killed.is_alive():
            time.sleep(0.01)

    def start(self) -> None:
        self.url = self._keeper.up(["rabbitmq"])["rabbitmq"].url


class Between:
    """A proxy between a bus and the broker, on a fixed port, that passes everything, freezes, or refuses connections."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.flows = asyncio.Event()
        self.flows.set()
        # How much has arrived here that does not flow on.
        self.held_bytes = 0
        self._ends: set[asyncio.StreamWriter] = set()

    @contextlib.asynccontextmanager
    async def open(self, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
        server = await asyncio.start_server(self._taken, "127.0.0.1", 0, ssl=context)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            self.flows.set()
            self.cut()
            # What is cut notices it in the next passes of the loop.
            while self._ends:
                await asyncio.sleep(0.01)

    def cut(self) -> None:
        for end in self._ends:
            end.transport.abort()

    async def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.add(writer)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
        else:
            self._ends.add(back)
            await asyncio.gather(self._pass(reader, back), self._pass(there, writer))
            self._ends.discard(back)
        self._ends.discard(writer)

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                if not self.flows.is_set():
                    self.held_bytes += len(data)
                    await self.flows.wait()
                sink.write(data)
                await sink.drain()
        sink.transport.abort()


def url_at(broker: Broker, port: int) -> str:
    """The broker, by way of another port."""
    return broker.url.replace(f":{broker.port}/", f":{port}/")


async def until(happened: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not happened():
            await asyncio.sleep(0.005)


async def connected(*buses: bus.Bus) -> None:
    await until(lambda: all(one.connected for one in buses))


async def on_the_broker(url: str, act: Callable[[AbstractChannel], Awaitable[T]]) -> T:
    """Connect to the broker as another program would."""
    async with await aio_pika.connect(url) as connection, connection.channel() as channel:
        return await act(channel)


async def queued(url: str) -> tuple[int, int]:
    """Return how many calls for help lie in their queue, and how many consumers it has."""
    async def it(channel: AbstractChannel) -> tuple[int, int]:
        found = (await channel.get_queue("isotherm.work")).declaration_result
        return found.message_count or 0, found.consumer_count or 0

    return await on_the_broker(url, it)


async def until_queued(url: str, messages: int, consumers: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await queued(url) != (messages, consumers):
            await asyncio.sleep(0.01)


async def stays(condition: Callable[[], bool]) -> None:
    """Assert that nothing changes for a moment: what is not sent cannot be waited for."""
    async def holds() -> bool:
        return condition()

    await patience.stays(holds)


async def publish(url: str, exchange: str, body: bytes, key: str = "") -> None:
    async def it(channel: AbstractChannel) -> None:
        await (await channel.get_exchange(exchange)).publish(aio_pika.Message(body), key)

    await on_the_broker(url, it)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("broker")
    try:
        with services.running(["rabbitmq"], folder) as found:
            yield Broker(folder, found["rabbitmq"].url)
    except services.Impossible as error:
        pytest.skip(f"NO BROKER, SO NOT TESTED: {error}")


@pytest.fixture
def broker(running: Broker) -> Broker:
    """The one broker of all tests, without what another test has left in it."""
    asyncio.run(on_the_broker(running.url, _cleared))
    return running


async def _cleared(channel: AbstractChannel) -> None:
    for name in ("isotherm.work", "isotherm.hints"):
        await channel.queue_delete(name)


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What was logged by us, and by the loop itself where something was left behind."""
    caplog.set_level(logging.INFO, "isotherm")
    return lambda: [f"{one.levelname} {one.getMessage()} {getattr(one, 'reason', '')}" for one in caplog.records
                    if one.name.startswith(("isotherm", "asyncio"))]


@pytest.fixture
def story(caplog: pytest.LogCaptureFixture) -> Story:
    """Run a story; fail if a task is left running, or the loop reports an error."""
    async def whole(it: Coroutine[Any, Any, None]) -> None:
        await it
        # What was cut, closed or cancelled notices it in the next passes of the loop.
        passes = 0
        while (left := asyncio.all_tasks() - {asyncio.current_task()}) or passes < 10:
            passes += 1
            assert passes < 1000, left
            await asyncio.sleep(0.001)

    def run(it: Coroutine[Any, Any, None]) -> None:
        asyncio.run(whole(it))
        assert [one.getMessage() for one in caplog.records if one.name == "asyncio"] == []

    return run
