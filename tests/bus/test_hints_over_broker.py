"""A notification on a real broker leads to an observation, in whichever process gets it, and to a repair."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path

import pytest

from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded
from isotherm.observer.service import Tuning
from tests.bus.conftest import PATIENCE_S, Broker, Story, connected, publish, until

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  a: {type: Isotherm::Local::File, properties: {path: a, content: right}}
"""


@pytest.mark.ledger("S1.5")
def test_a_hint_heals(story: Story, broker: Broker, tmp_path: Path) -> None:
    (tmp_path / "isotherm.conf").write_text(
        f"[DEFAULT]\ntransport_url = {broker.url}\nobserver_interval = 3600\nobserver_policy = repair\n")
    place = tmp_path / "local" / "a"

    async def it() -> None:
        # One drives, the other observes; the message may go to either.
        with contextlib.closing(Embedded(tmp_path)) as one, contextlib.closing(Embedded(tmp_path)) as two:
            async with one.on_bus(), two.on_bus(), one.driving(), two.observing(Tuning(idle_s=0.05, enrol_s=0.05)):
                await connected(one.bus, two.bus)
                api = one.orchestrator
                await api.stacks.create("s", Request(TEMPLATE))
                await until(place.exists)

                async with asyncio.timeout(PATIENCE_S):
                    while (await api.drift.show_resource("s", "a"))["drift"] != "in_sync":
                        await asyncio.sleep(0.02)
                object_ = (await api.resources.show("s", "a"))["physical_resource_id"]
                await publish(broker.url, "isotherm.hints", b'{"nonsense": [null, {"stack": 5}]}', "anything")
                for what in ({"stack": "s", "resource": "a"}, {"event_type": "gone", "payload": {"path": object_}}):
                    place.unlink()
                    await publish(broker.url, "isotherm.hints", json.dumps(what).encode(), "anything")
                    await until(place.exists)

    story(it())
