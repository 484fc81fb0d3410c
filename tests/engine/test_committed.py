"""The log of operations: one line for the beginning and the end of each, and one for each failed resource."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from isotherm.engine.process import committed
from tests.engine.conftest import Lab, Tell, resource

SECRET = "MARKER-of-a-hidden-parameter"
FACTS = ("action", "end", "resource", "type")


Lines = Callable[[], list[Any]]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    """The log at the level that services have: the lines about operations and resources."""
    caplog.set_level(logging.INFO, committed.log.name)
    return lambda: [one for one in caplog.records if one.name == committed.log.name]


def said(lines: Lines) -> list[tuple[Any, ...]]:
    """Return level and message of each line, and the facts that it has."""
    return [(one.levelname, one.getMessage(), *(getattr(one, fact) for fact in FACTS if hasattr(one, fact)))
            for one in lines()]


def test_a_line_for_each_operation_begun_and_ended(lab: Tell, lines: Lines) -> None:
    async def story(it: Lab) -> None:
        it.engine.committed.listeners.append(committed.log_changes)
        stack = await it.create({"a": resource()})
        await it.update({"a": resource("y")})
        await it.delete()
        assert {one.stack for one in lines()} == {stack["id"]}

    lab(story)
    assert said(lines) == [
        ("INFO", "operation begun", "CREATE"), ("INFO", "operation ended", "CREATE", "COMPLETE"),
        ("INFO", "operation begun", "UPDATE"), ("INFO", "operation ended", "UPDATE", "COMPLETE"),
        ("INFO", "operation begun", "DELETE"), ("INFO", "operation ended", "DELETE", "COMPLETE")]
    assert len({one.operation for one in lines()}) == 3


def test_a_warning_for_each_failed_resource_without_its_secrets(
    lab: Tell, lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    hidden = {"pw": {"type": "string", "hidden": True, "default": SECRET}}
    broken = {"type": "OS::Heat::Value", "properties": {"type": "number", "value": {"get_attr": ["c", "output"]}}}
    resources = {"a": resource(fail=True), "b": broken, "c": resource({"get_param": "pw"})}

    async def story(it: Lab) -> None:
        it.engine.committed.listeners.append(committed.log_changes)
        stack = await it.create(resources, parameters=hidden, disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"

    lab(story)
    found = said(lines)
    assert ("WARNING", "resource failed", "CREATE", "a", "OS::Heat::TestResource") in found
    assert ("INFO", "operation ended", "CREATE", "FAILED") in found
    assert found[-1] == ("INFO", "operation ended", "ROLLBACK", "COMPLETE")
    assert all(one.reason for one in lines() if one.levelname == "WARNING")
    assert SECRET not in caplog.text + "".join(str(vars(one)) for one in lines())


def test_a_line_for_an_operation_that_a_newer_one_supersedes(lab: Tell, lines: Lines) -> None:
    async def story(it: Lab) -> None:
        it.engine.committed.listeners.append(committed.log_changes)
        environment = {"resource_registry": {"resources": {"a": {"hooks": "pre-create"}}}}
        await it.api.stacks.create("s", it.request({"a": resource()}, environment=environment))
        await it.delete()

    lab(story)
    assert said(lines)[:3] == [
        ("INFO", "operation begun", "CREATE"), ("INFO", "operation ended", "CREATE", "SUPERSEDED"),
        ("INFO", "operation begun", "DELETE")]


def test_a_pause_at_a_hook_is_no_failure(lab: Tell, lines: Lines) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource(fail=True)}, disable_rollback=True)
        it.engine.committed.listeners.append(committed.log_changes)
        environment = {"resource_registry": {"resources": {"a": {"hooks": "pre-update"}}}}
        accepted = await it.api.stacks.update("s", it.request({"a": resource("y")}, environment=environment))

        async def paused() -> bool:
            return any("paused" in one["resource_status_reason"] for one in await it.api.events.list("s", last=100))

        await it.until(paused)
        await it.api.signals.clear_hook("s", "a", "pre-update")
        assert (await it.end(accepted))["status"] == "COMPLETE"

    lab(story)
    assert [line for line in said(lines) if line[0] == "WARNING"] == []
