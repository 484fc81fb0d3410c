"""Parameters: types, constraints, precedence, and Heat's words for what is wrong."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isotherm.errors import UserError
from isotherm.template.environment import Environment
from isotherm.template.parameters import constraints, parameters
from isotherm.template.parameters.parameters import Pseudo, Values
from isotherm.template.versions import AWS_KEY, HOT_KEY, HOT_LATEST, VERSIONS, Dialect

ABSENT = object()
CFN_LATEST = VERSIONS[(AWS_KEY, "2010-09-09")]


def bind(schema: object, value: object = ABSENT, *, dialect: Dialect = HOT_LATEST,
         defaults: dict[str, Any] | None = None,
         custom: constraints.CustomConstraints = constraints.NO_CUSTOM) -> Values:
    given = {} if value is ABSENT else {"p": value}
    schemata = parameters.parse_schemata({"p": schema}, dialect)
    environment = Environment(given, defaults or {})
    return parameters.bind(schemata, environment, Pseudo("s", dialect=dialect), custom=custom)


def refused(*arguments: Any, **options: Any) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        bind(*arguments, **options)
    return caught.value.kind, str(caught.value)


@pytest.mark.parametrize(("kind", "given", "typed", "text"), [
    ("string", 5, "5", "5"), ("string", True, "True", "True"), ("string", {"a": 1}, "{'a': 1}", "{'a': 1}"),
    ("number", "5", 5, "5"), ("number", " 5 ", 5, "5"), ("number", "5e3", 5000.0, "5000.0"),
    ("number", True, True, "True"),
    ("comma_delimited_list", "a,b", ["a", "b"], "a,b"), ("comma_delimited_list", "", [], ""),
    ("comma_delimited_list", " a , b ", [" a ", " b "], " a , b "),
    ("comma_delimited_list", ["a", 1, None], ["a", "1", "None"], "a,1,None"),
    ("json", '{"a":1}', {"a": 1}, '{"a": 1}'), ("json", [1], [1], "[1]"), ("json", "", "", '""'),
    ("json", {"a": {"b": [1]}}, {"a": {"b": [1]}}, '{"a": {"b": [1]}}'),
    ("boolean", "YES", True, "True"), ("boolean", 0, False, "False"), ("boolean", " n", False, "False"),
])
def test_values_are_typed(kind: str, given: object, typed: object, text: str) -> None:
    values = bind({"type": kind}, given)
    assert values["p"] == typed
    assert type(values["p"]) is type(typed)
    assert values.text("p") == text


@pytest.mark.parametrize(("kind", "given", "message"), [
    ("number", "abc", "could not convert string to float: 'abc'"),
    ("number", "", "could not convert string to float: ''"),
    ("comma_delimited_list", 5,
     "Value must be a comma-delimited list string: 'int' object has no attribute 'split'"),
    ("json", "abc", "Value must be valid JSON: Expecting value: line 1 column 1 (char 0)"),
    ("boolean", 2, "Unrecognized value '2', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', "
                   "'t', 'true', 'y', 'yes'"),
])
def test_values_that_cannot_be_read(kind: str, given: object, message: str) -> None:
    assert refused({"type": kind}, given) == ("StackValidationFailed", f"Parameter 'p' is invalid: {message}")


@pytest.mark.parametrize(("schema", "message"), [
    (None, "Invalid parameter (p), expected a mapping"),
    ({}, "Missing parameter type for parameter: p"),
    ({"type": "foo"}, "Invalid type (foo)"),
    ({"type": ["string"]}, "Invalid type (['string'])"),
    ({"type": "string", "bogus": 1}, "Invalid key 'bogus' for parameter (p)"),
    ({"type": "string", "tags": "x"}, "Tags property should be a list for parameter: p"),
    ({"type": "string", "constraints": 5}, "Invalid parameter constraints for parameter p, expected a list"),
    ({"type": "string", "constraints": [5]}, "Invalid parameter constraints, expected a mapping"),
    ({"type": "string", "constraints": [{"description": "x"}]}, "No constraint expressed"),
    ({"type": "string", "constraints": [{"length": {}}]},
     "A length constraint must have a min value and/or a max value specified."),
    ({"type": "string", "constraints": [{"length": {"min": 1, "x": 1}}]}, "Invalid key 'x' for length constraint"),
    ({"type": "string", "constraints": [{"length": {"min": 2.5}}]}, "min/max length must be integral"),
    ({"type": "number", "constraints": [{"modulo": {"step": 0, "offset": 0}}]}, "step cannot be 0."),
    ({"type": "number", "constraints": [{"modulo": {"step": 2, "offset": -1}}]},
     "step and offset must be both positive or both negative."),
    ({"type": "string", "constraints": [{"allowed_values": "abc"}]}, "AllowedValues must be a list"),
    ({"type": "string", "constraints": [{"range": {"min": 1}}]},
     "Parameter 'p' is invalid: Range constraint invalid for string"),
    ({"type": "number", "default": 5, "constraints": [{"range": {"max": 3}}]},
     "Parameter 'p' is invalid: Invalid default 5 (5 is out of range (min: None, max: 3))"),
    ({"type": "boolean", "default": "x", "constraints": [{"allowed_values": [True]}]},
     "Parameter 'p' is invalid: Invalid default x (Value \"x\" is invalid for data type \"boolean\".)"),
])
def test_schemas_that_are_wrong(schema: object, message: str) -> None:
    assert refused(schema, "1") == ("InvalidSchemaError", message)


@pytest.mark.parametrize(("kind", "constraint", "value", "message"), [
    ("string", {"allowed_values": ["a", "b"]}, "c", '"c" is not an allowed value ["a", "b"]'),
    ("comma_delimited_list", {"allowed_values": ["a", "b"]}, "a,c", '["a", "c"] is not an allowed value ["a", "b"]'),
    ("boolean", {"allowed_values": [True]}, "no", '"no" is not an allowed value [true]'),
    ("string", {"allowed_pattern": "a+"}, "aab", '"aab" does not match pattern "a+"'),
    ("string", {"length": {"max": 2}}, "abc", "length (3) is out of range (min: None, max: 2)"),
    ("json", {"length": {"min": 2}}, '{"a":1}', "length (1) is out of range (min: 2, max: None)"),
    ("number", {"range": {"min": "1.5"}}, "1", "1 is out of range (min: 1.5, max: None)"),
    ("number", {"modulo": {"step": 10, "offset": 3}}, "14", "14 is not a multiple of 10 with an offset of 3"),
    ("string", {"length": {"min": 2}, "description": "too short"}, "a", "too short"),
    ("string", {"custom_constraint": "foo"}, "1", '"1" does not validate foo (constraint not found)'),
])
def test_constraints(kind: str, constraint: object, value: object, message: str) -> None:
    kind_of, text = refused({"type": kind, "constraints": [constraint]}, value)
    assert (kind_of, text) == ("StackValidationFailed", f"Parameter 'p' is invalid: {message}")


def test_a_constraint_is_compared_in_the_type_of_the_parameter() -> None:
    assert bind({"type": "string", "constraints": [{"allowed_values": [1]}]}, "1")["p"] == "1"
    assert bind({"type": "number", "constraints": [{"allowed_values": ["1"]}]}, 1)["p"] == 1
    assert bind({"type": "number", "constraints": [{"modulo": {"step": 10, "offset": 3}}]}, "-7")["p"] == -7


def test_custom_constraints_are_plugged_in_and_not_asked_about_defaults() -> None:
    known = constraints.KnownConstraints({"even": lambda value: None if value == "2" else "odd"})
    schema = {"type": "string", "default": "3", "constraints": [{"custom_constraint": "even"}]}
    assert bind(schema, "2", custom=known)["p"] == "2"
    assert refused(schema, "1", custom=known)[1] == "Parameter 'p' is invalid: Error validating value '1': odd"


def test_catastrophic_pattern_of_a_parameter_is_answered() -> None:
    schema = {"type": "string", "constraints": [{"allowed_pattern": "(a+)+b"}]}
    assert "does not match pattern" in refused(schema, "a" * 4000)[1]


def test_keys_that_came_with_later_versions() -> None:
    newton = VERSIONS[HOT_KEY, "2016-10-14"]
    modulo = {"type": "number", "constraints": [{"modulo": {"step": 2, "offset": 1}}]}
    assert refused(modulo, 1, dialect=newton) == ("InvalidSchemaError", "No constraint expressed")
    assert refused({"type": "string", "tags": []}, 1, dialect=newton)[1] == "Invalid key 'tags' for parameter (p)"


def test_precedence() -> None:
    schema = {"type": "string", "default": "template"}
    assert bind(schema)["p"] == "template"
    assert bind(schema, defaults={"p": "environment"})["p"] == "environment"
    assert bind(schema, "user", defaults={"p": "environment"})["p"] == "user"
    assert bind(schema, None, defaults={"p": "environment"})["p"] == "environment"
    assert refused({"type": "string"}, None) == ("UserParameterMissing", "The Parameter (p) was not provided.")


def test_all_problems_at_once_unknown_names_first() -> None:
    schemata = parameters.parse_schemata({"a": {"type": "number"}, "b": {"type": "string"}}, HOT_LATEST)
    with pytest.raises(UserError) as caught:
        parameters.bind(schemata, Environment({"z": 1, "a": "x"}), Pseudo())
    assert [problem.kind for problem in caught.value.problems] == [
        "UnknownUserParameter", "StackValidationFailed", "UserParameterMissing"]
    assert str(caught.value) == "The Parameter (z) was not defined in template."


def test_lenient_binding_fails_only_when_asked() -> None:
    schemata = parameters.parse_schemata({"a": {"type": "number"}, "b": {"type": "string"}}, HOT_LATEST)
    values = parameters.bind(schemata, Environment({"a": "x"}), Pseudo(), require_all=False, check_values=False)
    for name, kind in (("a", "StackValidationFailed"), ("b", "UserParameterMissing"), ("c", "UserParameterMissing")):
        assert name not in values
        with pytest.raises(UserError) as caught:
            values[name]
        assert caught.value.kind == kind


def test_hidden_values_are_masked() -> None:
    values = bind({"type": "string", "hidden": True}, "secret")
    assert values.hidden == {"p"}
    assert values.text("p") == "******"
    assert values.text("p", reveal=True) == "secret"
    assert bind({"Type": "String", "NoEcho": "true"}, "secret", dialect=CFN_LATEST).hidden == {"p"}
    assert not bind({"Type": "String", "NoEcho": "yes"}, "secret", dialect=CFN_LATEST).hidden


def test_cfn() -> None:
    number = {"Type": "Number", "MinValue": "1", "MaxValue": "3"}
    assert bind(number, "2", dialect=CFN_LATEST)["p"] == 2
    assert refused(number, "5", dialect=CFN_LATEST)[1] == "Parameter 'p' is invalid: 5 is out of range (min: 1, max: 3)"
    assert refused({"Type": "Number", "MinLength": 2}, "5", dialect=CFN_LATEST) == (
        "InvalidSchemaError", "Parameter 'p' is invalid: Length constraint invalid for Number")
    worded = {"Type": "String", "AllowedValues": ["a"], "ConstraintDescription": "only a"}
    assert refused(worded, "b", dialect=CFN_LATEST)[1] == "Parameter 'p' is invalid: only a"


def test_pseudo_parameters() -> None:
    hot = parameters.bind({}, Environment(), Pseudo("s", None, "t"))
    assert dict(hot) == {"OS::stack_id": "None", "OS::project_id": "t", "OS::stack_name": "s"}
    cfn = parameters.bind({}, Environment(), Pseudo("s", "1", "t", dialect=CFN_LATEST))
    assert dict(cfn) == {"AWS::StackId": "arn:openstack:heat::t:stacks/s/1", "AWS::StackName": "s",
                         "AWS::Region": "ap-southeast-1"}
    with pytest.raises(UserError, match="OS::region"):
        hot["OS::region"]


def test_immutable_parameters_keep_their_value() -> None:
    schemata = parameters.parse_schemata({"p": {"type": "comma_delimited_list", "immutable": True}}, HOT_LATEST)
    before, same, other = (parameters.bind(schemata, Environment({"p": value}), Pseudo())
                           for value in ("a,b", ["a", "b"], "a"))
    parameters.refuse_immutable(schemata, before, same)
    with pytest.raises(UserError, match="immutable and may not be updated: p"):
        parameters.refuse_immutable(schemata, before, other)


def test_description_for_the_validate_document() -> None:
    schemata = parameters.parse_schemata({"p": {
        "type": "number", "default": 5, "constraints": [{"range": {"min": 1}, "description": "positive"},
                                                        {"modulo": {"step": 2, "offset": 1}}]}}, HOT_LATEST)
    assert parameters.describe(schemata["p"], Environment({"p": 7})) == {
        "Type": "Number", "Description": "", "NoEcho": "false", "Label": "p", "Default": 5, "Value": 7, "MinValue": 1,
        "Step": 2, "Offset": 1, "ConstraintDescription": "positive"}


_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
                     lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                         st.text(max_size=8), inner, max_size=3), max_leaves=8)


@given(_JSON)
def test_no_section_whatsoever_crashes_the_parser(section: object) -> None:
    for dialect in (HOT_LATEST, CFN_LATEST):
        for given_section in (section, {"p": section}, {"p": {"type": section}},
                              {"p": {"type": "string", "constraints": [section]}}):
            try:
                parameters.parse_schemata(given_section, dialect)
            except UserError as error:
                assert error.kind == "InvalidSchemaError"


@given(st.sampled_from(["string", "number", "json", "comma_delimited_list", "boolean"]), _JSON)
def test_no_value_whatsoever_crashes_binding(kind: str, value: object) -> None:
    with contextlib.suppress(UserError):
        bind({"type": kind, "constraints": [{"custom_constraint": "x"}] if kind == "string" else []}, value)
