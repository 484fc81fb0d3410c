"""Export, abandon, adopt: stacks are moved, and their objects stay as they are."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm import errors
from isotherm.engine.orchestrator import Patch
from isotherm.engine.process.embedded import Embedded
from isotherm.store import tables as t
from tests.engine.conftest import Lab, Tell, resource

SECRET = "a-marker-nobody-else-uses"
HIDDEN = {"p": {"type": "string", "hidden": True}, "q": {"type": "string", "default": "open"}}


async def abandoned(it: Lab, name: str = "s") -> dict[str, Any]:
    answer = await it.api.exports.abandon(name, hidden=True)
    stack = await it.end(answer.accepted)
    assert stack["stack_status"] == "DELETE_COMPLETE"
    return answer.document


async def adopted(it: Lab, data: Any, change: Patch | None = None) -> dict[str, Any]:
    return await it.end(await it.api.exports.adopt("s", data, change))


@pytest.mark.ledger("S2.4")
def test_there_and_back_again(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"a": resource("1"), "b": resource({"get_attr": ["a", "output"]}),
                    "word": {"type": "OS::Heat::RandomString"}}
        outputs = {"o": {"value": {"get_attr": ["word", "value"]}}}
        await it.create(template, outputs=outputs, tags=["t"])
        before, physical, said = it.objects(), await it.physical(), await it.api.outputs.list("s")
        papers = await abandoned(it)
        assert it.objects() == before, "reality stays"
        assert {one["stack_name"] for one in await it.api.stacks.list()} == set()
        assert {name: one["resource_id"] for name, one in papers["resources"].items()} == physical
        stack = await adopted(it, json.dumps(papers))
        assert (stack["stack_status"], stack["stack_status_reason"]) == (
            "ADOPT_COMPLETE", "Stack ADOPT completed successfully")
        assert (it.objects(), await it.physical(), await it.api.outputs.list("s")) == (before, physical, said)
        assert await it.history("a") == ["ADOPT_IN_PROGRESS", "ADOPT_COMPLETE"]
        assert (await it.update(template, outputs=outputs))["stack_status"] == "UPDATE_COMPLETE"
        assert await it.history("a") == ["ADOPT_IN_PROGRESS", "ADOPT_COMPLETE"], "it was what the template says"
        await it.update({**template, "a": resource("2")}, outputs=outputs)
        assert it.values() == ["2", "2"]
        await it.delete()
        assert it.objects() == {}, "it is ours, and goes with us"

    lab(story)


def _all_rows(table: sa.Table, connection: sa.Connection) -> list[Any]:
    return list(connection.execute(sa.select(table)))


def test_nothing_is_left_of_the_snapshots_of_an_abandoned_stack(lab: Tell) -> None:
    """Nothing is left in the tables of snapshots, nor of the template that only one of them used."""

    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        await it.end(await it.api.snapshots.take("s", "n"))
        await it.update({"a": resource("2")})
        await it.end(await it.api.snapshots.take("s", "newest"))
        await abandoned(it)
        for table in (t.snapshots, t.snapshot_parts, t.uses, t.blobs):
            left = await it.engine.store.read(partial(_all_rows, table))
            assert left == [], table.name

    lab(story)


def test_the_export_document_is_in_the_form_of_heat(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        meta = {**resource("1"), "metadata": {"k": "v"}}
        await it.create({"a": meta}, tags=["t"], files={"f": "text"}, parameters={"q": HIDDEN["q"]},
                        environment={"parameters": {"q": "1"}})
        stack = await it.api.stacks.show("s")
        assert await it.api.exports.export("s") == {
            "name": "s", "id": stack["id"], "action": "CREATE", "status": "COMPLETE", "project_id": "default",
            "stack_user_project_id": None, "tags": ["t"], "files": {"f": "text"},
            "environment": {"parameters": {"q": "1"}, "parameter_defaults": {}, "resource_registry": {}, "event_sinks": []},
            "template": {"heat_template_version": "2021-04-16", "parameters": {"q": HIDDEN["q"]}, "resources": {"a": meta}},
            "resources": {"a": {
                "name": "a", "resource_id": (await it.physical())["a"], "type": "OS::Heat::TestResource",
                "action": "CREATE", "status": "COMPLETE", "metadata": {"k": "v"}, "resource_data": {}}},
        }
        assert (await it.api.stacks.show("s"))["stack_status"] == "CREATE_COMPLETE"

    lab(story)


def test_hidden_values_are_exported_only_on_request(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        inner = {"m": {"list_join": ["-", ["x", {"get_param": "p"}]]}}
        template = {"a": {**resource({"get_param": "p"}), "metadata": inner},
                    "word": {"type": "OS::Heat::RandomString"}}
        await it.create(template, parameters=HIDDEN, environment={"parameters": {"p": SECRET, "q": "seen"}})
        masked = await it.api.exports.export("s")
        word = (await it.api.exports.export("s", hidden=True))["resources"]["word"]["resource_data"]["value"]
        assert SECRET not in json.dumps(masked)
        assert word not in json.dumps(masked)
        assert masked["environment"]["parameters"] == {"p": "******", "q": "seen"}
        await it.end(await it.api.snapshots.take("s", "n"))
        assert SECRET not in json.dumps(await it.api.snapshots.show("s", "n"))
        assert SECRET in json.dumps(await it.api.snapshots.show("s", "n", hidden=True))
        assert SECRET in json.dumps(await it.api.exports.export("s", hidden=True))
        whole = (await it.api.exports.abandon("s")).document
        assert SECRET not in json.dumps(whole)
        with pytest.raises(errors.UserError, match="the value of parameter p is masked"):
            await it.api.exports.adopt("t", whole)
        with pytest.raises(errors.UserError, match=r"resources\.word: its own data are masked"):
            await it.api.exports.adopt("t", whole, Patch(environment={"parameters": {"p": SECRET}}))

    lab(story)


def test_a_bad_export_document_is_one_clear_error(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("1")})
        papers = await it.api.exports.export("s", hidden=True)
        wrong: list[tuple[Any, str]] = [
            ("{", "Invalid adopt data: "),
            ("[]", "Invalid adopt data: "),
            ({}, "Invalid adopt data: .*template"),
            ({**papers, "resources": {}}, "resources.a: Resource ID was not provided."),
            ({**papers, "resources": {**papers["resources"], "b": {"status": "IN_PROGRESS"}}}, "resources.b: Resource ID"),
            ({**papers, "resources": {**papers["resources"], "b": papers["resources"]["a"]}}, "is already resource a"),
            ({**papers, "resources": {**papers["resources"], "b": {"resource_id": "1", "type": "X"}}}, "the data are of X"),
            ({**papers, "resources": "none"}, "Invalid adopt data: .*resources"),
        ]
        for data, told in wrong:
            with pytest.raises(errors.UserError, match=told):
                await it.api.exports.adopt("t", data)
        assert [one["stack_name"] for one in await it.api.stacks.list()] == ["s"]

    lab(story)


def test_no_object_is_adopted_twice(lab: Tell) -> None:
    """Neither under two names of one type, nor by one token, nor by its id and by its token (I1)."""

    async def story(it: Lab) -> None:
        alias = {"resource_registry": {"My::X": "OS::Heat::TestResource"}}
        template = {"a": {**resource("1"), "type": "My::X"}, "b": resource("1")}
        await it.create(template, environment=alias)
        tokens = {row.name: row.token for row in await it.engine.store.read(partial(_all_rows, t.resources))}
        papers = await abandoned(it)
        a, b = papers["resources"]["a"], papers["resources"]["b"]
        by_token = {"token": tokens["a"], "status": "IN_PROGRESS"}
        for doubled in ({"a": a, "b": {**b, "resource_id": a["resource_id"]}}, {"a": by_token, "b": by_token},
                        {"a": a, "b": by_token}):
            with pytest.raises(errors.UserError, match=r"resources\.b: .* is already resource a"):
                await it.api.exports.adopt("s", {**papers, "resources": doubled})
        assert await it.api.stacks.list() == []
        assert (await adopted(it, papers))["stack_status"] == "ADOPT_COMPLETE"

    lab(story)


@pytest.mark.ledger("S2.4")
def test_what_belongs_to_a_living_stack_is_not_taken(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        papers = await it.api.exports.export("s", hidden=True)
        with pytest.raises(errors.Conflict, match="belongs to resource a of stack s"):
            await it.api.exports.adopt("thief", papers)
        await abandoned(it)
        adoptions = (it.api.exports.adopt(name, papers) for name in ("t", "u"))
        both = await asyncio.gather(*adoptions, return_exceptions=True)
        assert sorted(type(one).__name__ for one in both) == ["Accepted", "Conflict"]

    lab(story)


def test_what_is_not_there_is_not_adopted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("2")})
        papers = await abandoned(it)
        await it.take_away(papers["resources"]["a"]["resource_id"])
        stack = await adopted(it, papers)
        assert stack["stack_status"] == "ADOPT_FAILED"
        assert stack["stack_status_reason"].startswith("Resource ADOPT failed: Permanent: resources.a: ")
        assert it.values() == ["2"], "nothing was made"
        assert await it.status("b") == "ADOPT_COMPLETE"

    lab(story)


def test_an_adoption_that_fails_and_rolls_back_gives_back_what_it_took(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("2")})
        papers = await abandoned(it)
        await it.take_away(papers["resources"]["a"]["resource_id"])
        stack = await adopted(it, papers, Patch(disable_rollback=False))
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert it.values() == ["2"]
        assert await it.physical() == {}

    lab(story)


def test_what_could_not_be_adopted_is_made_by_the_next_update(lab: Tell) -> None:
    """Objects that were found to be gone, and objects that were not checked because the adoption had failed by then."""

    async def story(it: Lab) -> None:
        template = {"a": resource("1"), "b": resource("2", needs=["a"]), "c": resource("3")}
        await it.create(template)
        papers = await abandoned(it)
        there = papers["resources"]["c"]["resource_id"]
        for name in "ab":
            await it.take_away(papers["resources"][name]["resource_id"])
        assert (await adopted(it, papers))["stack_status"] == "ADOPT_FAILED"
        assert (await it.update(template))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["1", "2", "3"]
        assert (await it.physical())["c"] == there, "what is there is not made anew"

    lab(story)


def test_a_rollback_after_an_adoption_that_is_through_undoes_nothing(lab: Tell) -> None:
    """It goes back to the last complete state, which is the adoption: what was taken over is still the stack's."""

    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        assert (await adopted(it, await abandoned(it)))["stack_status"] == "ADOPT_COMPLETE"
        assert (await it.end(await it.api.stacks.rollback("s")))["stack_status"] == "ROLLBACK_COMPLETE"
        assert it.values() == ["1"]
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


@pytest.mark.ledger("S2.4")
def test_an_update_overtakes_an_adoption(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        chain = {f"r{i}": resource("1", needs=[f"r{i - 1}"] if i else None) for i in range(30)}
        await it.create(chain)
        before = set(it.objects())
        papers = await abandoned(it)
        await it.api.exports.adopt("s", papers)
        changed = {name: {**one, "properties": {"value": "2"}} for name, one in chain.items()}
        assert (await it.update(changed))["stack_status"] == "UPDATE_COMPLETE"
        assert set(it.objects()) == before, "all were adopted, none was made"
        assert it.values() == ["2"] * 30

    lab(story)


@pytest.mark.ledger("S2.4")
def test_abandoning_waits_for_what_is_under_way(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"a": resource("1", wait_secs=0.3), "b": resource("2", needs=["a"])}))
        await it.until(lambda: _is(it, "a", "CREATE_IN_PROGRESS"))
        papers = await abandoned(it)
        assert it.values() == ["1"], "what was begun stays, what was not is not"
        assert papers["resources"]["a"]["resource_id"] in it.objects()
        assert papers["resources"]["b"]["resource_id"] is None

    lab(story)


def test_abandoning_works_in_every_state(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "bad": resource("2", fail=True)})
        papers = await abandoned(it)
        assert it.values() == ["1"]
        assert papers["resources"]["bad"]["resource_id"] is None
        await it.create({"a": resource("3")})
        await it.end(await it.api.stacks.suspend("s"))
        await abandoned(it)
        stuck = resource("4", action_wait_secs={"delete": -1})
        await it.create({"a": stuck})
        await it.api.stacks.delete("s")
        await it.until(lambda: _is(it, "a", "DELETE_IN_PROGRESS"))
        await abandoned(it)
        assert it.values() == ["1", "3", "4"]

    lab(story)


def test_external_objects_stay_external(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.end(await it.api.stacks.create("other", it.request({"x": resource("theirs")})))
        (theirs,) = it.objects()
        await it.create({"a": {"type": "OS::Heat::TestResource", "external_id": theirs}, "b": resource("mine")})
        papers = await abandoned(it)
        assert (await adopted(it, papers))["stack_status"] == "ADOPT_COMPLETE"
        await it.delete()
        assert it.values() == ["theirs"]

    lab(story)


def test_a_default_that_was_masked_is_not_taken_for_a_value(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        hidden = {"p": {"type": "string", "hidden": True, "default": SECRET}}
        await it.create({"a": resource({"get_param": "p"})}, parameters=hidden)
        papers = (await it.api.exports.abandon("s")).document
        assert SECRET not in json.dumps(papers)
        with pytest.raises(errors.UserError, match="the value of parameter p is masked"):
            await it.api.exports.adopt("t", papers)

    lab(story)


def test_a_nested_stack_is_adopted_with_the_outer_one(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        files = {"inside.yaml": it.request({"x": resource("1")}).template}
        await it.create({"a": {"type": "inside.yaml"}, "b": resource("2")}, files=files)
        before = it.objects()
        papers = await abandoned(it)
        assert it.objects() == before
        assert (await adopted(it, papers))["stack_status"] == "ADOPT_COMPLETE"
        assert it.objects() == before
        await it.delete()
        assert it.objects() == {}

    lab(story)


@pytest.mark.ledger("S2.4")
def test_another_process_goes_on_where_one_was_killed(tmp_path: Path) -> None:
    async def first() -> None:
        engine = Embedded(tmp_path)
        it = Lab(engine)
        async with engine.driving():
            await it.create({"a": resource("1"), "b": resource("2", needs=["a"])})
            papers = await abandoned(it)
        # No engine runs any more: this is the state that a killed process has left.
        await it.api.exports.adopt("s", papers)
        engine.close()

    async def second() -> None:
        engine = Embedded(tmp_path)
        async with engine.driving():
            it = Lab(engine)
            await it.until(lambda: _ended(it))
            assert (await it.api.stacks.show("s"))["stack_status"] == "ADOPT_COMPLETE"
            assert it.values() == ["1", "2"]
        await it.api.exports.abandon("s")
        engine.close()

    async def third() -> None:
        engine = Embedded(tmp_path)
        async with engine.driving():
            it = Lab(engine)
            await it.until(lambda: _nothing(it))
            assert it.values() == ["1", "2"]
        engine.close()

    for part in (first, second, third):
        asyncio.run(part())


async def _is(it: Lab, name: str, status: str) -> bool:
    return await it.status(name) == status


async def _ended(it: Lab) -> bool:
    return bool((await it.api.stacks.show("s"))["status"] != "IN_PROGRESS")


async def _nothing(it: Lab) -> bool:
    return await it.api.stacks.list() == []
