"""Resources over HTTP: lists and filters, attributes, signals, mark unhealthy."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from isotherm.store import tables as t
from tests import databases, patience
from tests.api.conftest import Api, fault, resource, template

ITEM = {"resource_name", "logical_resource_id", "physical_resource_id", "resource_type", "resource_status",
        "resource_status_reason", "creation_time", "updated_time", "required_by", "links"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def listed(api: Api, path: str, **query: Any) -> list[dict[str, Any]]:
    answer = api.get(f"{path}/resources", **query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["resources"]
    return found


def names(found: list[dict[str, Any]]) -> list[str]:
    return [one["resource_name"] for one in found]


def links(one: dict[str, Any]) -> dict[str, str]:
    return {link["rel"]: link["href"] for link in one["links"]}


@pytest.fixture(scope="module")
def pair(shared: Api) -> str:
    """Two resources, of which the second needs the first."""
    return shared.create("pair", {
        "a": {**resource("one"), "description": "the first"},
        "b": {**resource({"get_attr": ["a", "output"]}), "metadata": {"colour": "blue"}},
    })


@pytest.fixture(scope="module")
def tree(shared: Api) -> str:
    """Create a stack with two levels of nested stacks."""
    leaf = template({"leaf": resource("deep")}, outputs={"o": {"value": {"get_attr": ["leaf", "output"]}}})
    middle = template({"inner": {"type": "leaf.yaml"}, "beside": resource("x")})
    outer = template({"top": {"type": "middle.yaml"}, "plain": resource("y")})
    return shared.create("tree", template=outer, files={"leaf.yaml": json.dumps(leaf), "middle.yaml": json.dumps(middle)})


def test_a_list_shows_what_heat_shows(shared: Api, pair: str) -> None:
    a, b = listed(shared, pair)
    assert set(a) == set(b) == ITEM
    assert (a["resource_name"], a["logical_resource_id"], a["resource_type"]) == ("a", "a", "OS::Heat::TestResource")
    assert (a["resource_status"], a["resource_status_reason"]) == ("CREATE_COMPLETE", "state changed")
    assert a["physical_resource_id"].startswith("pair-a-")
    assert (a["required_by"], b["required_by"]) == (["b"], [])
    assert TIME.fullmatch(a["creation_time"]) and TIME.fullmatch(a["updated_time"])
    stack = f"http://isotherm.test/v1/default{pair}"
    assert a["links"] == [{"href": f"{stack}/resources/a", "rel": "self"}, {"href": stack, "rel": "stack"}]


@pytest.mark.parametrize(("query", "expected"), [
    ({"name": "a"}, ["a"]),
    ({"name": ["a", "b"]}, ["a", "b"]),
    ({"name": "nobody"}, []),
    ({"type": "TestRes"}, ["a", "b"]),
    ({"type": "OS::Heat::Value"}, []),
    ({"type": "%"}, []),
    ({"status": "COMPLETE"}, ["a", "b"]),
    ({"status": "FAILED"}, []),
    ({"status": "NO_SUCH"}, []),
    ({"action": "CREATE", "name": "b"}, ["b"]),
    ({"action": ["UPDATE", "CREATE"]}, ["a", "b"]),
    ({"action": "INIT"}, []),
    ({"id": "0"}, []),
    ({"id": "99999999999999999999999"}, []),
    ({"id": "one"}, []),
    ({"physical_resource_id": "nothing"}, []),
    ({"nested_depth": "3"}, ["a", "b"]),
])
def test_filters(shared: Api, pair: str, query: dict[str, Any], expected: list[str]) -> None:
    assert names(listed(shared, pair, **query)) == expected


def test_a_filter_by_physical_id(shared: Api, pair: str) -> None:
    physical = listed(shared, pair)[1]["physical_resource_id"]
    assert names(listed(shared, pair, physical_resource_id=physical)) == ["b"]


@pytest.mark.parametrize(("query", "told"), [
    ({"colour": "blue"}, (400, "HTTPBadRequest", "Invalid filter parameters ['colour']")),
    ({"with_detail": "yes"},
     (400, "HTTPBadRequest", 'Unrecognized value "yes" for "with_detail", acceptable values are: true, false.')),
])
def test_a_query_that_makes_no_sense(shared: Api, pair: str, query: dict[str, Any], told: tuple[Any, ...]) -> None:
    assert fault(shared.get(f"{pair}/resources", **query)) == told


@pytest.mark.parametrize(("depth", "message"), [
    ("deep", "Only integer is acceptable by 'nested_depth'."),
    ("-1", "Value '-1' is invalid for 'nested_depth' which only accepts non-negative integer."),
])
def test_a_depth_is_a_number(shared: Api, pair: str, depth: str, message: str) -> None:
    status, _, told = fault(shared.get(f"{pair}/resources", nested_depth=depth))
    assert (status, told) == (400, message)


def test_one_type_at_a_time(shared: Api, pair: str) -> None:
    assert fault(shared.get(f"{pair}/resources", type=["a", "b"]))[:2] == (400, "HTTPBadRequest")


def test_detail_adds_attributes_and_description(shared: Api, pair: str) -> None:
    a, b = listed(shared, pair, with_detail=True)
    assert set(a) == ITEM | {"description", "attributes"}
    assert (a["description"], a["attributes"], b["description"]) == ("the first", {"output": "one"}, "")


def test_stacks_inside_come_after_those_around_them(shared: Api, tree: str) -> None:
    assert names(listed(shared, tree)) == ["top", "plain"]
    assert names(listed(shared, tree, nested_depth=1)) == ["top", "plain", "inner", "beside"]
    found = listed(shared, tree, nested_depth=9)
    assert names(found) == ["top", "plain", "inner", "beside", "leaf"]
    assert [one.get("parent_resource") for one in found] == [None, None, "top", "top", "inner"]
    top, leaf = found[0], found[4]
    assert links(top)["nested"] == links(found[2])["stack"]
    assert links(leaf)["stack"].rsplit("/", 1)[1] == found[2]["physical_resource_id"]
    assert top["resource_type"] == "middle.yaml"
    assert names(listed(shared, tree, nested_depth=9, name="leaf")) == ["leaf"], "filters hold at each depth"


def test_a_nested_stack_names_its_parent(shared: Api, tree: str) -> None:
    nested = links(listed(shared, tree)[0])["nested"]
    found = shared.get(f"{nested}/resources").json()["resources"]
    assert [one["parent_resource"] for one in found] == ["top", "top"]
    inner = shared.get(f"{nested}/resources/inner").json()["resource"]
    assert inner["attributes"] == {"o": "deep"}, "the attributes of a template are its outputs"


def test_one_resource(shared: Api, pair: str) -> None:
    found = shared.get(f"{pair}/resources/a").json()["resource"]
    assert set(found) == ITEM | {"description", "attributes"}
    assert found["attributes"] == {"output": "one"}
    more = shared.get(f"{pair}/resources/a", with_attr=["nothing", "output"]).json()["resource"]["attributes"]
    assert more == {"output": "one", "nothing": None}


def test_what_runs_out_of_time_says_so(api: Api) -> None:
    path = api.create("late", {"a": resource(wait_secs=600)}, wait=False)
    while listed(api, path)[0]["resource_status"] != "CREATE_IN_PROGRESS":
        pass
    with databases.looking(api.engine.path) as connection:
        mine = t.operations.c.stack_id == path.rsplit("/", 1)[1]
        connection.execute(sa.update(t.operations).where(mine).values(deadline=1.0))
    stack = api.end(path)
    assert (stack["stack_status"], stack["stack_status_reason"][:9]) == ("CREATE_FAILED", "Timed out")
    shown = listed(api, path)[0]
    assert (shown["resource_status"], shown["resource_status_reason"]) == ("CREATE_FAILED", "CREATE aborted (Timed out)")


def test_no_such_resource(shared: Api, pair: str) -> None:
    told = (404, "ResourceNotFound", "The Resource (nobody) could not be found in Stack pair.")
    assert fault(shared.get(f"{pair}/resources/nobody")) == told
    assert fault(shared.get(f"{pair}/resources/nobody/metadata")) == told
    assert fault(shared.post(f"{pair}/resources/nobody/signal")) == told
    assert fault(shared.post(f"{pair}/resources/nobody/signal", {"unset_hook": "pre-create"})) == told
    assert fault(shared.patch(f"{pair}/resources/nobody", {"mark_unhealthy": True})) == told


def test_metadata(shared: Api, pair: str) -> None:
    assert shared.get(f"{pair}/resources/b/metadata").json() == {"metadata": {"colour": "blue"}}
    assert shared.get(f"{pair}/resources/a/metadata").json() == {"metadata": {}}


def test_the_stack_of_the_path_has_to_be_right(shared: Api, pair: str) -> None:
    wrong = pair.replace("/pair/", "/other/")
    for part in ("resources", "resources/a", "resources/a/metadata", "events", "resources/a/events", "outputs",
                 "snapshots"):
        assert fault(shared.get(f"{wrong}/{part}"))[:2] == (404, "EntityNotFound"), part


def test_what_has_not_begun_is_shown_too(api: Api) -> None:
    path = api.create("slow", {"a": resource(wait_secs=60), "b": {**resource(), "depends_on": "a"}}, wait=False)
    b = listed(api, path, name="b")[0]
    assert (b["resource_status"], b["resource_status_reason"], b["physical_resource_id"]) == ("INIT_COMPLETE", "", "")
    assert b["resource_type"] == "OS::Heat::TestResource"
    assert TIME.fullmatch(b["creation_time"]) and TIME.fullmatch(b["updated_time"])
    assert names(listed(api, path, type="Test")) == ["a", "b"]
    assert names(listed(api, path, type="Other")) == []
    assert api.get(f"{path}/resources/b").json()["resource"]["attributes"] == {"output": None}
    assert api.get(f"{path}/resources/b/metadata").json() == {"metadata": {}}
    assert fault(api.post(f"{path}/resources/b/signal")) == (
        404, "ResourceNotAvailable", "The Resource (b) is not available.")


def test_a_deleted_stack_has_no_resources_and_can_be_asked(api: Api) -> None:
    path = api.create("gone", {"a": resource()})
    assert api.delete(path).status_code == 204
    api.end(path)
    assert listed(api, path) == []
    assert fault(api.get(f"{path}/resources/a"))[:2] == (404, "ResourceNotFound")


def test_a_list_of_many_comes_in_pieces(api: Api) -> None:
    path = api.create("many", {f"r{number}": {"type": "OS::Heat::None"} for number in range(1200)})
    found = listed(api, path)
    assert names(found) == [f"r{number}" for number in range(1200)]
    assert len(listed(api, path, action="CREATE", with_detail=True)) == 1200


# Signals.


def signal(api: Api, path: str, body: Any = None) -> httpx2.Response:
    return api.post(f"{path}/signal", body)


def test_signals(api: Api) -> None:
    path = api.create("waits", {
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
        "wait": {"type": "OS::Heat::WaitCondition",
                 "properties": {"handle": {"get_resource": "handle"}, "timeout": 60, "count": 1}},
        "plain": resource(),
    }, wait=False)
    handle = f"{path}/resources/handle"
    told = {"status": "SUCCESS", "data": "ok", "id": "1", "reason": "well"}
    # A signal is accepted before the creation of the handle is recorded as complete: the newest event would be that one.
    patience.until(lambda: api.get(handle).json().get("resource", {}).get("resource_status") == "CREATE_COMPLETE")
    answer = signal(api, handle, told)
    assert (answer.status_code, answer.content) == (200, b"null")
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"
    assert api.get(f"{handle}/events").json()["events"][0]["resource_status"] == "SIGNAL_COMPLETE"
    assert fault(signal(api, f"{path}/resources/plain")) == (
        400, "ResourceActionNotSupported", "signal is not supported for resource.")


def test_no_signals_while_it_rests(api: Api) -> None:
    path = api.create("rests", {"handle": {"type": "OS::Heat::WaitConditionHandle"}})
    assert api.post(f"{path}/actions", {"suspend": None}).status_code == 200
    api.end(path)
    assert fault(signal(api, f"{path}/resources/handle", {})) == (
        400, "NotSupported", "Signal resource during SUSPEND is not supported.")


def test_hooks_are_cleared_by_a_signal(api: Api) -> None:
    environment = {"resource_registry": {"resources": {"a": {"hooks": "pre-create"}}}}
    path = api.create("paused", {"a": resource(), "b": resource()}, environment=environment, wait=False)
    hooked = f"{path}/resources/a"
    paused = "CREATE paused until Hook pre-create is cleared"
    while paused not in [one["resource_status_reason"] for one in api.get(f"{path}/events").json()["events"]]:
        pass
    shown = api.get(hooked).json()["resource"]
    assert shown["resource_status"] == "INIT_COMPLETE"
    named = f'Stack "paused" [{path.rsplit("/", 1)[1]}]'
    assert fault(signal(api, hooked, {"unset_hook": "sometime"})) == (
        400, "InvalidBreakPointHook", f'Invalid hook type "sometime" for TestResource "a" {named}')
    odds: list[Any] = [5, ["pre-create"], None, {}]
    for odd in odds:
        assert fault(signal(api, hooked, {"unset_hook": odd}))[:2] == (400, "InvalidBreakPointHook"), odd
    assert fault(signal(api, hooked, {"unset_hook": "pre-update"})) == (
        400, "InvalidBreakPointHook", f'The "pre-update" hook is not defined on TestResource "a" {named}')
    answer = signal(api, hooked, {"unset_hook": "pre-create"})
    assert (answer.status_code, answer.content) == (200, b"null")
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"
    assert "Hook pre-create is cleared" in [
        one["resource_status_reason"] for one in api.get(f"{hooked}/events").json()["events"]]


# Resources that are marked unhealthy.


def test_marked_and_marked_again(api: Api) -> None:
    path = api.create("ill", {"a": resource()})
    one = f"{path}/resources/a"
    answer = api.patch(one, {"mark_unhealthy": True})
    assert (answer.status_code, answer.content) == (200, b"null")
    shown = api.get(one).json()["resource"]
    assert (shown["resource_status"], shown["resource_status_reason"]) == (
        "CHECK_FAILED", "state changed by resource_mark_unhealthy api")
    assert api.patch(one, {"mark_unhealthy": "false", "resource_status_reason": "it is well"}).status_code == 200
    shown = api.get(one).json()["resource"]
    assert (shown["resource_status"], shown["resource_status_reason"]) == ("CHECK_COMPLETE", "it is well")
    physical = shown["physical_resource_id"]
    assert api.patch(f"{path}/resources/{physical}", {"mark_unhealthy": True}).status_code == 200
    assert api.put(path, {"template": template({"a": resource()})}).status_code == 202
    api.end(path)
    assert api.get(one).json()["resource"]["physical_resource_id"] != physical, "what is ill is replaced"


@pytest.mark.parametrize(("body", "message"), [
    ({"colour": 1, "mark_unhealthy": True}, "Invalid keys in resource mark unhealthy {'colour'}"),
    ({"resource_status_reason": "x"}, "Missing mandatory (mark_unhealthy) key from mark unhealthy request"),
    ({"mark_unhealthy": "maybe"},
     'Unrecognized value "maybe" for "mark_unhealthy", acceptable values are: true, false.'),
])
def test_a_mark_that_makes_no_sense(shared: Api, pair: str, body: Any, message: str) -> None:
    assert fault(shared.patch(f"{pair}/resources/a", body)) == (400, "HTTPBadRequest", message)


def test_what_is_being_worked_on_cannot_be_marked(api: Api) -> None:
    path = api.create("busy", {"a": resource(wait_secs=60)}, wait=False)
    while listed(api, path)[0]["resource_status"] != "CREATE_IN_PROGRESS":
        pass
    assert fault(api.patch(f"{path}/resources/a", {"mark_unhealthy": True})) == (
        409, "ActionInProgress", "Stack busy already has an action (CREATE) in progress.")


def test_a_stack_user_reads_no_other_resource(api: Api) -> None:
    path = api.create("guarded", {"a": resource(), "b": resource()})
    with api.somebody("default", stack_user=(path.rsplit("/", 1)[1], "a"), roles=("heat_stack_user",)):
        assert api.get(f"{path}/resources/a/metadata").status_code == 200
        for method, part in (("GET", ""), ("GET", "/metadata"), ("POST", "/signal")):
            assert fault(api.ask(method, f"{path}/resources/b{part}"))[0] == 403, part
