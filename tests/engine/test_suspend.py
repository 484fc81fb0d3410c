"""Suspend and resume: in order, before and after other operations, and continued after a kill."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from isotherm import errors
from isotherm.engine.process.embedded import Embedded
from isotherm.resources import builtin as known
from isotherm.resources import contract
from isotherm.resources.schema import NUMBER, STRING, Schema
from tests.engine.conftest import Lab, Tell, resource

TYPE = "Test::Sleeper"


class Sleeper(contract.Resource):
    """An object that says whether it sleeps, takes its time for it, and can be made to refuse."""

    TYPE = TYPE
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        "value": Schema(STRING, "A text.", default="x", update_allowed=True),
        "seconds": Schema(NUMBER, "How long it takes to fall asleep or to wake.", default=0, update_allowed=True),
        "refuses": Schema(STRING, "What it refuses to do.", default="", update_allowed=True),
    }

    async def handle_create(self) -> object:
        await self.context.reality.create(self.TYPE, self.token, self._state(False), self.physical_name)
        self.physical_id = self.physical_name
        return None

    async def find_by_token(self) -> contract.Search:
        return contract.found(await self.context.reality.find(self.token))

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        found = await self.context.reality.get(self.physical_id or "")
        if found is None or found["asleep"]:
            raise errors.Permanent("it sleeps")
        await self.context.reality.update(self.physical_id or "", self._state(False))
        return None

    async def handle_delete(self) -> object:
        if (await self.context.reality.get(self.physical_id or "") or {}).get("held"):
            raise errors.Permanent("it is held")
        await self.context.reality.delete(self.physical_id or "")
        return None

    async def handle_check(self) -> object:
        if await self.context.reality.get(self.physical_id or "") is None:
            raise errors.Permanent("it is gone")
        return None

    async def handle_suspend(self) -> object:
        return await self._turn("suspend")

    async def check_suspend_complete(self, progress: Any) -> bool | contract.Wait:
        return self._over(progress)

    async def handle_resume(self) -> object:
        return await self._turn("resume")

    async def check_resume_complete(self, progress: Any) -> bool | contract.Wait:
        return self._over(progress)

    async def _turn(self, to: str) -> object:
        if self.properties["refuses"] == to:
            raise errors.Permanent(f"no {to}")
        await self.context.reality.update(self.physical_id or "", self._state(to == "suspend"))
        return {"until": self.context.clock.now() + self.properties["seconds"]}

    def _over(self, progress: Any) -> bool | contract.Wait:
        left = progress["until"] - self.context.clock.now()
        return True if left <= 0 else contract.Wait(left, "turning over")

    def _state(self, asleep: bool) -> dict[str, Any]:
        return {"value": self.properties["value"], "asleep": asleep}


@pytest.fixture(autouse=True)
def sleepers() -> Iterator[None]:
    known.registry().register(Sleeper)
    yield
    del known.registry().types[TYPE]


def sleeper(value: str = "x", *, needs: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"type": TYPE, "properties": {"value": value, **properties}}
    return {**made, "depends_on": needs} if needs else made


def asleep(it: Lab) -> list[bool]:
    return [one["asleep"] for one in it.objects().values()]


async def began(it: Lab, action: str) -> list[str]:
    return [one["resource_name"] for one in await it.api.events.list("s", last=1000)
            if one["resource_status"] == f"{action}_IN_PROGRESS" and one["resource_name"]]


DIAMOND = {"top": sleeper(), "left": sleeper(needs=["top"]), "right": sleeper(needs=["top"]),
           "bottom": sleeper(needs=["left", "right"])}


@pytest.mark.ledger("S2.4")
def test_dependants_rest_first_and_wake_last(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create(DIAMOND)
        stack = await it.end(await it.api.stacks.suspend("s"))
        assert (stack["stack_status"], stack["stack_status_reason"]) == (
            "SUSPEND_COMPLETE", "Stack SUSPEND completed successfully")
        assert asleep(it) == [True] * 4
        order = await began(it, "SUSPEND")
        assert (order[0], order[-1], sorted(order[1:3])) == ("bottom", "top", ["left", "right"])
        assert await it.status("top") == "SUSPEND_COMPLETE"
        stack = await it.end(await it.api.stacks.resume("s"))
        assert stack["stack_status"] == "RESUME_COMPLETE"
        assert asleep(it) == [False] * 4
        order = await began(it, "RESUME")
        assert (order[0], order[-1], sorted(order[1:3])) == ("top", "bottom", ["left", "right"])
        stack = await it.update(DIAMOND)
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert await began(it, "UPDATE") == [], "resting changed nothing"

    lab(story)


def test_the_order_is_that_of_what_objects_use_whatever_a_failed_update_wanted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"used": sleeper(), "user": sleeper(needs=["used"])})
        turned = {"bad": resource(fail=True), "user": sleeper(needs=["bad"]), "used": sleeper(needs=["user"])}
        assert (await it.update(turned))["stack_status"] == "UPDATE_FAILED"
        await it.end(await it.api.stacks.suspend("s"))
        assert await began(it, "SUSPEND") == ["user", "used"]
        await it.end(await it.api.stacks.resume("s"))
        assert await began(it, "RESUME") == ["used", "user"]
        await it.update({"user": sleeper(), "used": sleeper(needs=["user"])})
        await it.end(await it.api.stacks.suspend("s"))
        assert (await began(it, "SUSPEND"))[2:] == ["used", "user"]

    lab(story)


def test_resting_twice_is_resting_once(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": sleeper()})
        for action in ("suspend", "suspend", "resume", "resume"):
            stack = await it.end(await it.act(action))
            assert stack["stack_status"] == f"{action.upper()}_COMPLETE"
        assert await it.history("a") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE", "SUSPEND_IN_PROGRESS",
                                         "SUSPEND_COMPLETE", "RESUME_IN_PROGRESS", "RESUME_COMPLETE"]

    lab(story)


def test_a_suspended_stack_is_not_updated_but_it_is_read_checked_and_deleted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": sleeper("1")}, outputs={"o": {"value": "said"}})
        await it.end(await it.api.stacks.suspend("s"))
        with pytest.raises(errors.UserError, match="Updating a stack when it is suspended is not supported") as error:
            await it.update({"a": sleeper("2")})
        assert error.value.kind == "NotSupported"
        assert [one["output_value"] for one in await it.api.outputs.list("s")] == ["said"]
        assert (await it.end(await it.api.stacks.check("s")))["stack_status"] == "CHECK_COMPLETE"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_a_check_looks_at_what_a_failed_delete_has_left(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"a": sleeper("1"), "b": sleeper("2", needs=["a"])}
        await it.create(template)
        known = await it.physical()
        await it.change(known["b"], {"value": "2", "asleep": False, "held": True})
        assert (await it.delete())["stack_status"] == "DELETE_FAILED"
        stack = await it.end(await it.api.stacks.check("s"))
        assert stack["stack_status_reason"] == (
            "Resource CHECK failed: Error: resources.b: State DELETE_FAILED invalid for check")
        assert (await it.status("a"), await it.status("b")) == ("CHECK_COMPLETE", "DELETE_FAILED")
        await it.take_away(known["a"])
        assert (await it.end(await it.api.stacks.check("s")))["stack_status"] == "CHECK_FAILED"
        assert await it.status("a") == "CHECK_FAILED"
        await it.change(known["b"], {"value": "2", "asleep": False})
        assert (await it.update(template))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["1", "2"]
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


@pytest.mark.ledger("S2.4")
def test_an_update_wakes_what_still_sleeps_before_it_changes_it(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": sleeper("1"), "b": sleeper("1", needs=["a"])})
        await it.end(await it.api.stacks.suspend("s"))
        # A check speaks for the stack now, and does not make it forget that its resources sleep.
        await it.end(await it.api.stacks.check("s"))
        stack = await it.update({"a": sleeper("2"), "b": sleeper("1", needs=["a"])})
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert (it.values(), asleep(it)) == (["1", "2"], [False, False])

    lab(story)


def test_an_update_wakes_in_the_order_of_what_objects_use_before_it_changes_anything(lab: Tell) -> None:
    """The template has turned the two round: what is to be used by the other was its user when it went to rest."""

    async def story(it: Lab) -> None:
        await it.create({"a": sleeper("1"), "b": sleeper("1", needs=["a"])})
        await it.end(await it.api.stacks.suspend("s"))
        await it.end(await it.api.stacks.check("s"))
        stack = await it.update({"a": sleeper("2", needs=["b"]), "b": sleeper("2")})
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert (it.values(), asleep(it)) == (["2", "2"], [False, False])
        assert (await began(it, "RESUME"), await began(it, "UPDATE")) == (["a", "b"], ["b", "a"])
        done = [(one["resource_name"], one["resource_status"]) for one in await it.api.events.list("s", last=1000)]
        assert done.index(("b", "RESUME_COMPLETE")) < done.index(("b", "UPDATE_IN_PROGRESS"))

    lab(story)


def test_what_cannot_be_woken_does_not_fail_the_update_that_replaces_it(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": sleeper(refuses="resume"), "b": sleeper(needs=["a"])})
        await it.end(await it.api.stacks.suspend("s"))
        await it.end(await it.api.stacks.check("s"))
        before = await it.physical()
        stack = await it.update({"a": sleeper(), "b": sleeper(needs=["a"])})
        assert (stack["stack_status"], asleep(it)) == ("UPDATE_COMPLETE", [False, False])
        after = await it.physical()
        assert (after["a"] == before["a"], after["b"] == before["b"]) == (False, True)

    lab(story)


def test_one_that_refuses_keeps_awake_what_it_needs(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"a": sleeper(), "b": sleeper(needs=["a"], refuses="suspend"), "c": sleeper(needs=["b"]),
                    "d": sleeper(needs=["a"])}
        await it.create(template)
        stack = await it.end(await it.api.stacks.suspend("s"))
        assert stack["stack_status"] == "SUSPEND_FAILED"
        assert stack["stack_status_reason"] == "Resource SUSPEND failed: Permanent: resources.b: no suspend"
        states = {one["resource_name"]: one["resource_status"] for one in await it.api.resources.list("s")}
        assert states == {"a": "CREATE_COMPLETE", "b": "SUSPEND_FAILED", "c": "SUSPEND_COMPLETE", "d": "SUSPEND_COMPLETE"}
        assert (await it.end(await it.api.stacks.resume("s")))["stack_status"] == "RESUME_COMPLETE"
        assert asleep(it) == [False] * 4
        before = await it.physical()
        template["b"] = sleeper("new", needs=["a"])
        assert (await it.update(template))["stack_status"] == "UPDATE_COMPLETE"
        assert await it.physical() == before, "a refusal to rest is no reason to make it anew"

    lab(story)


def test_one_that_does_not_wake_is_made_anew_by_the_next_update(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": sleeper(refuses="resume"), "b": sleeper()})
        await it.end(await it.api.stacks.suspend("s"))
        gone = (await it.physical())["b"]
        await it.take_away(gone)
        assert (await it.end(await it.api.stacks.check("s")))["stack_status"] == "CHECK_FAILED"
        stack = await it.end(await it.api.stacks.resume("s"))
        assert stack["stack_status"] == "RESUME_FAILED"
        assert (await it.status("a"), await it.status("b")) == ("RESUME_FAILED", "CHECK_FAILED")
        assert (await it.update({"a": sleeper(), "b": sleeper()}))["stack_status"] == "UPDATE_COMPLETE"
        assert asleep(it) == [False, False]

    lab(story)


@pytest.mark.parametrize("action", ["suspend", "snapshot", "check"])
def test_what_was_never_made_does_not_look_well_after_a_visit(lab: Tell, action: Any) -> None:
    async def story(it: Lab) -> None:
        await it.create({"bad": {"type": "OS::Heat::TestResource", "properties": {"fail": True}}})
        stack = await it.end(await it.act(action))
        assert stack["stack_status"] == f"{action.upper()}_FAILED"
        shown = "CHECK_FAILED" if action == "check" else "CREATE_FAILED"
        assert await it.status("bad") == shown
        await it.end(await it.api.stacks.resume("s"))
        assert await it.status("bad") == shown
        assert (await it.update({"bad": {"type": "OS::Heat::TestResource"}}))["stack_status"] == "UPDATE_COMPLETE"

    lab(story)


def test_a_failed_resource_is_not_suspended(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        bad = {"type": "OS::Heat::TestResource", "properties": {"fail": True}}
        await it.create({"a": sleeper(), "bad": bad})
        stack = await it.end(await it.api.stacks.suspend("s"))
        assert stack["stack_status_reason"] == (
            "Resource SUSPEND failed: Error: resources.bad: State CREATE_FAILED invalid for suspend")
        assert await it.status("bad") == "CREATE_FAILED"
        assert asleep(it) == [True]

    lab(story)


@pytest.mark.ledger("S2.4")
def test_the_newest_wins_between_resting_and_waking(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        slow = {"a": sleeper(seconds=0.3), "b": sleeper(seconds=0.3, needs=["a"])}
        await it.create(slow)
        await it.api.stacks.suspend("s")
        await it.until(lambda: _is(it, "b", "SUSPEND_IN_PROGRESS"))
        stack = await it.end(await it.api.stacks.resume("s"))
        assert stack["stack_status"] == "RESUME_COMPLETE"
        assert asleep(it) == [False, False]
        assert await it.history("a") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"], "its turn never came"

    lab(story)


def test_a_suspend_waits_for_the_update_that_it_overtakes(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": sleeper("1")})
        waits = {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 0.3}}
        await it.api.stacks.update("s", it.request({"a": sleeper("1"), "b": waits, "c": sleeper(needs=["b"])}))
        await it.until(lambda: _is(it, "b", "CREATE_IN_PROGRESS"))
        stack = await it.end(await it.api.stacks.suspend("s"))
        assert stack["stack_status"] == "SUSPEND_COMPLETE"
        assert await it.status("b") == "SUSPEND_COMPLETE", "it was finished first"
        assert await it.history("c") == [], "and nothing more was begun"
        await it.end(await it.api.stacks.resume("s"))
        await it.update({"a": sleeper("1"), "b": waits, "c": sleeper(needs=["b"])})
        assert await it.status("c") == "CREATE_COMPLETE"
        assert len(it.objects()) == 3

    lab(story)


def test_a_delete_overtakes_a_suspend(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": sleeper(seconds=0.2), "b": sleeper(seconds=0.2, needs=["a"])})
        await it.api.stacks.suspend("s")
        await it.until(lambda: _is(it, "b", "SUSPEND_IN_PROGRESS"))
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_cancelling_a_suspend_goes_back_to_work(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": sleeper(seconds=0.2), "b": sleeper(seconds=0.2, needs=["a"])})
        await it.api.stacks.suspend("s")
        await it.until(lambda: _is(it, "b", "SUSPEND_IN_PROGRESS"))
        assert (await it.end(await it.api.stacks.cancel("s")))["stack_status"] == "ROLLBACK_COMPLETE"
        assert asleep(it) == [False, False]

    lab(story)


def test_stacks_inside_rest_and_wake_with_the_one_around_them(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        files = {"inside.yaml": it.request({"x": sleeper(), "y": sleeper(needs=["x"])}).template}
        template = {"a": {"type": "inside.yaml"}, "b": sleeper(needs=["a"])}
        await it.create(template, files=files)
        assert (await it.end(await it.api.stacks.suspend("s")))["stack_status"] == "SUSPEND_COMPLETE"
        assert asleep(it) == [True] * 3
        assert (await it.end(await it.api.stacks.resume("s")))["stack_status"] == "RESUME_COMPLETE"
        assert asleep(it) == [False] * 3
        await it.end(await it.api.stacks.suspend("s"))
        await it.end(await it.api.stacks.check("s"))
        assert (await it.update({**template, "b": sleeper("2", needs=["a"])}, files=files))[
            "stack_status"] == "UPDATE_COMPLETE"
        assert asleep(it) == [False] * 3, "an update wakes them too"

    lab(story)


@pytest.mark.ledger("S2.4")
def test_another_process_goes_on_where_one_was_killed(tmp_path: Path) -> None:
    async def first() -> None:
        engine = Embedded(tmp_path)
        it = Lab(engine)
        task = asyncio.ensure_future(_drive(engine))
        await it.create({"a": sleeper(seconds=0.3), "b": sleeper(seconds=0.3, needs=["a"])})
        await it.api.stacks.suspend("s")
        await it.until(lambda: _is(it, "b", "SUSPEND_IN_PROGRESS"))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        engine.close()

    async def second() -> None:
        engine = Embedded(tmp_path)
        async with engine.driving():
            it = Lab(engine)
            stack = await it.api.stacks.show("s")
            while stack["status"] == "IN_PROGRESS":
                await asyncio.sleep(0.02)
                stack = await it.api.stacks.show("s")
            assert stack["stack_status"] == "SUSPEND_COMPLETE"
            assert asleep(it) == [True, True]
            assert await began(it, "SUSPEND") == ["b", "a"]
        engine.close()

    asyncio.run(first())
    asyncio.run(second())


async def _drive(engine: Embedded) -> None:
    async with engine.driving():
        await asyncio.Event().wait()


async def _is(it: Lab, name: str, status: str) -> bool:
    return await it.status(name) == status


def test_what_is_being_deleted_cannot_rest(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource(action_wait_secs={"delete": 3600})})
        await it.api.stacks.delete("s")
        with pytest.raises(errors.UserError, match="being deleted"):
            await it.api.stacks.suspend("s")

    lab(story)
