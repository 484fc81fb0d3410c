"""Forgetting: objects stay in the cloud, and Isotherm knows them no more."""

from __future__ import annotations

import pytest

from isotherm import errors
from isotherm.engine.orchestrator import Patch, Request
from tests.engine.conftest import Lab, Tell, resource

NESTED = """heat_template_version: 2021-04-16
resources:
  db: {type: OS::Heat::TestResource, properties: {value: inner}}
"""
COMMENTED = """heat_template_version: 2021-04-16
# About the resources.
resources:
  # About a.
  a:
    type: OS::Heat::TestResource
    properties: {value: a}

  # About b.
  b:
    type: OS::Heat::TestResource  # of the last one
    properties:
      value: b
outputs:
  b: {value: {get_resource: b}}
"""


def test_a_forgotten_resource_stays_in_the_cloud_and_is_listed(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("a"), "b": resource("b", needs=["a"]), "c": resource("c", needs=["b"])},
                        disable_rollback=False)
        before = await it.physical()
        stack = await it.end(await it.api.forget.resource("s", "c"))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["a", "b", "c"]
        assert (await it.physical()) == {name: before[name] for name in "ab"}
        assert [(one["resource_name"], one["physical_resource_id"]) for one in stack["retained"]] == [("c", before["c"])]
        assert [(await it.history(name))[-1] for name in "ab"] == ["CREATE_COMPLETE"] * 2, "the others were not touched"
        await it.end(await it.api.stacks.update("s", Patch(converge=True)))
        assert it.values() == ["a", "b", "c"], "the stored template does not ask for it any more"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.values() == ["c"]

    lab(story)


def test_a_resource_that_others_refer_to_is_not_forgotten(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        outputs = {"where": {"value": {"get_resource": "a"}}}
        await it.create({"a": resource("a"), "b": resource("b", needs=["a"])}, outputs=outputs)
        with pytest.raises(errors.UserError, match="Resource a cannot be forgotten: b, output where refer to it"):
            await it.api.forget.resource("s", "a")
        with pytest.raises(errors.NotFound):
            await it.api.forget.resource("s", "nothing")
        with pytest.raises(errors.Conflict):
            await it.api.forget.resource("s", "b", generation=7)
        assert it.values() == ["a", "b"]

    lab(story)


def test_the_rest_of_the_template_stays_as_it_was_written(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.end(await it.api.stacks.create("s", Request(COMMENTED)))
        await it.end(await it.api.forget.resource("s", "a"))
        text = COMMENTED.replace("  a:\n    type: OS::Heat::TestResource\n    properties: {value: a}\n\n", "")
        assert await it.api.inputs.template_text("s") == text
        flow = '{"heat_template_version": "2021-04-16", "resources": {"a": {"type": "OS::Heat::None"}, "b": {"type": ' \
               '"OS::Heat::None"}}}'
        await it.end(await it.api.stacks.update("s", Request(flow)))
        await it.end(await it.api.forget.resource("s", "b"))
        assert await it.api.inputs.template_text("s") == flow.replace(', "b": {"type": "OS::Heat::None"}', "").replace(
            ": ", ":").replace(", ", ",")

    lab(story)


def test_a_protected_resource_that_has_left_the_template_can_be_forgotten(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("a"), "b": resource("b")})
        await it.api.protection.protect_resource("s", "a", ["all"])
        assert (await it.update({"b": resource("b")}))["stack_status"] == "UPDATE_FAILED"
        stack = await it.end(await it.api.forget.resource("s", "a"))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert [one["resource_name"] for one in stack["retained"]] == ["a"]
        assert it.values() == ["a", "b"]
        assert list(await it.physical()) == ["b"]

    lab(story)


def test_a_nested_stack_is_forgotten_with_everything_in_it(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"in": {"type": "inner.yaml"}, "b": resource("b")}, files={"inner.yaml": NESTED})
        nested = (await it.physical())["in"]
        await it.api.protection.protect_resource(nested, "db", ["delete"])
        with pytest.raises(errors.UserError, match="A resource of a nested stack cannot be forgotten"):
            await it.api.forget.resource(nested, "db")
        stack = await it.end(await it.api.forget.resource("s", "in"))
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["b", "inner"]
        assert [one["resource_name"] for one in (await it.api.stacks.show(nested))["retained"]] == ["db"]

    lab(story)


def test_a_whole_stack_is_forgotten_unless_it_is_protected(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("a")})
        await it.api.protection.protect_resource("s", "a", ["delete"])
        await it.api.protection.protect_stack("s")
        with pytest.raises(errors.UserError, match="Stack s is protected from delete"):
            await it.api.forget.stack("s")
        await it.api.protection.unprotect_stack("s")
        stack = await it.end(await it.api.forget.stack("s"))
        assert stack["stack_status"] == "DELETE_COMPLETE"
        assert [one["resource_name"] for one in stack["retained"]] == ["a"]
        assert it.values() == ["a"]

    lab(story)
