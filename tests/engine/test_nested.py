"""Nested stacks: templates as types."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.nested.inner_stacks import InnerStacksFactory
from isotherm.engine.orchestrator import Orchestrator
from isotherm.engine.queries.stacks import StackQuery
from isotherm.planning.planner import Planning
from isotherm.resources.nested.nested_stack import is_forgotten, template_type
from isotherm.resources.registry import Registry
from tests.engine.conftest import Lab, Tell, resource

LEAF = """
heat_template_version: 2021-04-16
parameters:
  value: {type: string, default: leaf}
  wait: {type: number, default: 0}
  fail: {type: boolean, default: false}
resources:
  inner:
    type: OS::Heat::TestResource
    properties: {value: {get_param: value}, wait_secs: {get_param: wait}, fail: {get_param: fail}}
outputs:
  out: {value: {get_attr: [inner, output]}}
"""
MIDDLE = """
heat_template_version: 2021-04-16
parameters:
  value: {type: string}
  wait: {type: number, default: 0}
  fail: {type: boolean, default: false}
resources:
  leaf:
    type: leaf.yaml
    properties: {value: {get_param: value}, wait: {get_param: wait}, fail: {get_param: fail}}
outputs:
  out: {value: {get_attr: [leaf, out]}}
"""
FILES = {"leaf.yaml": LEAF, "middle.yaml": MIDDLE}


def nested(kind: str = "leaf.yaml", **properties: Any) -> Any:
    return {"type": kind, "properties": properties}


def test_a_template_is_a_type(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"a": nested(value="1"), "b": resource({"get_attr": ["a", "out"]})}
        stack = await it.create(template, files=FILES)
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["1", "1"]
        template["a"] = nested(value="2")
        stack = await it.update(template, files=FILES)
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["2", "2"]
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_a_change_of_the_nested_template_reaches_the_nested_stack(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": nested(value="1")}, files=FILES)
        more = LEAF.replace("outputs:", "  second: {type: OS::Heat::TestResource}\noutputs:")
        stack = await it.update({"a": nested(value="1")}, files={"leaf.yaml": more})
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["1", "test_string"]
        await it.delete()
        assert it.objects() == {}

    lab(story)


def test_a_template_that_was_gone_comes_back(lab: Tell) -> None:
    """Another process accepts it, so this engine knows only that it has looked for the text in vain."""

    async def story(it: Lab) -> None:
        await it.create({"a": nested(value="1")}, files=FILES)
        await it.delete()
        types, leaf = it.engine.types, template_type(LEAF).implementation
        await it.engine._plans.learn(leaf)
        assert is_forgotten(types.implementation(leaf))
        fresh = Registry(types.types.values())
        elsewhere = Orchestrator(dataclasses.replace(it.engine.service_ports, types=fresh,
                                                     planning=Planning(it.engine.store, fresh, it.engine.clock)))
        stack = await it.end(await elsewhere.stacks.create("s", it.request({"a": nested(value="1")}, files=FILES)))
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["1"]

    lab(story)


def test_three_deep(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"top": nested("middle.yaml", value="deep"), "r": resource({"get_attr": ["top", "out"]})},
                                files=FILES)
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["deep", "deep"]
        await it.delete()
        assert it.objects() == {}

    lab(story)


def test_a_failure_comes_up_with_its_path(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"top": nested("middle.yaml", value="x", fail=True)}, files=FILES)
        assert stack["stack_status"] == "CREATE_FAILED"
        assert stack["stack_status_reason"] == (
            "Resource CREATE failed: ValueError: resources.top.resources.leaf.resources.inner: Test Resource failed inner")
        stack = await it.update({"top": nested("middle.yaml", value="y", fail=False)}, files=FILES)
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["y"]
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_a_newer_update_goes_down_at_once(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"top": nested("middle.yaml", value="1", wait=0.5)}, files=FILES))

        async def begun() -> bool:
            return bool(it.objects())

        await it.until(begun)
        stack = await it.update({"top": nested("middle.yaml", value="2")}, files=FILES)
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["2"]

    lab(story)


def test_a_newer_update_replaces_a_nested_stack_that_is_being_created(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"top": nested(value="1", wait=0.5)}, files=FILES))

        async def begun() -> bool:
            return bool(it.objects())

        await it.until(begun)
        stack = await it.update({"top": resource("2")})
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["2"]
        page = await it.api.stacks.page(StackQuery(nested=True))
        assert [one["stack_name"] for one in page] == ["s"], "nobody would ever delete the other"

    lab(story)


def test_delete_while_the_nested_stack_is_being_created(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"top": nested("middle.yaml", value="1", wait=0.5)}, files=FILES))

        async def begun() -> bool:
            return bool(it.objects())

        await it.until(begun)
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_cancel_goes_down(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        waits = LEAF.replace("outputs:", "  second: {type: OS::Heat::TestResource, depends_on: inner}\noutputs:")
        accepted = await it.api.stacks.create(
            "s", it.request({"top": nested("middle.yaml", value="1", wait=1)}, files={**FILES, "leaf.yaml": waits}))

        async def begun() -> bool:
            return bool(it.objects())

        await it.until(begun)
        await it.api.stacks.cancel("s", rollback=False)
        stack = await it.end(accepted)
        assert stack["stack_status"] == "CREATE_FAILED"
        assert stack["stack_status_reason"] == "Stack CREATE cancelled"
        assert it.values() == ["1"], "what was under way has ended, and nothing was begun after it"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_an_operation_that_supersedes_the_nested_one_is_waited_for(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request({"top": nested(value="1", wait=1)}, files=FILES))

        async def begun() -> bool:
            # The nested stack may be under way before its parent resource has been recorded.
            return bool(it.objects()) and bool((await it.physical()).get("top"))

        await it.until(begun)
        looks = 0
        original = InnerStacksFactory.of

        def counted(self: Any, *arguments: Any) -> Any:
            nonlocal looks
            looks += 1
            return original(self, *arguments)

        monkeypatch.setattr(InnerStacksFactory, "of", counted)
        await it.api.stacks.check((await it.physical())["top"])
        stack = await it.end(accepted)
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        assert looks < 10, "the newer operation wakes it; nobody polls"

    lab(story)


def test_the_nested_stack_has_no_longer_than_the_outer_one(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"top": nested("middle.yaml", value="1", wait=-1)}, files=FILES, timeout_s=2)
        assert stack["stack_status"] == "CREATE_FAILED"

    lab(story)


def test_what_includes_itself_is_refused(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        loop = "heat_template_version: 2021-04-16\nresources: {again: {type: loop.yaml}}"
        with pytest.raises(errors.UserError) as refused:
            await it.create({"a": nested("loop.yaml")}, files={"loop.yaml": loop})
        assert "Recursion depth exceeds 5." in str(refused.value)
        assert await it.api.stacks.list() == []

    lab(story)


def test_a_file_that_was_not_handed_over_is_told(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError, match=r"nowhere\.yaml"):
            await it.create({"a": nested("nowhere.yaml")})

    lab(story)


def test_problems_inside_are_told_with_their_path(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        bad = "heat_template_version: 2021-04-16\nresources: {r: {type: OS::Heat::TestResource, properties: {nope: 1}}}"
        with pytest.raises(errors.UserError) as refused:
            await it.create({"a": nested("bad.yaml")}, files={"bad.yaml": bad})
        assert "resources.a<" in str(refused.value)
        assert "nope" in str(refused.value)

    lab(story)


def test_an_alias_in_the_environment(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        mapped = {"resource_registry": {"My::Leaf": "leaf.yaml"}}
        stack = await it.create({"a": {"type": "My::Leaf", "properties": {"value": "1"}}}, files=FILES, environment=mapped)
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        rows = await it.api.resources.list("s")
        assert rows[0]["resource_type"] == "My::Leaf"
        assert it.values() == ["1"]

    lab(story)


SHOWN = """
heat_template_version: 2021-04-16
resources:
  m: {type: OS::Heat::Value, properties: {value: {resource_facade: metadata}}}
  d: {type: OS::Heat::Value, properties: {value: {resource_facade: deletion_policy}}}
outputs:
  m: {value: {get_attr: [m, value]}}
  d: {value: {get_attr: [d, value]}}
"""


def test_the_nested_stack_reads_its_parent_resource(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        shown = {"m": {"value": {"get_attr": ["a", "m"]}}, "d": {"value": {"get_attr": ["a", "d"]}}}
        around = {"type": "shown.yaml", "metadata": {"x": 1}, "deletion_policy": "Retain"}
        stack = await it.create({"a": around}, files={"shown.yaml": SHOWN}, outputs=shown)
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        found = {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}
        assert found == {"m": {"x": 1}, "d": "Retain"}
        around["metadata"] = {"x": 2}
        await it.update({"a": around}, files={"shown.yaml": SHOWN}, outputs=shown)
        assert {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}["m"] == {"x": 2}

    lab(story)


def test_resources_inside_can_be_read_by_name(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        shown = {"value": {"value": {"get_attr": ["a", "resource.inner.output"]}},
                 "step_by_step": {"value": {"get_attr": ["a", "resource.inner", "output"]}},
                 "reference": {"value": {"get_attr": ["a", "resource.inner"]}}}
        await it.create({"a": nested(value="1")}, files=FILES, outputs=shown)
        found = {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}
        assert found["value"] == found["step_by_step"] == "1"
        assert found["reference"] in it.objects()

    lab(story)


def test_a_template_in_the_place_of_a_type_must_look_like_it(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        mapped = {"resource_registry": {"OS::Heat::Value": "bad.yaml"}}
        bad = "heat_template_version: 2021-04-16\noutputs: {value: {value: 1}}"
        with pytest.raises(errors.UserError, match="Required property value for facade OS::Heat::Value missing"):
            await it.create({"a": {"type": "OS::Heat::Value"}}, files={"bad.yaml": bad}, environment=mapped)

    lab(story)


def test_a_check_of_the_nested_stack_keeps_its_outputs(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"a": nested(value="1")}
        await it.create(template, files=FILES)
        await it.end(await it.api.stacks.check("s"))
        shown = {"out": {"value": {"get_attr": ["a", "out"]}}}
        await it.update({**template, "b": resource({"get_attr": ["a", "out"]})}, files=FILES, outputs=shown)
        assert it.values() == ["1", "1"]

    lab(story)


def test_a_template_says_what_it_goes_by(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        named = LEAF + "  OS::stack_id: {value: {get_attr: [inner, output]}}\n"
        template = {"a": nested(value="1"), "b": resource({"get_resource": "a"})}
        stack = await it.create(template, files={"leaf.yaml": named})
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["1", "1"]

    lab(story)


def test_a_new_resource_reads_an_output_of_a_nested_stack(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": nested(value="1")}, files=FILES)
        await it.update({"a": nested(value="1"), "b": resource({"get_attr": ["a", "out"]})}, files=FILES)
        assert it.values() == ["1", "1"]

    lab(story)


@pytest.mark.parametrize("asked_s", [600.0, None])
def test_a_nested_stack_shows_the_requested_timeout(lab: Tell, asked_s: Any) -> None:
    """As in Heat: the timeout of the outer stack, in each operation, and never the rest of it."""

    async def story(it: Lab) -> None:
        template = {"first": resource("0", wait_secs=0.1),
                    "top": {**nested("middle.yaml", value="1"), "depends_on": "first"}}

        async def told() -> list[float | None]:
            found = await it.api.stacks.page(StackQuery(nested=True))
            return [one["timeout_s"] for one in found]

        await it.create(template, files=FILES, timeout_s=asked_s)
        assert await told() == [asked_s] * 3
        await it.end(await it.api.stacks.suspend("s"))
        await it.end(await it.api.stacks.resume("s"))
        assert await told() == [asked_s] * 3
        again = asked_s and 2 * asked_s
        template["top"] = nested("middle.yaml", value="2")
        await it.update(template, files=FILES, timeout_s=again)
        assert await told() == [again] * 3

    lab(story)


def test_the_reference_of_a_nested_stack_is_its_arn(lab: Tell) -> None:
    """Its physical id stays the bare id; nested stacks in it, and members, are referred to by their ARNs too."""

    async def story(it: Lab) -> None:
        template = {
            "a": nested("middle.yaml", value="1"), "b": resource({"get_resource": "a"}),
            "g": {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": nested()}},
        }
        shown = {"a": {"value": {"get_resource": "a"}}, "leaf": {"value": {"get_attr": ["a", "resource.leaf"]}},
                 "g": {"value": {"get_resource": "g"}}, "refs": {"value": {"get_attr": ["g", "refs"]}}}
        stack = await it.create(template, files=FILES, outputs=shown)
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        names = {one["id"]: one["stack_name"] for one in await it.api.stacks.page(StackQuery(nested=True))}

        def arn(stack_id: str) -> str:
            return f"arn:openstack:heat::default:stacks/{names[stack_id]}/{stack_id}"

        ids = await it.physical()
        leaf, = [one["physical_resource_id"] for one in await it.api.resources.list(ids["a"])]
        member, = [one["physical_resource_id"] for one in await it.api.resources.list(ids["g"])]
        told = {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}
        assert told == {"a": arn(ids["a"]), "leaf": arn(leaf), "g": ids["g"], "refs": [arn(member)]}
        assert arn(ids["a"]) in it.values()
        fewer = {"count": 1, "resource_def": nested(), "removal_policies": [{"resource_list": [arn(member)]}]}
        template["g"] = {"type": "OS::Heat::ResourceGroup", "properties": fewer}
        await it.update(template, files=FILES, outputs=shown)
        members = [one["resource_name"] for one in await it.api.resources.list(ids["g"])]
        assert members == ["1"], "a member is named by its ARN"

    lab(story)
