"""Signals and hooks on the command line."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

from isotherm import errors
from isotherm.cli.client import home
from isotherm.engine.process.embedded import Embedded
from tests.cli.conftest import Run

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  condition:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, timeout: 60, count: 2}
outputs:
  data: {value: {get_attr: [condition, data]}}
"""
ONE = """
heat_template_version: 2021-04-16
resources:
  a: {type: OS::Heat::TestResource, properties: {value: x}}
"""


def test_a_stack_that_waits_is_told_from_another_command(run: Run, tmp_path: Path) -> None:
    template = tmp_path / "t.yaml"
    template.write_text(TEMPLATE)
    (tmp_path / "d.json").write_text('{"id": "b", "data": 7}')
    # Accepted, and left to the next engine.
    assert run("deploy", "web", "-t", _handle_only(tmp_path)).code == 0
    assert run("signal", "web", "handle", "--data", '{"id": "a"}', "--id", "1").code == 0
    again = run("signal", "web", "handle", "--data", '{"id": "a"}', "--id", "1", "--json")
    assert again.data["stack_status"] == "CREATE_COMPLETE"
    assert "Signalled handle." in run("signal", "web", "handle", "-d", f"@{tmp_path / 'd.json'}").out
    assert run("update", "web", "-t", template).code == 0
    assert run("outputs", "web", "data", "--json").data["output_value"] == '{"a": null, "b": 7}'


def _handle_only(tmp_path: Path) -> Any:
    file = tmp_path / "handle.yaml"
    file.write_text(TEMPLATE.split("  condition:")[0])
    return file


def test_what_is_wrong_with_a_signal_is_told(run: Run, tmp_path: Path) -> None:
    template = tmp_path / "t.yaml"
    template.write_text(ONE)
    run("deploy", "web", "-t", template)
    ran = run("signal", "web", "a", "--data", "{status: x}")
    assert (ran.code, "--data is not JSON" in ran.err) == (1, True)
    ran = run("signal", "web", "a")
    assert (ran.code, "signal is not supported for resource." in ran.err) == (1, True)
    assert run("signal", "web", "b").code == 3
    assert run("signal", "web", "a", "--data", "@nowhere.json").code == 1


def test_an_unhealthy_resource(run: Run, tmp_path: Path) -> None:
    template = tmp_path / "t.yaml"
    template.write_text(ONE)
    run("deploy", "web", "-t", template)
    assert "the next update replaces it" in run("mark-unhealthy", "web", "a", "--reason", "lost its disk").out
    found = run("resources", "web", "--json").data[0]
    assert (found["resource_status"], found["resource_status_reason"]) == ("CHECK_FAILED", "lost its disk")
    assert run("mark-unhealthy", "web", "a", "--undo").code == 0
    assert run("resources", "web", "--json").data[0]["resource_status"] == "CHECK_COMPLETE"


def test_hooks_are_listed_and_cleared(run: Run, tmp_path: Path) -> None:
    template, environment = tmp_path / "t.yaml", tmp_path / "e.yaml"
    template.write_text(ONE)
    environment.write_text("resource_registry: {resources: {a: {hooks: pre-create}}}")
    told: list[Any] = []

    def somebody_else() -> None:
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline and not told:
            told.extend(asyncio.run(_clear_hooks("web")))
            time.sleep(0.05)

    thread = threading.Thread(target=somebody_else)
    thread.start()
    ran = run("deploy", "web", "-t", template, "-e", environment)
    thread.join()
    assert ran.code == 0
    assert [one["hook"] for one in told] == ["pre-create"]
    assert run("hook", "list", "web", "--json").data == []
    ran = run("hook", "clear", "web", "a", "pre-create")
    assert (ran.code, 'The "pre-create" hook is not defined on' in ran.err) == (1, True)


async def _clear_hooks(stack: Any) -> Any:
    """Signal the handle from another command while the first one drives."""
    engine = Embedded(home.folder())
    try:
        found = await engine.orchestrator.signals.hooks(stack)
        for one in found:
            await engine.orchestrator.signals.clear_hook(stack, one["resource_name"], one["hook"])
        return found
    except errors.NotFound:
        return []
    finally:
        engine.close()
