"""Any value in a template is accepted or refused by each type, and a hidden value is not shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from isotherm.errors import UserError
from isotherm.planning.desired import Identity, StackInput, desire
from isotherm.resources import builtin
from tests.any_values import Anything

TYPES = builtin.registry()
SECRET = "marker-of-a-secret"
PARAMETERS = {"s": {"type": "string", "hidden": True, "default": SECRET},
              "j": {"type": "json", "hidden": True, "default": {"a": [SECRET], "length": SECRET}},
              "l": {"type": "comma_delimited_list", "default": "a,b"}}
LIKELY: list[Any] = [{"get_param": "s"}, {"get_param": "j"}, {"get_param": "l"}, {"get_param": ["j", "a", 0]},
                     {"get_attr": ["other", "value"]}, {"get_resource": "other"}, {"if": ["c", 1, "x"]}]


def _template(kind: str, some: Anything) -> dict[str, Any]:
    made = {"type": kind, "properties": some.properties(list(TYPES.types[kind].properties_schema))}
    made |= {word: some.value() for word in ("metadata", "update_policy", "condition", "external_id", "deletion_policy")
             if some.chance(0.1)}
    sections = {"conditions": {"c": True if some.chance(0.7) else some.value()}}
    if some.chance(0.2):
        sections["outputs"] = {"o": {"value": some.value()}}
    return {"heat_template_version": "2021-04-16", "parameters": PARAMETERS, **sections,
            "resources": {"other": {"type": "OS::Heat::Value"}, "r": made}}


@pytest.mark.parametrize("kind", sorted(TYPES.types))
def test_any_properties_are_taken_or_refused(kind: str) -> None:
    some = Anything(kind, LIKELY)
    refused = 0
    for _ in range(100):
        text = json.dumps(_template(kind, some))
        try:
            desire(StackInput(text, {"x": "content"}, {}), Identity("s", "id", "project"), TYPES)
        except UserError as error:
            refused += 1
            assert SECRET not in str(error) + repr(error.problems), text
    assert refused, "this was not hard enough"
