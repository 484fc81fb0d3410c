"""A broker that hangs, dies, loses its queues, or has a wrong certificate; and the leftovers of a connection."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import logging
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aio_pika
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from isotherm import bus
from isotherm.bus import address, amqp, link
from tests.bus.conftest import Between, Broker, Listener, Story, connected, stays, until, url_at


def test_a_broker_that_hangs_is_left_for_a_new_connection(
    story: Story, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "ANSWER_S", 1.0)

    async def it() -> None:
        there = Between(broker.port)
        async with there.open() as port:
            here, other, ears = bus.of(url_at(broker, port)), bus.of(broker.url), Listener(room=False)
            async with here.listening(Listener(room=False)), other.listening(ears):
                await connected(here, other)
                there.flows.clear()
                began = time.monotonic()
                here.announce(["a"])
                here.call_for_help()
                assert time.monotonic() - began < link.ANSWER_S
                await until(lambda: not here.connected)
                there.flows.set()
                await until(lambda: ears.heard and here.counts.reconnects)
                assert set(ears.heard) == {"a"}

    story(it())


def test_leaving_a_broker_that_hangs_takes_a_moment(story: Story, broker: Broker) -> None:
    async def it() -> None:
        there = Between(broker.port)
        async with there.open() as port:
            here = bus.of(url_at(broker, port))
            async with here.listening(Listener()):
                await connected(here)
                there.flows.clear()
                for number in range(2000):
                    here.announce([f"{number:0300}"])
                await until(lambda: there.held_bytes)
                began = time.monotonic()
            assert time.monotonic() - began < 30

    story(it())


def test_a_connection_whose_socket_is_full_is_closed_all_the_same(story: Story, broker: Broker) -> None:
    async def it() -> None:
        there = Between(broker.port)
        async with there.open() as port:
            made = link.Link(address.parse(url_at(broker, port))[0], "full")
            await made.open()
            channel = await made.channel()
            there.flows.clear()
            big = aio_pika.Message(bytes(10_000_000))
            calls = [asyncio.ensure_future(made.call(channel.default_exchange.publish(big, "none"))) for _ in range(20)]
            await until(lambda: there.held_bytes)
            began = time.monotonic()
            await made.close()
            assert [task for task in asyncio.all_tasks() if "aiormq" in repr(task)] == []
            ends = await asyncio.gather(*calls, return_exceptions=True)
            assert time.monotonic() - began < link.ANSWER_S - 0.5
            assert all(isinstance(end, BaseException) for end in ends)

    story(it())


def test_a_connection_that_is_cut_is_made_again(story: Story, broker: Broker, told: Callable[[], list[str]]) -> None:
    async def it() -> None:
        there = Between(broker.port)
        async with there.open() as port:
            here, other, ears = bus.of(url_at(broker, port)), bus.of(broker.url), Listener(room=False)
            async with here.listening(Listener(room=False)), other.listening(ears):
                await connected(here, other)
                there.cut()
                here.announce(["a"])
                await until(lambda: ears.heard == ["a"])
                assert here.counts.reconnects == 1

    story(it())
    assert [one.split()[0] for one in told()] == ["INFO", "INFO", "WARNING", "INFO"]


def test_tls_asks_for_a_certificate_that_this_system_trusts(
    story: Story, broker: Broker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: Callable[[], list[str]]
) -> None:
    context = certified(tmp_path)

    async def it() -> None:
        there = Between(broker.port)
        async with there.open(context) as port:
            here = bus.of(url_at(broker, port).replace("amqp:", "amqps:"))
            async with here.listening(Listener()):
                await until(lambda: told())
                assert "CERTIFICATE_VERIFY_FAILED" in told()[0] and not here.connected
                monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))
                await connected(here)

    story(it())


def test_a_broker_that_was_killed_is_found_again(story: Story, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amqp, "_LONGEST_S", 0.5)

    async def it() -> None:
        there = Between(broker.port)
        async with there.open() as port:
            here, other = bus.of(url_at(broker, port)), bus.of(url_at(broker, port))
            ours, theirs = Listener(room=False), Listener()
            async with here.listening(ours), other.listening(theirs):
                await connected(here, other)
                # Before, the broker may not have written down that it has these queues.
                await asyncio.sleep(1.5)
                await asyncio.to_thread(broker.kill)
                await until(lambda: not here.connected and not other.connected)
                here.announce(["while it was away"])
                here.call_for_help()
                await asyncio.to_thread(broker.start)
                there.target = broker.port
                await connected(here, other)
                await until(lambda: theirs.came and here.counts.published == 2)
                here.announce(["afterwards"])
                await until(lambda: "afterwards" in theirs.heard)
                assert here.counts.dropped == 0 and here.counts.reconnects == 1

    story(it())


def test_a_queue_that_gives_no_answer_is_made_anew(story: Story, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Any:
    """As after a kill of the broker just when it had made it. What is in it is lost, and hints may be."""
    consume = link.Link.consume
    failed: list[Any] = []

    async def silent(self: Any, queue: Any, callback: Any, **options: Any) -> Any:
        if queue.name == "isotherm.work" and len(failed) < amqp._ENOUGH:
            failed.append(queue)
            raise TimeoutError
        return await consume(self, queue, callback, **options)

    async def it() -> None:
        here, other, ears = bus.of(broker.url), bus.of(broker.url), Listener(room=False)
        async with here.listening(ears), other.listening():
            await connected(here, other)
            other.call_for_help()
            await until(lambda: other.counts.published == 1)
            ears.has_room = True
            here.capacity_changed()
            await until(lambda: here.counts.reconnects == amqp._ENOUGH)
            await stays(lambda: ears.came == 0 and here.connected)
            other.call_for_help()
            await until(lambda: ears.came == 1)

    monkeypatch.setattr(link.Link, "consume", silent)
    story(it())


def test_a_listener_that_was_disconnected_hears_that_messages_may_be_missing(
    story: Story, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def it() -> None:
        there = Between(broker.port)
        times: list[list[str]] = []
        ears = Listener(room=False)
        monkeypatch.setattr(ears, "stacks_changed", lambda stack_ids: times.append(list(stack_ids)))
        async with there.open() as port:
            here = bus.of(url_at(broker, port))
            async with here.listening(ears):
                await until(lambda: times == [[]])
                there.cut()
                await until(lambda: times == [[], []])

    story(it())


def test_the_library_logs_nothing_without_a_handler(
    story: Story, broker: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without any handler, Python writes warnings to the standard error output."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []

    async def it() -> None:
        there = Between(broker.port)
        async with there.open() as port:
            here = bus.of(url_at(broker, port))
            async with here.listening(Listener()):
                await connected(here)
                there.cut()
                await until(lambda: here.counts.reconnects)

    try:
        logging.getLogger("isotherm").addHandler(quiet := logging.NullHandler())
        story(it())
    finally:
        root.handlers = handlers
        logging.getLogger("isotherm").removeHandler(quiet)
    assert capfd.readouterr().err == ""


def certified(folder: Any) -> Any:
    """TLS of a server with an unknown certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256()))
    (folder / "certificate").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key").write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "certificate", folder / "key")
    return context
