"""Import: existing objects become resources of a stack, and nothing is changed in the cloud."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.orchestrator import Patch
from isotherm.resources.reality.journal import JournalReality
from tests.engine.conftest import Lab, Tell, resource

TYPE = "OS::Heat::TestResource"


async def existing(it: Lab, physical_id: str, value: str, **more: Any) -> str:
    """Make an object that no stack has."""
    with contextlib.closing(JournalReality(it.engine.path / "reality.journal")) as reality:
        await reality.create(TYPE, f"token-{physical_id}", {"value": value, **more}, physical_id)
    return physical_id


def test_a_new_stack_takes_objects_in_as_they_are(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await existing(it, "one", "1")
        await existing(it, "two", "other")
        objects = it.objects()
        request = it.request({"a": resource("1"), "b": resource("2", needs=["a"])})
        plan = await it.api.imports.plan("s", request, {"a": "one", "b": "two"})
        assert [(one["resource_name"], one["found"], one["changes"]) for one in plan["resources"]] == [
            ("a", "equal", {}), ("b", "differs", {"value": {"from": "other", "to": "2"}})]
        assert await it.api.stacks.list() == [], "the first pass only reads"
        stack = await it.end(await it.api.imports.take("s", request, {"a": "one", "b": "two"}))
        assert stack["stack_status"] == "ADOPT_COMPLETE"
        assert await it.physical() == {"a": "one", "b": "two"}
        assert it.objects() == objects
        await it.update({"a": resource("1"), "b": resource("2", needs=["a"])})
        assert (it.values(), await it.physical()) == (["1", "2"], {"a": "one", "b": "two"})
        assert await it.history("a") == ["ADOPT_IN_PROGRESS", "ADOPT_COMPLETE"], "only what differs is updated"
        await it.delete()
        assert it.objects() == {}

    lab(story)


def test_an_old_stack_takes_one_in_beside_its_own(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"own": resource("1")})
        before = await it.physical()
        await existing(it, "one", "2")
        whole = it.request({"own": resource("1"), "a": resource("2", needs=["own"]),
                            "b": resource({"get_resource": "a"})})
        await existing(it, "three", "one")
        objects = it.objects()
        plan = await it.api.imports.plan("s", whole, {"a": "one", "b": "three"})
        assert [one["found"] for one in plan["resources"]] == ["equal", "equal"], "what is not known yet is left open"
        stack = await it.end(await it.api.imports.take("s", Patch(whole.template), {"a": "one", "b": "three"}))
        assert stack["stack_status"] == "ADOPT_COMPLETE"
        assert await it.physical() == {**before, "a": "one", "b": "three"}
        assert it.objects() == objects
        await it.end(await it.api.stacks.update("s", Patch(whole.template)))
        assert it.objects() == objects, "nothing is left to change"
        assert await it.history("own") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]

    lab(story)


@pytest.mark.parametrize(("resources", "objects", "message"), [
    ({"own": resource("1"), "a": resource("2")}, {"a": "none"}, "resources.a: there is no such object: none"),
    ({"own": resource("1")}, {"a": "one"}, "resources.a: the template has no such resource."),
    ({"own": resource("1"), "a": resource("2")}, {}, "There is nothing to import."),
    ({"own": resource("1")}, {"own": "one"}, "resources.own: the stack has it already."),
    ({"own": resource("9"), "a": resource("2")}, {"a": "one"},
     "resources.own: an import changes no other resource, and this one would change."),
    ({"a": resource("2")}, {"a": "one"}, "resources.own: an import deletes no resource, and the template lacks this one."),
])
def test_what_is_not_possible_is_refused(
    lab: Tell, resources: dict[str, Any], objects: dict[str, str], message: str
) -> None:
    async def story(it: Lab) -> None:
        await it.create({"own": resource("1")})
        await existing(it, "one", "2")
        with pytest.raises(errors.UserError) as refused:
            await it.api.imports.take("s", it.request(resources), objects)
        assert str(refused.value) == message
        assert (await it.api.stacks.show("s"))["generation"] == 1

    lab(story)


def test_an_object_of_another_resource_is_refused(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"own": resource("1")})
        taken = (await it.physical())["own"]
        with pytest.raises(errors.Conflict, match=f"{taken} belongs to resource own of stack s"):
            await it.api.imports.take("other", it.request({"a": resource("1")}), {"a": taken})
        with pytest.raises(errors.NotFound):
            await it.api.stacks.show("other")

    lab(story)


def test_a_rollback_leaves_imported_objects_alone(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"own": resource("1")})
        await existing(it, "one", "2")
        whole = {"own": resource("1"), "a": resource("2")}
        await it.end(await it.api.imports.take("s", it.request(whole), {"a": "one"}))
        failing = {**whole, "bad": resource("x", fail=True)}
        stack = await it.update(failing, disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert "one" in it.objects()
        assert await it.status("a") == "ADOPT_COMPLETE"

    lab(story)


def test_a_failed_import_is_taken_back_without_touching_its_objects(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        await it.create({"own": resource("1")})
        await existing(it, "one", "2")
        await existing(it, "two", "2")
        type_ = it.engine.types.types[TYPE]

        async def refuse(self: Any) -> object:
            if self.physical_id == "two":
                raise errors.Permanent("the service refuses")
            return None

        monkeypatch.setattr(type_, "handle_adopt", refuse)
        resources = {"own": resource("1"), "a": resource("2"), "b": resource("2", needs=["a"])}
        whole = it.request(resources, disable_rollback=False)
        stack = await it.end(await it.api.imports.take("s", whole, {"a": "one", "b": "two"}))
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert {"one", "two"} <= it.objects().keys()
        assert list(await it.physical()) == ["own"]

    lab(story)


def test_a_template_is_written_from_live_properties(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await existing(it, "one", "2")
        found = await it.api.imports.template({"a": "one"}, {"a": TYPE})
        assert found["resources"] == {"a": {"type": TYPE, "properties": {"value": "2"}}}
        plan = await it.api.imports.plan("s", it.request(found["resources"]), {"a": "one"})
        assert plan["resources"][0]["found"] == "equal"
        with pytest.raises(errors.UserError, match=r"resources\.a: there is no such object: none"):
            await it.api.imports.template({"a": "none"}, {"a": TYPE})
        with pytest.raises(errors.UserError, match="give both an id and a type"):
            await it.api.imports.template({"a": "one"}, {})

    lab(story)


def test_a_create_whose_object_exists_offers_the_import_which_goes_on(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        await existing(it, "one", "1")
        type_ = it.engine.types.types[TYPE]
        create = type_.handle_create

        async def refuse(self: Any) -> object:
            if self.name == "a":
                raise errors.Permanent("an equal object exists", object_exists=True)
            return await create(self)

        monkeypatch.setattr(type_, "handle_create", refuse)
        whole = {"a": resource("1"), "user": resource({"get_resource": "a"})}
        stack = await it.create(whole)
        assert stack["stack_status"] == "CREATE_FAILED"
        assert stack["stack_status_reason"].endswith("To take it in: isotherm import s a=ID")
        stack = await it.end(await it.api.imports.take("s", it.request(whole), {"a": "one"}))
        assert stack["stack_status"] == "ADOPT_COMPLETE"
        assert ((await it.physical())["a"], it.values()) == ("one", ["1", "one"])

    lab(story)
