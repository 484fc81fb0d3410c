"""Every function: its values, and its errors."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm.errors import UserError
from isotherm.template.model import model
from tests.unit.template.small_templates import bound, cfn_value, value

VALUES: list[tuple[Any, Any]] = [
    ({"get_param": "text"}, "t"), ({"get_param": ["tree", "k", "z", "1"]}, "two"), ({"get_param": ["names", -1]}, "c"),
    ({"get_param": ["tree", "nobody", "x"]}, ""), ({"get_param": ["text", 0]}, "t"), ({"get_param": ["number", 0]}, ""),
    ({"get_param": "OS::stack_name"}, "stack"), ({"get_param": "secret"}, "hunter2"),
    ({"get_resource": "other"}, "other-id"),
    ({"get_attr": ["other", "m", "x", 1]}, 2), ({"get_attr": ["other"]}, {"m": {"x": [1, 2]}, "v": "val"}),
    ({"get_attr": ["other", "m", "x", 9]}, None), ({"get_attr": ["other", {"get_attr": ["other", "v"]}]}, None),
    ({"get_file": "f"}, "content"),
    ({"list_join": [",", ["a", None, {"b": 1, "a": [2]}], None, [[3]]]}, 'a,,{"a": [2], "b": 1},[3]'),
    ({"list_join": [",", [{"get_attr": ["other", "v"]}, "x"]]}, "val,x"),
    ({"str_replace": {"template": "aab ab", "params": {"a": "X", "ab": "Y"}}}, "XY Y"),
    ({"str_replace": {"template": "abcd", "params": {"ab": "1", "bcd": "2"}}}, "a2"),
    ({"str_replace": {"template": "x", "params": {"x": "y", "y": "z"}}}, "y"),
    ({"str_replace": {"template": "$a $b $c", "params": {"$a": True, "$b": None, "$c": [1]}}}, "True  [1]"),
    ({"str_replace_strict": {"template": "ab", "params": {"a": 1}}}, "1b"),
    ({"str_replace_vstrict": {"template": "a", "params": {"a": 0}}}, "0"),
    ({"str_split": [",", "a,b"]}, ["a", "b"]), ({"str_split": [",", "a,b", "-1"]}, "b"), ({"str_split": [",", None]}, None),
    ({"repeat": {"template": {"k%v%": ["%v%", 1]}, "for_each": {"%v%": ["a", "b"]}}},
     [{"ka": ["a", 1]}, {"kb": ["b", 1]}]),
    ({"repeat": {"template": "%a%%b%", "for_each": {"%a%": ["1", "2"], "%b%": ["x", "y"]}}}, ["1x", "1y", "2x", "2y"]),
    ({"repeat": {"template": "%a%%b%", "for_each": {"%a%": ["1", "2"], "%b%": ["x", "y"]}, "permutations": False}},
     ["1x", "2y"]),
    ({"repeat": {"template": "%a%", "for_each": {"%a%": {"k": 1}}}}, ["k"]),
    ({"repeat": {"template": "%a%", "for_each": {"%a%": None, "%b%": ["x"]}}}, []),
    ({"map_merge": [{"a": 1, "b": {"x": 1}}, None, {"b": {"y": 1}}]}, {"a": 1, "b": {"y": 1}}),
    ({"map_replace": [{"a": "b", "c": ["b"]}, {"keys": {"a": "z"}, "values": {"b": "y"}}]}, {"z": "y", "c": ["b"]}),
    ({"digest": ["MD5", "foo"]}, "acbd18db4cc2f85cedef654fccc4a4d8"),
    ({"filter": [["a", {"x": 1}], ["a", "b", {"x": 1}]]}, ["b"]), ({"filter": [None, ["a"]]}, ["a"]),
    ({"contains": ["b", "abc"]}, True), ({"contains": [1, ["1"]]}, False),
    ({"list_concat": [["a"], None, ["a", 1]]}, ["a", "a", 1]),
    ({"list_concat_unique": [["a", [1]], ["a", [1], 1], [True]]}, ["a", [1], 1]),
    ({"make_url": {"scheme": "http", "username": "u@", "password": "p:/", "host": "::1", "port": 80, "path": "a b",
                   "query": {"q": "/x y"}, "fragment": "f"}}, "http://u%40:p%3A%2F@[::1]:80/a%20b?q=/x+y#f"),
    ({"make_url": {"host": "h"}}, "//h"),
    ({"yaql": {"expression": "$.data.where($ > 1).sum()", "data": [1, 2, 3]}}, 5),
    ({"yaql": {"expression": "$.data.v + '!'", "data": {"v": {"get_attr": ["other", "v"]}}}}, "val!"),
    ({"yaql": {"expression": "$.data.toSet()", "data": ["b", "a", "b"]}}, ["a", "b"]),
    ({"if": [True, 1, {"get_attr": ["nobody", "x"]}]}, 1), ({"if": [{"not": "yes"}, 1, 2]}, 2),
    ({"x": {"if": [False, 1]}, "y": [{"if": [False, 1]}, 2]}, {"y": [2]}), ({"if": [False, 1]}, None),
    ({"list_join": [",", [{"if": [False, "a"]}, "b"]]}, "b"),
    ({"contains": [{"if": [False, 1]}, [None]]}, True),
    ({"equals": [1, 1]}, {"equals": [1, 1]}), ({"get_param": "text", "b": 1}, {"get_param": "text", "b": 1}),
]


@pytest.mark.parametrize(("snippet", "expected"), VALUES, ids=lambda each: str(each)[:60])
def test_values(snippet: Any, expected: Any) -> None:
    assert value(snippet, conditions={"yes": True}, files={"f": "content"},
                 known={"other": {"v": "val", "m": {"x": [1, 2]}}}) == expected


WRONG_VALUES: list[tuple[Any, str, str]] = [
    ({"get_param": "missing"}, "UserParameterMissing", "The Parameter (missing) was not provided."),
    ({"get_param": []}, "ValueError", 'Function "get_param" must have arguments'),
    ({"get_param": [["x"]]}, "TypeError", 'Parameter name in "get_param" must be string'),
    ({"get_resource": "nobody"}, "InvalidTemplateReference",
     'The specified reference "nobody" (in unknown) is incorrect.'),
    ({"get_file": "x"}, "ValueError", 'No content found in the "files" section for get_file path: x'),
    ({"list_join": [",", [1]]}, "TypeError", "Items to join must be string, map or list not 1"),
    ({"list_join": [1, ["a"]]}, "TypeError", '"list_join" delimiter must be a string'),
    ({"str_replace": {"template": 1, "params": {}}}, "TypeError", '"str_replace" template must be a string'),
    ({"str_replace_strict": {"template": "a", "params": {"b": 1, "c": 2}}}, "ValueError",
     "The following params were not found in the template: b,c"),
    ({"str_replace_vstrict": {"template": "a", "params": {"a": []}}}, "ValueError",
     "str_replace_vstrict has an undefined or empty value for param a, must be a defined non-empty value"),
    ({"str_split": [",", "a", 3]}, "ValueError", 'Incorrect index to "str_split" should be between 0 and 0'),
    ({"repeat": {"template": "%a%", "for_each": {"%a%": [1]}}}, "TypeError", "replace() argument 2 must be str, not int"),
    ({"repeat": {"template": "x", "for_each": {"a": ["1"], "b": []}, "permutations": False}}, "ValueError",
     "For repeat, the length of for_each values should be equal if no nested loop."),
    ({"map_replace": [{"a": 1, "z": 2}, {"keys": {"a": "z"}}]}, "ValueError",
     "key replacement z collides with a key in the input map"),
    ({"digest": ["md5", "\u65e5"]}, "UnicodeEncodeError", ""),
    ({"contains": ["a", {"a": 1}]}, "TypeError", 'Second argument to "contains" should be a sequence.'),
    ({"yaql": {"expression": "$.data.x", "data": {}}}, "KeyError", "'x'"),
    ({"yaql": {"expression": "nobody()", "data": {}}}, "NoFunctionRegisteredException", 'Unknown function "nobody"'),
    ({"resource_facade": "metadata"}, "AttributeError", ""),
]


@pytest.mark.parametrize(("snippet", "kind", "message"), WRONG_VALUES, ids=lambda each: str(each)[:60])
def test_wrong_values(snippet: Any, kind: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        value(snippet)
    assert caught.value.kind == kind
    assert message in str(caught.value)


WRONG_AS_WRITTEN: list[tuple[Any, str]] = [
    ({"get_attr": "other"}, 'get_attr: Argument to "get_attr" must be a list'),
    ({"list_join": [","]}, 'list_join: Incorrect arguments to "list_join" should be: '),
    ({"str_replace": {"template": "x"}}, 'str_replace: \'"str_replace" syntax should be str_replace:'),
    ({"str_split": "abc"}, 'str_split: Incorrect arguments to "str_split"'),
    ({"repeat": {"template": "x", "for_each": []}}, 'repeat: The "for_each" argument to "repeat" must contain a map'),
    ({"filter": [[]]}, 'filter: "filter" expected 2 arguments'),
    ({"contains": ["a"]}, 'contains: Arguments to "contains" must be of the form'),
    ({"yaql": []}, 'yaql: Arguments to "yaql" must be a map.'),
    ({"resource_facade": "x"}, "resource_facade: Incorrect arguments"),
    ({"if": ["c"]}, 'if: Arguments to "if" must be of the form'), ({"if": ["zz", 1, 2]}, 'if: Invalid condition "zz"'),
    ([1, {"a": {"list_join": 1}}], "[1].a.list_join: Incorrect arguments"),
    ({"list_join": [",", [{"list_join": 1}]]}, "list_join[1][0].list_join: Incorrect arguments"),
]


@pytest.mark.parametrize(("snippet", "message"), WRONG_AS_WRITTEN, ids=lambda each: str(each)[:60])
def test_wrong_as_written(snippet: Any, message: str) -> None:
    """These are found when definitions are read, before anything is evaluated."""
    data = {"resources": {"r": {"type": "OS::Heat::Value", "properties": {"p": snippet}}}}
    with pytest.raises(UserError) as caught:
        bound(data)
    separator = "" if message.startswith("[") else "."
    assert str(caught.value).startswith(f"resources.r.properties.p{separator}{message}")
    assert caught.value.kind == "StackValidationFailed"


class _Types:
    """What validation knows: `other` has one attribute."""

    def has_resource(self, name: object) -> bool:
        return name in ("other", "r")

    def has_attribute(self, resource: str, attribute: str) -> bool:
        return attribute == "v"

    def names(self, resource: str | None = None) -> tuple[str, ...]:
        return ("other", "r") if resource is None else ("v",)


@pytest.mark.parametrize(("snippet", "message"), [
    ({"get_attr": ["other", "bad"]}, ".get_attr: The Referenced Attribute (other bad) is incorrect."),
    ([{"get_attr": ["other", "bad"]}], "[0].get_attr: The Referenced Attribute (other bad) is incorrect."),
    ({"map_merge": [{"a": {"get_attr": ["other", "bad"]}}]},
     ".map_merge: [0].a.get_attr: The Referenced Attribute (other bad) is incorrect."),
    ({"if": [True, {"get_attr": ["other", "bad"]}, 1]},
     ".if: get_attr: The Referenced Attribute (other bad) is incorrect."),
    ({"make_url": {"host": "h", "port": 0}}, ".make_url: Invalid URL port 0, must be in range 1-65535"),
    ({"make_url": {"bad": "h"}}, '.make_url: Invalid arguments to "make_url": bad'),
    ({"yaql": {"expression": "1 +", "data": 1}}, ".yaql: Bad expression Parse error: unexpected end of statement."),
    ({"Ref": "x"}, ".Ref: The template version is invalid: The function Ref is not supported in this version of HOT."),
])
def test_wrong_when_validated(snippet: Any, message: str) -> None:
    found = bound({"resources": {"other": {"type": "OS::Heat::Value"},
                                 "r": {"type": "OS::Heat::Value", "properties": {"p": snippet}}}})
    with pytest.raises(UserError) as caught:
        found.definitions["r"].check(_Types())
    assert str(caught.value) == f"resources.r.properties.p{message}"


def test_a_function_that_the_version_does_not_know_is_data() -> None:
    assert value({"if": [True, 1, 2]}, version="2014-10-16") == {"if": [True, 1, 2]}
    assert value({"Fn::GetAtt": ["a", "b"]}, version="2013-05-23") == {"Fn::GetAtt": ["a", "b"]}


def test_older_forms() -> None:
    with pytest.raises(UserError, match="Items to join must be strings not"):
        value({"list_join": [",", [{"a": 1}]]}, version="2015-04-30")
    with pytest.raises(UserError, match="params must be strings or numbers, param a is not valid"):
        value({"str_replace": {"template": "a", "params": {"a": [1]}}}, version="2015-04-30")
    with pytest.raises(UserError, match="must be lists"):
        value({"repeat": {"template": "a", "for_each": {"a": {"k": 1}}}}, version="2015-04-30")
    with pytest.raises(UserError, match="must be of the form"):
        value({"get_attr": ["other"]}, version="2014-10-16")
    assert value({"get_attr": ["other", "m", "x"]}, version="2013-05-23", known={"other": {"m": {"x": 1}}}) == 1


CFN_VALUES: list[tuple[Any, Any]] = [
    ({"Ref": "other"}, "other-id"), ({"Ref": "text"}, "t"), ({"Ref": "AWS::StackName"}, "stack"),
    ({"Fn::GetAtt": ["other", "value"]}, "v"), ({"Fn::FindInMap": ["M", "a", "b"]}, "c"),
    ({"Fn::Select": ["1", {"Ref": "names"}]}, "b"), ({"Fn::Select": ["k", '{"k": 5}']}, 5),
    ({"Fn::Select": [9, ["a"]]}, ""), ({"Fn::Select": [0, None]}, ""), ({"Fn::Join": ["-", ["a", "b"]]}, "a-b"),
    ({"Fn::Split": [",", "a,b"]}, ["a", "b"]), ({"Fn::Replace": [{"a": 1}, "xax"]}, "x1x"),
    ({"Fn::Base64": {"Ref": "text"}}, "t"), ({"Fn::GetAZs": ""}, []), ({"Fn::If": ["yes", 1, 2]}, 1),
    ({"Fn::MemberListToMap": ["N", "V", [".member.0.N=k", ".member.0.V=v=w", ".member.1.N=x"]]}, {"k": "v=w"}),
    ({"get_param": "text"}, {"get_param": "text"}),
]


@pytest.mark.parametrize(("snippet", "expected"), CFN_VALUES, ids=lambda each: str(each)[:60])
def test_cloudformation_values(snippet: Any, expected: Any) -> None:
    assert cfn_value(snippet, Mappings={"M": {"a": {"b": "c"}}}, Conditions={"yes": {"Fn::Not": [False]}}) == expected


@pytest.mark.parametrize(("snippet", "kind"), [
    ({"Ref": "nobody"}, "InvalidTemplateReference"), ({"Fn::FindInMap": ["M", "x", "y"]}, "KeyError"),
    ({"Fn::Select": ["x", ["a"]]}, "TypeError"), ({"Fn::Select": [0, "nojson"]}, "ValueError"),
    ({"Fn::Base64": 1}, "TypeError"), ({"Fn::Split": [",", 1]}, "TypeError"),
    ({"Ref": ["text"]}, "StackValidationFailed"), ({"Fn::GetAtt": ["a"]}, "StackValidationFailed"),
])
def test_cloudformation_errors(snippet: Any, kind: str) -> None:
    with pytest.raises(UserError) as caught:
        cfn_value(snippet, Mappings={"M": {}})
    assert caught.value.kind == kind


def test_facade() -> None:
    facade = model.Facade(metadata={"a": 1}, deletion_policy="Retain", update_policy={"u": 1})
    assert value({"resource_facade": "metadata"}, facade=facade) == {"a": 1}
    assert value({"resource_facade": "deletion_policy"}, facade=facade) == "Retain"
    assert value({"resource_facade": "update_policy"}, facade=facade) == {"u": 1}
