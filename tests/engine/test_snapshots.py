"""Snapshots: taken of what is there, gone back to, deleted with what the types kept; over other operations and a kill."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from isotherm import errors
from isotherm.engine.orchestrator import Patch
from isotherm.engine.process.embedded import Embedded
from isotherm.resources import builtin, contract
from isotherm.resources.schema import NUMBER, STRING, Schema
from tests.engine.conftest import Lab, Tell, resource

TYPE = "Test::Disk"


class Disk(contract.Resource):
    """Content that is written behind the engine's back, and comes back only from a copy."""

    TYPE = TYPE
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        "value": Schema(STRING, "What is on it at first.", default="empty"),
        "copy": Schema(STRING, "The copy that it is made from.", update_allowed=True),
        "seconds": Schema(NUMBER, "How long a copy takes.", default=0, update_allowed=True),
        "refuses": Schema(STRING, "What it refuses to do.", default="", update_allowed=True),
    }

    async def handle_create(self) -> object:
        await self.context.reality.create(self.TYPE, self.token, {"value": await self._content()}, self.physical_name)
        self.physical_id = self.physical_name
        return None

    async def find_by_token(self) -> contract.Search:
        return contract.found(await self.context.reality.find(self.token))

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if "copy" in changed:
            await self.context.reality.update(self.physical_id or "", {"value": await self._content()})
        return None

    async def handle_delete(self) -> object:
        await self.context.reality.delete(self.physical_id or "")
        return None

    async def handle_snapshot(self) -> object:
        if self.properties["refuses"] == "snapshot":
            raise errors.Permanent("no copies")
        return {"until": self.context.clock.now() + self.properties["seconds"]}

    async def check_snapshot_complete(self, progress: Any) -> bool | contract.Wait:
        if "copy" in progress:
            return True
        left = progress["until"] - self.context.clock.now()
        if left > 0:
            return contract.Wait(left, "copying")
        copy = f"copy-of-{self.physical_id}-{progress['until']}"
        found = await self.context.reality.get(self.physical_id or "")
        await self.context.reality.create("copy", copy, found or {}, copy)
        return contract.Wait(0, progress={"copy": copy})

    async def handle_delete_snapshot(self, data: Any) -> None:
        if (await self.context.reality.get(data["copy"]) or {}).get("locked"):
            raise errors.Permanent("the copy is in use")
        await self.context.reality.delete(data["copy"])

    @classmethod
    def restored_properties(cls, properties: Mapping[str, Any], data: Any) -> Mapping[str, Any]:
        return {**properties, "copy": data["copy"]}

    async def _content(self) -> str:
        if not self.properties["copy"]:
            return str(self.properties["value"])
        return str((await self.context.reality.get(self.properties["copy"]) or {})["value"])


@pytest.fixture(autouse=True)
def disks() -> Iterator[None]:
    builtin.registry().register(Disk)
    yield
    del builtin.registry().types[TYPE]


def disk(value: str = "empty", **properties: Any) -> dict[str, Any]:
    return {"type": TYPE, "properties": {"value": value, **properties}}


async def taken(it: Lab, name: str | None = None) -> tuple[str, dict[str, Any]]:
    accepted = await it.api.snapshots.take("s", name)
    return accepted.operation_id, await it.end(accepted)


async def forgotten(it: Lab, snapshot: str) -> None:
    await it.api.snapshots.delete("s", snapshot)

    async def gone() -> bool:
        return snapshot not in [one["id"] for one in await it.api.snapshots.list("s") if one["status"] != "FAILED"]

    await it.until(gone)


@pytest.mark.ledger("S2.4")
def test_a_snapshot_is_taken_and_gone_back_to(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        parameters = {"p": {"type": "string"}}
        await it.create({"d": disk(), "a": resource({"get_param": "p"})}, parameters=parameters,
                        environment={"parameters": {"p": "1"}}, tags=["then"])
        await write(it, (await it.physical())["d"], "what users wrote")
        id_, stack = await taken(it, "before")
        assert stack["stack_status"] == "SNAPSHOT_COMPLETE"
        assert await it.status("a") == "SNAPSHOT_COMPLETE"
        await it.update({"d": disk(), "b": resource("new")}, tags=["now"])
        await write(it, (await it.physical())["d"], "broken")
        before = await it.physical()
        stack = await it.end(await it.api.snapshots.restore("s", "before"))
        assert (stack["stack_status"], stack["tags"]) == ("RESTORE_COMPLETE", ["then"])
        assert sorted(await it.physical()) == ["a", "d"]
        assert (await it.physical())["d"] == before["d"], "brought back in place"
        assert it.values() == ["1", "what users wrote", "what users wrote"]
        # What was brought back stays so as long as the template is the same.
        await it.end(await it.api.stacks.update("s", Patch()))
        assert await it.history("d") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE", "SNAPSHOT_IN_PROGRESS",
                                         "SNAPSHOT_COMPLETE", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"]
        await forgotten(it, id_)
        assert it.values() == ["1", "what users wrote"]

    lab(story)


def test_snapshots_are_listed_shown_and_found(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        first, _ = await taken(it, "twin")
        second, _ = await taken(it, "twin")
        listed = await it.api.snapshots.list("s")
        assert [(one["id"], one["name"], one["action"], one["status"]) for one in listed] == [
            (first, "twin", "CREATE", "COMPLETE"), (second, "twin", "CREATE", "COMPLETE")]
        shown = await it.api.snapshots.show("s", first)
        assert shown["data"]["resources"]["a"]["resource_id"] == (await it.physical())["a"]
        assert shown["data"]["template"]["resources"]["a"]["properties"] == {"value": "1"}
        with pytest.raises(errors.Conflict):
            await it.api.snapshots.show("s", "twin")
        with pytest.raises(errors.NotFound):
            await it.api.snapshots.restore("s", "nowhere")

    lab(story)


def test_no_snapshot_is_taken_of_a_moving_stack(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request({"a": resource(wait_secs=0.2)}))
        with pytest.raises(errors.Conflict) as error:
            await it.api.snapshots.take("s")
        assert error.value.kind == "ActionInProgress"
        await it.end(accepted)
        assert await it.api.snapshots.list("s") == []

    lab(story)


def test_one_that_refuses_makes_it_fail_and_harms_nothing(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"good": disk(), "bad": disk(refuses="snapshot")}
        await it.create(template)
        before = await it.physical()
        id_, stack = await taken(it)
        assert stack["stack_status"] == "SNAPSHOT_FAILED"
        assert stack["stack_status_reason"] == "Resource SNAPSHOT failed: Permanent: resources.bad: no copies"
        assert [(one["status"], one["status_reason"]) for one in await it.api.snapshots.list("s")] == [
            ("FAILED", stack["stack_status_reason"])]
        with pytest.raises(errors.UserError, match="Restoring incomplete snapshot is not supported"):
            await it.api.snapshots.restore("s", id_)
        await it.update(template)
        assert await it.physical() == before
        await forgotten(it, id_)
        assert it.values() == ["empty", "empty"], "the copy that was made is gone too"

    lab(story)


@pytest.mark.ledger("S2.4")
def test_an_update_overtakes_a_snapshot(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"d": disk(seconds=0.3)})
        accepted = await it.api.snapshots.take("s")
        await it.until(lambda: _is(it, "d", "SNAPSHOT_IN_PROGRESS"))
        with pytest.raises(errors.UserError, match="Deleting in-progress snapshot is not supported"):
            await it.api.snapshots.delete("s", accepted.operation_id)
        stack = await it.update({"d": disk(seconds=0.3), "a": resource("1")})
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        (row,) = await it.api.snapshots.list("s")
        assert (row["status"], row["status_reason"]) == ("FAILED", "Another operation on the stack took over")
        await forgotten(it, accepted.operation_id)
        assert it.values() == ["1", "empty"], "what was copied meanwhile is known, and deleted"

    lab(story)


def test_a_copy_that_comes_too_late_is_deleted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"d": disk(seconds=0.4)})
        accepted = await it.api.snapshots.take("s")
        await it.until(lambda: _is(it, "d", "SNAPSHOT_IN_PROGRESS"))
        update = await it.api.stacks.update("s", it.request({"d": disk(seconds=0.4), "a": resource("1")}))
        await forgotten(it, accepted.operation_id)
        await it.end(update)
        await it.until(lambda: _none(it))
        assert it.values() == ["1", "empty"]

    lab(story)


def test_a_copy_that_cannot_be_deleted_is_told_and_tried_again(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"d": disk()})
        id_, _ = await taken(it)
        (copy,) = [one for one in it.objects() if one.startswith("copy")]
        await write(it, copy, "x", locked=True)
        await forgotten(it, id_)
        (row,) = await it.api.snapshots.list("s")
        assert (row["action"], row["status"], row["status_reason"]) == (
            "DELETE", "FAILED", "Permanent: resources.d: the copy is in use")
        await write(it, copy, "x")
        await forgotten(it, id_)
        assert await it.api.snapshots.list("s") == []
        assert copy not in it.objects()

    lab(story)


def test_a_deleted_stack_takes_its_snapshots_along(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"d": disk()})
        await taken(it)
        await it.delete()
        await it.until(lambda: _empty(it))

        def left(connection: Any) -> list[int]:
            return [connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()
                    for table in ("snapshots", "snapshot_parts", "uses", "blobs")]

        async def clean() -> bool:
            return await it.engine.store.read(left) == [0, 0, 0, 0]

        await it.until(clean)

    lab(story)


def test_there_is_a_limit(lab: Tell, tmp_path: Path) -> None:
    (tmp_path / "isotherm.conf").write_text("[DEFAULT]\nmax_snapshots_per_stack = 1\n")

    async def story(it: Lab) -> None:
        await it.create({"a": resource()})
        await taken(it)
        with pytest.raises(errors.UserError, match="You have reached the maximum snapshots per stack, 1") as error:
            await it.api.snapshots.take("s")
        assert error.value.kind == "RequestLimitExceeded"
        assert (await it.api.stacks.show("s"))["stack_status"] == "SNAPSHOT_COMPLETE", "nothing was begun"

    lab(story)


@pytest.mark.ledger("S2.4")
def test_a_failed_restore_is_rolled_back(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        old = {"a": resource("1"), "b": resource("1", update_replace_value="1", needs=["a"])}
        await it.create(old)
        id_, _ = await taken(it)
        await it.update({"a": resource("2")}, disable_rollback=False)
        await it.take_away((await it.physical())["a"])
        stack = await it.end(await it.api.snapshots.restore("s", id_))
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert sorted(await it.physical()) == ["a"]

    lab(story)


@pytest.mark.ledger("S2.4")
def test_another_process_goes_on_where_one_was_killed(tmp_path: Path) -> Any:
    async def first() -> str:
        engine = Embedded(tmp_path)
        it = Lab(engine)
        task = asyncio.ensure_future(_drive(engine))
        await it.create({"d": disk(seconds=0.3), "e": disk()})
        accepted = await it.api.snapshots.take("s")
        await it.until(lambda: _is(it, "d", "SNAPSHOT_IN_PROGRESS"))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        engine.close()
        return accepted.operation_id

    async def second(id_: str) -> None:
        engine = Embedded(tmp_path)
        async with engine.driving():
            it = Lab(engine)

            async def ended() -> bool:
                return bool((await it.api.stacks.show("s"))["status"] != "IN_PROGRESS")

            await it.until(ended)
            assert [one["status"] for one in await it.api.snapshots.list("s")] == ["COMPLETE"]
            assert it.values() == ["empty"] * 4, "one copy of each"
        # No engine runs: the deletion waits for one.
        await it.api.snapshots.delete("s", id_)
        async with engine.driving():
            await it.until(lambda: _none(it))
            assert it.values() == ["empty"] * 2
        engine.close()

    asyncio.run(second(asyncio.run(first())))


async def write(it: Lab, physical_id: str, value: str, **more: Any) -> None:
    """Change an object behind the engine's back."""
    await it.change(physical_id, {"value": value, **more})


async def _drive(engine: Embedded) -> None:
    async with engine.driving():
        await asyncio.Event().wait()


async def _is(it: Lab, name: str, status: str) -> bool:
    return await it.status(name) == status


async def _empty(it: Lab) -> bool:
    return it.objects() == {}


async def _none(it: Lab) -> bool:
    return await it.api.snapshots.list("s") == []
