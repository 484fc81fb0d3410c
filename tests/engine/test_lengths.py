"""Names and texts as long as they may be, and with anything in them: what the database keeps is what was given."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from isotherm.engine.process.embedded import Embedded
from isotherm.resources import builtin, contract
from isotherm.resources.schema import STRING, AttributeSchema
from tests.engine.conftest import Lab, Tell, resource

LONG = "n" * 255
NUL = "a\0b"


class Rubbish(contract.Resource):
    """A type whose answers are not expected."""

    TYPE = "Test::Rubbish"

    async def handle_create(self) -> None:
        self.physical_id = "id" * 3000
        raise ValueError(f"{NUL} {'x' * 100_000} \U0001f525 \ud800")


class Odd(contract.Resource):
    """Has NUL in what others read of it."""

    TYPE = "Test::Odd"
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {"said": AttributeSchema("What it says.", STRING)}

    async def handle_create(self) -> None:
        self.physical_id = "odd"

    async def attribute(self, name: str) -> object:
        return NUL


class Numbered(contract.Resource):
    """Its cloud names things by what is no text."""

    TYPE = "Test::Numbered"

    async def handle_create(self) -> None:
        self.physical_id = uuid.UUID(int=7)


@pytest.fixture
def rubbish(monkeypatch: pytest.MonkeyPatch) -> None:
    for type_ in (Rubbish, Odd, Numbered):
        monkeypatch.setitem(builtin.registry().types, type_.TYPE, type_)


def group(count: int, inner: dict[str, Any]) -> dict[str, Any]:
    return {"type": "OS::Heat::ResourceGroup", "properties": {"count": count, "resource_def": inner}}


async def end(it: Lab, name: str, resources: dict[str, Any], **options: Any) -> dict[str, Any]:
    return await it.end(await it.api.stacks.create(name, it.request(resources, **options)))


def test_names_are_as_long_as_they_may_be(lab: Tell) -> None:
    resources = {
        LONG: resource("x"), f"{LONG[:-1]}g": group(2, resource("y")),
        f"{LONG[:-1]}c": {"type": "OS::Heat::SoftwareConfig", "properties": {"group": "g" * 1000, "config": "x"}},
        f"{LONG[:-1]}r": {"type": "OS::Heat::RandomString"},
        f"{LONG[:-1]}d": {"type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": {"get_resource": f"{LONG[:-1]}c"}, "server": "s" * 1000, "signal_transport": "NO_SIGNAL"}},
    }

    async def story(it: Lab) -> None:
        stack = await end(it, LONG, resources)
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        found = {one["resource_name"]: one for one in await it.api.resources.list(LONG)}
        assert set(found) == set(resources)
        assert found[LONG]["physical_resource_id"].startswith(LONG[:240])
        assert len({one["physical_resource_id"] for one in found.values()}) == len(found)
        assert (await it.end(await it.api.snapshots.take(LONG, "s" * 1000)))["status"] == "COMPLETE"
        assert (await it.end(await it.api.stacks.delete(LONG)))["status"] == "COMPLETE"

    lab(story)


def test_a_type_is_a_whole_address(lab: Tell) -> None:
    """A template that serves as a type is called by the address of its file."""
    address = f"file:///{'folder/' * 60}inner.yaml"
    inner = "heat_template_version: 2021-04-16\nresources:\n  a: {type: OS::Heat::TestResource, properties: {value: x}}\n"

    async def story(it: Lab) -> None:
        stack = await end(it, "s", {"n": {"type": address}}, files={address: inner})
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        assert [one["resource_type"] for one in await it.api.resources.list("s")] == [address]

    lab(story)


def test_what_a_type_says_fails_only_its_resource(lab: Tell, rubbish: None) -> None:
    """However long its id is, and whatever is in its error."""
    async def story(it: Lab) -> None:
        stack = await end(it, "s", {"a": {"type": "Test::Rubbish"}, "b": resource("x")})
        assert stack["stack_status"] == "CREATE_FAILED"
        assert (await it.physical())["a"] == "id" * 3000
        assert await it.history("a") == ["CREATE_IN_PROGRESS", "CREATE_FAILED"]
        assert (await it.delete())["status"] == "COMPLETE"

    lab(story)


def test_an_id_that_is_no_text(lab: Tell, rubbish: None) -> None:
    async def story(it: Lab) -> None:
        stack = await end(it, "s", {"a": {"type": "Test::Numbered"}, "b": resource({"get_resource": "a"})})
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        assert (await it.physical())["a"] == str(uuid.UUID(int=7))
        assert it.values() == [str(uuid.UUID(int=7))]

    lab(story)


def test_nul_in_what_a_type_gives(lab: Tell, rubbish: None) -> None:
    """No template can have it; what comes from a cloud can, and is part of a document then."""
    async def story(it: Lab) -> None:
        outputs = {"o": {"value": {"get_attr": ["a", "said"]}}}
        resources = {"a": {"type": "Test::Odd"}, "b": resource({"get_attr": ["a", "said"]}, needs=["a"])}
        stack = await end(it, "s", resources, outputs=outputs)
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        assert (await it.api.outputs.show("s", "o"))["output_value"] == NUL
        assert it.values() == [NUL]

    lab(story)


def test_what_is_asked_for_with_nul_in_its_name_is_not_there(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("x")})
        for ask in (it.api.stacks.show(NUL), it.api.resources.show("s", NUL), it.api.signals.send("s", NUL, {})):
            with pytest.raises(Exception, match="could not be found"):
                await ask

    lab(story)


def test_a_stack_of_another_folder_is_not_seen(tmp_path: Path) -> None:
    """Each folder has a database of its own, on a server too."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = Embedded(tmp_path / "one"), Embedded(tmp_path / "two")
    assert one.settings.database_connection != two.settings.database_connection or not one.settings.database_connection
    one.close()
    two.close()
