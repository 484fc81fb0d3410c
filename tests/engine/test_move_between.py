"""Moves between stacks: a resource changes its stack, and keeps its object and everything that is known of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import yaml

from isotherm import errors
from isotherm.engine.orchestrator import PastInput, Patch, Request
from tests.engine.conftest import Lab, Tell, resource

NOTHING = Patch()
PARAMETERS = {"size": {"type": "string", "default": "small"}}


async def create(it: Lab, name: str, resources: dict[str, Any], **options: Any) -> dict[str, Any]:
    stack = await it.end(await it.api.stacks.create(name, it.request(resources, **options)))
    assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
    return stack


async def update(it: Lab, name: str, resources: dict[str, Any], **options: Any) -> dict[str, Any]:
    return await it.end(await it.api.stacks.update(name, it.request(resources, **options)))


async def physical(it: Lab, name: str) -> dict[str, str]:
    return {one["resource_name"]: one["physical_resource_id"] for one in await it.api.resources.list(name)}


async def template(it: Lab, name: str) -> dict[str, Any]:
    found: dict[str, Any] = await it.api.inputs.template(name)
    return found


async def told(it: Lab, name: str, resource_name: str) -> list[str]:
    events = await it.api.events.list(name, last=1000)
    return [one["resource_status_reason"] for one in events if one["resource_name"] == resource_name]


async def unchanged(it: Lab, name: str, change: Request | Patch = NOTHING) -> None:
    """Prove that an update would visit no resource."""
    assert {one.action for one in (await it.api.preview.changes(name, change)).items} <= {"no change"}


async def refused(it: Lab, *place: str, **options: Any) -> errors.UserError | errors.Conflict:
    """Ask for a move that is refused, and prove that it changed nothing."""

    async def state() -> Any:
        stacks = [await it.api.stacks.show(name) for name in ("a", "b")]
        return [(one["generation"], one["stack_status"], await physical(it, one["id"]), await template(it, one["id"]))
                for one in stacks]

    before, objects = await state(), it.objects()
    with pytest.raises((errors.UserError, errors.Conflict)) as caught:
        await it.api.moves.move(*place, **options)
    assert (await state(), it.objects()) == (before, objects)
    return caught.value


def test_the_object_stays_and_both_stacks_have_new_templates(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource("1"), "other": resource("2")})
        await create(it, "b", {"own": resource("3")})
        before, objects = await physical(it, "a"), it.objects()
        moved = await it.api.moves.move("a", "web", "b", "site")
        assert (moved["physical_resource_id"], moved["to"]["resource_name"]) == (before["web"], "site")
        assert it.objects() == objects
        assert await physical(it, "a") == {"other": before["other"]}
        assert (await physical(it, "b"))["site"] == before["web"]
        for name, generation in (("a", 2), ("b", 2)):
            stack = await it.api.stacks.show(name)
            assert (stack["stack_status"], stack["generation"]) == ("UPDATE_COMPLETE", generation)
        assert list((await template(it, "a"))["resources"]) == ["other"]
        assert (await template(it, "b"))["resources"]["site"] == resource("1")
        assert (await told(it, "a", "web"))[-1] == "Moved to resource site of stack b"
        assert await told(it, "b", "site") == ["Moved from resource web of stack a"]

    lab(story)


def test_the_next_update_of_each_visits_nothing(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource("1"), "other": resource("2")})
        await create(it, "b", {"own": resource("3")})
        await it.api.moves.move("a", "web", "b")
        for name, present in (("a", {"other": resource("2")}), ("b", {"own": resource("3"), "web": resource("1")})):
            await unchanged(it, name, it.request(present))
            seen = len(await it.api.events.list(name, last=1000))
            assert (await update(it, name, present))["stack_status"] == "UPDATE_COMPLETE"
            assert len(await it.api.events.list(name, last=1000)) == seen + 2, "only the stack itself has told of it"

    lab(story)


def test_it_is_changed_and_deleted_with_its_new_stack(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource("1"), "other": resource("2")})
        await create(it, "b", {"own": resource("3")})
        web = (await physical(it, "a"))["web"]
        await it.api.moves.move("a", "web", "b")
        await update(it, "b", {"own": resource("3"), "web": resource("9")})
        assert (await physical(it, "b"))["web"] == web
        assert it.objects()[web]["value"] == "9"
        await it.end(await it.api.stacks.delete("a"))
        assert it.objects()[web]["value"] == "9"
        await it.end(await it.api.stacks.delete("b"))
        assert it.objects() == {}

    lab(story)


def test_a_move_back_restores_both(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource("1"), "other": resource("2")})
        await create(it, "b", {"own": resource("3")})
        before, texts = [await physical(it, name) for name in ("a", "b")], [await template(it, name) for name in ("a", "b")]
        await it.api.moves.move("a", "web", "b", "site")
        await it.api.moves.move("b", "site", "a", "web")
        assert [await physical(it, name) for name in ("a", "b")] == before
        assert [await template(it, name) for name in ("a", "b")] == texts

    lab(story)


def test_a_failed_update_rolls_back_to_the_move(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource("1"), "other": resource("2")}, disable_rollback=False)
        await create(it, "b", {"own": resource("3")}, disable_rollback=False)
        await it.api.moves.move("a", "web", "b")
        objects, places = it.objects(), [await physical(it, name) for name in ("a", "b")]
        bad = resource("x", fail=True)
        for name, present in (("a", {"other": resource("5")}), ("b", {"own": resource("5"), "web": resource("5")})):
            changed = {**present, "bad": {**bad, "depends_on": list(present)}}
            assert (await update(it, name, changed, disable_rollback=False))["stack_status"] == "ROLLBACK_COMPLETE"
        assert (it.objects(), [await physical(it, name) for name in ("a", "b")]) == (objects, places)

    lab(story)


def test_references_to_it_are_refused_with_every_place(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {
            "web": resource("1"), "reader": resource({"get_attr": ["web", "output"]}),
            "later": resource("2", needs=["web"])}, outputs={"id": {"value": {"get_resource": "web"}}})
        await create(it, "b", {"own": resource("3")})
        error = await refused(it, "a", "web", "b")
        assert isinstance(error, errors.UserError)
        assert {one.path for one in error.problems} == {
            "resources.reader.properties.value", "resources.later.depends_on", "outputs.id.value"}
        assert error.problems[0].message == "it refers to resource web, which would leave the stack."

    lab(story)


def test_what_it_refers_to_is_refused_or_becomes_a_value(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        own = resource({"get_param": "size"}, needs=["net"])
        await create(it, "a", {"net": resource("n"), "web": {**own, "metadata": {"of": {"get_resource": "net"}}}},
                     parameters=PARAMETERS)
        await create(it, "b", {"own": resource("3")})
        before, objects = await physical(it, "a"), it.objects()
        error = await refused(it, "a", "web", "b")
        assert isinstance(error, errors.UserError)
        assert {one.path: one.message for one in error.problems} == {
            "resources.web.properties.value": "it refers to parameter size of stack a.",
            "resources.web.depends_on": "it refers to resource net of stack a.",
            "resources.web.metadata.of": "it refers to resource net of stack a."}
        await it.api.moves.move("a", "web", "b", with_values=True)
        assert (await template(it, "b"))["resources"]["web"] == {**resource("small"), "metadata": {"of": before["net"]}}
        assert it.objects() == objects
        for name in ("a", "b"):
            await unchanged(it, name)

    lab(story)


def test_a_parameter_of_the_same_value_is_kept(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource({"get_param": "size"}), "other": resource("2")}, parameters=PARAMETERS)
        await create(it, "b", {"own": resource("3")}, parameters=PARAMETERS)
        await it.api.moves.move("a", "web", "b")
        assert (await template(it, "b"))["resources"]["web"] == resource({"get_param": "size"})
        await it.end(await it.api.stacks.update("b", Patch(environment={"parameters": {"size": "large"}})))
        assert "large" in it.values()

    lab(story)


def test_a_parameter_of_another_value_is_refused(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource({"get_param": "size"})}, parameters=PARAMETERS)
        await create(it, "b", {"own": resource("3")}, parameters=PARAMETERS, environment={"parameters": {"size": "large"}})
        error = await refused(it, "a", "web", "b")
        assert "refers to parameter size of stack a, which has another value in stack b" in str(error)
        await it.api.moves.move("a", "web", "b", with_values=True)
        assert (await template(it, "b"))["resources"]["web"] == resource("small")

    lab(story)


def test_a_hidden_parameter_never_becomes_a_value(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        hidden = {"key": {"type": "string", "hidden": True, "default": "s3cr3t-value"}}
        await create(it, "a", {"web": resource({"get_param": "key"})}, parameters=hidden)
        await create(it, "b", {"own": resource("3")})
        error = await refused(it, "a", "web", "b", with_values=True)
        assert "parameter key is hidden" in str(error)
        assert "s3cr3t" not in str(error)
        await update(it, "b", {"own": resource("3")}, parameters=hidden)
        await it.api.moves.move("a", "web", "b")
        await unchanged(it, "b")

    lab(story)


def test_files_go_along(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource({"get_file": "f.txt"}), "other": resource("2")}, files={"f.txt": "text"})
        await create(it, "b", {"own": resource("3")})
        await it.api.moves.move("a", "web", "b")
        assert (await it.api.inputs.files("b"))["f.txt"] == "text"
        await unchanged(it, "b")
        await create(it, "c", {"own": resource("3")}, files={"f.txt": "another"})
        with pytest.raises(errors.UserError, match=r"file f\.txt of stack b, which has another content in stack c"):
            await it.api.moves.move("b", "web", "c")

    lab(story)


@pytest.mark.parametrize(("place", "message"), [
    (("a", "nothing", "b"), r"The Resource \(nothing\) could not be found in Stack a"),
    (("a", "web", "b", "own"), "stack b has a resource own already"),
    (("a", "web", "a", "own"), "Stack a has the resource already"),
    (("a", "handle", "b"), "it takes signals, at URLs that name its stack"),
    (("a", "inner", "b"), "its object is a stack"),
])
def test_what_is_not_possible_is_refused(lab: Tell, place: tuple[str, ...], message: str) -> None:
    async def story(it: Lab) -> None:
        group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": resource("g")}}
        await create(it, "a", {"web": resource("1"), "handle": {"type": "OS::Heat::WaitConditionHandle"}, "inner": group})
        await create(it, "b", {"own": resource("3")})
        with pytest.raises(errors.IsothermError, match=message):
            await it.api.moves.move(*place)
        assert (await it.api.stacks.show("a"))["generation"] == 1

    lab(story)


def test_a_stack_that_has_failed_gives_and_takes_nothing(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource("1")})
        await create(it, "b", {"own": resource("3")})
        await update(it, "b", {"own": resource("3"), "bad": resource("x", fail=True)})
        for place in (("a", "web", "b"), ("b", "own", "a")):
            error = await refused(it, *place)
            assert isinstance(error, errors.Conflict)
            assert str(error) == "Stack b is UPDATE_FAILED."
        await update(it, "b", {"own": resource("3")})
        await it.end(await it.api.stacks.suspend("b"))
        assert "suspended" in str(await refused(it, "a", "web", "b"))

    lab(story)


def test_a_stack_in_progress_gives_and_takes_nothing(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource("1")})
        await create(it, "b", {"own": resource("3")})
        hook = {"resource_registry": {"resources": {"own": {"hooks": ["pre-update"]}}}}
        await it.api.stacks.update("b", it.request({"own": resource("4")}, environment=hook))
        for place in (("a", "web", "b"), ("b", "own", "a")):
            with pytest.raises(errors.Conflict, match=r"Stack b already has an action \(UPDATE\) in progress"):
                await it.api.moves.move(*place)
        assert (await physical(it, "a")).keys() == {"web"}
        await it.api.stacks.cancel("b", rollback=False)

    lab(story)


def test_a_check_does_not_hide_that_an_update_has_failed(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource("1")})
        await create(it, "b", {"own": resource("3")})
        await update(it, "b", {"own": resource("3"), "bad": resource("x", fail=True)})
        for action in ("suspend", "resume"):
            await it.end(await getattr(it.api.stacks, action)("b"))
        assert (await it.api.stacks.show("b"))["stack_status"] == "RESUME_COMPLETE"
        for place in (("a", "web", "b"), ("b", "own", "a")):
            error = await refused(it, *place)
            assert isinstance(error, errors.Conflict)
            assert str(error) == "Stack b is not up to date: bad."
        await update(it, "b", {"own": resource("3")})
        await it.api.moves.move("a", "web", "b")

    lab(story)


def test_a_resource_after_a_check_moves_too(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource("1")})
        await create(it, "b", {"own": resource("3")})
        for name in ("a", "b"):
            await it.end(await it.api.stacks.check(name))
        await it.api.moves.move("a", "web", "b")
        await unchanged(it, "b")

    lab(story)


def test_of_two_moves_at_once_one_is_made(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource("1"), "other": resource("2")})
        for name in ("b", "c"):
            await create(it, name, {"own": resource("3")})
        objects = it.objects()
        asked = [it.api.moves.move("a", "web", name) for name in ("b", "c")]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert sorted(isinstance(one, errors.IsothermError) for one in answers) == [False, True]
        assert sum(["web" in await physical(it, name) for name in ("a", "b", "c")]) == 1
        assert it.objects() == objects

    lab(story)


def test_a_move_that_fails_half_way_has_changed_nothing(lab: Tell) -> None:
    """The second of two moves into one stack loses the race there, when its own stack has been written already."""

    async def story(it: Lab) -> None:
        for name in ("a", "c"):
            await create(it, name, {f"of-{name}": resource(name), "other": resource("2")})
        await create(it, "b", {"own": resource("3")})
        asked = [it.api.moves.move(name, f"of-{name}", "b") for name in ("a", "c")]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        (lost,) = [name for name, one in zip(("a", "c"), answers, strict=True) if isinstance(one, errors.Conflict)]
        stack = await it.api.stacks.show(lost)
        assert (stack["generation"], stack["stack_status"]) == (1, "CREATE_COMPLETE")
        assert (await physical(it, lost)).keys() == {f"of-{lost}", "other"}
        assert len((await template(it, lost))["resources"]) == 2
        assert (await physical(it, "b")).keys() == {"own", *({"of-a", "of-c"} - {f"of-{lost}"})}

    lab(story)


def test_protection_drift_policy_and_names_go_along(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"web": resource("1"), "other": resource("2")})
        await create(it, "b", {"own": resource("3")})
        await it.api.protection.protect_resource("a", "web", ["delete"])
        await it.api.drift.set_resource_policy("a", "web", "ignore")
        before = await it.api.resources.show("a", "web")
        await it.api.moves.move("a", "web", "b", "site")
        assert (await it.api.protection.show("a"))["resources"] == []
        assert [one["resource_name"] for one in (await it.api.protection.show("b"))["resources"]] == ["site"]
        after = await it.api.resources.show("b", "site")
        assert after["physical_resource_id"] == before["physical_resource_id"]
        assert (after["creation_time"], after["attributes"]) == (before["creation_time"], before["attributes"])
        with pytest.raises(errors.UserError, match="protected"):
            await it.api.stacks.delete("b")

    lab(story)


def test_earlier_renames_stay_behind(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await create(it, "a", {"old": resource("1"), "other": resource("2")})
        kept = {"isotherm": {"moved": {"old": "web"}}}
        await update(it, "a", {"web": resource("1"), "other": resource("2")}, environment=kept)
        await create(it, "b", {"own": resource("3")})
        await it.api.moves.move("a", "web", "b")
        await unchanged(it, "a")
        await update(it, "a", {"web": resource("8"), "other": resource("2")})
        new = (await physical(it, "a"))["web"]
        stack = await it.end(await it.api.stacks.update("a", PastInput(1)))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert new not in (await physical(it, "a")).values(), "the new resource was not given the old name"

    lab(story)


def test_comments_of_both_templates_stay(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        text = yaml.safe_dump({"heat_template_version": "2021-04-16", "resources": {"web": resource("1")}}, sort_keys=False)
        other = "# mine\nheat_template_version: 2021-04-16\nresources:\n  own: # its own\n    type: OS::Heat::None\n"
        for name, one in (("a", text), ("b", other)):
            await it.end(await it.api.stacks.create(name, Request(one)))
        await it.api.moves.move("a", "web", "b")
        kept = await it.api.inputs.template_text("b")
        assert kept.startswith(other.rstrip())

    lab(story)
