"""A name that the environment gives to a type: what counts is the implementation behind it, not the name."""

from __future__ import annotations

from tests.engine.conftest import Lab, Tell, resource
from tests.engine.local_stage import file

THING, NONE = "OS::Heat::TestResource", "OS::Heat::None"
LEAF = """
heat_template_version: 2021-04-16
parameters: {value: {type: string, default: leaf}}
resources:
  inner: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
"""


def aliased(target: str, name: str = "My::X") -> dict[str, dict[str, str]]:
    return {"resource_registry": {name: target}}


def thing(value: str = "1", type_: str = "My::X") -> dict[str, object]:
    return {"type": type_, "properties": {"value": value}}


def test_another_class_behind_the_name_replaces_the_object(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": thing()}, environment=aliased(THING))
        assert it.values() == ["1"]
        preview = await it.api.preview.changes("s", it.request({"a": thing()}, environment=aliased(NONE)))
        assert preview.counts == {"replace": 1}
        assert [one.cause for one in preview.items] == ["type"]
        stack = await it.update({"a": thing()}, environment=aliased(NONE))
        assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
        assert it.objects() == {}
        await it.update({"a": thing()}, environment=aliased(THING))
        assert it.values() == ["1"], "it is made anew"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_a_file_whose_alias_means_nothing_any_more_is_deleted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        written = {**file("a.txt"), "type": "My::X"}
        stack = await it.create({"a": written}, environment=aliased("Isotherm::Local::File"))
        assert stack["stack_status"] == "CREATE_COMPLETE", stack["stack_status_reason"]
        [made] = list(it.engine.path.rglob("a.txt"))
        await it.update({"a": written}, environment=aliased(NONE))
        assert not made.exists()
        await it.delete()

    lab(story)


def test_a_failed_change_of_the_class_goes_back_to_the_object(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": thing()}, environment=aliased(THING))
        before = await it.physical()
        broken = {"a": thing(), "b": resource("2", needs=["a"], fail=True)}
        stack = await it.update(broken, environment=aliased(NONE), disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE", stack["stack_status_reason"]
        assert await it.physical() == before
        assert it.values() == ["1"]
        await it.delete()
        assert it.objects() == {}

    lab(story)


def test_another_name_of_the_same_class_keeps_the_object(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": thing()}, environment=aliased(THING))
        before = await it.physical()
        other = aliased(THING, "My::Y")
        preview = await it.api.preview.changes("s", it.request({"a": thing(type_="My::Y")}, environment=other))
        assert preview.counts == {"no change": 1}
        await it.update({"a": thing(type_="My::Y")}, environment=other)
        assert await it.physical() == before
        assert [one["resource_type"] for one in await it.api.resources.list("s")] == ["My::Y"]
        await it.update({"a": resource("2")})
        assert await it.physical() == before, "nor does it matter that there is no alias"
        assert it.values() == ["2"]
        assert [one["resource_type"] for one in await it.api.resources.list("s")] == [THING]
        await it.delete()
        assert it.objects() == {}

    lab(story)


def test_from_a_class_to_a_template_and_back(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        files = {"leaf.yaml": LEAF}
        await it.create({"a": thing()}, environment=aliased(THING))
        [first] = it.objects()
        await it.update({"a": thing()}, environment=aliased("leaf.yaml"), files=files)
        [second] = it.objects()
        assert second != first
        await it.update({"a": thing()}, environment=aliased(THING))
        [third] = it.objects()
        assert third not in (first, second)
        await it.delete()
        assert it.objects() == {}

    lab(story)


def test_another_template_updates_the_nested_stack(lab: Tell) -> None:
    """Heat does so too: all templates are one class to it."""

    async def story(it: Lab) -> None:
        await it.create({"a": thing()}, environment=aliased("leaf.yaml"), files={"leaf.yaml": LEAF})
        before, objects = await it.physical(), it.objects()
        more = LEAF + "  second: {type: OS::Heat::TestResource}\n"
        await it.update({"a": thing()}, environment=aliased("more.yaml"), files={"more.yaml": more})
        assert await it.physical() == before
        assert objects.keys() < it.objects().keys()
        await it.delete()
        assert it.objects() == {}

    lab(story)
