"""Validation of stacks: Heat's words, Heat's order, and all problems at once."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from isotherm.errors import UserError
from isotherm.resources import heat, registry, schema
from isotherm.resources.catalog.type_table import TypeTable
from isotherm.resources.heat.test_resource import TestResource
from isotherm.resources.schema import Schema
from isotherm.resources.translation import Kind, Rule
from isotherm.resources.validation import validate
from isotherm.template import environment
from isotherm.template.model import model
from isotherm.template.model.definitions import Unresolved
from isotherm.template.parameters import constraints, parameters
from isotherm.template.parameters.parameters import Pseudo

TYPES = registry.Registry(TypeTable(addresses=heat.TYPES))
TEST, STRING, VALUE = "OS::Heat::TestResource", "OS::Heat::RandomString", "OS::Heat::Value"


def check(resources: dict[str, Any], environ: dict[str, Any] | None = None, **sections: Any) -> model.Bound:
    data = {"heat_template_version": "2021-04-16", "resources": resources, **sections}
    return validate.accept(model.parse(data), environment.load(environ), TYPES, pseudo=Pseudo("s"))


def refused(resources: dict[str, Any], **options: Any) -> list[str]:
    with pytest.raises(UserError) as caught:
        check(resources, **options)
    assert str(caught.value) == str(caught.value.problems[0])
    return [str(problem) for problem in caught.value.problems]


def one(kind: str, **properties: Any) -> dict[str, Any]:
    return {"r": {"type": kind, "properties": properties}}


@pytest.mark.parametrize(("resources", "message"), [
    (one(TEST, bogus=1), "Property error: resources.r.properties: Unknown Property bogus"),
    (one(TEST, value=[1]), "Property error: resources.r.properties.value: Value must be a string; got [1]"),
    (one(VALUE), "Property error: resources.r.properties: Property value not assigned"),
    (one(VALUE, value={"if": [False, 1]}),
     "Property error: resources.r.properties.value: Property value not assigned"),
    (one(VALUE, value="x", type="number"),
     "Property error: resources.r.properties.value: could not convert string to float: 'x'"),
    (one(STRING, character_classes=[{"class": "digits"}, {"bogus": 0}]),
     "Property error: resources.r.properties.character_classes[1]: Unknown Property bogus"),
    (one(STRING, length=3, character_classes=[{"min": 4}]),
     "Length property cannot be smaller than combined character class and character sequence minimums"),
    (one(TEST, value={"get_file": "x"}), "Property error: resources.r.properties.value: No content found in the "
                                         '"files" section for get_file path: x'),
    ({"r": {"type": "Foo::Bar"}}, "The Resource Type (Foo::Bar) could not be found."),
    ({"r": {"type": TEST, "deletion_policy": "Snapshot"}},
     'resources.r.deletion_policy: "Snapshot" deletion policy not supported'),
    ({"r": {"type": TEST, "update_policy": {"x": 1}}},
     "Property error: resources.r.update_policy: Unknown Property x"),
    ({"r": {"type": TEST, "depends_on": "zz"}}, 'The specified reference "zz" (in r) is incorrect.'),
    (one(TEST, value={"get_attr": ["r", "nope"]}), "Circular Dependency Found: r -> r"),
])
def test_what_is_wrong_with_one_resource(resources: dict[str, Any], message: str) -> None:
    assert refused(resources)[0] == message


class Renamed(TestResource):
    """A type that has renamed a property, and limits its values."""

    TYPE = "Test::Renamed"
    properties_schema: ClassVar = {
        "old": Schema(schema.STRING, "The former name."),
        "new": Schema(schema.STRING, "The name.", constraints=(constraints.AllowedValues(allowed=("x",)),))}
    translation_rules = (Rule(Kind.REPLACE, ("new",), ("old",)),)


def test_values_that_hang_on_others_are_judged_by_type_under_a_former_name_too() -> None:
    types = registry.Registry(TypeTable([Renamed], heat.TYPES))

    def accept(value: Any) -> None:
        resources = {"a": {"type": TEST}, "r": {"type": Renamed.TYPE, "properties": {"old": value}}}
        data = {"heat_template_version": "2021-04-16", "resources": resources}
        validate.accept(model.parse(data), environment.load(None), types, pseudo=Pseudo("s"))

    accept({"get_resource": "a"})
    accept("x")
    with pytest.raises(UserError, match='"a" is not an allowed value'):
        accept("a")


def test_values_that_hang_on_others_are_judged_by_type() -> None:
    other = {"a": {"type": TEST}}
    check(other | one(STRING, length={"get_attr": ["a", "output"]}))
    check(other | one(STRING, character_classes=[{"class": "x", "min": {"get_attr": ["a", "output"]}}]))
    assert refused(other | one(STRING, length={"get_resource": "a"})) == [
        "Property error: resources.r.properties.length: Value 'a' is not an integer"]
    assert refused(other | one(STRING, length=600, salt={"get_attr": ["a", "output"]})) == [
        "Property error: resources.r.properties.length: 600 is out of range (min: 1, max: 512)"]
    assert refused(other | one(TEST, value={"get_attr": ["a", "nope"]})) == [
        "resources.r.properties.value.get_attr: The Referenced Attribute (a nope) is incorrect."]


def test_all_problems_in_heats_order() -> None:
    assert refused({
        "p": {"type": "Foo"}, "a": {"type": TEST, "properties": {"wait_secs": "x", "bogus": 1}},
        "b": {"type": TEST, "depends_on": ["a", "zz"], "properties": {"value": {"list_join": ["", [5]]}}},
    }, parameters={"p": {"type": "string", "default": ""}}, outputs={"o": {"value": {"get_attr": ["b", "no"]}}}) == [
        "The Resource Type (Foo) could not be found.",
        "Duplicate names {'p'}",
        'The specified reference "zz" (in b) is incorrect.',
        "Property error: resources.a.properties: Unknown Property bogus",
        "Property error: resources.a.properties.wait_secs: could not convert string to float: 'x'",
        "Property error: resources.b.properties.value: Items to join must be string, map or list not 5",
        "outputs.o.value.get_attr: The Referenced Attribute (b no) is incorrect.",
    ]


def test_a_missing_parameter_is_told_once() -> None:
    parameters = {"p": {"type": "string"}}
    assert refused(one(TEST, value={"get_param": "p"}), parameters=parameters) == [
        "The Parameter (p) was not provided."]
    assert refused(one(TEST, value={"get_param": "missing"})) == [
        "Property error: resources.r.properties.value: The Parameter (missing) was not provided."]


def test_none_has_any_property_and_attribute() -> None:
    check({"n": {"type": "OS::Heat::None", "properties": {"x": 1}}} | one(TEST, value={"get_attr": ["n", "any"]}))


def test_the_environment_renames_types() -> None:
    registry_section = {"My::*": "OS::Heat::*", "resources": {"special": {"My::Value": "OS::Heat::None"}}}
    bound = check({"r": {"type": "My::Value", "properties": {"value": 1}},
                   "special": {"type": "My::Value", "properties": {"anything": 1}}},
                  environ={"resource_registry": registry_section})
    assert bound.definitions["r"].type == "My::Value"


def test_external_resources_are_not_judged() -> None:
    check({"r": {"type": TEST, "external_id": "x", "properties": {"bogus": 1}}})


def test_cfn_words() -> None:
    data = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"R": {"Type": STRING, "Properties": {
        "character_classes": [{"class": "x"}]}}}}
    with pytest.raises(UserError, match=r"^Property error: Resources\.R\.Properties\.character_classes\[0\]\.class: "):
        validate.accept(model.parse(data), environment.load({}), TYPES, pseudo=Pseudo("s"))


def test_lenient_validation_judges_names_only() -> None:
    data = {"heat_template_version": "2021-04-16", "parameters": {"p": {"type": "number"}},
            "resources": one(TEST, value={"get_param": "p"}, wait_secs="x")}
    template = model.parse(data)
    values = parameters.bind(template.parameters, environment.load({}), Pseudo(), require_all=False)
    validate.validate(model.bind(template, values), environment.load({}), TYPES, strict=False)
    with pytest.raises(UserError):
        validate.validate(model.bind(template, values), environment.load({}), TYPES)


@pytest.mark.parametrize("constraint", [{"allowed_values": ["a"]}, {"allowed_pattern": "a"}, {"length": {"max": 1}}])
def test_hidden_values_are_not_told_in_errors(constraint: dict[str, Any]) -> None:
    parameters = {"p": {"type": "string", "hidden": True, "constraints": [constraint]}}
    told = refused({}, parameters=parameters, environ={"parameters": {"p": "marker-of-a-secret"}})
    assert told == [f"Parameter 'p' is invalid: ****** does not fit the constraint {next(iter(constraint))}"]
    told = refused(one(STRING, length={"get_param": "p"}), parameters={"p": {"type": "string", "hidden": True}},
                   environ={"parameters": {"p": "marker-of-a-secret"}})
    assert told == ["Property error: resources.r.properties.length: ****** does not fit here"]


SECRET = "marker-of-a-secret"
READ = {"get_param": "p"}
QUOTING: dict[str, Any] = {
    "itself": READ, "condition": {"if": [READ, 1, 2]}, "merge": {"map_merge": [READ, [READ]]},
    "concat": {"list_concat": ["x", READ]}, "url": {"make_url": {"scheme": "http", "host": "x", "port": READ}},
    "file": {"get_file": READ}, "yaql": {"yaql": {"expression": "int($.data)", "data": READ}},
    "yaql expression": {"yaql": {"expression": READ, "data": {}}}, "attribute": {"get_attr": [READ, "x"]},
    "strict": {"str_replace_strict": {"template": "x", "params": {READ["get_param"]: READ}}},
    "resource": {"get_resource": READ}, "digest": {"digest": [READ, "x"]},
}
PLACES: dict[str, Any] = {
    "property": lambda told: one(STRING, length=told),
    "properties": lambda told: {"r": {"type": STRING, "properties": {"map_merge": [{"length": told}, told]}}},
    "metadata": lambda told: {"r": {"type": STRING, "metadata": {"x": told}}},
    "condition": lambda told: {"r": {"type": STRING, "condition": told}},
    "external id": lambda told: {"r": {"type": STRING, "external_id": told}},
    "update policy": lambda told: {"r": {
        "type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": {"type": STRING}},
        "update_policy": {"rolling_update": {"max_batch_size": told}}}},
    "type inside": lambda told: one("OS::Heat::ResourceGroup", count=1, resource_def={"type": told}),
    "template inside": lambda told: one("OS::Heat::Stack", template=told),
}


@pytest.mark.parametrize("kind", ["string", "json", "comma_delimited_list"])
@pytest.mark.parametrize("place", PLACES)
def test_no_function_anywhere_quotes_a_hidden_value(place: str, kind: str) -> None:
    """Conditions and outputs read it too. Most of these are wrong, each in its own words."""
    value = {"string": SECRET, "json": {"length": SECRET, "min": [SECRET]}, "comma_delimited_list": [SECRET, SECRET]}[kind]
    wrong = 0
    for quoting in QUOTING.values():
        try:
            check(PLACES[place](quoting), environ={"parameters": {"p": value}}, conditions={"c": quoting},
                  parameters={"p": {"type": kind, "hidden": True}}, outputs={"o": {"value": quoting}})
        except UserError as error:
            wrong += 1
            assert SECRET not in repr(error.problems) + str(error)
    assert wrong > len(QUOTING) / 2


@pytest.mark.parametrize(("kind", "given", "told"), [
    (STRING, {"length": "x"}, ".length: ****** does not fit here"),
    (STRING, {"bogus": 1}, ": ****** does not fit here"),
    # A missing value is no secret.
    ("OS::Heat::ResourceGroup", {"count": 1}, ": Property resource_def not assigned"),
])
def test_properties_that_are_one_hidden_parameter_are_told_by_their_place(kind: str, given: Any, told: str) -> None:
    assert refused({"r": {"type": kind, "properties": READ}}, parameters={"p": {"type": "json", "hidden": True}},
                   environ={"parameters": {"p": given}}) == [f"Property error: resources.r.properties{told}"]


def test_a_place_that_is_called_like_a_hidden_value_is_told() -> None:
    hidden = {"parameters": {"p": {"type": "string", "hidden": True}}, "environ": {"parameters": {"p": "length"}}}
    assert refused(one(STRING, length="x"), **hidden) == [
        "Property error: resources.r.properties.length: Value 'x' is not an integer"]


@pytest.mark.parametrize("value", [["text"], {"a": 1}, True])
def test_an_external_id_that_comes_to_no_text(value: Any) -> None:
    external = {"yaql": {"expression": "$.data", "data": value}}
    assert refused({"r": {"type": TEST, "external_id": external}}) == ["Resource r external_id type must be string"]
    bound = check({"r": {"type": TEST, "external_id": {"yaql": {"expression": "$.data", "data": 7}}}})
    assert bound.definitions["r"].resolve(Unresolved(bound.values)).external_id == "7", "a number will do"


@pytest.mark.parametrize("value", ["text", ["text"], 7])
def test_an_update_policy_that_comes_to_no_map(value: Any) -> None:
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": {"type": STRING}}}
    policy = {"yaql": {"expression": "$.data", "data": value}}
    assert refused({"r": {**group, "update_policy": policy}}) == ["Resource r update_policy type must be object"]


@pytest.mark.parametrize("hidden", ["outside", "inside"])
def test_a_hidden_value_is_not_told_by_a_template_inside(hidden: str) -> None:
    inside = f"""
heat_template_version: 2021-04-16
parameters: {{p: {{type: string, hidden: {hidden == "inside"}}}}}
resources: {{x: {{type: {TEST}, deletion_policy: {{get_param: p}}}}}}
"""
    given = {"list_join": ["", ["x", {"get_param": "p"}]]} if hidden == "outside" else SECRET
    data = {"heat_template_version": "2021-04-16", "resources": one("child.yaml", p=given),
            "parameters": {"p": {"type": "string", "hidden": hidden == "outside"}}}
    with pytest.raises(UserError) as caught:
        validate.accept(model.parse(data), environment.load({"parameters": {"p": SECRET}}), TYPES, pseudo=Pseudo("s"),
                          files={"child.yaml": inside})
    assert caught.value.problems[0].message.startswith("Invalid deletion policy")
    assert SECRET not in repr(caught.value.problems) + str(caught.value)


def hints(resources: dict[str, Any], **sections: Any) -> list[str]:
    with pytest.raises(UserError) as caught:
        check(resources, **sections)
    return [problem.hint for problem in caught.value.problems]


def test_a_hint_names_what_was_probably_meant() -> None:
    other = {"other": {"type": TEST}}
    assert hints(other | one(TEST, value={"get_attr": ["other", "oputput"]})) == ["did you mean output?"]
    assert hints(other | one(TEST, value={"list_join": ["", [{"get_attr": ["other", "outptu"]}]]})) == [
        "did you mean output?"]
    assert hints(other | one(TEST, value={"get_attr": ["other", "nope"]}))[0].startswith("attributes are: output")
    assert set(hints(other | one(TEST, value={"get_attr": ["othr", "output"]}))) == {"did you mean other?"}
    assert hints(other | one(TEST, value={"get_resource": "oter"})) == ["did you mean other?"]
    assert hints(other | {"r": {"type": TEST, "depends_on": "ohter"}}) == ["did you mean other?"]
    assert hints(other, outputs={"o": {"value": {"get_attr": ["other", "outputt"]}}}) == ["did you mean output?"]


def test_a_wrong_number_has_a_hint_in_plain_words() -> None:
    assert hints(one(TEST, wait_secs="x")) == ["a number is needed, such as 5 or 0.5"]
    assert hints(one(STRING, length="x")) == ["a whole number is needed, such as 5"]
    assert hints(one(STRING, length={"a": 1})) == ["a whole number is needed, such as 5"]


def test_a_wrong_parameter_has_a_hint() -> None:
    parameters = {"size": {"type": "number", "default": 1}}
    resources = one(TEST, wait_secs={"get_param": "size"})
    for given, hint in (({"size": "x"}, "a value of type number is needed"), ({"sise": 1}, "did you mean size?"),
                        ({"zzz": 1}, "parameters of the template: size")):
        with pytest.raises(UserError) as caught:
            check(resources, {"parameters": given}, parameters=parameters)
        assert caught.value.problems[0].hint == hint
