"""Properties: coercions, nested schemas, paths, defaults, translation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isotherm.errors import UserError
from isotherm.resources import properties, translation
from isotherm.resources.schema import ANY, BOOLEAN, INTEGER, LIST, MAP, NUMBER, STRING, Schema
from isotherm.template.parameters import constraints

RULES = properties.Rules(custom=constraints.NO_CUSTOM)
KINDS = {kind.lower(): Schema(kind) for kind in (STRING, INTEGER, NUMBER, BOOLEAN, MAP, LIST, ANY)}
NESTED = {
    "m": Schema(MAP, schema={
        "a": Schema(INTEGER, default=3, constraints=(constraints.Range(minimum=1, maximum=5),)),
        "b": Schema(STRING), "c": Schema(MAP, schema={"d": Schema(BOOLEAN, required=True)})}),
    "l": Schema(LIST, default=[{"x": 1}], schema=Schema(MAP, schema={"x": Schema(INTEGER, default=3)})),
    "n": Schema(LIST, schema=Schema(LIST, schema=Schema(INTEGER))),
}


@pytest.mark.parametrize(("kind", "given", "typed"), [
    ("string", 5, "5"), ("string", True, "True"), ("string", None, ""), ("integer", " 5", 5), ("integer", 5.5, 5),
    ("integer", True, 1), ("integer", None, 0), ("number", "5", 5), ("number", "5.0", 5.0), ("number", None, 0),
    ("boolean", "TRUE", True), ("boolean", None, False), ("map", None, {}), ("list", None, []),
    ("list", (1, 2), [1, 2]), ("any", None, None), ("any", {"a": [1]}, {"a": [1]}),
])
def test_coercions(kind: str, given: object, typed: object) -> None:
    converted = properties.convert(KINDS, {kind: given}, rules=RULES)[kind]
    assert converted == typed
    assert type(converted) is type(typed)


@pytest.mark.parametrize(("kind", "given", "message"), [
    ("string", 5.0, "Value must be a string; got 5.0"), ("string", [1], "Value must be a string; got [1]"),
    ("integer", "5.0", "Value '5.0' is not an integer"), ("number", "x", "could not convert string to float: 'x'"),
    ("boolean", "yes", '"yes" is not a valid boolean'), ("boolean", 1, '"1" is not a valid boolean'),
    ("map", "x", '"x" is not a map'), ("list", "x", "\"'x'\" is not a list"),
])
def test_values_that_do_not_fit(kind: str, given: object, message: str) -> None:
    with pytest.raises(UserError) as caught:
        properties.convert(KINDS, {kind: given}, path="resources.r.properties", rules=RULES)
    assert str(caught.value) == f"Property error: resources.r.properties.{kind}: {message}"


@pytest.mark.parametrize(("data", "problem"), [
    ({"m": {"a": 9}}, "p.m.a: 9 is out of range (min: 1, max: 5)"),
    ({"m": {"c": {}}}, "p.m.c: Property d not assigned"),
    ({"m": {"c": {"d": "x"}}}, 'p.m.c.d: "x" is not a valid boolean'),
    ({"m": {"zz": 1, "c": {}}}, "p.m: Unknown Property zz"),
    ({"zz": 1, "m": "x"}, "p: Unknown Property zz"),
    ({"l": [{}, {"zz": 1}]}, "p.l[1]: Unknown Property zz"),
    ({"l": ["x"]}, 'p.l[0]: "x" is not a map'),
    ({"n": [["1"], ["x"]]}, "p.n[1][0]: Value 'x' is not an integer"),
])
def test_paths(data: dict[str, Any], problem: str) -> None:
    first = next(properties.compiled(NESTED).problems(data, "p", RULES))
    assert str(first) == f"Property error: {problem}"


def test_defaults_are_filled_in_and_never_shared() -> None:
    first = properties.convert(NESTED, {"m": {"b": None}})
    assert first == {"m": {"a": 3, "b": "", "c": None}, "l": [{"x": 1}], "n": None}
    first["l"].append("spoilt")
    assert properties.convert(NESTED, {"l": None})["l"] == [{"x": 1}]
    assert properties.convert(NESTED, {})["l"] == [{"x": 1}]


def test_all_problems_are_told_unknown_names_first_then_by_the_schema() -> None:
    schema = {"b": Schema(INTEGER), "a": Schema(INTEGER), "c": Schema(STRING, required=True)}
    found = [str(one) for one in properties.compiled(schema).problems({"a": "x", "b": "y", "zz": 1}, "p", RULES)]
    assert [text.removeprefix("Property error: ") for text in found] == [
        "p: Unknown Property zz", "p.b: Value 'y' is not an integer", "p.a: Value 'x' is not an integer",
        "p: Property c not assigned"]


def test_what_hangs_on_others_is_judged_by_its_type_only() -> None:
    known = properties.compiled(NESTED)
    assert not list(known.problems({"m": {"a": 9}}, "p", RULES, loose=frozenset({"m"})))
    assert list(known.problems({"m": {"a": "x"}}, "p", RULES, loose=frozenset({"m"})))


def test_a_misspelt_name_is_guessed() -> None:
    problem = next(properties.compiled({"length": Schema(INTEGER)}).problems({"lenght": 1}, "p", RULES))
    assert problem.hint == "did you mean length?"


def test_diff() -> None:
    assert properties.diff({"a": 1, "b": None}, {"a": 2, "c": None}) == {"a"}


async def _find(cloud: object, value: str) -> str:
    raise AssertionError("translation asks nobody")


def test_translation() -> None:
    rules = (
        translation.Rule(translation.Kind.DELETE, ("old",)),
        translation.Rule(translation.Kind.ADD, ("many",), ("old",), make=lambda value: {"one": value}),
        translation.Rule(translation.Kind.REPLACE, ("nets", "id"), ("uuid",)),
        translation.Rule(translation.Kind.RESOLVE, ("nets", "id"), finder=_find),
    )
    given = {"old": 1, "nets": [{"uuid": "a"}, {"id": "b"}]}
    assert translation.translate(rules, given) == {"many": [{"one": 1}], "nets": [{"id": "a"}, {"id": "b"}]}
    found = translation.translate(rules, given, id_of=lambda _, value: f"id-of-{value}")
    assert found["nets"] == [{"id": "id-of-a"}, {"id": "id-of-b"}]
    assert given == {"old": 1, "nets": [{"uuid": "a"}, {"id": "b"}]}
    for clash in ({"old": 1, "many": [{"one": 2}]}, {"nets": [{"uuid": "a", "id": "b"}]}):
        with pytest.raises(UserError, match="at the same time"):
            translation.translate(rules, clash)


_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                     lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                         st.sampled_from(["a", "b", "c", "d", "m", "x", "zz"]), inner, max_size=3), max_leaves=8)


@given(st.dictionaries(st.sampled_from([*NESTED, "zz"]), _JSON))
def test_conversion_is_idempotent_and_never_crashes(data: dict[str, Any]) -> None:
    try:
        once = properties.convert(NESTED, data, rules=RULES)
    except UserError:
        return
    # Not of maps: a null that stands for "not given" below would be taken for one that was given.
    lists = {name: once[name] for name in ("l", "n") if once[name] is not None}
    assert properties.convert(NESTED, lists, partial=True) == lists
