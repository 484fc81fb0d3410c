"""Moves: a resource gets another name and keeps its object, and everything that is known of it."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.orchestrator import PastInput, Patch
from tests.engine.conftest import Lab, Tell, resource

FAILS: dict[str, Any] = resource("x", fail=True)


async def moved(it: Lab, resources: dict[str, Any], moves: dict[str, str], **options: Any) -> dict[str, Any]:
    return await it.update(resources, moved=moves, **options)


def reading(name: str, **options: Any) -> dict[str, Any]:
    return resource({"get_attr": [name, "output"]}, **options)


def test_the_object_stays_and_nothing_is_called(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "user": reading("a"), "other": resource("2")})
        before, objects = await it.physical(), it.objects()
        stack = await moved(it, {"b": resource("1"), "user": reading("b"), "other": resource("2")}, {"a": "b"})
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert await it.physical() == {"b": before["a"], "user": before["user"], "other": before["other"]}
        assert it.objects() == objects
        assert await it.history("b") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"], "the events follow; there are no others"
        assert await it.history("a") == []

    lab(story)


def test_what_else_changes_is_changed_in_place(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        before = await it.physical()
        await moved(it, {"b": resource("2")}, {"a": "b"})
        assert await it.physical() == {"b": before["a"]}
        assert it.values() == ["2"]
        await it.update({"b": resource("3")})
        assert (await it.physical(), it.values()) == ({"b": before["a"]}, ["3"])
        await it.delete()
        assert it.objects() == {}

    lab(story)


def test_names_shift_all_at_once_and_a_new_resource_takes_the_old_name(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("2")})
        before = await it.physical()
        after = {"a": resource("0"), "b": resource("1"), "c": resource("2")}
        await moved(it, after, {"a": "b", "b": "c"})
        now = await it.physical()
        assert (now["b"], now["c"]) == (before["a"], before["b"])
        assert it.values() == ["0", "1", "2"]

    lab(story)


@pytest.mark.parametrize(("resources", "moves", "message"), [
    ({"b": resource("1")}, {"x": "b"}, "Resource x cannot move to b: the stack has no resource x."),
    ({"b": resource("1")}, {"a": "c"}, "Resource a cannot move to c: the template has no resource c."),
    ({"a": resource("1"), "other": resource("2")}, {"a": "other"},
     "Resource a cannot move to other: the stack has a resource other already."),
    ({"b": resource("1")}, {"a": "b", "other": "b"}, "Resource a cannot move to b: another resource moves there too."),
    ({"a": resource("1"), "other": resource("2")}, {"a": "other", "other": "a"},
     "Resource a cannot move to other: the moves form a cycle."),
    ({"a": resource("1")}, {"a": "a"}, "Resource a cannot move to a: the moves form a cycle."),
    ({"b": {"type": "OS::Heat::RandomString"}}, {"a": "b"},
     "Resource a cannot move to b: it is of type OS::Heat::TestResource, and the template has OS::Heat::RandomString."),
])
def test_what_is_not_possible_is_refused_and_changes_nothing(
    lab: Tell, resources: dict[str, Any], moves: dict[str, str], message: str
) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "other": resource("2")})
        before = await it.physical()
        request = it.request(resources, moved=moves)
        for ask in (it.api.stacks.update, it.api.preview.changes, it.api.plans.plan):
            with pytest.raises(errors.UserError) as refused:
                await ask("s", request)
            assert str(refused.value) == message
        assert await it.physical() == before
        assert (await it.api.stacks.show("s"))["generation"] == 1

    lab(story)


def test_a_create_has_nothing_to_move(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError, match="has no resources to move"):
            await it.api.stacks.create("s", it.request({"b": resource("1")}, moved={"a": "b"}))

    lab(story)


def test_the_environment_may_keep_its_moves(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        environment = {"isotherm": {"moved": [{"a": "b"}]}}
        await it.create({"a": resource("1")}, environment={"isotherm": {"moved": {"older": "a"}}})
        before = await it.physical()
        await it.update({"b": resource("1")}, environment=environment)
        assert await it.physical() == {"b": before["a"]}
        await it.update({"b": resource("2")}, environment=environment)
        await it.update({"a": resource("3"), "b": resource("2")}, environment=environment)
        assert (await it.physical())["b"] == before["a"], "the new resource of the old name is another one"
        stack = await it.end(await it.api.stacks.update("s", Patch(environment={"parameter_defaults": {"p": "1"}})))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert (await it.api.inputs.environment("s"))["isotherm"] == {"moved": {"a": "b"}}
        with pytest.raises(errors.UserError, match="the stack has no resource typo"):
            await it.update({"c": resource("1")}, environment={"isotherm": {"moved": {"typo": "c"}}})

    lab(story)


def test_a_failed_update_gives_the_names_back(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("2"), "user": reading("a")}, disable_rollback=False)
        before, objects = await it.physical(), it.objects()
        after = {"b": resource("1"), "c": resource("2"), "user": reading("b"), "bad": {**FAILS, "depends_on": ["b", "c"]}}
        stack = await moved(it, after, {"a": "b", "b": "c"}, disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert (await it.physical(), it.objects()) == (before, objects)
        await moved(it, {"z": resource("1"), "b": resource("2"), "user": reading("z")}, {"a": "z"})
        assert (await it.physical())["z"] == before["a"], "it can be moved again"

    lab(story)


def test_a_rollback_gives_a_name_back_that_a_new_resource_has_taken(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("2")}, disable_rollback=False)
        before, objects = await it.physical(), it.objects()
        after = {"a": resource("0"), "b": resource("1"), "c": resource("2"), "bad": {**FAILS, "depends_on": ["a", "c"]}}
        stack = await moved(it, after, {"a": "b", "b": "c"}, disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert (await it.physical(), it.objects()) == (before, objects)

    lab(story)


def test_a_rollback_takes_back_the_moves_of_all_operations_since_its_target(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        before, objects = await it.physical(), it.objects()
        stack = await moved(it, {"b": resource("1"), "bad": FAILS}, {"a": "b"})
        assert stack["stack_status"] == "UPDATE_FAILED"
        await moved(it, {"c": resource("1"), "a": resource("9"), "bad": FAILS}, {"b": "c"})
        stack = await it.end(await it.api.stacks.rollback("s"))
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert (await it.physical(), it.objects()) == (before, objects)

    lab(story)


def test_what_was_begun_under_the_old_name_is_recorded_under_the_new_one(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"a": resource("1", wait_secs=0.4), "b": resource("2", needs=["a"])}))

        async def begun() -> bool:
            return await it.status("a") == "CREATE_IN_PROGRESS"

        await it.until(begun)
        stack = await moved(it, {"c": resource("1"), "b": resource("2", needs=["c"])}, {"a": "c"})
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert (await it.history("a"), (await it.history("c"))[:2]) == ([], ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"])
        assert it.values() == ["1", "2"]
        await it.delete()
        assert it.objects() == {}

    lab(story)


def test_it_is_corrected_after_an_update_that_forgot_it(lab: Tell) -> None:
    """The update that forgot the move was stopped before the resource of the new name was begun."""

    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")}, disable_rollback=False)
        before = await it.physical()
        slow = resource("2", wait_secs=0.4)
        forgot = it.request({"b": resource("1", needs=["slow"]), "slow": slow}, disable_rollback=False)
        await it.api.stacks.update("s", forgot)

        async def begun() -> bool:
            return await it.status("slow") == "CREATE_IN_PROGRESS"

        await it.until(begun)
        await it.end(await it.api.stacks.cancel("s", rollback=False))
        stack = await moved(it, {"b": resource("1")}, {"a": "b"})
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert await it.physical() == {"b": before["a"]}

    lab(story)


def test_a_restored_snapshot_has_the_names_of_then(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        before = await it.physical()
        snapshot = await it.api.snapshots.take("s")
        await it.end(snapshot)
        await moved(it, {"b": resource("1")}, {"a": "b"})
        stack = await it.end(await it.api.snapshots.restore("s", snapshot.operation_id))
        assert stack["stack_status"] == "RESTORE_COMPLETE"
        assert await it.physical() == before

    lab(story)


def test_the_plan_says_what_is_moved(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("2"), "c": resource("3"), "user": reading("a")})
        request = it.request({"x": resource("1"), "y": resource("9"), "c": resource("3"), "user": reading("x")},
                             moved={"a": "x", "b": "y"})
        plan = await it.api.plans.plan("s", request)
        assert plan["counts"] == {"move": 1, "update": 1, "nothing": 2}
        found = {one["resource_name"]: one for one in plan["resources"]}
        assert [found[name]["moved_from"] for name in ("x", "y")] == ["a", "b"]
        assert found["y"]["changes"] == {"value": {"from": "2", "to": "9"}}
        heat = await it.api.preview.update("s", Patch(request.template, moved=request.moved))
        assert [one["resource_name"] for one in heat["unchanged"]] == ["x", "c", "user"]

    lab(story)


def test_signals_find_it_under_the_name_that_their_url_has(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"handle": {"type": "OS::Heat::WaitConditionHandle"}})
        await moved(it, {"gate": {"type": "OS::Heat::WaitConditionHandle"}}, {"handle": "gate"})
        await it.api.signals.send("s", "handle", {"status": "SUCCESS", "id": "1", "data": "x"})
        assert "SIGNAL_COMPLETE" in await it.history("gate")
        assert await it.api.resources.metadata("s", "handle") == await it.api.resources.metadata("s", "gate")

    lab(story)


def test_drift_and_its_policy_follow(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        await it.api.drift.set_resource_policy("s", "a", "ignore")
        await it.change((await it.physical())["a"], {"value": "changed"})
        await it.api.drift.observe("s")
        await moved(it, {"b": resource("1")}, {"a": "b"})
        shown = await it.api.drift.show_resource("s", "b")
        assert (shown["drift"], shown["policy"]) == ("drifted", "ignore")

    lab(story)


def test_the_way_back_to_an_older_generation_gives_its_names_back(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "user": reading("a")})
        before = await it.physical()
        await moved(it, {"b": resource("1"), "user": reading("b")}, {"a": "b"})
        await it.update({"a": resource("new"), "b": resource("1"), "user": reading("b")})
        plan = await it.api.plans.plan("s", PastInput(1))
        moves = {one["resource_name"]: one["moved_from"] for one in plan["resources"] if one["moved_from"]}
        assert moves["a"] == "b"
        stack = await it.end(await it.api.stacks.rollback("s", to=1))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert await it.physical() == before
        assert sorted(it.objects()) == sorted(before.values())

    lab(story)


def test_a_restored_snapshot_has_the_names_of_its_time_in_its_plan_too(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        before = await it.physical()
        await it.end(await it.api.snapshots.take("s", "first"))
        await moved(it, {"b": resource("1")}, {"a": "b"})
        stack, request = await it.api.snapshots.restoration("s", "first")
        plan = await it.api.plans.plan(stack["id"], request, restores=True)
        assert [(one["resource_name"], one["moved_from"]) for one in plan["resources"]] == [("a", "b")]
        await it.end(await it.api.snapshots.restore("s", "first"))
        assert await it.physical() == before

    lab(story)


@pytest.mark.parametrize("limits", [{"target": ["b"]}, {"exclude": ["other"]}], ids=["target", "exclude"])
def test_a_limited_update_moves_nothing(lab: Tell, limits: dict[str, Any]) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "other": resource("2")})
        before = await it.physical()
        with pytest.raises(errors.UserError, match="limited update cannot move"):
            await moved(it, {"b": resource("1"), "other": resource("3")}, {"a": "b"}, **limits)
        assert await it.physical() == before

    lab(story)
