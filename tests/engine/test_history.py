"""The history of a stack: which inputs are kept, what they say of each other, and the way back to one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm import errors
from isotherm.engine.orchestrator import PastInput, Patch, Request
from isotherm.secrets import MASK
from isotherm.store import tables as t
from tests.engine.conftest import Lab, Tell, resource

PARAMETERS = {"quiet": {"type": "string", "hidden": True}, "loud": {"type": "string", "default": "a"}}


def request(lab: Lab, value: str, quiet: str = "hush", loud: str = "a", **options: Any) -> Request:
    resources = {"one": resource(value), "two": resource({"get_param": "quiet"})}
    return lab.request(resources, parameters=PARAMETERS,
                       environment={"parameters": {"quiet": quiet, "loud": loud}}, **options)


async def create(lab: Lab, value: str, **options: Any) -> None:
    await lab.end(await lab.api.stacks.create("s", request(lab, value, **options)))


async def update(lab: Lab, value: str, **options: Any) -> dict[str, Any]:
    return await lab.end(await lab.api.stacks.update("s", request(lab, value, **options)))


async def counts(lab: Lab) -> list[int]:
    def unit(connection: sa.Connection) -> list[int]:
        tables = (t.operations, t.history, t.blobs, t.uses)
        return [connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() for table in tables]

    return await lab.engine.store.read(unit)


def test_each_input_is_listed_once_with_what_it_changed(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await create(lab, "x")
        await update(lab, "y")
        before = await counts(lab)
        await update(lab, "y")
        assert await counts(lab) == before
        await lab.end(await lab.api.stacks.check("s"))
        await update(lab, "y", quiet="shh", loud="b")
        found = await lab.api.history.list("s")
        assert [(one["generation"], one["last_generation"]) for one in found] == [(5, 5), (2, 3), (1, 1)]
        assert [one["changed"] for one in found] == [["parameters"], ["template"], []]
        assert [(one["action"], one["status"]) for one in found] == [
            ("UPDATE", "COMPLETE"), ("UPDATE", "COMPLETE"), ("CREATE", "COMPLETE")]
        assert all(one["ended"] >= one["began"] for one in found)

    lab(story)


def test_two_generations_are_compared_and_secrets_masked(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await create(lab, "x", files={"old.txt": "1\n"})
        await update(lab, "hush", quiet="shh", loud="b", files={"new.txt": "1\n2\n"})
        found = await lab.api.history.diff("s", 1, 2)
        assert found["parameters"] == {"loud": {"from": "a", "to": "b"}, "quiet": {"from": MASK, "to": MASK}}
        assert "-      value: x\n" in found["template"]
        assert f"+      value: {MASK}\n" in found["template"]
        assert set(found["files"]) == {"old.txt", "new.txt"}
        assert "hush" not in str(found)
        assert "shh" not in str(found)
        same = await lab.api.history.diff("s", 2, 2)
        assert (same["template"], same["parameters"], same["files"]) == ("", {}, {})

    lab(story)


def test_a_stack_goes_back_to_a_generation_as_planned_with_its_hidden_parameters(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await create(lab, "x")
        ids = await lab.physical()
        await update(lab, "y", quiet="shh", loud="b")
        plan = await lab.api.plans.plan("s", PastInput(1))
        assert plan["counts"] == {"update": 2}
        assert "hush" not in str(plan)
        stack = await lab.end(await lab.api.stacks.rollback("s", to=1, generation=plan["generation"]))
        assert (stack["stack_status"], lab.values()) == ("UPDATE_COMPLETE", ["hush", "x"])
        assert await lab.physical() == ids
        found = await lab.api.history.list("s")
        assert [one["generation"] for one in found] == [3, 2, 1]
        with pytest.raises(errors.Conflict):
            await lab.api.stacks.rollback("s", to=2, generation=plan["generation"])

    lab(story)


def test_inputs_that_are_not_kept_and_generations_that_never_were_are_refused(lab: Tell, tmp_path: Path) -> None:
    (tmp_path / "isotherm.conf").write_text("[DEFAULT]\nmax_operation_history = 2\n")

    async def story(lab: Lab) -> None:
        for value in ("x", "y", "z"):
            await (create if value == "x" else update)(lab, value)
        before = await counts(lab)
        await update(lab, "w")
        assert await counts(lab) == before
        assert [one["generation"] for one in await lab.api.history.list("s")] == [4, 3]
        with pytest.raises(errors.NotFound, match="not kept any more: the oldest is that of generation 3"):
            await lab.api.stacks.rollback("s", to=2)
        with pytest.raises(errors.NotFound, match="no generation 9"):
            await lab.api.history.diff("s", 3, 9)
        assert lab.values() == ["hush", "w"]

    lab(story)


def test_the_last_complete_input_outlives_the_history(lab: Tell, tmp_path: Path) -> None:
    (tmp_path / "isotherm.conf").write_text("[DEFAULT]\nmax_operation_history = 1\n")

    async def story(lab: Lab) -> None:
        await create(lab, "x")
        for value in ("y", "z"):
            await lab.update({"bad": resource(value, fail=True)})
        stack = await lab.end(await lab.api.stacks.rollback("s"))
        assert (stack["stack_status"], lab.values()) == ("ROLLBACK_COMPLETE", ["hush", "x"])

    lab(story)


def test_a_delete_forgets_the_history(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await create(lab, "x")
        await update(lab, "y")
        await lab.delete()
        assert (await counts(lab))[1:] == [0, 0, 0]

    lab(story)


def test_a_stack_without_a_template_is_nothing_to_go_back_to(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create({"bad": resource("v", fail=True)}, disable_rollback=False)
        await update(lab, "x")
        with pytest.raises(errors.UserError, match="rolled back to nothing"):
            await lab.api.stacks.rollback("s", to=2)
        found = await lab.api.history.list("s")
        assert [(one["action"], one["status"]) for one in found] == [
            ("UPDATE", "COMPLETE"), ("ROLLBACK", "COMPLETE"), ("CREATE", "FAILED")]
        assert (await lab.api.history.diff("s", 2, 3))["template"]

    lab(story)


def test_a_past_input_counts_for_the_root_stack_only(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        inside = '{"heat_template_version": "2021-04-16", "resources": {"i": {"type": "OS::Heat::TestResource"}}}'
        await lab.create({"n": {"type": "inside.yaml"}}, files={"inside.yaml": inside})
        nested = (await lab.physical())["n"]
        with pytest.raises(errors.UserError, match="nested"):
            await lab.api.history.list(nested)
        assert (await counts(lab))[1] == 1
        await lab.end(await lab.api.stacks.update("s", Patch()))

    lab(story)
