"""Updates that are limited to targets, or leave resources out: what they change, what waits, and what follows them."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.orchestrator import PastInput, Patch
from tests.engine.conftest import Lab, Tell, resource


def chain(value: str, *, extra: bool = False) -> dict[str, Any]:
    """Return net <- port <- server, and db beside them; with `extra`, also log, which nothing needs."""
    made = {
        "net": resource(f"net-{value}"), "port": resource(f"port-{value}", needs=["net"]),
        "server": resource(f"server-{value}", needs=["port"]), "db": resource(f"db-{value}"),
    }
    return {**made, "log": resource(f"log-{value}")} if extra else made


async def limited(lab: Lab, resources: dict[str, Any], *, target: tuple[str, ...] = (), exclude: tuple[str, ...] = (),
                  **options: Any) -> dict[str, Any]:
    template = lab.request(resources).template
    return await lab.end(await lab.api.stacks.update("s", Patch(template, target=target, exclude=exclude, **options)))


async def left_out(lab: Lab) -> list[str]:
    return list(await lab.api.stacks.left_out("s"))


def test_a_target_is_changed_with_what_it_needs(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(chain("1"))
        ids = await lab.physical()
        stack = await limited(lab, chain("2", extra=True), target=("port",))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert stack["stack_status_reason"].endswith("Left out: 3 resources")
        assert lab.values() == ["db-1", "net-2", "port-2", "server-1"]
        assert await left_out(lab) == ["db", "log", "server"]
        await lab.end(await lab.api.stacks.update("s", Patch()))
        assert lab.values() == ["db-2", "log-2", "net-2", "port-2", "server-2"]
        assert await left_out(lab) == []
        assert {name: id_ for name, id_ in (await lab.physical()).items() if name in ids} == ids

    lab(story)


def test_what_is_excluded_stays_with_what_needs_it(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(chain("1"))
        await limited(lab, chain("2", extra=True), exclude=("port",))
        assert lab.values() == ["db-2", "log-2", "net-2", "port-1", "server-1"]
        assert await left_out(lab) == ["port", "server"]

    lab(story)


def test_a_create_may_begin_with_a_part(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        stack = await lab.create(chain("1"), target=("port",))
        assert (stack["stack_status"], lab.values()) == ("CREATE_COMPLETE", ["net-1", "port-1"])
        assert await left_out(lab) == ["db", "server"]
        await lab.end(await lab.api.stacks.retry("s"))
        assert lab.values() == ["db-1", "net-1", "port-1", "server-1"]

    lab(story)


def test_only_a_target_is_deleted(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(chain("1", extra=True))
        rest = {"net": resource("net-1"), "port": resource("port-1", needs=["net"])}
        await limited(lab, rest, target=("net", "log"))
        assert lab.values() == ["db-1", "net-1", "port-1", "server-1"]
        assert await left_out(lab) == ["db", "server"]
        await lab.end(await lab.api.stacks.retry("s"))
        assert lab.values() == ["net-1", "port-1"]

    lab(story)


def test_what_uses_a_deleted_target_goes_too(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(chain("1"))
        await limited(lab, {"db": resource("db-2")}, target=("port",))
        assert lab.values() == ["db-1", "net-1"]
        assert await left_out(lab) == ["db", "net"]

    lab(story)


def test_a_replaced_target_keeps_its_old_object_for_what_was_left_out(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        def pair(value: str) -> dict[str, Any]:
            return {"net": resource(value, update_replace=value == "2"),
                    "port": resource({"get_resource": "net"})}

        await lab.create(pair("1"))
        old = (await lab.physical())["net"]
        await limited(lab, pair("2"), target=("net",))
        new = (await lab.physical())["net"]
        assert new != old
        assert old in lab.objects()
        assert await left_out(lab) == ["port"]
        assert lab.objects()[(await lab.physical())["port"]]["value"] == old
        await lab.end(await lab.api.stacks.retry("s"))
        assert lab.objects()[(await lab.physical())["port"]]["value"] == new
        assert old not in lab.objects()
        assert await left_out(lab) == []

    lab(story)


def test_a_failed_limited_update_is_rolled_back(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(chain("1"))
        worse = {**chain("2"), "port": resource("port-2", needs=["net"], fail=True)}
        stack = await limited(lab, worse, target=("port",), disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert lab.values() == ["db-1", "net-1", "port-1", "server-1"]
        assert await left_out(lab) == []

    lab(story)


def test_a_rollback_to_a_limited_update_leaves_out_what_that_had_left_out(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(chain("1"))
        await limited(lab, chain("2", extra=True), target=("port",))
        worse = {**chain("3"), "bad": resource("bad", needs=["net", "port", "server", "db"], fail=True)}
        stack = await lab.update(worse, disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert lab.values() == ["db-1", "net-2", "port-2", "server-1"]
        assert await left_out(lab) == ["db", "log", "server"]
        await lab.end(await lab.api.stacks.update("s", PastInput(1)))
        assert lab.values() == ["db-1", "net-1", "port-1", "server-1"]
        await lab.end(await lab.api.stacks.rollback("s", to=2))
        assert lab.values() == ["db-1", "net-2", "port-2", "server-1"]
        assert await left_out(lab) == ["db", "log", "server"]

    lab(story)


def test_one_limited_update_follows_another(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(chain("1"))
        await limited(lab, chain("2"), target=("net",))
        await limited(lab, chain("3"), target=("db",))
        assert lab.values() == ["db-3", "net-2", "port-1", "server-1"]
        assert await left_out(lab) == ["net", "port", "server"]
        await lab.end(await lab.api.stacks.retry("s"))
        assert lab.values() == ["db-3", "net-3", "port-3", "server-3"]

    lab(story)


def test_parameters_and_secrets_of_what_is_left_out_stay(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        known = {"quiet": {"type": "string", "hidden": True}}
        both = {"one": resource({"get_param": "quiet"}), "two": resource({"get_param": "quiet"})}

        def given(value: str) -> dict[str, Any]:
            return {"parameters": known, "environment": {"parameters": {"quiet": value}}}

        await lab.create(both, **given("hush"))
        await lab.update(both, **given("other"), target=("one",))
        assert lab.values() == ["hush", "other"]
        await lab.change((await lab.physical())["two"], {"value": "stirred"})
        await lab.api.drift.observe("s")
        found = await lab.api.drift.show("s")
        assert [one["resource_name"] for one in found["resources"]] == ["two"]
        await lab.end(await lab.api.drift.repair_drift("s", ["two"]))
        assert lab.values() == ["hush", "other"]
        assert await left_out(lab) == ["two"]

    lab(story)


def test_what_is_left_out_is_no_drift(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(chain("1"))
        await limited(lab, chain("2", extra=True), target=("net",))
        await lab.api.drift.observe("s")
        assert (await lab.api.drift.show("s"))["resources"] == []
        stack = await lab.end(await lab.api.stacks.check("s"))
        assert stack["stack_status"] == "CHECK_COMPLETE"
        assert await left_out(lab) == ["db", "log", "port", "server"]

    lab(story)


def test_a_plan_is_limited_as_the_update_is(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(chain("1"))
        change = Patch(lab.request(chain("2", extra=True)).template, target=("port",))
        plan = await lab.api.plans.plan("s", change)
        assert {one["resource_name"]: one["action"] for one in plan["resources"]} == {"net": "update", "port": "update"}
        assert plan["waits"] == ["db", "log", "server"]
        gone = await lab.api.plans.plan("s", Patch(lab.request({"db": resource("x")}).template, exclude=("server",)))
        assert {one["resource_name"]: one["action"] for one in gone["resources"]} == {"db": "update"}
        assert gone["waits"] == ["net", "port", "server"]

    lab(story)


def test_names_that_cannot_be_chosen_are_refused(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(chain("1"))
        with pytest.raises(errors.NotFound, match="neither in the template nor in the stack"):
            await limited(lab, chain("2"), target=("nobody",))
        with pytest.raises(errors.UserError, match="nested stack"):
            await limited(lab, chain("2"), target=("net/inner",))
        with pytest.raises(errors.UserError, match="excluded"):
            await limited(lab, chain("2"), target=("server",), exclude=("net",))
        assert lab.values() == ["db-1", "net-1", "port-1", "server-1"]

    lab(story)


def test_retry_goes_on_with_what_failed(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create({"a": resource("a", fail=True), "b": resource("b", fail=True), "c": resource("c", needs=["a"])})
        assert lab.values() == []
        stack = await lab.end(await lab.api.stacks.retry("s", ["b"]))
        assert stack["stack_status"] == "UPDATE_FAILED"
        assert await lab.status("a") == "CREATE_FAILED"
        with pytest.raises(errors.NotFound):
            await lab.api.stacks.retry("s", ["nobody"])

    lab(story)


def test_retry_finishes_a_delete_that_was_stopped(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create({"a": resource("a", wait_secs=1), "b": resource("b", needs=["a"])})
        await lab.api.stacks.delete("s")
        await lab.end(await lab.api.stacks.cancel("s", rollback=False))
        with pytest.raises(errors.UserError, match="as a whole"):
            await lab.api.stacks.retry("s", ["a"])
        assert (await lab.end(await lab.api.stacks.retry("s")))["stack_status"] == "DELETE_COMPLETE"
        assert lab.values() == []

    lab(story)


def test_a_limited_update_finishes_what_an_older_one_has_begun_and_begins_nothing_else(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create({"slow": resource("1"), "after": resource("1", needs=["slow"]), "db": resource("1")})
        newer = {"slow": resource("2", wait_secs=1), "after": resource("2", needs=["slow"]), "db": resource("2")}
        await lab.api.stacks.update("s", lab.request(newer))
        await lab.until(lambda: _is(lab, "slow", "UPDATE_IN_PROGRESS"))
        last = {"slow": resource("3"), "after": resource("3", needs=["slow"]), "db": resource("3")}
        stack = await limited(lab, last, target=("db",))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        values = {name: lab.objects()[id_]["value"] for name, id_ in (await lab.physical()).items()}
        assert values == {"slow": "2", "after": "1", "db": "3"}
        assert await left_out(lab) == ["after", "slow"]
        assert "IN_PROGRESS" not in str([one["resource_status"] for one in await lab.api.resources.list("s")])
        await lab.end(await lab.api.stacks.retry("s"))
        assert lab.values() == ["3", "3", "3"]

    lab(story)


def test_a_newer_update_supersedes_a_limited_one(lab: Tell) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(chain("1"))
        slow = {**chain("2"), "net": resource("net-2", wait_secs=30)}
        await lab.api.stacks.update("s", Patch(lab.request(slow).template, target=("port",)))
        await lab.until(lambda: _is(lab, "net", "UPDATE_IN_PROGRESS"))
        await limited(lab, chain("3"), target=("db",))
        await lab.update(chain("4"))
        assert lab.values() == ["db-4", "net-4", "port-4", "server-4"]
        assert await left_out(lab) == []

    lab(story)


async def _is(lab: Lab, name: str, status: str) -> bool:
    return await lab.status(name) == status
