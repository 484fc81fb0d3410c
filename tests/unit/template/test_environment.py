"""Environments: sections, the registry's order, hooks and restrictions, children, and merging."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isotherm.errors import NotFound, UserError
from isotherm.template import environment, merge
from isotherm.template.environment import Environment, Registry, TypeTarget, TypeTargetKind
from isotherm.template.parameters import parameters
from isotherm.template.versions import HOT_LATEST

KNOWN = dict.fromkeys(("OS::Heat::TestResource", "OS::Heat::None", "OS::Heat::Value"))


def target(registry: dict[str, Any], type_name: str, resource: str | None = None) -> str:
    loaded = environment.load({"resource_registry": registry})
    found = loaded.registry.lookup(type_name, resource, known=KNOWN)
    return found.name.removeprefix("OS::Heat::")


@pytest.mark.parametrize(("registry", "type_name", "resource", "expected"), [
    ({}, "OS::Heat::None", None, "None"),
    ({}, "child.yaml", None, "child.yaml"),
    ({"A": "B", "B": "OS::Heat::None"}, "A", None, "None"),
    ({"A": "child.template"}, "A", None, "child.template"),
    ({"OS::Heat::TestResource": "OS::Heat::None"}, "OS::Heat::TestResource", None, "None"),
    ({"OS::Heat::TestResource": None}, "OS::Heat::TestResource", None, "TestResource"),
    ({"A::*": "OS::Heat::*"}, "A::Value", None, "Value"),
    ({"A::*": "OS::Heat::None"}, "A::X", None, "None"),
    ({"A::*": "OS::Heat::Value", "A::B*": "OS::Heat::None"}, "A::BX", None, "Value"),
    ({"A": "OS::Heat::Value", "resources": {"r": {"A": "OS::Heat::None"}}}, "A", "r", "None"),
    ({"A": "OS::Heat::Value", "resources": {"r": {"A": "OS::Heat::None"}}}, "A", "s", "Value"),
    ({"A": "OS::Heat::Value", "resources": {"r*": {"A": "OS::Heat::None"}}}, "A", "rx", "Value"),
    ({"resources": {"r": {"A": "child.yaml"}}}, "A", "r", "child.yaml"),
])
def test_what_a_type_stands_for(registry: dict[str, Any], type_name: str, resource: str | None, expected: str) -> None:
    assert target(registry, type_name, resource) == expected


@pytest.mark.parametrize(("registry", "type_name"), [
    ({}, "Foo"), ({"A": "B"}, "A"), ({"A": "B", "B": "A"}, "A"), ({"A": "A"}, "A"), ({"A::*": "OS::Heat::*"}, "A::No"),
    ({"A::*": "child.yaml"}, "A::X"), ({"A1": "OS::Heat::None", "A*": None}, "A1"),
    ({"resources": {"r": {"A::*": "OS::Heat::*"}}}, "A::None"),
])
def test_types_that_stand_for_nothing(registry: dict[str, Any], type_name: str) -> None:
    with pytest.raises(UserError, match="could not be found") as caught:
        target(registry, type_name, "r")
    assert caught.value.kind == "EntityNotFound"


def test_hooks_and_restrictions_by_wildcard() -> None:
    loaded = environment.load({"resource_registry": {"resources": {
        "r*": {"hooks": ["pre-create"], "restricted_actions": "update"}, "rx": {"hooks": "pre-update"},
        "o": {"i": {"hooks": "post-delete"}}}}})
    assert loaded.hooks_for("rx") == {"pre-create", "pre-update"}
    assert loaded.hooks_for("r1") == {"pre-create"}
    assert loaded.hooks_for("i") == frozenset()
    assert loaded.restricted_actions_for("rx") == {"update"}
    assert loaded.child("o").hooks_for("i") == {"post-delete"}


@pytest.mark.parametrize(("below", "kind"), [
    ({"hooks": "zz"}, "InvalidBreakPointHook"), ({"hooks": ["pre-create", 5]}, "InvalidBreakPointHook"),
    ({"restricted_actions": "zz"}, "InvalidRestrictedAction"),
])
def test_bad_hooks_and_restrictions(below: object, kind: str) -> None:
    with pytest.raises(UserError) as caught:
        environment.load({"resource_registry": {"resources": {"r": below}}})
    assert caught.value.kind == kind


def test_a_child_sees_what_lies_below_its_name() -> None:
    parent = environment.load({
        "parameters": {"a": 1}, "parameter_defaults": {"d": 1}, "encrypted_param_names": ["a"],
        "resource_registry": {"T": "x.yaml", "resources": {
            "o": {"T": "y.yaml", "i": {"T": "z.yaml"}}, "o*": {"U": "u.yaml"}, "p": {"T": "p.yaml"}}}})
    child = parent.child("o", {"b": 2})
    assert child.as_dict() == {
        "parameters": {"b": 2}, "parameter_defaults": {"d": 1}, "event_sinks": [], "encrypted_param_names": [],
        "resource_registry": {"T": "x.yaml", "resources": {"i": {"T": "z.yaml"}}}}
    assert child.registry.lookup("T", "i", known=KNOWN) == TypeTarget(
        TypeTargetKind.TEMPLATE, "z.yaml", ("resources", "i", "T"))
    assert child.registry.lookup("T", "q", known=KNOWN) == TypeTarget(TypeTargetKind.TEMPLATE, "x.yaml", ("T",))


NONE = "OS::Heat::None"


@pytest.mark.parametrize(("lines", "resource", "left"), [
    ({"T": "t.yaml"}, "r", None), ({"T": NONE}, "r", NONE), ({"T": NONE, NONE: "b.yaml"}, "r", NONE),
    ({"T": "t.yaml", "resources": {"r": {"T": "r.yaml"}}}, "r", "t.yaml"),
    ({"T": "t.yaml", "resources": {"r": {"T": "r.yaml"}}}, "q", None),
    ({"T*": "U*", "U": "u.yaml"}, "r", None), ({"T*": "U*", "U": "u.yaml", "T": "t.yaml"}, "r", "u.yaml"),
    ({"T*": NONE}, "r", NONE), ({"*": NONE}, "r", NONE), ({"*": NONE, NONE: "b.yaml"}, "r", NONE),
])
def test_the_line_that_led_to_a_template_is_not_applied_inside_it(
    lines: dict[str, Any], resource: str, left: str | None
) -> None:
    surroundings = environment.load({"resource_registry": lines})
    used = surroundings.registry.lookup("T", resource, known=KNOWN).line
    inside = surroundings.child(resource, {}, used).registry
    if left is None:
        with pytest.raises(NotFound):
            inside.lookup("T", resource, known=KNOWN)
    else:
        assert inside.lookup("T", resource, known=KNOWN).name == left
    assert surroundings == environment.load({"resource_registry": lines}), "the environment around it stays as it is"


def test_the_own_name_of_a_resource_has_precedence_over_patterns_inside() -> None:
    loaded = environment.load({"resource_registry": {"resources": {
        "web": {"x": {"hooks": ["pre-create"]}}, "*": {"x": {"hooks": "pre-update"}, "y": {"hooks": "pre-update"}}}}})
    inside = loaded.child("web")
    assert (inside.hooks_for("x"), inside.hooks_for("y")) == (frozenset({"pre-create"}), frozenset({"pre-update"}))


def test_hooks_of_a_resource_do_not_apply_to_its_nested_stack() -> None:
    loaded = environment.load({"resource_registry": {"resources": {
        "r": {"hooks": ["pre-create"], "restricted_actions": ["replace"], "x": {"hooks": "pre-update"}}}}})
    inside = environment.load(loaded.child("r").as_dict())
    assert inside.registry.data == {"resources": {"x": {"hooks": "pre-update"}}}


@pytest.mark.parametrize(("text", "message"), [
    ("a: 1", 'environment has wrong section "a"'), ("parameters:", 'environment has empty section "parameters"'),
    ("[1]", "The environment is not a valid YAML mapping data type."), ("parameters: 5", "must be a map"),
    ("event_sinks: 5", "must be a list"), ("resource_registry: {A: 5}", "must be a text"),
])
def test_environments_that_are_wrong(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        environment.load(text)


def test_loading() -> None:
    assert environment.load("") == environment.load(None) == Environment()
    assert environment.load('{"parameters": {"a": 1}}').parameters == {"a": 1}
    assert environment.load({"a": 1}, strict=False).parameters == {"a": 1}
    assert Registry().is_empty
    assert Registry({"resources": {}}).is_empty
    assert not Registry({"A": "B"}).is_empty


_TREE = st.recursive(st.none() | st.integers() | st.sampled_from(["A", "x.yaml", "B::*", "pre-create"]),
                     lambda inner: st.dictionaries(st.sampled_from(
                         ["resources", "hooks", "restricted_actions", "A", "A::*", "r*"]), inner, max_size=3)
                     | st.lists(inner, max_size=2), max_leaves=10)


@given(_TREE)
def test_no_registry_whatsoever_crashes(registry: object) -> None:
    try:
        loaded = environment.load({"resource_registry": registry})
        loaded.hooks_for("r1")
        loaded.child("r1").registry.lookup("A", "r1", known=KNOWN)
    except UserError:
        return


SCHEMATA = parameters.parse_schemata({
    "s": {"type": "string"}, "l": {"type": "comma_delimited_list"}, "j": {"type": "json"}, "n": {"type": "number"},
    "b": {"type": "boolean"}}, HOT_LATEST)


def merged(*environments: dict[str, Any]) -> dict[str, Any]:
    return dict(merge.merge([Environment(), *map(environment.load, environments)], SCHEMATA).parameters)


def asked(default: str = "", **strategies: str) -> dict[str, Any]:
    return {"parameter_merge_strategies": {**({"default": default} if default else {}), **strategies}}


@pytest.mark.parametrize(("strategy", "first", "second", "expected"), [
    ("overwrite", {"s": "a"}, {"s": "b"}, {"s": "b"}),
    ("merge", {"s": "a"}, {"s": "b"}, {"s": "ab"}),
    ("merge", {"l": "a"}, {"l": "b"}, {"l": "a,b"}),
    ("merge", {"l": ["a"]}, {"l": ["b"]}, {"l": ["a", "b"]}),
    ("merge", {"j": {"a": {"x": 1}, "k": 1}}, {"j": {"a": {"y": 2}}}, {"j": {"a": {"y": 2}, "k": 1}}),
    ("deep_merge", {"j": {"a": {"x": 1}, "l": [1], "s": "p"}}, {"j": {"a": {"y": 2}, "l": [2], "s": "q"}},
     {"j": {"a": {"x": 1, "y": 2}, "l": [1, 2], "s": "pq"}}),
    ("deep_merge", {"j": {"n": 1}}, {"j": {"n": 2}}, {"j": {"n": 2}}),
    ("merge", {"s": "a"}, {"s": None}, {"s": "a"}),
    ("overwrite", {"zz": "a"}, {"zz": "b", "s": "c"}, {"zz": "a", "s": "c"}),
])
def test_merging(strategy: str, first: dict[str, Any], second: dict[str, Any], expected: dict[str, Any]) -> None:
    assert merged({"parameters": first, **asked(strategy)}, {"parameters": second}) == expected


@pytest.mark.parametrize(("first", "second", "kind"), [
    ({"parameters": {"s": "a"}}, {"parameters": {"s": "b"}, **asked(s="merge")}, "ConflictingMergeStrategyForParam"),
    ({"parameters": {"n": 1}, **asked("merge")}, {"parameters": {"n": 2}}, "ValueError"),
    ({"parameters": {"b": True}, **asked("merge")}, {"parameters": {"b": False}}, "InvalidMergeStrategyForParam"),
])
def test_merges_that_are_refused(first: dict[str, Any], second: dict[str, Any], kind: str) -> None:
    with pytest.raises(UserError) as caught:
        merged(first, second)
    assert caught.value.kind == kind


def test_the_first_strategy_sticks_against_a_later_default() -> None:
    assert merged({"parameters": {"s": "a"}, **asked(s="merge")}, {"parameters": {"s": "b"}, **asked("overwrite")}) == {
        "s": "ab"}


def test_parameters_of_templates_among_the_files_are_known() -> None:
    child = "heat_template_version: 2016-10-14\nparameters: {inner: {type: json}}"
    assert set(merge.known_parameters(SCHEMATA, {"c.yaml": child, "notes.txt": "hello"})) == {*SCHEMATA, "inner"}
    with pytest.raises(UserError, match="Invalid type"):
        merge.known_parameters({}, {"c.yaml": child.replace("json", "zz")})
