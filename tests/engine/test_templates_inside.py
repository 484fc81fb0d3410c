"""Nested templates: the values they are validated with, the meaning of types in them, and their required interface."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm import errors
from isotherm.resources.validation import validate
from tests.engine.conftest import Lab, Tell, resource

TEST = "OS::Heat::TestResource"
VERSION = "heat_template_version: 2021-04-16\n"
# Which resource there is follows from a parameter without a default.
CHOOSING = VERSION + """
parameters: {kind: {type: string}}
conditions: {small: {equals: [{get_param: kind}, small]}}
resources:
  little: {type: OS::Heat::TestResource, condition: small, properties: {value: little}}
  much: {type: OS::Heat::TestResource, condition: {not: small}, properties: {value: {get_param: kind}}}
outputs:
  little: {condition: small, value: {get_attr: [little, output]}}
"""
# A template in the place of a type, that uses this type.
WRAPPING = VERSION + """
parameters: {value: {type: string, default: nothing}}
resources:
  inner: {type: OS::Heat::TestResource, properties: {value: {list_join: ['-', [wrapped, {get_param: value}]]}}}
outputs: {output: {value: {get_attr: [inner, output]}}}
"""


def kind(type_: str, **properties: Any) -> dict[str, Any]:
    return {"type": type_, "properties": properties}


def group(type_: str, **properties: Any) -> dict[str, Any]:
    return kind("OS::Heat::ResourceGroup", count=2, resource_def=kind(type_, **properties))


def mapped(**lines: Any) -> dict[str, Any]:
    return {"resource_registry": {name.replace("__", "::"): one for name, one in lines.items()}}


async def good(story: Any) -> None:
    stack = await story
    assert stack["stack_status"].endswith("_COMPLETE"), stack["stack_status_reason"]


async def inner(it: Lab, name: str, stack: str = "s") -> str:
    """The stack that a resource is."""
    return str((await it.api.resources.show(stack, name))["physical_resource_id"])


async def changes(it: Lab, resources: dict[str, Any], **options: Any) -> dict[str, str]:
    """Return the preview of an update."""
    told = await it.api.preview.changes("s", it.request(resources, **options))
    return {one.name: one.action for one in told.items}


def test_a_condition_inside_is_judged_with_the_properties_outside(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        files = {"choosing.yaml": CHOOSING}
        shown = {"o": {"value": {"get_attr": ["a", "little"]}}}
        small, big = {"a": kind("choosing.yaml", kind="small")}, {"a": kind("choosing.yaml", kind="big")}
        told = await it.api.preview.create("s", it.request(small, files=files))
        assert [one["resource_name"] for one in told["resources"][0]] == ["little"]
        await good(it.create(small, files=files, outputs=shown))
        assert it.values() == ["little"]
        await good(it.update(big, files=files, outputs=shown))
        assert it.values() == ["big"]
        await good(it.update(small, files=files, outputs=shown))
        assert (await it.api.outputs.list("s"))[0]["output_value"] == "little"

    lab(story)


def test_a_condition_inside_the_members_of_a_group(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        files = {"choosing.yaml": CHOOSING}
        await good(it.create({"g": group("choosing.yaml", kind="n%index%")}, files=files))
        assert it.values() == ["n0", "n1"]
        await good(it.update({"g": group("choosing.yaml", kind="small")}, files=files))
        assert it.values() == ["little", "little"]

    lab(story)


def test_a_condition_that_hangs_on_what_does_not_exist_yet(lab: Tell) -> None:
    """It is judged with an empty value, and again with the real one when the stack inside is made."""
    async def story(it: Lab) -> None:
        template = {"first": resource("small"), "a": kind("choosing.yaml", kind={"get_attr": ["first", "output"]})}
        await good(it.create(template, files={"choosing.yaml": CHOOSING}))
        assert it.values() == ["little", "small"]

    lab(story)


def test_what_is_wrong_with_the_properties_outside_is_told_before_anything_is_made(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        files = {"choosing.yaml": CHOOSING.replace(f"{TEST}, condition: small", "No::Type, condition: small")}
        with pytest.raises(errors.UserError) as refused:
            await it.create({"a": kind("choosing.yaml", kind="small")}, files=files)
        assert str(refused.value) == "resources.a<choosing.yaml>: The Resource Type (No::Type) could not be found."
        assert await it.api.stacks.list() == []
        await good(it.create({"a": kind("choosing.yaml", kind="big")}, files=files))
        with pytest.raises(errors.UserError, match="No::Type"):
            await it.update({"a": kind("choosing.yaml", kind="small")}, files=files)
        assert it.values() == ["big"]

    lab(story)


@pytest.mark.parametrize("lines", [
    mapped(OS__Heat__TestResource="wrapping.yaml"),
    mapped(OS__Heat__TestResource="My::Test", My__Test="wrapping.yaml"),
    {"resource_registry": {"OS::Heat::Test*": "My::Test*", "My::TestResource": "wrapping.yaml"}},
    mapped(resources={"a": {TEST: "wrapping.yaml"}}),
])
def test_a_template_in_the_place_of_a_type_uses_that_type(lab: Tell, lines: Any) -> None:
    async def story(it: Lab) -> None:
        options = {"files": {"wrapping.yaml": WRAPPING}, "environment": lines}
        it.api.templates.validate(it.request({"a": resource("1")}).template, options["files"], lines, nested=True)
        told = await it.api.preview.create("s", it.request({"a": resource("1")}, **options))
        assert [one["resource_name"] for one in told["resources"][0]] == ["inner"]
        await good(it.create({"a": resource("1")}, **options))
        assert it.values() == ["wrapped-1"]
        await good(it.update({"a": resource("2")}, **options))
        assert it.values() == ["wrapped-2"]
        assert (await it.api.resources.show("s", "a"))["resource_type"] == TEST
        assert (await it.api.resources.show(await inner(it, "a"), "inner"))["resource_type"] == TEST
        await good(it.delete())
        assert it.objects() == {}

    lab(story)


def test_a_template_comes_into_the_place_of_a_type_and_leaves_it(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await good(it.create({"a": resource("1")}))
        options = {"files": {"wrapping.yaml": WRAPPING}, "environment": mapped(OS__Heat__TestResource="wrapping.yaml")}
        assert await changes(it, {"a": resource("1")}, **options) == {"a": "replace", "a.inner": "create"}
        await good(it.update({"a": resource("1")}, **options))
        assert it.values() == ["wrapped-1"]
        assert await changes(it, {"a": resource("1")}) == {"a": "replace", "a.inner": "delete"}
        await good(it.update({"a": resource("1")}))
        assert it.values() == ["1"]

    lab(story)


def test_a_name_stands_for_another_type(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"a": kind("My::Type", value="1")}
        await good(it.create(template, environment=mapped(My__Type=TEST)))
        other = {"environment": mapped(My__Type="OS::Heat::Value")}
        assert await changes(it, template, **other) == {"a": "replace"}
        await good(it.update(template, **other))
        assert it.objects() == {}
        await good(it.update(template, environment=mapped(My__Type=TEST)))
        assert it.values() == ["1"]

    lab(story)


@pytest.mark.parametrize("lines", [mapped(OS__Heat__TestResource="wrapping.yaml"),
                                   mapped(resources={"g": {"0": {TEST: "wrapping.yaml"}}})])
def test_members_of_a_group_are_templates_in_the_place_of_a_type(lab: Tell, lines: Any) -> None:
    async def story(it: Lab) -> None:
        options = {"files": {"wrapping.yaml": WRAPPING}, "environment": lines}
        everyone = "resources" not in lines["resource_registry"]
        await good(it.create({"g": group(TEST, value="%index%")}, **options))
        assert it.values() == sorted(["wrapped-0", "wrapped-1" if everyone else "1"])
        await good(it.update({"g": group(TEST, value="x%index%")}, **options))
        assert it.values() == sorted(["wrapped-x0", "wrapped-x1" if everyone else "x1"])

    lab(story)


def test_a_group_is_a_template_that_uses_the_type_of_groups(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        many = VERSION + """
parameters: {count: {type: number}, resource_def: {type: json}}
resources:
  g: {type: OS::Heat::ResourceGroup, properties: {count: {get_param: count}, resource_def: {get_param: resource_def}}}
outputs:
  refs: {value: {get_attr: [g, refs]}}
  refs_map: {value: {get_attr: [g, refs_map]}}
  attributes: {value: {get_attr: [g, attributes, output]}}
  removed_rsrc_list: {value: []}
"""
        await good(it.create({"g": group(TEST, value="%index%")}, files={"many.yaml": many},
                             environment=mapped(OS__Heat__ResourceGroup="many.yaml")))
        assert it.values() == ["0", "1"]

    lab(story)


def test_templates_in_the_place_of_each_others_types(lab: Tell) -> None:
    """Each line applies once on the way down: the type that comes back in the end is the one that exists."""
    async def story(it: Lab) -> None:
        both = VERSION + """
parameters: {value: {type: string}}
resources:
  test: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
  kept: {type: OS::Heat::Value, properties: {value: {get_param: value}}}
outputs:
  output: {value: {get_attr: [test, output]}}
  value: {value: {get_attr: [kept, value]}}
"""
        options = {"files": {"test.yaml": both, "value.yaml": both},
                   "environment": mapped(OS__Heat__TestResource="test.yaml", OS__Heat__Value="value.yaml")}
        await good(it.create({"a": resource("1")}, **options))
        assert it.values() == ["1", "1"]
        within = await inner(it, "kept", await inner(it, "a"))
        assert {one["resource_name"]: one["resource_type"] for one in await it.api.resources.list(within)} == {
            "test": TEST, "kept": "OS::Heat::Value"}

    lab(story)


@pytest.mark.parametrize(("files", "lines", "told"), [
    ({"a.yaml": "My::B", "b.yaml": "My::A"}, {"My::A": "a.yaml", "My::B": "b.yaml"},
     "resources.a<a.yaml>.resources.x<b.yaml>: The Resource Type (My::A) could not be found."),
    ({"a.yaml": "My::A"}, {"My::A": "a.yaml"}, "resources.a<a.yaml>: The Resource Type (My::A) could not be found."),
    ({"a.yaml": "b.yaml", "b.yaml": "a.yaml"}, {"My::A": "a.yaml"}, "Recursion depth exceeds 5."),
    ({"a.yaml": "a.yaml"}, {"My::A": "a.yaml", "a.yaml": "a.yaml"}, "Recursion depth exceeds 5."),
])
def test_what_leads_back_to_itself_is_refused(lab: Tell, files: Any, lines: Any, told: Any) -> None:
    async def story(it: Lab) -> None:
        texts = {name: VERSION + f"resources: {{x: {{type: '{one}'}}}}" for name, one in files.items()}
        with pytest.raises(errors.UserError) as refused:
            await it.create({"a": {"type": "My::A"}}, files=texts, environment={"resource_registry": lines})
        assert str(refused.value).endswith(told)
        assert await it.api.stacks.list() == []

    lab(story)


FACADE = VERSION + """
parameters: {one: {type: string}, two: {type: string}}
outputs: {here-it-is: {value: noop}}
"""


@pytest.mark.parametrize(("changed", "properties", "told"), [
    (", two: {type: string}", {"one": "1"}, "Required property two for facade OS::Thingy missing in provider"),
    ("outputs: {here-it-is: {value: noop}}", {"one": "1", "two": "2"},
     "Attribute here-it-is for facade OS::Thingy missing in provider"),
])
@pytest.mark.parametrize("place", ["outside", "inside", "member"])
def test_a_template_in_the_place_of_a_template_must_look_like_it(
    lab: Tell, changed: Any, properties: Any, told: Any, place: Any
) -> None:
    async def story(it: Lab) -> None:
        thing = kind("OS::Thingy", **properties)
        around = VERSION + f"resources: {{thing: {thing}}}"
        template = {"outside": {"thing": thing}, "inside": {"a": {"type": "around.yaml"}},
                    "member": {"g": group("OS::Thingy", **properties)}}[place]
        below = {"outside": {"thing": {"OS::Thingy": "concrete.yaml"}}, "inside": {"a": {"thing": {
            "OS::Thingy": "concrete.yaml"}}}, "member": {"g": {"0": {"OS::Thingy": "concrete.yaml"}}}}[place]
        options = {"environment": mapped(OS__Thingy="facade.yaml", resources=below),
                   "files": {"around.yaml": around, "facade.yaml": FACADE, "concrete.yaml": FACADE.replace(changed, "")}}
        with pytest.raises(errors.UserError) as refused:
            await it.create(template, **options)
        assert refused.value.problems[0].message == told
        assert await it.api.stacks.list() == []
        await good(it.create({}))
        with pytest.raises(errors.UserError) as refused:
            await it.update(template, **options)
        assert refused.value.problems[0].message == told

    lab(story)


def test_hooks_of_a_nested_stack_and_of_its_resources(lab: Tell) -> None:
    """The list of hooks is about the resource; what is below it by name is about the stack inside."""
    async def story(it: Lab) -> None:
        lines = mapped(OS__Heat__TestResource="wrapping.yaml", resources={
            "a": {"hooks": ["pre-create", "post-create"], "inner": {"hooks": ["pre-create"]}},
            "*": {"inner": {"hooks": ["post-create"]}}})
        request = it.request({"a": resource("1")}, files={"wrapping.yaml": WRAPPING}, environment=lines)
        accepted = await it.api.stacks.create("s", request)
        for name, hook in (("a", "pre-create"), ("inner", "pre-create"), ("a", "post-create")):
            async def paused(name: str = name, hook: str = hook) -> bool:
                stack = "s" if name == "a" else await inner(it, "a")
                return stack != "None" and [hook] == [one["hook"] for one in await it.api.signals.hooks(stack)]

            await it.until(paused)
            await it.api.signals.clear_hook("s" if name == "a" else await inner(it, "a"), name, hook)
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"
        assert it.values() == ["wrapped-1"]

    lab(story)


def test_a_wildcard_turns_everything_off(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await good(it.create({"a": resource("1"), "b": kind("My::Thing", x=1)}, environment={
            "resource_registry": {"*": "OS::Heat::None"}}))
        assert it.objects() == {}

    lab(story)


def test_only_so_many_resources_inside_are_judged_with_their_own_parameters(
    lab: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve in twelve in twelve, all different: one look at each template has to do for most of them."""
    async def story(it: Lab) -> None:
        monkeypatch.setattr(validate, "_LOOKED", 100)
        looks = 0
        look = validate._Validation._validate_nested

        def counted(*arguments: Any) -> Any:
            nonlocal looks
            looks += 1
            return look(*arguments)

        monkeypatch.setattr(validate._Validation, "_validate_nested", counted)
        below = {2: TEST}
        files = {}
        for depth in (1, 0):
            inside = {f"r{n}": kind(below[depth + 1], value={"list_join": ["", [{"get_param": "value"}, str(n)]]})
                      for n in range(12)}
            files[f"{depth}.yaml"] = VERSION + f"parameters: {{value: {{type: string}}}}\nresources: {inside}"
            below[depth] = f"{depth}.yaml"
        template = {f"r{n}": kind("0.yaml", value=str(n)) for n in range(12)}
        await it.api.preview.create("s", it.request(template, files=files))
        assert 0 < looks < 20

    lab(story)
