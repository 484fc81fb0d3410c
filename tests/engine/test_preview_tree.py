"""The preview of a tree of stacks: the changes of nested stacks, by their paths."""

from __future__ import annotations

from typing import Any

from tests.engine.conftest import Lab, Tell, resource
from tests.engine.test_groups import complete, group
from tests.engine.test_groups_and_chains import policy, scaling, signal
from tests.engine.test_nested import FILES, nested


async def plan(it: Lab, resources: dict[str, Any], **options: Any) -> dict[str, str]:
    found = await it.api.preview.changes("s", it.request(resources, **options))
    return {item.name: item.action for item in found.items}


def test_what_a_create_would_make(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        resources = {"g": group(2), "top": nested("middle.yaml", value="x"), "c": {
            "type": "OS::Heat::ResourceChain", "properties": {"resources": ["OS::Heat::TestResource"]}}}
        assert await plan(it, resources, files=FILES) == dict.fromkeys(
            ["g", "g.0", "g.1", "top", "top.leaf", "top.leaf.inner", "c", "c.0"], "create")
        assert await it.api.stacks.list() == []
        assert it.objects() == {}

    lab(story)


def test_what_an_update_would_do_inside(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        resources = {"g": group(3), "top": nested("middle.yaml", value="x")}
        await complete(it, await it.create(resources, files=FILES))
        assert set((await plan(it, resources, files=FILES)).values()) == {"no change"}
        assert (await plan(it, resources, files=FILES)).keys() == {"g", "g.0", "g.1", "g.2", "top", "top.leaf",
                                                                   "top.leaf.inner"}
        assert await plan(it, {"g": group(2), "top": nested("middle.yaml", value="y")}, files=FILES) == {
            "g": "update", "g.0": "no change", "g.1": "no change", "g.2": "delete",
            "top": "update", "top.leaf": "update", "top.leaf.inner": "update"}
        removing: dict[str, Any] = {"removal_policies": [{"resource_list": ["0"]}]}
        assert await plan(it, {"g": group(3, **removing)}, files=FILES) == {
            "g": "update", "g.0": "delete", "g.1": "no change", "g.2": "no change", "g.3": "create",
            "top": "delete", "top.leaf": "delete", "top.leaf.inner": "delete"}

    lab(story)


def test_another_file_changes_what_is_inside(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        resources = {"a": nested(value="1")}
        await complete(it, await it.create(resources, files=FILES))
        more = {"leaf.yaml": FILES["leaf.yaml"].replace("outputs:", "  second: {type: OS::Heat::TestResource}\noutputs:")}
        assert await plan(it, resources, files=more) == {"a": "update", "a.inner": "no change", "a.second": "create"}

    lab(story)


def test_the_plan_is_what_happens_after_scaling(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        resources = {"g": scaling(low=1, high=5), "up": policy("change_in_capacity", 2)}
        await complete(it, await it.create(resources))
        assert await signal(it, "up") == 3
        found = list((await plan(it, resources)).values())
        assert sorted(found) == ["no change"] * 4 + ["update"]
        found = list((await plan(it, {**resources, "g": scaling(low=1, high=2)})).values())
        assert sorted(found) == ["delete"] + ["no change"] * 3 + ["update"]

    lab(story)


def test_what_hangs_on_values_not_known_yet(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        resources = {"r": resource("2"), "v": {"type": "OS::Heat::Value", "properties": {"value": "x"}},
                     "g": group({"get_attr": ["r", "output"]}, own={"client_name": {"get_attr": ["v", "value"]}})}
        found = {item.name: item for item in (await it.api.preview.changes("s", it.request(resources))).items}
        assert not found["g"].certain
        assert "g.0" not in found
        resources["g"] = group(1, own={"client_name": {"get_attr": ["v", "value"]}})
        await complete(it, await it.create(resources))
        resources["v"]["properties"]["value"] = "y"
        found = {item.name: item for item in (await it.api.preview.changes("s", it.request(resources))).items}
        assert found["g.0"].changes["client_name"].after == "(known only when applied)"

    lab(story)


def test_what_is_hidden_outside_is_not_told_inside(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        hidden = {"p": {"type": "string", "hidden": True}}
        resources = {"g": group(1, {"get_param": "p"})}
        await complete(it, await it.create(resources, parameters=hidden, environment={"parameters": {"p": "old-secret"}}))
        request = it.request(resources, parameters=hidden, environment={"parameters": {"p": "new-secret"}})
        found = await it.api.preview.changes("s", request)
        assert {item.name: item.action for item in found.items} == {"g": "update", "g.0": "update"}
        assert "secret" not in str(found.as_dict())

    lab(story)
