"""Graphs in groups, pages of members, the chain of why, timelines, and the load of the service."""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from isotherm.engine.overview.graphs import GraphQuery, GraphService
from isotherm.store.reads import events
from tests import patience
from tests.api.conftest import Api, fault, resource, template
from tests.api.test_summaries import FAILS, INSIDE, summary

WAITS = {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 3600}}


def needing(what: dict[str, Any], *needs: str) -> dict[str, Any]:
    return {**what, "depends_on": list(needs)} if needs else what


def wide(count: int) -> dict[str, Any]:
    """A start, many alike that need it, and an end that needs them."""
    many = {f"web_{number:03}": needing(resource(), "start") for number in range(count)}
    return {"start": resource(), **many, "end": needing(resource(), *many)}


def graph(api: Api, path: str, **query: Any) -> dict[str, Any]:
    answer = api.get(f"{path}/graph", **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["graph"]
    return found


def members(api: Api, path: str, **query: Any) -> dict[str, Any]:
    answer = api.get(f"{path}/members", **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def why(api: Api, path: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"{path}/resources/{name}/why").json()["why"]
    return found


@pytest.fixture(scope="module")
def fleet(shared: Api) -> str:
    return shared.create("fleet", wide(200))


def test_a_small_graph_shows_every_resource(shared: Api) -> None:
    path = shared.create("small", {"a": resource(), "b": needing(resource(), "a"), "c": needing(resource(), "a", "b")})
    found = graph(shared, path)
    names = {one["id"]: one["name"] for one in found["boxes"]}
    assert (found["level"], sorted(names.values()), found["depths"]) == ("none", ["a", "b", "c"], 3)
    assert sorted((names[a], names[b], n, kind) for a, b, n, kind in found["edges"]) == [
        ("a", "b", 1, "requires"), ("a", "c", 1, "requires"), ("b", "c", 1, "requires")]
    assert {one["name"]: one["depth"] for one in found["boxes"]} == {"a": 0, "b": 1, "c": 2}
    assert [names[id_] for id_ in found["critical"]] == ["a", "b", "c"]
    assert found["left_out"] == {"boxes": 0, "resources": 0, "failed": 0}


def test_a_large_graph_is_shown_in_groups(shared: Api, fleet: str) -> None:
    found = graph(shared, fleet)
    group, = (one for one in found["boxes"] if one["kind"] == "group")
    assert (found["level"], found["total"], group["name"]) == ("kind", 202, "web_#")
    # What is on the critical path is a box of its own.
    assert group["n"] == 199
    assert sum(one["n"] for one in found["boxes"]) == 202
    ids = {one["id"] for one in found["boxes"]}
    assert all(a in ids and b in ids for a, b, *_ in found["edges"])
    assert found["digest"] == graph(shared, fleet)["digest"]


def test_readers_of_one_graph_share_its_picture(shared: Api, fleet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    drawn: list[str] = []
    ask, draw = GraphService.draw, GraphService._draw

    async def counted(self: GraphService, stack: Any, query: GraphQuery) -> Any:
        asked.append(query.level)
        return await ask(self, stack, query)

    async def held(self: GraphService, stack: Any, query: GraphQuery) -> Any:
        drawn.append(query.level)
        while len(asked) < 3:
            await asyncio.sleep(0)
        return await draw(self, stack, query)

    monkeypatch.setattr(GraphService, "draw", counted)
    monkeypatch.setattr(GraphService, "_draw", held)
    with ThreadPoolExecutor(3) as threads:
        kinds = ("kind", "kind", "type")
        found = list(threads.map(lambda group: graph(shared, fleet, group=group, limit=77), kinds))
    assert sorted(drawn) == ["kind", "type"]
    assert [one["level"] for one in found] == ["kind", "kind", "type"]
    assert found[0] == found[1]


def test_a_group_can_be_opened_and_paged(shared: Api, fleet: str) -> None:
    group, = (one for one in graph(shared, fleet)["boxes"] if one["kind"] == "group")
    opened = graph(shared, fleet, open=group["id"], limit=1000)
    assert len(opened["boxes"]) == 202
    names: list[str] = []
    marker: dict[str, str] = {}
    while True:
        found = members(shared, fleet, box=group["id"], limit=70, **marker)
        names += [one["name"] for one in found["members"]]
        if found["next"] is None:
            break
        marker = {"marker": found["next"]}
    assert names == [f"web_{number:03}" for number in range(200)]


@pytest.mark.parametrize("level", ["none", "kind", "depth_type", "type"])
def test_every_level_accounts_for_every_resource(shared: Api, fleet: str, level: str) -> None:
    for limit in (1, 5, 1000):
        found = graph(shared, fleet, group=level, limit=limit)
        assert found["level"] == level
        assert len(found["boxes"]) <= limit
        assert sum(one["n"] for one in found["boxes"]) + found["left_out"]["resources"] == 202


def test_a_resource_like_no_other_is_a_box_of_its_own_among_groups(shared: Api) -> None:
    inside = {"inside.yaml": json.dumps({"heat_template_version": "2021-04-16", "resources": {"i": resource()}})}
    many = {f"m{number}": resource() for number in range(5)}
    path = shared.create("alone", {**many, "slow": WAITS, "nested": {"type": "inside.yaml"}}, wait=False, files=inside)
    patience.until(lambda: why(shared, path, "slow")["resource"]["state"] == "WAITING"
                   and why(shared, path, "nested")["resource"]["state"] == "DONE")
    boxes = {one["name"]: one for one in graph(shared, path, group="kind")["boxes"]}
    assert (boxes["m#"]["kind"], boxes["m#"]["n"], boxes["slow"]["kind"]) == ("group", 5, "resource")
    assert boxes["slow"]["since"] is not None
    assert boxes["nested"]["kind"] == "stack" and boxes["nested"]["stack_id"]
    shared.delete(path)


def test_members_are_found_in_nested_stacks_down_to_a_depth(shared: Api) -> None:
    inner = {"heat_template_version": "2021-04-16", "resources": {"deep": resource()}}
    middle = {"heat_template_version": "2021-04-16", "resources": {"middle": {"type": "inner.yaml"}}}
    files = {"inner.yaml": json.dumps(inner), "middle.yaml": json.dumps(middle)}
    path = shared.create("depths", {"top": {"type": "middle.yaml"}}, files=files)
    found = {query: [one["name"] for one in members(shared, path, **dict([query]))["members"]]
             for query in (("depth", "0"), ("depth", "1"), ("depth", "2"), ("depth", "3"), ("tree", "true"))}
    places = {one["name"]: one["stack"]["path"] for one in members(shared, path, tree="true")["members"]}
    assert places == {"top": [], "middle": ["top"], "deep": ["top", "middle"]}
    assert members(shared, path)["members"] == members(shared, path, depth="0")["members"]
    assert found == {("depth", "0"): ["top"], ("depth", "1"): ["middle", "top"], ("depth", "2"): ["deep", "middle", "top"],
                     ("depth", "3"): ["deep", "middle", "top"], ("tree", "true"): ["deep", "middle", "top"]}


def test_members_filter_and_search(shared: Api, fleet: str) -> None:
    assert [one["name"] for one in members(shared, fleet, search="B_01", limit=500)["members"]] == [
        f"web_{number:03}" for number in range(10, 20)]
    assert members(shared, fleet, state="FAILED")["members"] == []
    assert len(members(shared, fleet, state="DONE", limit=500)["members"]) == 202
    assert members(shared, fleet, type="nova")["members"] == []
    assert members(shared, fleet, search="%")["members"] == []
    assert fault(shared.get(f"{fleet}/members", box="gnone"))[0] == 404
    for query in ({"state": "X"}, {"limit": "0"}, {"limit": "501"}, {"marker": "x"}, {"order": "x"}, {"tree": "x"},
                  {"depth": "x"}, {"depth": "-1"}):
        assert fault(shared.get(f"{fleet}/members", **query))[0] == 400, query


def test_a_nested_stack_is_a_box_that_leads_into_it(shared: Api) -> None:
    path = shared.create("outer", {"n": {"type": "inside.yaml"}}, files={"inside.yaml": json.dumps(INSIDE)})
    box, = graph(shared, path)["boxes"]
    assert (box["kind"], box["stack_name"].startswith("outer-n-")) == ("stack", True)
    inner = graph(shared, f"/stacks/{box['stack_name']}/{box['stack_id']}")
    assert [one["name"] for one in inner["boxes"]] == ["i"]
    found = members(shared, path, tree="true")["members"]
    assert sorted((one["name"], one["stack"]["name"] == "outer") for one in found) == [("i", False), ("n", True)]


def test_the_chain_of_why_leads_to_what_runs(shared: Api) -> None:
    path = shared.create("chain", {"a": WAITS, **{
        f"r{number}": needing(resource(), f"r{number - 1}" if number else "a") for number in range(20)}}, wait=False)
    patience.until(lambda: why(shared, path, "a")["resource"]["since"] is not None)
    found = why(shared, path, "r19")
    names = [one["name"] for one in found["chain"]]
    assert (names[0], names[-1], len(names), found["left_out"]) == ("r19", "a", 9, 12)
    assert re.match(r"r19 waits for a, which has been (waiting for the cloud|running) for \d+ s", found["sentence"])
    assert [one["name"] for one in found["waits_for"]] == ["r18"]
    assert (found["holds_up"], found["resource"]["line"]) == ([], 1)
    assert [one["name"] for one in why(shared, path, "a")["holds_up"]] == ["r0"]
    assert graph(shared, path)["critical"][0] == found["chain"][-1]["id"]
    shared.rules.forbidden = {"service:index"}
    try:
        assert why(shared, path, "a")["worker"] is None
    finally:
        shared.rules.forbidden = set()
    shared.delete(path)


def test_the_critical_path_of_an_operation_in_progress_is_one_in_graph_and_timeline(shared: Api) -> None:
    path = shared.create("onward", {
        "net": resource(), "port": needing(resource(), "net"), "other": resource(), "server": needing(WAITS, "port"),
        "attach": needing(resource(), "server"), "ready": needing(resource(), "attach", "other")}, wait=False)
    patience.until(lambda: why(shared, path, "server")["resource"]["state"] in ("RUNNING", "WAITING"))
    found = graph(shared, path)
    names = {one["id"]: one["name"] for one in found["boxes"]}
    expected = ["net", "port", "server", "attach", "ready"]
    assert [names[id_] for id_ in found["critical"]] == expected
    operation, = shared.get(f"{path}/operations").json()["operations"]
    assert shared.get(f"{path}/operations/{operation['id']}/timeline").json()["timeline"]["critical"] == expected
    shared.delete(path)


def test_a_pause_at_a_hook_is_a_span_of_its_own(shared: Api) -> None:
    hooks = {"resource_registry": {"resources": {"a": {"hooks": ["pre-create", "post-create"]}}}}
    path = shared.create("paused", {"a": resource(), "b": needing(resource(), "a")}, environment=hooks, wait=False)

    def pauses() -> list[tuple[str, bool, str]]:
        operation, = shared.get(f"{path}/operations").json()["operations"]
        found = shared.get(f"{path}/operations/{operation['id']}/timeline").json()["timeline"]["spans"]
        return [(span[2], span[6] is None, span[7]) for span in found if span[0] == "a"]

    def clear(hook: str) -> None:
        patience.until(lambda: [one["hook"] for one in summary(shared, path)["hooks"]] == [hook])
        assert shared.post(f"{path}/resources/a/signal", {"unset_hook": hook}).status_code == 200

    patience.until(lambda: pauses() == [("HOOK", True, "WAITING")])
    found = why(shared, path, "b")
    assert found["sentence"] == "b waits for a, which waits for you to clear its hook pre-create."
    assert [(one["name"], one["hook"]) for one in found["chain"]] == [("b", None), ("a", "pre-create")]
    clear("pre-create")
    patience.until(lambda: pauses() == [
        ("HOOK", False, "COMPLETE"), ("CREATE", False, "COMPLETE"), ("HOOK", True, "WAITING")])
    clear("post-create")
    shared.end(path)
    assert pauses() == [("HOOK", False, "COMPLETE"), ("CREATE", False, "COMPLETE"), ("HOOK", False, "COMPLETE")]
    assert [one["action"] for one in why(shared, path, "a")["attempts"]] == ["CREATE"]


def test_why_something_was_left_out(shared: Api) -> None:
    path = shared.create("skipped", {"bad": FAILS, "mid": needing(resource(), "bad"), "far": needing(resource(), "mid")})
    found = why(shared, path, "far")
    assert [one["name"] for one in found["chain"]] == ["far", "mid", "bad"]
    assert found["sentence"].startswith("far was left out because of bad, which failed (")
    assert "resources.bad" in found["chain"][-1]["reason"] and "resources.bad" not in found["sentence"]
    attempt, = why(shared, path, "bad")["attempts"]
    assert (attempt["action"], attempt["status"], attempt["ended"] >= attempt["began"]) == ("CREATE", "FAILED", True)


def test_why_of_a_resource_that_was_marked_unhealthy(shared: Api) -> None:
    path = shared.create("ill", {"a": resource(), "b": needing(resource(), "a")})
    mark = {"mark_unhealthy": True, "resource_status_reason": "no answer"}
    assert shared.ask("PATCH", f"{path}/resources/a", mark).status_code == 200
    assert why(shared, path, "a")["sentence"] == "a was marked unhealthy (no answer): the next update replaces it."
    members = {one["name"]: one["reason"] for one in shared.get(f"{path}/members").json()["members"]}
    assert members == {"a": "no answer", "b": ""}
    assert why(shared, path, "b")["sentence"] == "b is done."


def test_why_goes_into_a_nested_stack(shared: Api) -> None:
    inside = {"heat_template_version": "2021-04-16", "resources": {"slow": WAITS}}
    path = shared.create("inner", {"n": {"type": "inside.yaml"}, "z": needing(resource(), "n")}, wait=False,
                         files={"inside.yaml": json.dumps(inside)})
    patience.until(lambda: why(shared, path, "z")["chain"][-1]["name"] == "slow")
    found = why(shared, path, "z")
    assert [one["name"] for one in found["chain"]] == ["z", "n", "slow"]
    assert "in inner-n-" in found["sentence"]
    shared.delete(path)


def test_why_of_what_is_not_there(shared: Api, fleet: str) -> None:
    assert fault(shared.get(f"{fleet}/resources/none/why"))[:2] == (404, "ResourceNotFound")


def test_the_timeline_of_an_operation(shared: Api) -> None:
    path = shared.create("line", {"a": resource(), "b": needing(resource(), "a"), "bad": needing(FAILS, "b")})
    operation, = shared.get(f"{path}/operations").json()["operations"]
    found = shared.get(f"{path}/operations/{operation['id']}/timeline").json()["timeline"]
    spans = {span[0]: span for span in found["spans"]}
    assert {name: (span[2], span[7]) for name, span in spans.items()} == {
        "a": ("CREATE", "COMPLETE"), "b": ("CREATE", "COMPLETE"), "bad": ("CREATE", "FAILED")}
    assert spans["a"][4] <= spans["a"][6] <= spans["b"][4] <= spans["b"][6]
    assert (found["critical"], found["partial"], found["left_out"]) == (["a", "b", "bad"], False, 0)
    assert found["operation"]["failure"]["reason"]


def test_a_long_timeline_is_cut_and_the_rest_is_grouped(shared: Api, fleet: str) -> None:
    operation, = shared.get(f"{fleet}/operations").json()["operations"]
    found = shared.get(f"{fleet}/operations/{operation['id']}/timeline", limit=10).json()["timeline"]
    assert (len(found["spans"]), found["left_out"]) == (10, 192)
    assert [(one["name"], one["n"], one["outcomes"]) for one in found["groups"]] == [("web_#", 192, {"COMPLETE": 192})]
    assert found["critical"][0] == "start"
    assert found["critical"][-1] == "end"


def test_past_operations_are_listed_and_shown(shared: Api) -> None:
    path = shared.create("past", {"a": resource("one")})
    for value in ("two", "three"):
        shared.put(path, {"template": template({"a": resource(value)})})
        shared.end(path)
    found = shared.get(f"{path}/operations").json()
    assert [one["action"] for one in found["operations"]] == ["UPDATE", "UPDATE", "CREATE"]
    assert [one["state"] for one in found["operations"]] == ["COMPLETE"] * 3
    assert [one["generation"] for one in found["operations"]] == [3, 2, 1]
    began = [one["began"] for one in found["operations"]]
    assert began == sorted(began, reverse=True)
    assert shared.get(f"{path}/operations", limit=1).json()["operations"] == found["operations"][:1]
    for one in found["operations"]:
        told = shared.get(f"{path}/operations/{one['id']}/timeline").json()["timeline"]
        assert told["operation"]["generation"] == one["generation"]
    # Older ones are forgotten, and their events are not.
    first = shared.get(f"{path}/events", sort_dir="asc").json()["events"][0]
    ids, read = [path.rpartition("/")[2]], shared.engine.service_ports.store.read
    row = shared.run(read(lambda connection: events.one(connection, ids, int(first["id"]))))
    told = shared.get(f"{path}/operations/{row['operation_id']}/timeline").json()["timeline"]
    assert (told["operation"]["action"], told["operation"]["state"]) == ("CREATE", "COMPLETE")
    assert [span[0] for span in told["spans"]] == ["a"]
    other = shared.create("other-past", {})
    assert fault(shared.get(f"{other}/operations/{found['operations'][0]['id']}/timeline"))[0] == 404


def test_the_load_of_the_service(shared: Api) -> None:
    path = shared.create("loading", {"a": WAITS}, wait=False)
    patience.until(lambda: why(shared, path, "a")["resource"]["state"] in ("RUNNING", "WAITING"))
    found = shared.get("/load").json()["load"]
    assert "loading" in [one["name"] for one in found["at_work"]]
    assert {"nodes", "queue", "oldest_s", "stacks", "services", "leases", "locked", "now"} <= set(found)
    assert [one["kind"] for one in found["services"] if one["up"]] == ["ENGINE"]
    shared.delete(path)
