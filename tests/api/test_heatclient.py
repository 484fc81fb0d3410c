"""The real python-heatclient against `isotherm up`: resources, events, outputs, actions, snapshots."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from heatclient import client, exc
from heatclient.common import event_utils, hook_utils

from tests import databases
from tests.api.conftest import PATIENCE_S, resource, template


@pytest.fixture(scope="module")
def heat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a client of a service in a process of its own."""
    home = tmp_path_factory.mktemp("home")
    databases.tell(home)
    environment = {**os.environ, "ISOTHERM_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([sys.executable, "-m", "isotherm.cli.main", "up", "--port", "0"], env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://[\d.]+:\d+", process.stdout.readline())
            assert found is not None
            yield client.Client("1", endpoint=f"{found[0]}/v1/default", token=_token(home))
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def _token(home: Path) -> str:
    return (home / "token").read_text().strip()


def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def create(heat: Any, name: str, resources: dict[str, Any], *, wait: bool = True, **more: Any) -> str:
    sections = {key: more.pop(key) for key in ("outputs",) if key in more}
    id_: str = heat.stacks.create(stack_name=name, template=template(resources, **sections), **more)["stack"]["id"]
    if wait:
        until(lambda: heat.stacks.get(id_).status == "COMPLETE")
    return id_


def test_resources(heat: Any) -> None:
    inside = json.dumps(template({"leaf": resource("x")}))
    create(heat, "tree", {"top": {"type": "inside.yaml"}, "plain": resource("y")}, files={"inside.yaml": inside})
    assert [one.resource_name for one in heat.resources.list("tree")] == ["top", "plain"]
    found = heat.resources.list("tree", nested_depth=2, with_detail=True)
    assert [(one.resource_name, getattr(one, "parent_resource", None)) for one in found] == [
        ("top", None), ("plain", None), ("leaf", "top")]
    assert found[2].stack_name.startswith("tree-top-"), "the client takes it from the link to the stack"
    assert [one.resource_name for one in heat.resources.list("tree", filters={"type": "Test"})] == ["plain"]
    shown = heat.resources.get("tree", "plain", with_attr=["output"])
    assert (shown.resource_status, shown.attributes) == ("CREATE_COMPLETE", {"output": "y"})
    assert heat.resources.metadata("tree", "plain") == {}
    assert heat.resources.mark_unhealthy("tree", "plain", True, "because") is None
    assert heat.resources.get("tree", "plain").resource_status_reason == "because"
    with pytest.raises(exc.HTTPNotFound, match=r"The Resource \(nobody\) could not be found in Stack tree\."):
        heat.resources.get("tree", "nobody")
    with pytest.raises(exc.HTTPBadRequest, match=r"signal is not supported for resource\."):
        heat.resources.signal("tree", "plain", data={"a": 1})


def test_events(heat: Any) -> None:
    stack_id = create(heat, "told", {"a": resource()})
    everything = heat.events.list("told", sort_dir="asc")
    assert [one.resource_name for one in everything] == ["told", "a", "a", "told"]
    pages = [heat.events.list("told", limit=2, marker=marker, sort_dir="asc") for marker in (None, everything[1].id)]
    assert [one.id for page in pages for one in page] == [one.id for one in everything]
    assert len(heat.events.list("told", resource_name="a")) == 2
    one = heat.events.get("told", "a", everything[1].id)
    assert (one.resource_type, one.resource_properties["value"]) == ("OS::Heat::TestResource", "x")
    # What every `--wait` stands on.
    status, message = event_utils.poll_for_events(heat, "told", action="CREATE", poll_period=0.1)
    assert (status, message.strip()) == ("CREATE_COMPLETE", "Stack told CREATE_COMPLETE")
    nested = event_utils.get_events(heat, stack_id=stack_id, nested_depth=1, event_args={"sort_dir": "asc"})
    assert [one.stack_name for one in nested] == ["told"] * 4


def test_hooks(heat: Any) -> None:
    environment = {"resource_registry": {"resources": {"a": {"hooks": "pre-create"}}}}
    create(heat, "paused", {"a": resource()}, wait=False, environment=environment)
    pending = "CREATE paused until Hook pre-create is cleared"
    until(lambda: pending in [one.resource_status_reason for one in heat.events.list("paused")])
    assert hook_utils.get_hook_type_via_status(heat, "paused") == "pre-create"
    hook_utils.clear_hook(heat, "paused", "a", "pre-create")
    until(lambda: heat.stacks.get("paused").stack_status == "CREATE_COMPLETE")


def test_outputs(heat: Any) -> None:
    create(heat, "speaks", {"a": resource("hello")}, outputs={"o": {"value": {"get_attr": ["a", "output"]}}})
    assert heat.stacks.output_list("speaks")["outputs"] == [{"output_key": "o", "description": "No description given"}]
    assert heat.stacks.output_show("speaks", "o")["output"]["output_value"] == "hello"
    with pytest.raises(exc.HTTPNotFound, match=r"Specified output key nothing not found\."):
        heat.stacks.output_show("speaks", "nothing")


def test_actions(heat: Any) -> None:
    id_ = create(heat, "acts", {"a": resource()})
    for action, state in (("suspend", "SUSPEND_COMPLETE"), ("resume", "RESUME_COMPLETE"), ("check", "CHECK_COMPLETE")):
        getattr(heat.actions, action)(id_)
        until(partial(lambda wanted: heat.stacks.get(id_).stack_status == wanted, state))
    with pytest.raises(exc.HTTPBadRequest, match="Cancelling update when stack is CHECK_COMPLETE is not supported"):
        heat.actions.cancel_update(id_)


def test_snapshots(heat: Any) -> None:
    id_ = create(heat, "kept", {"a": resource("one")})
    taken = heat.stacks.snapshot(id_, name="first")
    until(lambda: heat.stacks.snapshot_show(id_, taken["id"])["snapshot"]["status"] == "COMPLETE")
    assert [one["name"] for one in heat.stacks.snapshot_list(id_)["snapshots"]] == ["first"]
    heat.stacks.restore(id_, taken["id"])
    until(lambda: heat.stacks.get(id_).stack_status == "RESTORE_COMPLETE")
    heat.stacks.snapshot_delete(id_, taken["id"])
    until(lambda: heat.stacks.snapshot_list(id_)["snapshots"] == [])
