"""Events over HTTP: order, pages, filters, stacks inside, and one event with what belongs to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store.records import Event
from tests import databases
from tests.api.conftest import Api, fault, resource, template

# Not in Heat's lists.
OWN = {"operation_id", "resource_type", "stack_path"}
SUMMARY = {"id", "event_time", "links", "logical_resource_id", "resource_name", "resource_status",
           "resource_status_reason", "physical_resource_id"}


def events(api: Api, path: str, **query: Any) -> list[dict[str, Any]]:
    answer = api.get(f"{path}/events", **query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["events"]
    return found


def told(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["resource_name"], one["resource_status"]) for one in found]


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in found]


@pytest.fixture(scope="module")
def chain(shared: Api) -> str:
    """Create a chain of resources, so that the order of events is known."""
    return shared.create("chain", {
        "a": resource("one"),
        "b": {"type": "OS::Heat::Value", "properties": {"value": "two"}, "depends_on": "a"},
    })


OLDEST_FIRST = [
    ("chain", "CREATE_IN_PROGRESS"), ("a", "CREATE_IN_PROGRESS"), ("a", "CREATE_COMPLETE"), ("b", "CREATE_IN_PROGRESS"),
    ("b", "CREATE_COMPLETE"), ("chain", "CREATE_COMPLETE"),
]


def test_newest_first_unless_asked_otherwise(shared: Api, chain: str) -> None:
    assert told(events(shared, chain)) == OLDEST_FIRST[::-1]
    assert told(events(shared, chain, sort_dir="desc")) == OLDEST_FIRST[::-1]
    assert told(events(shared, chain, sort_dir="asc")) == OLDEST_FIRST


def test_what_an_event_tells(shared: Api, chain: str) -> None:
    stack_event, a = events(shared, chain, sort_dir="asc")[:2]
    stack_id = chain.rsplit("/", 1)[1]
    root = f"http://isotherm.test/v1/default{chain}"
    assert set(stack_event) == set(a) == SUMMARY | OWN
    assert (a["resource_type"], a["stack_path"]) == ("OS::Heat::TestResource", [])
    assert (stack_event["resource_name"], stack_event["physical_resource_id"]) == ("chain", stack_id)
    assert stack_event["resource_status_reason"] == "Stack CREATE started"
    assert [link["rel"] for link in stack_event["links"]] == ["self", "resource", "stack"]
    assert stack_event["links"][1]["href"] == f"{root}/resources/chain"
    assert (a["logical_resource_id"], a["resource_status_reason"]) == ("a", "state changed")
    assert a["links"][0]["href"] == f"{root}/resources/a/events/{a['id']}"
    assert all(isinstance(one["id"], str) for one in (stack_event, a))


def test_pages(shared: Api, chain: str) -> None:
    everything = ids(events(shared, chain))
    first = ids(events(shared, chain, limit=2))
    assert first == everything[:2]
    assert ids(events(shared, chain, limit=2, marker=first[-1])) == everything[2:4]
    assert ids(events(shared, chain, marker=first[-1])) == everything[2:]
    rising = everything[::-1]
    assert ids(events(shared, chain, sort_dir="asc", marker=rising[3])) == rising[4:]
    assert events(shared, chain, marker=everything[-1]) == []
    assert events(shared, chain, limit=0) == []


@pytest.mark.parametrize("marker", ["nothing", "0", "9" * 30, "-1", ""])
def test_a_marker_that_is_not_there_is_passed_over(shared: Api, chain: str, marker: str) -> None:
    assert len(events(shared, chain, marker=marker)) == len(OLDEST_FIRST)


def test_the_events_of_another_stack_are_no_marker(shared: Api, chain: str) -> None:
    other = shared.create("elsewhere", {})
    assert len(events(shared, chain, marker=events(shared, other)[0]["id"])) == len(OLDEST_FIRST)


@pytest.mark.parametrize(("query", "expected"), [
    ({"resource_name": "a"}, [1, 2]),
    ({"resource_name": ["a", "b"]}, [1, 2, 3, 4]),
    ({"resource_name": "chain"}, [0, 5]),
    ({"resource_name": ["chain", "a"], "resource_status": "COMPLETE"}, [2, 5]),
    ({"resource_name": ""}, []),
    ({"resource_action": "CREATE", "resource_status": "IN_PROGRESS"}, [0, 1, 3]),
    ({"resource_action": "DELETE"}, []),
    ({"resource_status": "CREATE_COMPLETE"}, []),
    ({"resource_type": "OS::Heat::Value"}, [3, 4]),
    ({"resource_type": ["OS::Heat::Stack", "OS::Heat::Value"]}, [0, 3, 4, 5]),
    ({"something": "else"}, [0, 1, 2, 3, 4, 5]),
])
def test_filters(shared: Api, chain: str, query: dict[str, Any], expected: list[int]) -> None:
    assert told(events(shared, chain, sort_dir="asc", **query)) == [OLDEST_FIRST[number] for number in expected]


def test_those_of_one_operation(shared: Api) -> None:
    path = shared.create("twice", {"a": resource("one")})
    assert shared.put(path, {"template": template({"a": resource("two")})}).status_code == 202
    shared.end(path)
    newest, first = (one["id"] for one in shared.get(f"{path}/operations").json()["operations"][:2])
    assert {one["resource_status"].partition("_")[0] for one in events(shared, path, operation_id=first)} == {"CREATE"}
    assert {one["resource_status"].partition("_")[0] for one in events(shared, path, operation_id=newest)} == {"UPDATE"}
    assert len(events(shared, path, operation_id=[first, newest])) == len(events(shared, path))
    assert events(shared, path, operation_id="nothing") == []


def test_sorted_by_type(shared: Api, chain: str) -> None:
    found = events(shared, chain, sort_keys="resource_type", sort_dir="asc")
    assert [one["resource_name"] for one in found] == ["chain", "chain", "a", "a", "b", "b"]
    assert ids(events(shared, chain, sort_keys="resource_type", sort_dir="asc", marker=found[2]["id"])) == ids(found[3:])
    assert ids(events(shared, chain, sort_keys="resource_type")) == ids(found)[::-1]
    assert ids(events(shared, chain, sort_keys=["event_time", "nonsense"], sort_dir="asc")) == ids(
        events(shared, chain, sort_dir="asc"))


@pytest.mark.parametrize("query", [{"sort_dir": "up"}, {"limit": "-1"}, {"limit": "x"}, {"nested_depth": "x"}])
def test_a_query_that_makes_no_sense(shared: Api, chain: str, query: dict[str, Any]) -> None:
    assert fault(shared.get(f"{chain}/events", **query))[0] == 400


def test_of_one_resource(shared: Api, chain: str) -> None:
    assert told(shared.get(f"{chain}/resources/a/events").json()["events"]) == [OLDEST_FIRST[2], OLDEST_FIRST[1]]
    assert len(shared.get(f"{chain}/resources/a/events", limit=1).json()["events"]) == 1
    assert told(shared.get(f"{chain}/resources/chain/events").json()["events"]) == [OLDEST_FIRST[5], OLDEST_FIRST[0]]
    assert fault(shared.get(f"{chain}/resources/nobody/events")) == (
        404, "HTTPNotFound", "No events found for resource nobody")


def test_one_event(shared: Api, chain: str) -> None:
    a = events(shared, chain, resource_name="a")[0]
    found = shared.get(f"{chain}/resources/a/events/{a['id']}").json()["event"]
    assert set(found) == SUMMARY | OWN | {"resource_properties"}
    assert found["resource_type"] == "OS::Heat::TestResource"
    assert found["resource_properties"]["value"] == "one"
    own = events(shared, chain, resource_name="chain")[0]
    found = shared.get(f"{chain}/resources/chain/events/{own['id']}").json()["event"]
    assert (found["resource_type"], found["resource_properties"]) == ("OS::Heat::Stack", {})
    for resource_name, id_ in (("b", a["id"]), ("a", "nothing"), ("a", "0"), ("a", own["id"]), ("chain", a["id"])):
        answer = shared.get(f"{chain}/resources/{resource_name}/events/{id_}")
        assert fault(answer) == (404, "HTTPNotFound", f"No event {id_} found")


def test_properties_never_tell_secrets(api: Api) -> None:
    secret = "correct-horse"
    asked = template({"a": resource({"get_param": "p"}), "b": resource({"list_join": ["-", ["x", {"get_param": "p"}]]})},
                     parameters={"p": {"type": "string", "hidden": True}})
    path = api.create("hush", template=asked, parameters={"p": secret})
    for one in events(api, path):
        answer = api.get(f"{path}/resources/{one['resource_name']}/events/{one['id']}")
        assert answer.status_code == 200
        assert secret not in answer.text
    shown = events(api, path, resource_name="a")[0]
    found = api.get(f"{path}/resources/a/events/{shown['id']}").json()["event"]
    assert found["resource_properties"]["value"] == "******"


def test_stacks_inside(api: Api) -> None:
    leaf = template({"leaf": resource()})
    middle = template({"inner": {"type": "leaf.yaml"}})
    files = {"leaf.yaml": json.dumps(leaf), "middle.yaml": json.dumps(middle)}
    path = api.create("tree", {"top": {"type": "middle.yaml"}}, files=files)
    assert {one["resource_name"] for one in events(api, path)} == {"tree", "top"}
    found = events(api, path, nested_depth=1)
    assert "inner" in {one["resource_name"] for one in found}
    assert "leaf" not in {one["resource_name"] for one in found}
    found = events(api, path, nested_depth=5, sort_dir="asc")
    assert {"tree", "top", "inner", "leaf"} <= {one["resource_name"] for one in found}
    assert ids(found) == sorted(ids(found), key=int)
    links = {link["rel"]: link["href"] for link in next(one for one in found if one["resource_name"] == "leaf")["links"]}
    assert links["root_stack"].endswith(path)
    assert links["stack"] != links["root_stack"]
    assert links["self"].startswith(links["resource"]) and links["resource"].startswith(links["stack"])
    assert ids(events(api, path, nested_depth=5, sort_dir="asc", limit=3, marker=found[4]["id"])) == ids(found)[5:8]
    child = next(one for one in found if one["links"][2]["href"] != one["links"][3]["href"])
    assert told(events(api, path, nested_depth=5, resource_name=child["resource_name"]))


def test_of_a_deleted_stack(api: Api) -> None:
    path = api.create("gone", {"a": resource()})
    api.delete(path)
    api.end(path)
    newest = events(api, path)[0]
    assert (newest["resource_status"], newest["resource_status_reason"]) == (
        "DELETE_COMPLETE", "Stack DELETE completed successfully")
    assert api.get(f"{path}/resources/a/events").json()["events"][0]["resource_status"] == "DELETE_COMPLETE"


def test_failures_speak_as_in_heat(api: Api) -> None:
    path = api.create("fails", {"a": resource(fail=True)})
    newest, one = events(api, path)[:2]
    assert newest["resource_status_reason"] == "Resource CREATE failed: ValueError: resources.a: Test Resource failed a"
    assert (one["resource_status"], one["resource_status_reason"]) == (
        "CREATE_FAILED", "ValueError: resources.a: Test Resource failed a")
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": resource(fail=True)}}
    newest = events(api, api.create("group", {"g": group}))[0]
    assert newest["resource_status_reason"] == (
        "Resource CREATE failed: ValueError: resources.g.resources[0]: Test Resource failed 0")


def test_many_events_come_in_pieces_and_few_are_read_for_few(api: Api) -> None:
    path = api.create("many", {})
    stack_id = path.rsplit("/", 1)[1]
    with databases.looking(api.engine.path) as connection:
        happened = [Event(stack_id, "", f"r{number}", "T", None, Action.CREATE, Status.COMPLETE, "")
                    for number in range(1700)]
        rows.insert_events(connection, happened, 1.0)
    found = events(api, path)
    assert len(found) == 1702
    assert [one["resource_name"] for one in found[:3]] == ["r1699", "r1698", "r1697"]
    assert len(set(ids(found))) == 1702
    assert len(events(api, path, limit=1100)) == 1100
