"""Definitions on their own: two stages, freezing, secrets."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from isotherm.errors import UserError
from isotherm.template.model import definitions
from isotherm.template.model.definitions import Definition, Unresolved
from isotherm.template.parameters.parameters import Values
from tests.unit.template.small_templates import Known, bound


def _definition(properties: Any, *, files: dict[str, str] | None = None, **fields: Any) -> Definition:
    found = bound({"resources": {"r": {"type": "T", "properties": properties, **fields},
                                 "other": {"type": "T"}}}, files=files)
    return found.definitions["r"]


def _round_trip(definition: Definition) -> Definition:
    return definitions.thaw(json.loads(msgspec.json.encode(definition.freeze())))


LIVE: list[Any] = [
    {"get_resource": "other"}, {"get_attr": ["other", "a", 0, "b"]}, {"list_join": ["-", [{"get_resource": "other"}]]},
    {"str_replace": {"template": "x", "params": {"x": {"get_attr": ["other", "a"]}}}},
    {"repeat": {"template": {"k": "%v%"}, "for_each": {"%v%": {"get_attr": ["other", "a"]}}, "permutations": False}},
    {"yaql": {"expression": "$.data", "data": {"get_attr": ["other"]}}}, {"get_file": {"get_attr": ["other", "f"]}},
    {"get_param": ["tree", {"get_attr": ["other", "k"]}]}, {"get_param": "secret"}, {"Ref": "x"},
    {"make_url": {"host": {"get_attr": ["other", "h"]}}}, [1, {"a": [{"get_resource": "other"}]}],
    {"if": [True, {"get_resource": "other"}, 1]}, {"get_param": "missing"},
]
PLAIN: list[Any] = [
    1, "x", None, [], {}, {"a": [1, {"b": None}]}, {"!fn": ["get_param", "get_param", "secret", None]}, {"!map": []},
    {"!float": "inf"}, float("inf"), [float("-inf")], {"!fn": 1, "b": 2}, {"get_nothing": "x"},
]


@pytest.mark.parametrize("value", [*LIVE, *PLAIN], ids=lambda each: str(each)[:60])
def test_thaw_undoes_freeze(value: Any) -> None:
    definition = _definition({"p": value, "q": "plain"}, metadata={"m": value}, files={"f": "content"})
    assert _round_trip(definition) == definition


def test_data_that_looks_frozen_survives() -> None:
    value = {"!fn": ["get_param", "get_param", "secret", None]}
    assert _round_trip(_definition({"p": value})).properties == {"p": value}


def test_a_thawed_definition_resolves_alone() -> None:
    found = bound({"resources": {"other": {"type": "T"}, "r": {"type": "T", "properties": {
        "a": {"get_file": {"get_attr": ["other", "name"]}}, "b": {"get_param": ["tree", {"get_attr": ["other", "key"]}]},
        "c": {"get_param": "secret"}, "d": {"get_resource": "other"}}}}}, files={"f": "content", "g": "else"})
    known = Known(found.values, other={"name": "f", "key": "s"})
    resolved = _round_trip(found.definitions["r"]).resolve(known)
    assert resolved.properties == {"a": "content", "b": "str", "c": "hunter2", "d": "other-id"}


def test_frozen_definitions_carry_no_secret() -> None:
    definition = _definition({"a": {"get_param": "secret"}, "b": {"list_join": ["", [{"get_param": "secret"}, "x"]]},
                              "c": {"get_param": "text"}}, metadata={"m": {"get_param": "secret"}})
    assert "hunter2" not in json.dumps(definition.freeze())
    assert definition.secrets == {"secret"}
    assert definition.properties["c"] == "t"


def test_a_late_parameter_takes_its_value_along_unless_it_is_hidden() -> None:
    """It is resolved without parameters, and a change of one changes the definition."""
    late = {"get_param": ["tree", {"get_attr": ["other", "key"]}]}
    hidden = {"get_param": ["secret", {"get_attr": ["other", "key"]}]}
    named = {"get_param": {"list_join": ["", ["te", {"get_attr": ["other", "end"]}]]}}
    definition = _round_trip(_definition({"a": late, "b": named}, metadata={"m": hidden}))
    assert "hunter2" not in json.dumps(definition.freeze())
    assert definition.secrets == {"secret"}
    without_values = Known(Values({}), other={"key": "s", "end": "xt"})
    assert definition.resolve_properties(without_values) == {"a": "str", "b": "t"}


def test_secrets_of_external_ids_and_unknown_parameters() -> None:
    assert _definition({}, external_id={"get_param": "secret"}).secrets == {"secret"}
    assert _definition({"a": {"get_param": {"get_attr": ["other", "n"]}}}).secrets == {"secret"}
    assert _definition({"a": {"get_param": "text"}}).secrets == frozenset()


def test_stage_one_leaves_only_what_must_wait() -> None:
    definition = _definition({"a": {"list_join": ["", [{"get_param": "text"}, "x"]]},
                              "b": [{"get_param": "number"}, {"get_resource": "other"}], "c": {"d": {"get_param": "yes"}}})
    assert definition.properties["a"] == "tx"
    assert definition.properties["c"] == {"d": True}
    assert definition.properties["b"][0] == 7


def test_what_fails_in_stage_one_fails_when_resolved_and_names_the_property() -> None:
    definition = _definition({"ok": 1, "p": {"list_join": ["", [{"get_param": "missing"}]]}})
    with pytest.raises(UserError) as caught:
        definition.resolve(Unresolved())
    assert (caught.value.kind, str(caught.value)) == (
        "UserParameterMissing", "resources.r.properties.p: The Parameter (missing) was not provided.")


def test_nothing_exists_yet() -> None:
    definition = _definition({"a": {"get_resource": "other"}, "b": {"get_attr": ["other", "x", "y"]},
                              "c": {"get_attr": ["other"]}, "d": {"str_split": [",", {"get_attr": ["other", "x"]}]}})
    assert definition.resolve(Unresolved()).properties == {"a": "other", "b": None, "c": None, "d": None}


def test_resolve_touches_nothing() -> None:
    found = bound({"resources": {"other": {"type": "T"}, "r": {"type": "T", "properties": {
        "a": [{"get_attr": ["other", "x"]}]}}}})
    before = found.definitions["r"].freeze()
    first = found.definitions["r"].resolve(Known(found.values, other={"x": {"y": 1}}))
    assert first == found.definitions["r"].resolve(Known(found.values, other={"x": {"y": 1}}))
    assert found.definitions["r"].freeze() == before
