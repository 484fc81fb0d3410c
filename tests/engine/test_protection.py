"""Protection of objects and stacks: on both paths, on every way on which an object may go or change."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.orchestrator import Patch
from isotherm.states import Action, Status
from isotherm.store import tables as t
from tests.engine.conftest import Lab, Tell, resource

NESTED = """heat_template_version: 2021-04-16
resources:
  db:
    type: OS::Heat::TestResource
    properties: {value: inner}
"""


@pytest.fixture(autouse=True)
def alice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of this machine act for its user."""
    monkeypatch.setenv("LOGNAME", "alice")



def guarded(value: object, *words: str, **properties: Any) -> dict[str, Any]:
    return {**resource(value, **properties), "metadata": {"isotherm": {"protect": list(words)}}}


async def failure(it: Lab) -> str:
    reason: str = (await it.api.stacks.show("s"))["stack_status_reason"]
    return reason


@pytest.mark.parametrize("asked", ["template", "user"])
def test_an_object_that_leaves_the_template_stays(lab: Tell, asked: str) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": guarded("kept", "delete") if asked == "template" else resource("kept"), "b": resource("b")})
        if asked == "user":
            await it.api.protection.protect_resource("s", "a", ["delete"])
        before = await it.physical()
        stack = await it.update({"b": resource("b"), "c": resource("c")})
        assert stack["stack_status"] == "UPDATE_FAILED"
        who = "its template" if asked == "template" else "user alice"
        assert (f"Resource a of stack s is protected from delete by {who}. `isotherm unprotect s a` lifts the protection."
                in await failure(it))
        assert (await it.history("a"))[-1] == "DELETE_FAILED"
        assert it.values() == ["b", "c", "kept"], "the rest of the update is done"
        assert await it.status("a") == "CREATE_COMPLETE", "the resource itself is left alone"
        assert (await it.update({"a": resource("kept"), "b": resource("b")}))["stack_status"] == "UPDATE_COMPLETE"
        assert (await it.physical())["a"] == before["a"], "the stack takes it back as it is"

    lab(story)


def test_a_block_that_leaves_the_template_leaves_the_protection(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": guarded("a", "delete"), "b": resource("b")})
        await it.update({"a": resource("a"), "b": resource("b")})
        assert (await it.api.protection.show_resource("s", "a"))["protect"] == ["replace", "delete"]
        assert (await it.update({"b": resource("b")}))["stack_status"] == "UPDATE_FAILED"
        await it.update({"a": guarded("a"), "b": resource("b")})
        assert (await it.api.protection.show_resource("s", "a"))["protect"] == [], "an empty list lifts it"
        assert (await it.update({"b": resource("b")}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["b"]

    lab(story)


def test_unprotect_lifts_what_template_and_user_asked_for(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": guarded("a", "replace"), "b": resource("b")})
        await it.api.protection.protect_resource("s", "a", ["all"])
        assert await it.api.protection.show_resource("s", "a") == {
            "resource_name": "a", "protect": ["replace", "delete", "update"],
            "user": {"protect": ["replace", "delete", "update"], "name": "alice"}, "template": ["replace"]}
        await it.api.protection.unprotect_resource("s", "a")
        assert (await it.update({"b": resource("b")}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["b"]

    lab(story)


@pytest.mark.parametrize("word", ["replace", "delete", "update"])
def test_a_replacement_is_refused(lab: Tell, word: str) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": guarded("a", word, update_replace_value="1")})
        before = it.objects()
        stack = await it.update({"a": resource("a", update_replace_value="2")})
        assert stack["stack_status"] == "UPDATE_FAILED"
        assert "Resource a of stack s is protected from replace by its template." in await failure(it)
        assert it.objects() == before
        assert (await it.update({"a": resource("a", update_replace_value="1")}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.objects() == before

    lab(story)


@pytest.mark.parametrize(("word", "changes"), [("replace", True), ("delete", True), ("update", False), ("all", False)])
def test_changes_are_refused_where_that_was_asked(lab: Tell, word: str, changes: bool) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": guarded("1", word)})
        stack = await it.update({"a": guarded("2", word)})
        assert stack["stack_status"] == ("UPDATE_COMPLETE" if changes else "UPDATE_FAILED")
        assert it.values() == (["2"] if changes else ["1"])
        assert ("is protected from update" in await failure(it)) is not changes
        stack = await it.end(await it.api.stacks.suspend("s"))
        assert stack["stack_status"] == ("SUSPEND_COMPLETE" if changes else "SUSPEND_FAILED")

    lab(story)


def test_a_protection_by_replace_alone_lets_the_resource_go(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": guarded("a", "replace"), "b": resource("b")})
        assert (await it.update({"b": resource("b")}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["b"]

    lab(story)


def test_a_rollback_does_not_delete_what_was_protected_meanwhile(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("a")})
        failing = resource("bad", fail=True, needs=["new"])
        stack = await it.update({"a": resource("a"), "new": guarded("new", "delete"), "bad": failing},
                                disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_FAILED"
        assert "Resource new of stack s is protected from delete by its template." in await failure(it)
        assert it.values() == ["a", "new"]
        await it.api.protection.unprotect_resource("s", "new")
        assert (await it.update({"a": resource("a")}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["a"]

    lab(story)


def test_a_rollback_lifts_no_protection(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": guarded("a")})
        stack = await it.update({"a": guarded("a", "delete"), "bad": resource("bad", fail=True)}, disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert (await it.api.protection.show_resource("s", "a"))["template"] == ["replace", "delete"]

    lab(story)


def test_an_object_whose_creation_failed_is_not_protected_yet(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        assert (await it.create({"a": guarded("a", "all", fail=True)}))["stack_status"] == "CREATE_FAILED"
        assert (await it.update({"a": guarded("a", "all")}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["a"]
        assert (await it.update({}))["stack_status"] == "UPDATE_FAILED"
        assert it.values() == ["a"]

    lab(story)


def test_an_object_that_is_gone_is_made_again_and_protected_again(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("a"), "b": guarded("b", "all")})
        await it.api.protection.protect_resource("s", "a", ["delete"])
        before = await it.physical()
        for one in before.values():
            await it.take_away(one)
        stack = await it.update({"a": resource("a"), "b": guarded("b", "all")}, converge=True)
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["a", "b"]
        found = {one["resource_name"]: one["protect"] for one in (await it.api.protection.show("s"))["resources"]}
        assert found == {"a": ["replace", "delete"], "b": ["replace", "delete", "update"]}
        assert (await it.update({}))["stack_status"] == "UPDATE_FAILED"
        assert it.values() == ["a", "b"]

    lab(story)


def test_a_stack_with_a_protected_resource_is_not_deleted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": guarded("a", "delete"), "b": resource("b", needs=["a"])})
        with pytest.raises(errors.UserError, match="Resource a of stack s is protected from delete by its") as found:
            await it.delete()
        assert found.value.kind == "Protected"
        assert (await it.api.stacks.show("s"))["stack_status"] == "CREATE_COMPLETE"
        await it.api.protection.unprotect_resource("s", "a")
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.values() == []

    lab(story)


def test_a_retained_object_does_not_hold_its_stack(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": {**guarded("a", "delete"), "deletion_policy": "retain"}})
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.values() == ["a"]

    lab(story)


def test_a_protected_stack_is_neither_deleted_nor_abandoned(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("a")})
        await it.api.protection.protect_stack("s")
        assert (await it.api.protection.show("s"))["protected"] is True
        for refused in (it.api.stacks.delete, it.api.exports.abandon):
            with pytest.raises(errors.UserError) as found:
                await refused("s")
            assert str(found.value) == ("Stack s is protected from delete by user alice. `isotherm unprotect s` "
                                        "lifts the protection.")
        assert (await it.update({}))["stack_status"] == "UPDATE_COMPLETE", "its resources are not protected"
        await it.api.protection.unprotect_stack("s")
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"

    lab(story)


@pytest.mark.parametrize("what", ["resource", "stack", "holder"])
def test_a_nested_stack_is_not_deleted_by_its_parent(lab: Tell, what: str) -> None:
    async def story(it: Lab) -> None:
        inner = {"type": "inner.yaml"}
        await it.create({"in": inner, "b": resource("b")}, files={"inner.yaml": NESTED})
        nested = (await it.physical())["in"]
        if what == "resource":
            await it.api.protection.protect_resource(nested, "db", ["delete"])
        elif what == "stack":
            await it.api.protection.protect_stack(nested)
        else:
            await it.api.protection.protect_resource("s", "in", ["delete"])
        for name in ("s", nested):
            with pytest.raises(errors.UserError, match="is protected from delete"):
                await it.api.stacks.delete(name)
        stack = await it.update({"b": resource("b")})
        assert stack["stack_status"] == "UPDATE_FAILED"
        assert "is protected from delete by user alice" in stack["stack_status_reason"]
        assert it.values() == ["b", "inner"]
        assert (await it.api.stacks.show(nested))["stack_status"] == "CREATE_COMPLETE", "it was not touched"
        assert (await it.update({"in": inner, "b": resource("b")}, files={"inner.yaml": NESTED}))[
            "stack_status"] == "UPDATE_COMPLETE"

    lab(story)


def test_a_nested_stack_that_may_not_change_is_changed_by_no_way(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        inner, files = {"in": {"type": "inner.yaml"}, "b": resource("b")}, {"inner.yaml": NESTED}
        await it.create(inner, files=files)
        nested = (await it.physical())["in"]
        await it.api.protection.protect_resource("s", "in", ["all"])
        refused = "Resource in of stack s is protected from update by user alice"
        other = NESTED.replace("inner", "other")
        for ask in (it.api.stacks.update(nested, Patch(template=other)), it.api.stacks.suspend(nested),
                    it.api.stacks.rollback(nested)):
            with pytest.raises(errors.UserError, match=refused):
                await ask
        stack = await it.update(inner, files={"inner.yaml": other})
        assert stack["stack_status"] == "UPDATE_FAILED"
        assert refused in stack["stack_status_reason"]
        assert (await it.update(inner, files=files, converge=True))["stack_status"] == "UPDATE_COMPLETE", "it only observes"
        assert it.values() == ["b", "inner"]

    lab(story)


def test_a_group_that_may_not_change_is_not_scaled(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        group = {"type": "OS::Heat::AutoScalingGroup",
                 "properties": {"min_size": 1, "max_size": 3, "desired_capacity": 1, "resource": resource("member")}}
        policy = {"type": "OS::Heat::ScalingPolicy", "properties": {
            "auto_scaling_group_id": {"get_resource": "g"}, "adjustment_type": "change_in_capacity",
            "scaling_adjustment": 1}}
        await it.create({"g": group, "up": policy})
        await it.api.protection.protect_resource("s", "g", ["all"])
        with pytest.raises(errors.UserError, match="Resource g of stack s is protected from update"):
            await it.api.signals.send("s", "up")
        assert it.values() == ["member"]

    lab(story)


def test_a_resource_inside_is_protected_by_its_template(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        protected = NESTED + "    metadata: {isotherm: {protect: [delete]}}\n"
        other = NESTED.replace("db", "other").replace("inner", "other")
        await it.create({"in": {"type": "inner.yaml"}}, files={"inner.yaml": protected})
        stack = await it.update({"in": {"type": "inner.yaml"}}, files={"inner.yaml": other})
        assert stack["stack_status"] == "UPDATE_FAILED"
        assert "Resource db of stack s-in-" in stack["stack_status_reason"]
        assert it.values() == ["inner", "other"]

    lab(story)


def test_a_repair_does_not_change_what_is_protected(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": guarded("a", "all"), "b": resource("b")})
        for one in (await it.physical()).values():
            await it.change(one, {"value": "other"})
        stack = await it.update({"a": guarded("a", "all"), "b": resource("b")}, converge=True)
        assert stack["stack_status"] == "UPDATE_FAILED"
        assert it.values() == ["b", "other"]

    lab(story)


def test_protection_is_refused_where_it_would_come_too_late(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("a")})

        def begin(connection: Any) -> None:
            connection.execute(t.resources.update().values(
                action=Action.DELETE, status=Status.IN_PROGRESS, intent='{"action":3,"operation_id":"x"}'))

        await it.engine.store.write(begin)
        with pytest.raises(errors.Conflict, match="cannot be protected from delete now: DELETE is in progress"):
            await it.api.protection.protect_resource("s", "a", ["delete"])
        with pytest.raises(errors.NotFound):
            await it.api.protection.protect_resource("s", "nothing", ["delete"])

    lab(story)


@pytest.mark.parametrize(("said", "message"), [
    ("delete", "protect must be a list"), (["destroy"], "Nothing can be protected from 'destroy'"),
    ([3], "Nothing can be protected from 'int'"), ([{"get_attr": ["b", "output"]}], "must be known before anything is"),
])
def test_a_template_that_protects_from_nothing_known_is_refused(lab: Tell, said: Any, message: str) -> None:
    async def story(it: Lab) -> None:
        wrong = {**resource("a"), "metadata": {"isotherm": {"protect": said}}}
        with pytest.raises(errors.UserError, match=message) as found:
            await it.create({"a": wrong, "b": resource("b")})
        assert found.value.problems[0].path == "resources.a.metadata.isotherm.protect"
        parameter = {**resource("a"), "metadata": {"isotherm": {"protect": {"get_param": "p"}}}}
        await it.create({"a": parameter}, parameters={"p": {"type": "comma_delimited_list", "default": "delete"}})
        assert (await it.api.protection.show_resource("s", "a"))["protect"] == ["replace", "delete"]

    lab(story)
