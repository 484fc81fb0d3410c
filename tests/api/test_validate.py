"""Validation of templates: the document that says what they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Api, fault, resource, template

SURROUNDINGS = {"event_sinks": [], "parameter_defaults": {}, "parameters": {}, "resource_registry": {"resources": {}}}
RANDOM = """
heat_template_version: 2014-10-16
description: the stack description
parameters:
  aparam: {type: number, default: 10, description: the param description}
resources:
  myres: {type: OS::Heat::RandomString, properties: {length: {get_param: aparam}}}
"""
PARENT = """
heat_template_version: 2014-10-16
description: the parent template
parameters:
  pparam: {type: number, default: 5, description: the param description}
resources:
  nres: {type: mynested.yaml, properties: {aparam: {get_param: pparam}}}
"""
APARAM = {"Default": 10, "Description": "the param description", "Label": "aparam", "NoEcho": "false", "Type": "Number"}
PPARAM = {"Default": 5, "Description": "the param description", "Label": "pparam", "NoEcho": "false", "Type": "Number"}


def validated(api: Any, text: Any, query: Any = None, **body: Any) -> Any:
    answer = api.post("/validate", {"template": text, **body}, **(query or {}))
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_whole_document(shared: Api) -> None:
    assert validated(shared, RANDOM) == {
        "Description": "the stack description", "Parameters": {"aparam": APARAM}, "Environment": SURROUNDINGS}


def test_groups_and_hidden_parameters(shared: Api) -> None:
    groups = [{"label": "words", "description": "The words", "parameters": ["b"]}]
    wanted = template({}, parameter_groups=groups, parameters={
        "b": {"type": "string", "default": "foo", "hidden": True, "tags": ["t"], "constraints": [
            {"length": {"min": 2, "max": 4}, "description": "not too long"}]}})
    found = validated(shared, wanted)
    assert found["ParameterGroups"] == groups
    assert found["Parameters"] == {"b": {
        "Type": "String", "Description": "", "NoEcho": "true", "Label": "b", "Default": "foo", "Tags": ["t"],
        "MinLength": 2, "MaxLength": 4, "ConstraintDescription": "not too long"}}
    assert found["Description"] == "No description"


def test_values_that_are_given(shared: Api) -> None:
    found = validated(shared, RANDOM, parameters={"aparam": "not a number"})
    assert found["Parameters"]["aparam"]["Value"] == "not a number"
    assert found["Environment"]["parameters"] == {"aparam": "not a number"}


def test_hidden_values_are_not_told(shared: Api) -> None:
    wanted = template({}, parameters={"p": {"type": "string", "hidden": True}, "q": {"type": "string"}})
    found = validated(shared, wanted, parameters={"p": "a-marker", "q": ""})
    assert found["Parameters"]["p"]["Value"] == found["Environment"]["parameters"]["p"] == "******"
    assert "Value" not in found["Parameters"]["q"]


def test_parameters_need_no_values(shared: Api) -> None:
    wanted = template({"a": resource({"get_param": "p"})}, parameters={"p": {"type": "string"}})
    assert "Default" not in validated(shared, wanted)["Parameters"]["p"]


def test_templates_inside(shared: Api) -> None:
    files = {"mynested.yaml": RANDOM}
    surroundings = {**SURROUNDINGS, "resource_registry": {"mynested.yaml": "mynested.yaml", "resources": {}}}
    outside = {"Description": "the parent template", "Parameters": {"pparam": PPARAM}, "Environment": surroundings}
    assert validated(shared, PARENT, files=files) == outside
    inside = {"nres": {"Type": "mynested.yaml", "Description": "the stack description",
                       "Parameters": {"aparam": {**APARAM, "Value": 5}}}}
    assert validated(shared, PARENT, {"show_nested": "true"}, files=files) == {**outside, "NestedParameters": inside}


def test_templates_inside_templates_inside(shared: Api) -> None:
    files = {"mynested.yaml": RANDOM.replace("OS::Heat::RandomString", "second.yaml").replace("length", "aparam"),
             "second.yaml": RANDOM}
    found = validated(shared, PARENT, {"show_nested": "true"}, files=files)
    inner = found["NestedParameters"]["nres"]["NestedParameters"]
    assert inner["myres"]["Type"] == "second.yaml"
    assert found["Environment"]["resource_registry"] == {"mynested.yaml": "mynested.yaml", "resources": {}}


def test_a_group_of_templates(shared: Api) -> None:
    wanted = template({"g": {"type": "OS::Heat::ResourceGroup", "properties": {
        "count": 2, "resource_def": {"type": "one.yaml"}}}})
    found = validated(shared, wanted, {"show_nested": "true"}, files={"one.yaml": RANDOM})
    assert found["NestedParameters"]["g"]["Type"] == "OS::Heat::ResourceGroup"
    assert found["NestedParameters"]["g"]["NestedParameters"]["0"]["Parameters"] == {"aparam": APARAM}


@pytest.mark.parametrize(("wanted", "body", "expected"), [
    (template({"r": {"type": "OS::Heat::TestResource", "properties": {"zz": 1}}}), {},
     ("HTTPBadRequest", "Property error: resources.r.properties: Unknown Property zz")),
    (template({}, nonsense={}), {}, ("HTTPBadRequest", "The template section is invalid: nonsense")),
    (template({}), {"parameters": {"p": 1}}, ("UnknownUserParameter", "The Parameter (p) was not defined in template.")),
    (template({"r": {"type": "No::Such::Type"}}), {},
     ("HTTPBadRequest", "The Resource Type (No::Such::Type) could not be found.")),
    (None, {}, ("HTTPBadRequest", "No template specified")),
    ("a: b", {}, ("HTTPBadRequest", "Template not in valid format: Template format version not found.")),
])
def test_what_is_wrong_is_told_with_single_colons(shared: Api, wanted: Any, body: Any, expected: Any) -> None:
    assert fault(shared.post("/validate", {"template": wanted, **body})) == (400, *expected)


def test_versions_that_there_are_not(shared: Api) -> None:
    status, kind, message = fault(shared.post("/validate", {"template": RANDOM.replace("2014-10-16", "invalid")}))
    assert (status, kind) == (400, "InvalidTemplateVersion")
    assert message.startswith('The template version is invalid: "heat_template_version: invalid"')


def test_codes_to_ignore(shared: Api) -> None:
    assert validated(shared, RANDOM, {"ignore_errors": "99001"})["Description"]
    assert fault(shared.post("/validate", {"template": RANDOM}, ignore_errors="1"))[:2] == (400, "HTTPBadRequest")
    assert fault(shared.post("/validate", {"template": RANDOM}, show_nested="1"))[0] == 400
