"""Templates: structure, order of errors, dependencies."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm.errors import UserError
from isotherm.template.model import model
from isotherm.template.text import document
from tests.unit.template.small_templates import LATEST, bound

NONE = {"type": "OS::Heat::None"}


def _message(data: dict[str, Any]) -> str:
    with pytest.raises(UserError) as caught:
        found = bound(data)
        found.check_groups()
        found.check_conditions()
        found.check_references()
        _ = found.outputs
    return str(caught.value)


@pytest.mark.parametrize(("text", "message"), [
    ("", "Template format version not found."), ("a: 1", "Template format version not found."),
    ("[]", "The template is not a JSON object or YAML mapping."),
    ("5", "The template is not a JSON object or YAML mapping."),
])
def test_no_template(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        model.parse(document.load(text))
    assert (str(caught.value), caught.value.kind) == (message, "ValueError")


@pytest.mark.parametrize(("sections", "message"), [
    ({"foo": 1}, "The template section is invalid: foo"),
    ({"Resources": {}}, "The template section is invalid: Resources"),
    ({"resources": "x"}, "\"resources\" must contain a map of resource maps. Found a [<class 'str'>] instead"),
    ({"resources": {"r": {}}}, "Each resource must contain a type key."),
    ({"resources": {"r": None}}, "Each resource must contain a type key."),
    ({"resources": {"r": "x"}}, "\"resources\" must contain a map of resource maps. Found a [<class 'str'>] instead"),
    ({"resources": {"r": {"type": "T", "foo": 1}}}, '"foo" is not a valid keyword inside a resource definition'),
    ({"resources": {"a": {"bad": 1}, "b": {}}}, '"bad" is not a valid keyword inside a resource definition'),
    ({"resources": {"r": {"type": ""}}}, "Each Resource must contain a Type key."),
    ({"resources": {"r": {"type": 1}}}, "Resource r type type must be string"),
    ({"resources": {"a/b": NONE}}, 'Resource name may not contain "/"'),
    ({"outputs": {"o": None}},
     "Output validation error: outputs.o: Output definitions must be a map. Found a NoneType instead"),
    ({"outputs": {"o": {}}}, "Output validation error: outputs.o: Each output definition must contain a value key."),
    ({"parameter_groups": 5}, "Parameter Groups error: parameter_groups: The parameter_groups should be a list."),
    ({"parameter_groups": [{"label": "g"}]},
     "Parameter Groups error: parameter_groups.g: The parameters must be provided for each parameter group."),
    ({"parameter_groups": [{"label": "g", "parameters": ["text", "text"]}]},
     "Parameter Groups error: parameter_groups.g: The text parameter must be assigned to one parameter group only."),
    ({"parameter_groups": [{"label": "g", "parameters": ["zz"]}]},
     "Parameter Groups error: parameter_groups.g: The grouped parameter zz does not reference a valid parameter."),
])
def test_shape(sections: dict[str, Any], message: str) -> None:
    assert _message(sections) == message


@pytest.mark.parametrize(("fields", "message"), [
    ({"properties": []}, "Resource r properties type must be object"),
    ({"properties": None}, "Resource r properties type must be object"),
    ({"metadata": "x"}, "Resource r metadata type must be object"),
    ({"depends_on": {"get_param": "text"}}, "Resource r depends_on type must be list or string"),
    ({"depends_on": [1]}, "Resource r depends_on must be a list of strings"),
    ({"deletion_policy": "bad"}, 'Invalid deletion policy "bad"'),
    ({"deletion_policy": {"get_param": "text"}}, 'Invalid deletion policy "t"'),
    ({"deletion_policy": None}, "Resource r deletion_policy type must be string"),
    ({"update_policy": "x"}, "Resource r update_policy type must be object"),
    ({"description": 1}, "Resource r description type must be string"),
    ({"external_id": 1}, "Resource r external_id type must be string"),
    # Heat's order: the first of several mistakes is named.
    ({"external_id": 1, "deletion_policy": "bad", "metadata": "x", "properties": "x"},
     "Resource r properties type must be object"),
    ({"external_id": 1, "description": 1, "update_policy": "x"}, "Resource r update_policy type must be object"),
])
def test_fields(fields: dict[str, Any], message: str) -> None:
    assert _message({"resources": {"r": NONE | fields}}) == message


def test_keys_of_other_versions() -> None:
    old = {"heat_template_version": "2016-04-08", "resources": {"r": {"type": "T", "external_id": "x"}}}
    assert _message(old) == "Invalid keyword(s) inside a resource definition: external_id"
    assert _message({"heat_template_version": "2016-04-08", "conditions": {}}) == (
        "The template section is invalid: conditions")
    lower = {"resources": {"r": {"type": "T", "deletion_policy": "retain"}}}
    assert bound(lower).definitions["r"].deletion_policy == "Retain"
    assert _message({"heat_template_version": "2016-04-08", **lower}) == 'Invalid deletion policy "retain"'


def test_cloudformation_ignores_keys_it_does_not_know() -> None:
    found = bound({"AWSTemplateFormatVersion": "2010-09-09", "Resources": {
        "r": {"Type": "T", "foo": 1, "DependsOn": "s", "Properties": {"a": {"Ref": "s"}}}, "s": {"Type": "T"}}})
    assert found.definitions["r"].requires == {"s"}
    assert found.definitions["r"].path == ("Resources", "Properties")


def test_dependencies() -> None:
    definitions = bound({"resources": {
        "a": NONE, "b": NONE, "c": NONE, "off": NONE | {"condition": False},
        "r": {"type": "T", "depends_on": ["a", "off", "a"], "metadata": {"m": {"get_resource": "b"}},
              "properties": {"p": {"list_join": ["", [{"get_attr": ["c", "x", "y", 0]}, {"get_attr": ["c"]}]]},
                             "q": {"if": [False, {"get_attr": ["nobody", "x"]}, {"get_param": "text"}]}}}}}).definitions
    assert definitions["r"].requires == {"a", "b", "c"}
    assert definitions["r"].needs == {("c", ("x", "y", 0)), ("c", ())}
    assert definitions["r"].depends_on == ("a", "off")
    assert definitions["r"].properties["q"] == "t"
    assert list(definitions) == ["a", "b", "c", "r"]


@pytest.mark.parametrize(("fields", "kind", "message"), [
    ({"properties": {"a": {"b": [{"get_resource": "zz"}]}}}, "InvalidTemplateReference",
     'The specified reference "zz" (in r.Properties.a.b[0]) is incorrect.'),
    ({"properties": {"a": {"get_attr": ["off", "x"]}}, "depends_on": "yy"}, "InvalidTemplateReference",
     'The specified reference "off" (in r.Properties.a) is incorrect.'),
    ({"metadata": {"a": {"get_resource": "zz"}}}, "InvalidTemplateReference",
     'The specified reference "zz" (in r.Metadata.a) is incorrect.'),
    ({"depends_on": "zz"}, "InvalidTemplateReference", 'The specified reference "zz" (in r) is incorrect.'),
    ({"properties": {"a": {"get_resource": ["x"]}}}, "TypeError", "unhashable type: 'list'"),
    ({"properties": {"a": {"get_attr": ["r2", 1]}}}, "TypeError", "'int' object is not subscriptable"),
    ({"external_id": "x", "depends_on": "r2"}, "InvalidExternalResourceDependency",
     "Invalid dependency with external OS::Heat::None resource: x"),
])
def test_references(fields: dict[str, Any], kind: str, message: str) -> None:
    found = bound({"resources": {"r": NONE | fields, "r2": NONE, "off": NONE | {"condition": False}}})
    with pytest.raises(UserError) as caught:
        found.check_references()
    assert (caught.value.kind, str(caught.value)) == (kind, message)


def test_external_resources_depend_on_nothing_and_stay() -> None:
    found = bound({"resources": {"a": NONE, "r": NONE | {
        "external_id": {"get_param": "text"}, "deletion_policy": "Delete", "properties": {"p": {"get_resource": "a"}}}}})
    definition = found.definitions["r"]
    assert (definition.external_id, definition.deletion_policy, definition.requires) == ("t", "Retain", frozenset())


def test_plain_parts_are_shared_with_the_document() -> None:
    data: dict[str, Any] = {
        "heat_template_version": LATEST, "resources": {"r": {"type": "T", "properties": {"a": {"b": ["c"]}}}}}
    assert bound(data).definitions["r"].properties is data["resources"]["r"]["properties"]


def test_description_and_version() -> None:
    template = model.parse({"heat_template_version": "pike"})
    assert (template.description, template.version, template.dialect.version) == ("No description", "pike", "2017-09-01")
