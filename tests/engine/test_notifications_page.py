"""The examples of docs/notifications.md are true."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from isotherm import config
from isotherm.config import files
from isotherm.engine.delivery import sinks, webhooks
from isotherm.engine.delivery.messages import SinkMessage
from isotherm.states import Action, Status
from isotherm.store.sinks.deliveries import DeliverableEvent, StackView

PAGE = (Path(__file__).parents[2] / "docs" / "notifications.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("example", blocks("ini"))
def test_the_options_are_options(example: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("options") / "example.conf"
    file.write_text(example)
    assert files.unknown([str(file)]) == []
    assert len(sinks.of(config.load(file), None)) == 1  # type: ignore[arg-type]  # no clock is read


def test_the_document_is_one() -> None:
    (shown,) = map(json.loads, blocks("json"))
    stack = StackView(shown["stack"]["id"], "web", "default", "", True, "", [], 0.0, None)
    resource = shown["resource"]
    event = DeliverableEvent(1, shown["operation"]["id"], resource["name"], resource["type"], resource["physical_id"],
                             Action.OBSERVE, Status.COMPLETE, shown["reason"], 1795118400.0, stack, None, None)
    settings = config.Settings(webhook_urls=("https://example.com",), webhook_secret="x" * 32)
    (message,) = sinks.of(settings, None)[0].messages(event)  # type: ignore[arg-type]  # as above
    assert isinstance(message, SinkMessage)
    assert message.body | {"id": shown["id"]} == shown


def test_the_receiver_recognises_a_call() -> None:
    (receiver,) = blocks("python")
    defined: dict[str, object] = {}
    exec(receiver, defined)
    is_genuine = defined["is_genuine"]
    now = str(int(time.time()))
    headers = {"X-Isotherm-Timestamp": now, "X-Isotherm-Signature": webhooks.signature(b"key", now, b"{}")}
    assert callable(is_genuine)
    assert is_genuine(b"key", headers, b"{}")
    assert not is_genuine(b"other", headers, b"{}")
    assert not is_genuine(b"key", headers | {"X-Isotherm-Timestamp": "1"}, b"{}")


def test_all_events_are_on_the_page() -> None:
    assert set(re.findall(r"^\| `(\w+\.\w+)` \|", PAGE, re.MULTILINE)) == set(webhooks.EVENTS)
