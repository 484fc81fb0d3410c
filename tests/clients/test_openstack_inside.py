"""`openstack stack resource ...`, `event ...`, `failures ...`, `hook ...`: what is inside of stacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.command import OpenStack, Refused, resource, template, until
from tests.clients.exercise import exercises

Create = Callable[..., str]
HANDLE = {"type": "OS::Heat::WaitConditionHandle"}


def nest(openstack: OpenStack, **leaf: Any) -> dict[str, Any]:
    """Return a resource that is a nested stack with one resource."""
    openstack.write("inside.yaml", template({"leaf": resource(**leaf)}))
    return {"type": "inside.yaml"}


@exercises("stack resource list", "stack resource show", "stack resource metadata", "stack resource mark unhealthy")
def test_resources(openstack: OpenStack, create: Create) -> None:
    plain = {**resource("y"), "metadata": {"colour": "blue"}, "depends_on": "top"}
    create("tree", {"top": nest(openstack), "plain": plain})
    assert [one["resource_name"] for one in openstack.ask("stack resource list", "tree")] == ["top", "plain"]
    deep = openstack.ask("stack resource list", "-n", 2, "tree")
    assert [(one["resource_name"], one["stack_name"].partition("-")[0]) for one in deep] == [
        ("top", "tree"), ("plain", "tree"), ("leaf", "tree")]
    (row,) = openstack.ask("stack resource list", "--long", "--filter", "type=Test", "tree")
    assert (row["resource_name"], row["resource_status"]) == ("plain", "CREATE_COMPLETE")
    assert "plain" in openstack("stack resource list", "-n", 2, "-f", "dot", "tree")

    shown = openstack.ask("stack resource show", "--with-attr", "output", "tree", "plain")
    assert (shown["resource_type"], shown["attributes"]["output"]) == ("OS::Heat::TestResource", "y")
    assert openstack.ask("stack resource metadata", "tree", "plain") == {"colour": "blue"}

    openstack("stack resource mark unhealthy", "tree", "plain", "it is ill")
    shown = openstack.ask("stack resource show", "tree", "plain")
    assert (shown["resource_status"], shown["resource_status_reason"]) == ("CHECK_FAILED", "it is ill")
    openstack("stack resource mark unhealthy", "--reset", "tree", "plain")
    assert openstack.ask("stack resource show", "tree", "plain")["resource_status"] == "CHECK_COMPLETE"
    with pytest.raises(Refused, match="Stack or resource not found: tree nobody"):
        openstack("stack resource show", "tree", "nobody")


@exercises("stack resource signal", "stack resource list")
def test_a_signal_is_what_a_stack_waits_for(openstack: OpenStack) -> None:
    waiting = {"type": "OS::Heat::WaitCondition", "properties": {
        "handle": {"get_resource": "handle"}, "count": 2, "timeout": 60}}
    openstack.write("waits.yaml", template({"handle": HANDLE, "waiting": waiting},
                                           outputs={"data": {"value": {"get_attr": ["waiting", "data"]}}}))
    openstack("stack create", "-t", "waits.yaml", "waits")

    def handle() -> str:
        (found,) = openstack.ask("stack resource list", "--filter", "name=handle", "waits")
        return str(found["resource_status"])

    until(lambda: handle() == "CREATE_COMPLETE")
    openstack("stack resource signal", "--data", json.dumps({"id": "1", "data": "said"}), "waits", "handle")
    openstack.write("signal.json", json.dumps({"id": "2", "data": "read"}))
    openstack("stack resource signal", "--data-file", "signal.json", "waits", "handle")
    openstack.until("CREATE_COMPLETE", "waits")
    told = openstack.ask("stack output show", "waits", "data")["output_value"]
    assert json.loads(told) == {"1": "said", "2": "read"}
    with pytest.raises(Refused, match=r"Stack waits or resource nobody not found\."):
        openstack("stack resource signal", "waits", "nobody")


@exercises("stack event list", "stack event show")
def test_events(openstack: OpenStack, create: Create) -> None:
    create("told", {"a": resource("one"), "top": {**nest(openstack), "depends_on": "a"}})
    lines = openstack("stack event list", "told").strip().splitlines()
    assert "[told]: CREATE_IN_PROGRESS  Stack CREATE started" in lines[0]
    assert "[told.a]: CREATE_IN_PROGRESS  state changed" in lines[1]
    assert "[told]: CREATE_COMPLETE  Stack CREATE completed successfully" in lines[-1]

    events = openstack.ask("stack event list", "told")
    assert [one["resource_name"] for one in events] == ["told", "a", "a", "top", "top", "told"]
    page = openstack.ask("stack event list", "--marker", events[1]["id"], "--limit", 2, "told")
    assert page == events[2:4]
    assert openstack.ask("stack event list", "--resource", "a", "told") == events[1:3]
    assert openstack.ask("stack event list", "--filter", "resource_status=COMPLETE", "--sort", "resource_name:desc",
                         "told") == [events[4], events[5], events[2]]
    deep = openstack.ask("stack event list", "--nested-depth", 2, "told")
    assert "leaf" in [one["resource_name"] for one in deep]

    shown = openstack.ask("stack event show", "told", "a", events[1]["id"])
    assert (shown["resource_type"], shown["resource_status"]) == ("OS::Heat::TestResource", "CREATE_IN_PROGRESS")
    assert shown["resource_properties"]["value"] == "one"
    with pytest.raises(Refused, match="No event 0 found"):
        openstack("stack event show", "told", "a", "0")


@exercises("stack failures list", "stack create")
def test_a_failure_is_found_where_it_is(openstack: OpenStack) -> None:
    openstack.write("fails.yaml", template({"top": nest(openstack, fail=True), "fine": resource()}))
    with pytest.raises(Refused, match="Stack fails CREATE_FAILED"):
        openstack("stack create", "-t", "fails.yaml", "--wait", "fails")
    told = openstack("stack failures list", "--long", "fails")
    assert "fails.top.leaf:\n  resource_type: OS::Heat::TestResource\n" in told
    assert "status: CREATE_FAILED" in told
    assert "Test Resource failed leaf" in told
    assert "fine" not in told
    openstack("stack delete", "--yes", "--wait", "fails")


@exercises("stack hook poll", "stack hook clear", "stack create", "stack update")
def test_hooks(openstack: OpenStack) -> None:
    openstack.write("held.yaml", template({"a": resource(), "top": nest(openstack)}))
    openstack("stack create", "-t", "held.yaml", "--pre-create", "a", "--pre-create", "top/leaf", "held")

    def pending() -> list[tuple[str, str]]:
        return sorted((one["Resource Name"], one["Resource Status Reason"])
                      for one in openstack.ask("stack hook poll", "--nested-depth", 2, "held"))

    reason = "CREATE paused until Hook pre-create is cleared"
    until(lambda: pending() == [("a", reason), ("leaf", reason)])
    openstack("stack hook clear", "held", "a")
    until(lambda: pending() == [("leaf", reason)])
    openstack("stack hook clear", "--pre-create", "held", "t*/leaf")
    openstack.until("CREATE_COMPLETE", "held")
    with pytest.raises(Refused, match="Stack status CREATE_COMPLETE not IN_PROGRESS"):
        openstack("stack hook poll", "held")

    openstack.write("again.yaml", template({"a": resource("two"), "top": nest(openstack)}))
    openstack("stack update", "-t", "again.yaml", "--pre-update", "a", "held")
    until(lambda: [name for name, _ in pending()] == ["a"])
    openstack("stack hook clear", "--pre-update", "held", "a")
    openstack.until("UPDATE_COMPLETE", "held")
