"""OS::Heat::Stack: a stack of its own."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm import errors
from tests.engine.conftest import Lab, Tell, resource
from tests.engine.test_groups import complete, out, outputs

INNER = """
heat_template_version: 2021-04-16
parameters:
  value: {type: string}
resources:
  r: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
outputs:
  told: {value: {get_attr: [r, output]}}
"""


def stack(value: str = "v", template: str = INNER, **more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::Stack", "properties": {"template": template, "parameters": {"value": value}, **more}}


def test_a_stack_of_its_own(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        wanted = {"name": out("x", "stack_name"), "all": out("x", "outputs"), "told": out("x", "outputs", "told")}
        resources = {"x": stack(), "reader": resource({"get_attr": ["x", "outputs", "told"]})}
        await complete(it, await it.create(resources, outputs=wanted))
        found = await outputs(it)
        assert (found["all"], found["told"]) == ({"told": "v"}, "v")
        there = {one["stack_name"]: one["id"] for one in await it.api.stacks.list()}
        assert there[found["name"]] == (await it.physical())["x"], "users see it among their stacks"
        resources["x"] = stack("w")
        await complete(it, await it.update(resources, outputs=wanted))
        assert it.values() == ["w", "w"]
        await complete(it, await it.delete())
        assert it.objects() == {}
        assert await it.api.stacks.list() == []

    lab(story)


def test_other_regions_and_clouds_are_refused(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError) as refused:
            await it.create({"x": stack(context={"region_name": "DARKHOLE"})})
        assert str(refused.value) == (
            'Cannot establish connection to Heat endpoint at region "DARKHOLE" due to "public endpoint for orchestration '
            'service in DARKHOLE region not found"')
        with pytest.raises(errors.UserError, match="remote cloud"):
            await it.create({"x": stack(context={"credential_secret_id": "1"})})
        await complete(it, await it.create({"x": stack(context={"region_name": "RegionOne"})}))

    lab(story)


def test_problems_of_its_template_are_told_in_heats_words(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        bad = "heat_template_version: 2013-05-23\nresource: {}"
        with pytest.raises(errors.UserError) as refused:
            await it.create({"x": stack(template=bad)})
        assert str(refused.value) == (
            'Failed validating stack template using Heat endpoint at region "RegionOne" due to '
            '"ERROR: The template section is invalid: resource"')

    lab(story)


def test_a_failure_inside(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        failing = INNER.replace("{value: {get_param: value}}", "{value: {get_param: value}, fail: true}")
        answer = await it.create({"x": stack(template=failing)})
        assert answer["stack_status"] == "CREATE_FAILED"
        assert "Test Resource failed r" in answer["stack_status_reason"]
        await complete(it, await it.update({"x": stack()}))
        assert it.values() == ["v"]

    lab(story)


def test_its_reference_is_its_id_and_its_time_its_own(lab: Tell) -> None:
    """As in Heat: not its ARN, and not the time that was asked for the stack around it."""

    async def story(it: Lab) -> None:
        shown = {"ref": {"value": {"get_resource": "x"}}}
        await complete(it, await it.create({"x": stack()}, outputs=shown, timeout_s=600.0))
        x = (await it.physical())["x"]
        assert ((await outputs(it))["ref"], (await it.api.stacks.show(x))["timeout_s"]) == (x, None)
        await complete(it, await it.update({"x": stack(timeout=5)}, outputs=shown, timeout_s=600.0))
        assert (await it.api.stacks.show(x))["timeout_s"] == 300.0

    lab(story)
