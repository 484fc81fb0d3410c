"""Notifications on a real broker, with oslo.messaging's own listener as the program that reads them."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from isotherm.engine.delivery import service as delivery
from isotherm.engine.orchestrator import Accepted, Request
from isotherm.engine.process.embedded import Embedded
from tests.bus.conftest import PATIENCE_S, Between, Broker, Story, on_the_broker, until, url_at
from tools import side_environment
from tools.diff_heat import REQUIREMENTS

LISTENER = side_environment.ROOT / "tools" / "heat_peer" / "notification_listener.py"
QUEUES = ("notifications.info", "notifications.error")
SIMPLE = """
heat_template_version: 2021-04-16
description: Some
resources: {a: {type: OS::Heat::TestResource, properties: %s}}
"""
SCALED = """
heat_template_version: 2021-04-16
resources:
  g:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 3, resource: {type: OS::Heat::TestResource}}
  up:
    type: OS::Heat::ScalingPolicy
    properties:
      {auto_scaling_group_id: {get_resource: g}, adjustment_type: change_in_capacity, scaling_adjustment: 1}
"""


class Heard:
    """The notifications that a listener has printed."""

    def __init__(self) -> None:
        self.is_ready = False
        self.all: list[dict[str, Any]] = []

    def types(self) -> list[str]:
        return [one["event_type"].removeprefix("orchestration.") for one in self.all]

    def of(self, type_: str) -> dict[str, Any]:
        return next(one for one in self.all if one["event_type"] == f"orchestration.{type_}")


@contextlib.asynccontextmanager
async def listening(url: str) -> AsyncIterator[Heard]:
    python = await asyncio.to_thread(side_environment.python_of, "heat", REQUIREMENTS)
    address = url.replace("amqp://", "rabbit://")
    process = await asyncio.create_subprocess_exec(python, LISTENER, address, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdin is not None
    heard = Heard()

    async def read(lines: asyncio.StreamReader) -> None:
        heard.is_ready = json.loads(await lines.readline()) == "ready"
        while line := await lines.readline():
            heard.all.append(json.loads(line))

    reading = asyncio.create_task(read(process.stdout))
    try:
        await until(lambda: heard.is_ready or reading.done())
        assert heard.is_ready
        yield heard
    finally:
        process.stdin.close()
        await process.wait()
        await reading


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, broker: Broker) -> None:
    monkeypatch.setattr(delivery, "_TICK_S", 0.02)
    monkeypatch.setattr(delivery, "_LONGEST_S", 0.2)

    async def clear(channel: Any) -> None:
        for queue in QUEUES:
            await channel.queue_delete(queue)

    asyncio.run(on_the_broker(broker.url, clear))


@contextlib.asynccontextmanager
async def driving(folder: Path, url: str, options: str = "") -> AsyncIterator[Embedded]:
    (folder / "isotherm.conf").write_text(
        f"[DEFAULT]\ndefault_publisher_id = orchestration.here\n{options}\n"
        f"[oslo_messaging_notifications]\ndriver = messagingv2\ntransport_url = {url}\n")
    with contextlib.closing(Embedded(folder)) as engine:
        async with engine.on_bus(), engine.driving(), engine.delivering(lambda *_: None):
            await until_enrolled(engine)
            yield engine


async def until_enrolled(engine: Embedded) -> None:
    """Wait until the sink has its position: it is not told of events before."""
    def is_enrolled(connection: Any) -> bool:
        return bool(connection.exec_driver_sql("SELECT count(*) FROM deliveries").scalar())

    async with asyncio.timeout(PATIENCE_S):
        while not await engine.store.read(is_enrolled):
            await asyncio.sleep(0.01)


async def end(engine: Embedded, accepted: Accepted) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await engine.orchestrator.stacks.show(accepted.stack_id))["status"] == "IN_PROGRESS":
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("path", ["convergence", "legacy"])
def test_a_listener_of_oslo_messaging_gets_heats_notifications(
    story: Story, broker: Broker, tmp_path: Path, path: str
) -> None:
    async def it() -> None:
        options = f"convergence_engine = {path == 'convergence'}"
        async with listening(broker.url) as heard, driving(tmp_path, broker.url, options) as engine:
            stacks = engine.orchestrator.stacks
            accepted = await stacks.create("s", Request(SIMPLE % "{}", tags=("one",)))
            await end(engine, accepted)
            for act in (stacks.suspend, stacks.resume):
                await end(engine, await act("s"))
            await end(engine, await stacks.update("s", Request(SIMPLE % "{fail: true}", disable_rollback=True)))
            await end(engine, await stacks.delete("s"))
            await until(lambda: "stack.delete.end" in heard.types())
            assert heard.types() == [
                "stack.create.start", "stack.create.end", "stack.suspend.start", "stack.suspend.end", "stack.resume.start",
                "stack.resume.end", "stack.update.start", "stack.update.error", "stack.delete.start", "stack.delete.end"]
            assert {one["publisher_id"] for one in heard.all} == {"orchestration.here"}
            assert len({one["metadata"]["message_id"] for one in heard.all}) == len(heard.all)
            made = heard.of("stack.create.end")
            assert made["priority"] == "info"
            payload = made["payload"]
            assert payload.pop("create_at").endswith("Z") and payload.pop("state_reason")
            assert payload == {
                "tenant_id": "default", "user_id": getpass.getuser(), "user_identity": None,
                "username": getpass.getuser(), "stack_name": "s",
                "stack_identity": accepted.stack_id, "state": "CREATE_COMPLETE", "tags": ["one"], "description": "Some",
                "updated_at": payload["updated_at"]}
            failed = heard.of("stack.update.error")
            assert (failed["priority"], failed["payload"]["state"]) == ("error", "UPDATE_FAILED")

    story(it())


def test_scaling_is_notified_around_the_update_of_the_group(story: Story, broker: Broker, tmp_path: Path) -> None:
    async def it() -> None:
        async with listening(broker.url) as heard, driving(tmp_path, broker.url) as engine:
            accepted = await engine.orchestrator.stacks.create("s", Request(SCALED))
            await end(engine, accepted)
            await engine.orchestrator.signals.send("s", "up")
            await until(lambda: "autoscaling.end" in heard.types())
            begin = heard.types().index("autoscaling.start")
            assert heard.types()[begin:] == [
                "autoscaling.start", "stack.update.start", "stack.update.end", "autoscaling.end"]
            start, end_ = (heard.of(f"autoscaling.{suffix}")["payload"] for suffix in ("start", "end"))
            inner = heard.of("stack.update.end")["payload"]
            assert (start["stack_name"], start["stack_identity"]) == ("s", accepted.stack_id)
            assert start["groupname"] == end_["groupname"] == inner["stack_name"]
            assert (start["adjustment"], start["adjustment_type"]) == (1, "change_in_capacity")
            assert (start["capacity"], end_["capacity"]) == (1, 2)
            assert start["message"] == f"Start resizing the group {start['groupname']}"

    story(it())


def test_nothing_is_lost_while_there_is_no_broker_and_no_listener(story: Story, broker: Broker, tmp_path: Path) -> None:
    async def it() -> None:
        between = Between(broker.port)
        broker.kill()
        async with between.open() as port, driving(tmp_path, url_at(broker, port)) as engine:
            await end(engine, await engine.orchestrator.stacks.create("s", Request(SIMPLE % "{}")))
            await asyncio.to_thread(broker.start)
            between.target = broker.port

            async def waiting(channel: Any) -> int:
                found = await channel.get_queue(QUEUES[0])
                return found.declaration_result.message_count or 0

            async with asyncio.timeout(PATIENCE_S):
                while not await is_waiting(broker.url, waiting, 2):
                    await asyncio.sleep(0.05)
        async with listening(broker.url) as heard:
            await until(lambda: len(heard.all) == 2)
            assert heard.types() == ["stack.create.start", "stack.create.end"]

    story(it())


async def is_waiting(url: str, count: Any, number: int) -> bool:
    try:
        return bool(await on_the_broker(url, count) == number)
    except Exception:  # noqa: BLE001 - the broker is starting, or has no queue yet
        return False
