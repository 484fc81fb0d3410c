"""Webhooks: what is called, how it is signed, and what happens where a call fails or a process dies."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import hmac
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine.delivery import service as delivery
from isotherm.engine.delivery import sinks, webhooks
from isotherm.engine.delivery.messages import Sink
from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store.records import Event
from isotherm.store.sinks import deliveries
from isotherm.store.watch import repair_records
from tests.engine.conftest import Lab, Tell, resource

SECRET = "a secret of 32 characters, or so"


class Receiver:
    """A server that keeps what it is sent, and answers as it is told."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.headers: list[Any] = []
        self.status = 200
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.bodies.append(body)
        self.headers.append(request.headers)
        self.calls.append(json.loads(body))
        return web.Response(status=self.status)

    def types(self) -> list[str]:
        return [one["type"] for one in self.calls]


@contextlib.asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    application = web.Application()
    application.router.add_post("/hook", receiver.take)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    try:
        yield receiver
    finally:
        await runner.cleanup()


def options(url: str, **given: Any) -> Settings:
    return dataclasses.replace(Settings(), webhook_urls=(url,), webhook_secret=SECRET,
                               webhook_networks=given.pop("networks", ("127.0.0.0/8",)), **given)


@contextlib.asynccontextmanager
async def delivering(
    it: Lab, settings: Settings, count: Callable[[str, str], None] = lambda *_: None
) -> AsyncIterator[None]:
    service = delivery.DeliveryService(it.engine.store, it.engine.clock, sinks.of(settings, it.engine.clock), count)
    task = asyncio.create_task(service.run())
    try:
        # Only events after this are delivered.
        await enrolled(it, service)
        yield
    finally:
        service.stop()
        await task


async def enrolled(it: Lab, service: delivery.DeliveryService) -> None:
    names = [sink.name for sink in service._sinks]
    await it.engine.store.write(lambda connection: deliveries.enrol(connection, names, it.engine.clock.now()))


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(240):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "_TICK_S", 0.02)
    monkeypatch.setattr(delivery, "_FIRST_S", 0.02)


def test_ends_and_failures_are_called_and_signed(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource()})
        async with receiving() as receiver, delivering(it, options(receiver.url)):
            await it.update({"a": resource(fail=True)}, disable_rollback=True)
            stack = await it.delete()
            await until(lambda: len(receiver.calls) == 2)
            assert receiver.types() == ["operation.failed", "operation.ended"], "not the create, which came before"
            failed, ended = receiver.calls
            assert failed["stack"] == {"id": stack["id"], "name": "s"}
            assert (failed["operation"]["action"], failed["operation"]["status"]) == ("UPDATE", "FAILED")
            assert (failed["project"], failed["resource"]) == ("default", None)
            assert failed["reason"] and ended["operation"]["action"] == "DELETE"
            for body, headers, call in zip(receiver.bodies, receiver.headers, receiver.calls, strict=True):
                signed = headers["X-Isotherm-Timestamp"].encode() + b"." + body
                expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
                assert headers["X-Isotherm-Signature"] == f"v1={expected}"
                assert headers["X-Isotherm-Id"] == call["id"]

    lab(story)


def test_drift_and_a_repair_given_up_are_called(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"a": resource()})
        texts = [f"{repair_records.DRIFT_SEEN}value differs", "Drift is gone", f"{repair_records.GIVEN_UP}it fails"]
        happened = [Event(stack["id"], "0" * 36, "a", "OS::Heat::TestResource", "1", Action.OBSERVE, Status.COMPLETE, text)
                    for text in texts]
        async with receiving() as receiver, delivering(it, options(receiver.url)):
            await it.engine.store.write(lambda c: rows.insert_events(c, happened, it.engine.clock.now()))
            await until(lambda: len(receiver.calls) == 2)
            assert receiver.types() == ["drift.seen", "repair.given_up"]
            assert receiver.calls[0]["resource"] == {
                "name": "a", "type": "OS::Heat::TestResource", "physical_id": "1"}

    lab(story)


def test_nested_stacks_are_not_called_about(lab: Tell) -> None:
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": resource()}}

    async def story(it: Lab) -> None:
        async with receiving() as receiver, delivering(it, options(receiver.url)):
            stack = await it.create({"g": group})
            await it.delete()
            await until(lambda: len(receiver.calls) == 2)
            assert {one["stack"]["id"] for one in receiver.calls} == {stack["id"]}

    lab(story)


def test_a_call_is_repeated_with_its_id_and_in_order(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        async with receiving() as receiver:
            receiver.status = 503
            async with delivering(it, options(receiver.url, webhook_attempts=1000)):
                await it.create({"a": resource()})
                await it.update({"a": resource("y")})
                await until(lambda: len(receiver.calls) >= 3)
                assert len({one["id"] for one in receiver.calls}) == 1, "the next one waits"
                receiver.status = 204
                await until(lambda: receiver.calls[-1]["operation"]["action"] == "UPDATE")

    lab(story)


def test_a_call_that_is_never_taken_is_dropped(lab: Tell, caplog: pytest.LogCaptureFixture) -> None:
    counted: list[tuple[str, str]] = []

    async def story(it: Lab) -> None:
        async with receiving() as receiver:
            receiver.status = 500
            settings = options(receiver.url, webhook_attempts=3)
            async with delivering(it, settings, lambda *one: counted.append(one)):
                await it.create({"a": resource()})
                await until(lambda: ("webhook", "dropped") in counted)
                assert len(receiver.calls) == 3
                receiver.status = 200
                await it.delete()
                await until(lambda: ("webhook", "delivered") in counted)

    with caplog.at_level(logging.INFO, "isotherm"):
        lab(story)
    assert counted == [("webhook", "failed")] * 2 + [("webhook", "dropped"), ("webhook", "delivered")]
    (line,) = [one for one in caplog.records if one.getMessage().startswith("message dropped")]
    assert vars(line)["reason"] == "the server answered 500"
    assert SECRET not in str([vars(one) for one in caplog.records])


def test_a_private_address_is_never_called_unless_it_is_allowed(lab: Tell, caplog: pytest.LogCaptureFixture) -> None:
    counted: list[tuple[str, str]] = []

    async def story(it: Lab) -> None:
        async with receiving() as receiver:
            settings = options(receiver.url, webhook_attempts=1, networks=())
            async with delivering(it, settings, lambda *one: counted.append(one)):
                await it.create({"a": resource()})
                await until(lambda: counted)
                assert receiver.calls == []

    with caplog.at_level(logging.INFO, "isotherm"):
        lab(story)
    assert counted == [("webhook", "dropped")]
    assert "the address is private" in str([vars(one) for one in caplog.records])


def test_a_process_that_dies_loses_no_message_and_a_doubled_one_has_its_id(
    lab: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process sends, and dies before it records that; the second one goes on when the lease has expired."""
    monkeypatch.setattr(delivery, "_LEASE_S", 0.2)

    async def story(it: Lab) -> None:
        async with receiving() as receiver:
            settings = options(receiver.url)
            (sink,) = sinks.of(settings, it.engine.clock)
            dead = delivery.DeliveryService(it.engine.store, it.engine.clock, [Dying(sink)])
            await enrolled(it, dead)
            await it.create({"a": resource()})
            with pytest.raises(BaseExceptionGroup):
                await dead.run()
            assert len(receiver.calls) == 1
            async with delivering(it, settings):
                await it.update({"a": resource("y")})
                await until(lambda: len(receiver.calls) == 3)
            ids = [one["id"] for one in receiver.calls]
            assert ids[0] == ids[1] != ids[2]

    lab(story)


class Killed(BaseException):
    """The end of a process."""


class Dying:
    """A sink whose process dies right after a message was sent."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.name, self.kind, self.most_attempts = sink.name, sink.kind, sink.most_attempts
        self.messages, self.close = sink.messages, sink.close

    async def deliver(self, message: Any) -> None:
        await self._sink.deliver(message)
        raise Killed


def test_two_processes_deliver_each_message_once(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        async with receiving() as receiver:
            settings = options(receiver.url)
            async with delivering(it, settings), delivering(it, settings):
                for value in "abc":
                    await (it.create if value == "a" else it.update)({"a": resource(value)})
                await it.delete()
                await until(lambda: receiver.calls and receiver.calls[-1]["operation"]["action"] == "DELETE")
            assert len(receiver.calls) == len({one["id"] for one in receiver.calls}) == 4

    lab(story)


@pytest.mark.parametrize(("given", "wrong"), [
    ({"webhook_secret": "short"}, "secret"), ({"webhook_events": ("nothing",)}, "there is no event nothing"),
    ({"notification_driver": "messagingv2"}, "no broker"),
])
def test_wrong_options_are_refused(given: dict[str, Any], wrong: str) -> None:
    settings = dataclasses.replace(options("https://example.com/hook"), **given)
    with pytest.raises(errors.UserError, match=wrong):
        sinks.of(settings, None)  # type: ignore[arg-type]  # no clock is read


def test_the_signature_is_that_of_the_documentation() -> None:
    assert webhooks.signature(b"key", "1790000000", b"{}") == (
        "v1=" + hmac.new(b"key", b"1790000000.{}", hashlib.sha256).hexdigest())


def test_a_defect_in_a_sink_ends_no_delivery(
    lab: Tell, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "_LEASE_S", 0.2)
    original = webhooks.WebhookSink.messages
    broken = [True]

    def messages(sink: webhooks.WebhookSink, event: Any) -> Any:
        if broken.pop() if broken else False:
            raise ZeroDivisionError
        return original(sink, event)

    monkeypatch.setattr(webhooks.WebhookSink, "messages", messages)

    async def story(it: Lab) -> None:
        async with receiving() as receiver, delivering(it, options(receiver.url)):
            await it.create({"a": resource()})
            await until(lambda: receiver.calls)

    lab(story)
    assert "delivering failed; trying again" in caplog.text
