"""Types that choose the ids of their objects: a replacement may have the id of what it replaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from isotherm.resources import contract
from isotherm.resources.schema import STRING, Schema
from tests.engine.conftest import Lab, Tell, resource
from tests.engine.local_stage import file


class Record(contract.Resource):
    """A record of a service that has records by name, overwrites existing ones, and has no tokens."""

    TYPE = "Test::Record"
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        "name": Schema(STRING, "The id.", required=True),
        "text": Schema(STRING, "Changes in place.", update_allowed=True),
        "zone": Schema(STRING, "A change replaces it, under the same name."),
    }
    service: ClassVar[dict[str, str | None]] = {}
    deleted: ClassVar[list[str]] = []

    async def handle_create(self) -> object:
        self.service[self.properties["name"]] = self.properties["text"]
        self.physical_id = self.properties["name"]
        return None

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        self.service[self.physical_id or ""] = self.properties["text"]
        return None

    async def handle_delete(self) -> object:
        if self.physical_id is not None:
            self.deleted.append(self.physical_id)
            self.service.pop(self.physical_id, None)
        return None

    async def handle_check(self) -> object:
        if self.physical_id not in self.service:
            raise LookupError(f"{self.physical_id} does not exist")
        return None

    async def handle_get_reality(self) -> contract.LiveState:
        if self.physical_id not in self.service:
            return contract.Gone()
        return contract.Seen({"text": self.service[self.physical_id]})


@pytest.fixture(autouse=True)
def service() -> Any:
    Record.service.clear()
    Record.deleted.clear()
    return Record.service


def record(text: str = "1", **more: str) -> dict[str, Any]:
    return {"type": "Test::Record", "properties": {"name": "x", "text": text, **more}}


async def told(it: Lab, name: str) -> list[tuple[str, str]]:
    found = await it.api.events.list("s", last=1000)
    return [(one["resource_status"], one["resource_status_reason"]) for one in found if one["resource_name"] == name]


def test_a_repair_does_not_delete_what_it_made(lab: Tell, service: Any) -> None:
    async def story(it: Lab) -> None:
        it.engine.types.register(Record)
        await it.create({"a": record(), "b": resource({"get_resource": "a"})})
        service.clear()
        before = len(await told(it, "a"))
        stack = await it.update({"a": record(), "b": resource({"get_resource": "a"})}, converge=True)
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert service == {"x": "1"}
        assert Record.deleted == []
        assert (await told(it, "a"))[before:] == [
            ("DELETE_COMPLETE", "gone already, forgotten"), ("CREATE_IN_PROGRESS", ""),
            ("CREATE_COMPLETE", "")]
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert service == {}
        assert Record.deleted == ["x"]

    lab(story)


def test_what_was_found_gone_is_forgotten_even_where_the_type_changes(lab: Tell, service: Any) -> None:
    """It was looked at because it sleeps; that another class is wanted is seen only after that."""

    async def story(it: Lab) -> None:
        it.engine.types.register(Record)
        await it.create({"a": record()})
        await it.end(await it.api.stacks.suspend("s"))
        await it.end(await it.api.stacks.check("s"))
        service.clear()
        stack = await it.update({"a": resource("1")}, converge=True)
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert Record.deleted == []
        assert ("DELETE_COMPLETE", "gone already, forgotten") in await told(it, "a")

    lab(story)


@pytest.mark.ledger("S2.14")
def test_a_version_that_is_taken_up_again_is_looked_at_first(lab: Tell, service: Any) -> None:
    """Its object went while a newer version stood for it: no check looked at it, and the rollback makes it anew."""

    async def story(it: Lab) -> None:
        it.engine.types.register(Record)
        await it.create({"a": record(name="one")})
        stack = await it.update({"a": record(name="two"), "b": resource("1", needs=["a"], fail=True)})
        assert (stack["stack_status"], sorted(service)) == ("UPDATE_FAILED", ["one", "two"])
        del service["one"]
        stack = await it.end(await it.api.stacks.rollback("s"))
        assert stack["stack_status"] == "ROLLBACK_COMPLETE", stack["stack_status_reason"]
        assert sorted(service) == ["one"]
        assert Record.deleted == ["two"]

    lab(story)


def test_a_replacement_with_the_same_id_survives_the_clean_up(lab: Tell, service: Any) -> None:
    async def story(it: Lab) -> None:
        it.engine.types.register(Record)
        await it.create({"a": record(zone="1")})
        stack = await it.update({"a": record(zone="2")})
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert (service, Record.deleted) == ({"x": "1"}, [])
        assert (await told(it, "a"))[-1] == ("DELETE_COMPLETE", "its object belongs to another version, forgotten")
        service.clear()
        await it.end(await it.api.stacks.check("s"))
        await it.update({"a": record(zone="2")})
        assert (service, Record.deleted) == ({"x": "1"}, []), "nor is it deleted where only a check saw that it was gone"
        await it.delete()
        assert (service, Record.deleted) == ({}, ["x"])

    lab(story)


class Unique(Record):
    """A record of a service that refuses a second one of a name. A replacement deletes the one that it replaces."""

    TYPE = "Test::Unique"
    traits = contract.Traits(knows_replaced=True)

    async def handle_create(self) -> object:
        name = self.properties["name"]
        if name in self.service and self.data.get(contract.REPLACED) != name:
            raise ValueError(f"{name} exists")
        if self.properties["zone"] == "broken":
            self.service.pop(name, None)
            raise ValueError("the zone is broken")
        self.service[name] = self.properties["zone"]
        self.physical_id = name
        return None

    async def handle_get_reality(self) -> contract.LiveState:
        if self.physical_id not in self.service:
            return contract.Gone()
        return contract.Seen({"zone": self.service[self.physical_id]})


def unique(zone: str) -> dict[str, Any]:
    return {"type": "Test::Unique", "properties": {"name": "x", "zone": zone}}


def test_a_replacement_knows_what_it_replaces(lab: Tell, service: Any) -> None:
    """Also after an attempt that has left no object, and a rollback finds out that the object differs or is gone."""

    async def story(it: Lab) -> None:
        it.engine.types.register(Unique)
        service["x"] = "of somebody else"
        assert (await it.create({"a": unique("1")}))["stack_status"] == "CREATE_FAILED"
        assert service.pop("x") == "of somebody else"
        for zone in ("1", "2", "broken", "3"):
            stack = await it.update({"a": unique(zone)})
            assert stack["stack_status"] == ("UPDATE_FAILED" if zone == "broken" else "UPDATE_COMPLETE")
            assert service == ({} if zone == "broken" else {"x": zone})
        for zone in ("4", "broken"):
            await it.update({"a": unique(zone), "b": resource("1", needs=["a"], fail=True)})
            stack = await it.end(await it.api.stacks.rollback("s"))
            assert (stack["stack_status"], service) == ("ROLLBACK_COMPLETE", {"x": "3"})
        await it.delete()
        assert service == {}

    lab(story)


def test_the_last_of_all_versions_deletes_the_object(lab: Tell, service: Any) -> None:
    """Versions that failed updates have left behind, under one id."""

    async def story(it: Lab) -> None:
        it.engine.types.register(Record)
        await it.create({"a": record(zone="1")})
        for zone in "23":
            broken = {"a": record(zone=zone), "b": resource("1", needs=["a"], fail=True)}
            assert (await it.update(broken))["stack_status"] == "UPDATE_FAILED"
        await it.delete()
        assert (service, Record.deleted) == ({}, ["x"])

    lab(story)


def test_another_stack_of_the_project_keeps_the_object(lab: Tell, service: Any) -> None:
    async def story(it: Lab) -> None:
        it.engine.types.register(Record)
        await it.create({"a": record()})
        await it.end(await it.api.stacks.create("t", it.request({"other": record("2")})))
        await it.delete()
        assert (service, Record.deleted) == ({"x": "2"}, [])
        await it.end(await it.api.stacks.delete("t"))
        assert (service, Record.deleted) == ({}, ["x"])

    lab(story)


def test_what_is_kept_on_purpose_is_listed_once(lab: Tell, service: Any) -> None:
    async def story(it: Lab) -> None:
        it.engine.types.register(Record)
        keep = {"deletion_policy": "Retain"}
        await it.create({"a": {**record(zone="1"), **keep}})
        await it.update({"a": {**record(zone="2"), **keep}})
        assert (await it.api.stacks.show("s"))["retained"] == []
        stack = await it.delete()
        assert [one["physical_resource_id"] for one in stack["retained"]] == ["x"]
        assert (service, Record.deleted) == ({"x": "1"}, [])

    lab(story)


def test_a_version_whose_object_was_written_over_is_not_taken_up_again(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        fails = resource("1", needs=["a"], fail=True)
        await it.create({"a": file("p", "1")})
        for made in (file("q", "1"), file("p", "2")):
            stack = await it.update({"a": made, "b": fails})
            assert stack["stack_status"] == "UPDATE_FAILED", stack["stack_status_reason"]
        [written] = list(it.engine.path.rglob("p"))
        assert written.read_text() == "2"
        stack = await it.update({"a": file("p", "1")})
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert written.read_text() == "1"
        await it.delete()
        assert not written.exists()

    lab(story)
