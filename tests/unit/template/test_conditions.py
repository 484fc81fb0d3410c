"""Conditions: their functions, their effects, and their errors."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm.errors import UserError
from tests.unit.template.small_templates import bound


def _resources(**conditions: Any) -> dict[str, Any]:
    return {"conditions": conditions, "resources": {
        name: {"type": "OS::Heat::None", "condition": name} for name in conditions}}


def test_answers() -> None:
    found = bound(_resources(
        yes=True, no=False, same={"equals": [{"get_param": "text"}, "t"]}, neither={"not": {"or": ["yes", "no"]}},
        both={"and": ["yes", {"not": "no"}, {"get_param": "yes"}]}, inside={"contains": ["a", {"get_param": "names"}]},
        said={"yaql": {"expression": "$.data > 3", "data": {"get_param": "number"}}},
        whispered={"equals": [{"get_param": "secret"}, "hunter2"]}))
    assert found.conditions == {"yes": True, "no": False, "same": True, "neither": False, "both": True, "inside": True,
                                "said": True, "whispered": True}
    assert list(found.definitions) == ["yes", "same", "both", "inside", "said", "whispered"]


@pytest.mark.parametrize(("definition", "message"), [
    ("yes", 'Condition validation error: The definition of condition "c" is invalid: yes'),
    (1, 'Condition validation error: The definition of condition "c" is invalid: 1'),
    ({"a": 1}, "Condition validation error: The definition of condition \"c\" is invalid: {'a': 1}"),
    ({"equals": [1]}, 'conditions.c.equals: Arguments to "equals" must be of the form: [value_1, value_2]'),
    ({"and": [True]}, 'conditions.c.and: The minimum number of condition arguments to "and" is 2.'),
    ({"and": True}, 'conditions.c.and: Arguments to "and" must be a list of conditions'),
    ({"not": None}, 'conditions.c.not: Argument to "not" must be a condition'),
    ({"equals": [{"get_attr": ["a", "b"]}, 1]},
     'conditions.c.equals[0].get_attr: The function "get_attr" is invalid in this context'),
    ({"not": "c"}, 'Condition validation error: Circular definition for condition "c"'),
])
def test_wrong_definitions(definition: Any, message: str) -> None:
    found = bound({"conditions": {"c": definition}})
    with pytest.raises(UserError) as caught:
        found.check_conditions()
    assert (str(caught.value), caught.value.kind) == (message, "StackValidationFailed")


@pytest.mark.parametrize("section", [[], "x", None, 5])
def test_the_section_is_a_map(section: Any) -> None:
    with pytest.raises(UserError, match=f"must be a map. Found a {type(section).__name__} instead"):
        bound({"conditions": section}).check_conditions()


@pytest.mark.parametrize(("condition", "kind", "message"), [
    ("zz", "StackValidationFailed", 'resources.r.condition: Invalid condition "zz"'),
    ({"get_param": "text"}, "StackValidationFailed", 'resources.r.condition: Invalid condition "t"'),
    ({"get_param": "missing"}, "UserParameterMissing", "The Parameter (missing) was not provided."),
    ({"get_attr": ["r", "a"]}, "StackValidationFailed",
     'resources.r.condition.get_attr: The function "get_attr" is invalid in this context'),
    (5, "StackValidationFailed", "Resource r condition type must be string_or_boolean"),
])
def test_wrong_uses(condition: Any, kind: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        bound({"resources": {"r": {"type": "OS::Heat::None", "condition": condition}}})
    assert (caught.value.kind, str(caught.value)) == (kind, message)


def test_operands_are_looked_at_only_as_far_as_needed() -> None:
    assert bound({"conditions": {"c": {"or": [True, "zz"]}}}).conditions == {"c": True}
    with pytest.raises(UserError, match='Invalid condition "zz"'):
        _ = bound({"conditions": {"c": {"or": [False, "zz"]}}}).conditions


def test_a_resource_left_out_is_read_all_the_same() -> None:
    with pytest.raises(UserError, match="list_join"):
        bound({"resources": {"r": {"type": "OS::Heat::None", "condition": False, "properties": {"a": {"list_join": 1}}}}})


def test_outputs_have_conditions() -> None:
    outputs = bound({"outputs": {"o": {"value": {"list_join": 1}, "condition": False}, "p": {"value": 1}}}).outputs
    assert (outputs["o"].is_enabled, outputs["o"].value) == (False, None)
    assert (outputs["p"].is_enabled, outputs["p"].value) == (True, 1)


def test_a_long_chain_is_followed_in_order_and_refused_when_too_deep() -> None:
    forward = {"c0": True} | {f"c{n}": {"not": f"c{n - 1}"} for n in range(1, 500)}
    assert bound({"conditions": forward}).conditions["c499"] is False
    with pytest.raises(UserError) as caught:
        _ = bound({"conditions": dict(reversed(forward.items()))}).conditions
    assert caught.value.kind == "RequestLimitExceeded"
