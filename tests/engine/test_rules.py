"""Rules of users and operators: deletion policies, external resources, restricted actions, hidden values."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm import errors
from tests.engine.conftest import Lab, Tell, resource


@pytest.mark.parametrize("way", ["dropped", "replaced", "deleted"])
def test_retain_holds_on_every_way(lab: Tell, way: Any) -> None:
    async def story(it: Lab) -> None:
        kept = {**resource("kept", update_replace_value="1"), "deletion_policy": "retain"}
        await it.create({"a": kept, "b": resource("other")})
        if way == "dropped":
            await it.update({"b": resource("other")})
        elif way == "replaced":
            await it.update({"a": {**resource("kept", update_replace_value="2"), "deletion_policy": "retain"},
                             "b": resource("other")})
        stack = await it.delete()
        assert it.values() == ["kept"] * (2 if way == "replaced" else 1)
        retained = (await it.api.stacks.show(stack["id"]))["retained"]
        assert {one["physical_resource_id"] for one in retained} == set(it.objects()), "and it is listed"

    lab(story)


def test_a_policy_that_changes_holds_from_then_on(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        await it.update({"a": {**resource("1"), "deletion_policy": "retain"}})
        assert await it.history("a") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
        await it.delete()
        assert it.values() == ["1"]

    lab(story)


def test_an_external_resource_is_never_made_changed_or_deleted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"mine": resource("theirs")})
        theirs = (await it.physical())["mine"]
        other = it.request({"a": {"type": "OS::Heat::TestResource", "external_id": theirs},
                            "b": resource({"get_resource": "a"})})
        stack = await it.end(await it.api.stacks.create("t", other))
        assert stack["stack_status"] == "CREATE_COMPLETE"
        rows = {one["resource_name"]: one for one in await it.api.resources.list("t")}
        assert rows["a"]["resource_status"] == "CHECK_COMPLETE"
        assert rows["a"]["physical_resource_id"] == theirs
        changed = it.request({"a": {"type": "OS::Heat::TestResource", "external_id": "another"}})
        stack = await it.end(await it.api.stacks.update("t", changed))
        assert stack["stack_status"] == "UPDATE_FAILED"
        assert "Update to property external_id of a (OS::Heat::TestResource) is not supported." in (
            stack["stack_status_reason"])
        assert (await it.end(await it.api.stacks.delete("t")))["stack_status"] == "DELETE_COMPLETE"
        assert theirs in it.objects()

    lab(story)


def test_an_external_resource_that_is_not_there_fails(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"a": {"type": "OS::Heat::Dummy", "external_id": "nowhere"}})
        assert stack["stack_status"] == "CREATE_FAILED"
        assert "nowhere does not exist" in stack["stack_status_reason"]
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"

    lab(story)


@pytest.mark.parametrize(("action", "change"), [
    ("update", {"value": "2"}), ("replace", {"value": "1", "update_replace_value": "2"})])
def test_restricted_actions_are_refused(lab: Tell, action: Any, change: Any) -> None:
    async def story(it: Lab) -> None:
        rule = {"resource_registry": {"resources": {"a": {"restricted_actions": action}}}}
        await it.create({"a": resource("1", update_replace_value="1")}, environment=rule)
        before = await it.physical()
        properties = {"update_replace_value": "1", **change}
        stack = await it.update({"a": resource(**properties)}, environment=rule)
        assert stack["stack_status"] == "UPDATE_FAILED"
        assert (await it.history("a"))[-1] == "UPDATE_FAILED"
        events = await it.api.events.list("s", last=100)
        assert f"{action} is restricted for resource." in [one["resource_status_reason"] for one in events]
        assert await it.status("a") == "CREATE_COMPLETE", "the resource itself is left alone"
        assert await it.physical() == before
        assert it.values() == ["1"]

    lab(story)


def test_immutable_parameters_are_refused(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        fixed = {"p": {"type": "string", "immutable": True}}
        template = {"a": resource({"get_param": "p"})}
        await it.create(template, parameters=fixed, environment={"parameters": {"p": "1"}})
        assert (await it.update(template, parameters=fixed, environment={"parameters": {"p": "1"}}))[
            "stack_status"] == "UPDATE_COMPLETE"
        with pytest.raises(errors.UserError, match="The following parameters are immutable and may not be updated: p"):
            await it.update(template, parameters=fixed, environment={"parameters": {"p": "2"}})
        assert it.values() == ["1"]

    lab(story)


SECRET = "a-marker-nobody-else-uses"


def test_hidden_values_reach_reality_and_no_definition(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        hidden = {"p": {"type": "string", "hidden": True}}
        template = {"a": resource({"get_param": "p"})}
        await it.create(template, parameters=hidden, environment={"parameters": {"p": SECRET}})
        assert it.values() == [SECRET]

        def definitions(connection: Any) -> Any:
            return " ".join(row[0] for row in connection.exec_driver_sql("SELECT definition FROM nodes"))

        assert SECRET not in await it.engine.store.read(definitions)
        request = it.request(template, parameters=hidden, environment={"parameters": {"p": SECRET + "2"}})
        plan = await it.api.preview.changes("s", request)
        assert plan.counts == {"update": 1}
        assert SECRET not in str(plan.as_dict())
        assert plan.items[0].changes["value"].before == plan.items[0].changes["value"].after == "******"
        await it.end(await it.api.stacks.update("s", request))
        assert it.values() == [SECRET + "2"]

    lab(story)


def test_a_plan_tells_what_apply_does(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        old = {"same": resource(), "changed": resource("1"), "gone": resource(),
               "anew": resource(update_replace_value="1"), "reader": resource({"get_resource": "anew"}),
               "kept": {**resource(), "deletion_policy": "retain"}}
        new = {"same": resource(), "changed": resource("2"), "anew": resource(update_replace_value="2"),
               "reader": resource({"get_resource": "anew"}), "more": resource()}
        await it.create(old)
        plan = await it.api.preview.changes("s", it.request(new))
        actions = {item.name: item.action for item in plan.items}
        assert actions == {"same": "no change", "changed": "update", "anew": "replace", "reader": "update",
                           "more": "create", "gone": "delete", "kept": "retain"}
        items = {item.name: item for item in plan.items}
        assert (items["changed"].changes["value"].before, items["changed"].changes["value"].after) == ("1", "2")
        assert items["changed"].certain
        assert items["anew"].cause == "update_replace_value"
        assert not items["reader"].certain
        assert items["reader"].changes["value"].after == "(known only when applied)"
        assert it.values() == sorted(["1", "x", "x", "x", "x", (await it.physical())["anew"]]), "a plan changes nothing"
        before = await it.physical()
        await it.update(new)
        after = await it.physical()
        assert {name for name in before if name in after and before[name] == after[name]} == {"same", "changed", "reader"}
        again = await it.api.preview.changes("s", it.request(new))
        assert again.counts == {"no change": 5}

    lab(story)


def test_a_plan_for_a_stack_that_is_yet_to_be(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        request = it.request({"a": resource(), "b": resource({"get_attr": ["a", "output"]})})
        plan = await it.api.preview.changes("new", request)
        assert plan.counts == {"create": 2}
        assert await it.api.stacks.list() == []

    lab(story)


def test_what_a_resource_waits_for_is_told(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"a": resource(wait_secs=2), "b": resource(needs=["a"])}))

        async def waiting() -> bool:
            rows = {one["resource_name"]: one for one in await it.api.resources.list("s")}
            return bool(rows["a"]["waits_for"] == "being created")

        await it.until(waiting)
        rows = {one["resource_name"]: one for one in await it.api.resources.list("s")}
        assert (rows["a"]["state"], rows["b"]["state"]) == ("WAITING", "PENDING")
        assert rows["b"]["resource_status"] == "INIT_COMPLETE"
        await it.delete()

    lab(story)
