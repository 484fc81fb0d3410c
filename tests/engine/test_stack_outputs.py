"""Outputs across stacks: read, updated when they change, and in the way of a deletion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.identity.requester import Requester
from tests.engine.conftest import Lab, Tell, resource
from tests.engine.test_observer import OFTEN, SELDOM, becomes, observed, options, until

URL = {"get_attr": ["net", "outputs", "url"]}


def reader(*names: str, stack: str = "shared", **more: Any) -> dict[str, Any]:
    return {"type": "Isotherm::Stack::Outputs", "properties": {"stack": stack, "outputs": list(names)}, **more}


async def share(it: Lab, value: str = "one", name: str = "shared", **more: Any) -> dict[str, Any]:
    """Create or update the stack that is read."""
    outputs = {"url": {"value": {"get_attr": ["a", "output"]}}, **more.pop("outputs", {})}
    request = it.request({"a": resource(value)}, outputs=outputs, **more)
    known = [one["stack_name"] for one in await it.api.stacks.list()]
    change = it.api.stacks.update if name in known else it.api.stacks.create
    return await it.end(await change(name, request))


def test_outputs_are_read(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        shared = await share(it)
        read = {"by_name": {"get_attr": ["net", "url"]}, "id": {"get_resource": "net"},
                "whole": {"get_attr": ["net", "outputs"]}, "stack": {"get_attr": ["net", "stack_id"]}}
        outputs = {name: {"value": value} for name, value in read.items()}
        await it.create({"net": reader("url"), "app": resource(URL)}, outputs=outputs)
        assert it.values() == ["one", "one"]
        shown = {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}
        assert shown == {"by_name": "one", "id": shared["id"], "whole": {"url": "one"}, "stack": shared["id"]}
        await it.delete()
        assert it.values() == ["one"]

    lab(story)


def test_a_stack_is_read_by_its_id(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        shared = await share(it)
        await it.create({"net": reader("url", stack=shared["id"]), "app": resource(URL)})
        assert it.values() == ["one", "one"]

    lab(story)


@pytest.mark.parametrize(("one", "why"), [
    (reader("url", stack="nothing"), "the project has no stack nothing, or it is being deleted"),
    (reader("url", "port"), "stack shared has no output port. It has: url"),
    (reader("url", stack="s"), "a stack cannot read its own outputs"),
    (reader("hidden"), "output hidden of stack shared is secret"),
    (reader("copy"), "output copy of stack shared is secret"),
])
def test_what_cannot_be_read_fails_clearly(lab: Tell, one: dict[str, Any], why: str) -> None:
    async def story(it: Lab) -> None:
        secrets = {"hidden": {"value": {"get_param": "password"}}, "copy": {"value": "it is sesame-sesame"}}
        await share(it, outputs=secrets, parameters={"password": {"type": "string", "hidden": True}},
                    environment={"parameters": {"password": "sesame-sesame"}})
        stack = await it.create({"net": one})
        assert stack["stack_status"] == "CREATE_FAILED"
        assert why in stack["stack_status_reason"]
        assert "sesame" not in stack["stack_status_reason"]

    lab(story)


def test_stacks_of_other_projects_are_not_read(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        shared = await share(it)
        theirs = it.engine.orchestrator_for(Requester("other"))
        accepted = await theirs.stacks.create("s", it.request({"net": reader("url", stack=shared["id"])}))

        async def has_failed() -> bool:
            return bool((await theirs.stacks.show(accepted.stack_id))["stack_status"] == "CREATE_FAILED")

        await until(has_failed)
        assert "the project has no stack" in (await theirs.stacks.show("s"))["stack_status_reason"]

    lab(story)


def test_a_change_is_drift_and_a_repair_brings_it_to_the_dependants(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)

    async def story(it: Lab) -> None:
        await share(it)
        await it.create({"net": reader("url"), "app": resource(URL, update_replace_value="")})
        async with observed(it, "report"):
            await becomes(it, "net", "in_sync")
            await share(it, "two")
            await becomes(it, "net", "drifted")
            (found,) = (await it.api.drift.show_resource("s", "net"))["properties"]
            assert (found["property"], found["live"]) == ("outputs", {"url": "two"})
            assert it.values() == ["one", "two"], "the policy only reports"
            await it.api.drift.set_watch("s", policy="repair")
            await becomes(it, "net", "in_sync")
        assert it.values() == ["two", "two"]

    lab(story)


def test_the_end_of_an_operation_has_the_readers_observed_at_once(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **SELDOM)

    async def story(it: Lab) -> None:
        await share(it)
        await it.create({"net": reader("url"), "app": resource(URL)})
        async with observed(it, "repair"):
            await becomes(it, "net", "in_sync")
            await share(it, "two")

            async def is_brought() -> bool:
                return it.values() == ["two", "two"]

            await until(is_brought)

    lab(story)


def test_the_metadata_chooses_the_policy_of_one_reader(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)

    async def story(it: Lab) -> None:
        await share(it)
        await it.create({"net": reader("url", metadata={"isotherm": {"drift": "repair"}}), "app": resource(URL)})
        async with observed(it, "report"):
            await share(it, "two")

            async def is_brought() -> bool:
                return it.values() == ["two", "two"]

            await until(is_brought)

    lab(story)


def test_an_update_that_observes_first_reads_again(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await share(it)
        template = {"net": reader("url"), "app": resource(URL)}
        await it.create(template)
        await share(it, "two")
        await it.update(template)
        assert it.values() == ["one", "two"], "the definition is the same"
        await it.update(template, converge=True)
        assert it.values() == ["two", "two"]

    lab(story)


def test_a_change_of_the_names_reads_again(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await share(it, outputs={"port": {"value": 80}})
        await it.create({"net": reader("url")})
        before = await it.physical()
        stack = await it.update({"net": reader("url", "port"), "app": resource({"get_attr": ["net", "port"]})})
        assert (stack["stack_status"], it.values()) == ("UPDATE_COMPLETE", ["80", "one"])
        assert (await it.physical())["net"] == before["net"]

    lab(story)


def test_a_stack_that_is_read_is_not_deleted_unless_forced(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)

    async def story(it: Lab) -> None:
        await share(it)
        await it.create({"net": reader("url")})
        with pytest.raises(errors.Conflict, match="Outputs of the stack are read by net of stack s") as refused:
            await it.api.stacks.delete("shared")
        assert refused.value.kind == "OutputsInUse"
        assert (await it.api.stacks.show("shared"))["stack_status"] == "CREATE_COMPLETE"
        async with observed(it, "report"):
            await it.end(await it.api.stacks.delete("shared", force=True))
            await becomes(it, "net", "gone")
        await it.delete()

    lab(story)


def test_without_readers_a_stack_is_deleted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        shared = await share(it)
        await it.create({"net": reader("url"), "b": resource("b")})
        await it.api.protection.protect_stack("shared")
        stack = await it.update({"b": resource("b")})
        assert stack["stack_status"] == "UPDATE_COMPLETE", "a protection of the stack that is read is not one of the reader"
        await it.api.protection.unprotect_stack("shared")
        assert (await it.end(await it.api.stacks.delete(shared["id"])))["stack_status"] == "DELETE_COMPLETE"

    lab(story)


def test_an_output_that_is_gone_is_drift(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)

    async def story(it: Lab) -> None:
        await share(it)
        await it.create({"net": reader("url")})
        async with observed(it, "report"):
            await it.end(await it.api.stacks.update("shared", it.request({"a": resource("one")})))
            await becomes(it, "net", "drifted")
        stack = await it.end(await it.api.drift.converge_one("s", "net"))
        assert "stack shared has no output url" in stack["stack_status_reason"]

    lab(story)


def test_an_output_that_may_still_come_is_waited_for(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        slow = {"a": resource("one", wait_secs=0.3), "b": resource("b", needs=["a"], wait_secs=0.3)}
        outputs = {"url": {"value": {"get_attr": ["b", "output"]}}}
        first = await it.api.stacks.create("shared", it.request(slow, outputs=outputs))
        stack = await it.create({"net": reader("url"), "app": resource(URL)})
        assert stack["stack_status"] == "CREATE_COMPLETE"
        assert it.values() == ["b", "b", "one"]
        await it.end(first)

    lab(story)


INNER = """heat_template_version: 2021-04-16
resources:
  a: {type: OS::Heat::TestResource, properties: {value: inner}}
outputs:
  url: {value: {get_attr: [a, output]}}
"""


def test_readers_of_nested_stacks_count_and_those_inside_do_not(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"in": {"type": "inner.yaml"}}, files={"inner.yaml": INNER})
        inner = (await it.physical())["in"]
        await it.end(await it.api.stacks.create("other", it.request({"net": reader("url", stack=inner)})))
        with pytest.raises(errors.Conflict, match="read by net of stack other"):
            await it.api.stacks.delete("s")
        await it.end(await it.api.stacks.delete("other"))
        both = {"in": {"type": "inner.yaml"}, "net": {**reader("url", stack=inner), "depends_on": "in"}}
        assert (await it.update(both, files={"inner.yaml": INNER}))["stack_status"] == "UPDATE_COMPLETE"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"

    lab(story)
