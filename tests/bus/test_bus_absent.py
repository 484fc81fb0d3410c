"""Brokers that are absent, do not answer, or refuse the login: nothing waits for them, and no task is left over."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from isotherm import bus
from isotherm.bus import amqp, link
from isotherm.bus.outbox import MOST
from tests.bus.conftest import Broker, Listener, Story, until


@contextlib.contextmanager
def at_once(limit_s: float = link.ANSWER_S - 1) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < limit_s


@pytest.fixture
def closed() -> Iterator[Any]:
    """A port without a listener, reserved so that it stays so."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_without_a_broker_everything_goes_on_at_once(story: Story, told: Callable[[], list[str]], closed: Any) -> None:
    async def it() -> None:
        here, ears = bus.of(f"rabbit://u:MARKER@127.0.0.1:{closed}/"), Listener()
        with at_once():
            here.announce(["early"])
            async with here.listening(ears):
                await until(lambda: told())
                for number in range(MOST + 100):
                    here.announce([str(number)])
                    here.call_for_help()
                here.capacity_changed()
                assert len(ears.heard) == MOST + 100 and not here.connected
                assert here.counts.dropped == 101 and here.counts.published == 0

    story(it())
    assert len(told()) == 1 and "the broker is not reachable" in told()[0]


def test_it_is_tried_again_and_again_and_told_once(
    story: Story, told: Callable[[], list[str]], closed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amqp, "_FIRST_S", 0.001)
    tries = []
    opened = link.Link.open

    async def counted(self: Any) -> None:
        tries.append(self)
        await opened(self)

    monkeypatch.setattr(link.Link, "open", counted)

    async def it() -> None:
        here = bus.of(f"rabbit://u:MARKER@127.0.0.1:{closed},u:MARKER@127.0.0.1:{closed}/")
        async with here.listening(Listener()):
            await until(lambda: len(tries) > 5)

    story(it())
    assert len(told()) == 1 and "MARKER" not in told()[0]


def test_a_broker_that_does_not_answer_delays_no_caller(
    story: Story, told: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "CONNECT_S", 0.2)

    async def it() -> None:
        taken = []
        server = await asyncio.start_server(lambda reader, writer: taken.append(writer), "127.0.0.1", 0)
        here, ears = bus.of(f"amqp://127.0.0.1:{server.sockets[0].getsockname()[1]}"), Listener()
        async with here.listening(ears):
            with at_once():
                here.announce(["a"])
            assert ears.heard == ["a"]
            await until(lambda: len(taken) > 1)
        server.close()
        for writer in taken:
            writer.transport.abort()

    story(it())
    assert len(told()) == 1 and "TimeoutError" in told()[0]


def test_leaving_while_connecting_does_not_wait(story: Story) -> None:
    async def it() -> None:
        taken = []
        server = await asyncio.start_server(lambda reader, writer: taken.append(writer), "127.0.0.1", 0)
        here = bus.of(f"amqp://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        with at_once():
            async with here.listening(Listener()):
                await until(lambda: taken)
                here.announce(["a"])
        server.close()
        taken[0].transport.abort()

    story(it())


def test_what_speaks_another_language_is_no_broker(
    story: Story, told: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "CONNECT_S", 0.5)

    async def it() -> None:
        tries = []

        async def taken(reader: Any, writer: Any) -> None:
            tries.append(writer)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"\xff" * 100)
            await reader.read()
            writer.close()

        server = await asyncio.start_server(taken, "127.0.0.1", 0)
        here = bus.of(f"amqp://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        async with here.listening(Listener()):
            await until(lambda: told() and len(tries) > 2)
        server.close()

    story(it())
    assert len(told()) == 1


def test_a_refused_password_stops_no_work(story: Story, told: Callable[[], list[str]], broker: Broker) -> None:
    url = f"rabbit://isotherm:MARKER-wrong@127.0.0.1:{broker.port}/"

    async def it() -> None:
        here, ears = bus.of(url), Listener()
        async with here.listening(ears):
            here.announce(["a"])
            await until(lambda: told())
            assert not here.connected and ears.heard == ["a"]

    story(it())
    assert "ACCESS_REFUSED" in told()[0] and "MARKER" not in told()[0]
