"""Plug-ins from files: what is found, what is refused, and that a broken one stops nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isotherm.cli import codes

LAMP = """
    from isotherm.resources import contract, schema

    class Lamp(contract.RowOnly):
        TYPE = "Example::Lamp"
        DESCRIPTION = "A lamp."
        properties_schema = {"colour": schema.Schema(schema.STRING, "Its colour.", required=True)}

    TYPES = [Lamp]
"""
TEMPLATE = "heat_template_version: 2021-04-16\nresources: {l: {type: Example::Lamp, properties: {colour: {shout: red}}}}\n"


def test_a_type_of_a_file_is_used_like_any_other(run: Any, tmp_path: Path) -> None:
    code, listed = run("plugin", "list", lamp=LAMP)
    assert code == 0
    assert [(one["name"], one["group"], one["provides"]) for one in listed["plugins"]] == [
        ("lamp", "isotherm.types", ["Example::Lamp"])]
    assert run("resource-type", "show", "Example::Lamp")[1]["resource_type"] == "Example::Lamp"
    (tmp_path / "t.yaml").write_text(TEMPLATE.replace("{shout: red}", "red"))
    code, _ = run("validate", "t.yaml")
    assert code == 0


@pytest.mark.parametrize(("text", "why"), [
    ("raise RuntimeError('no cloud')", "RuntimeError: no cloud"),
    ("TYPES = [1]", "is not a subclass of"),
    ("from isotherm.resources import contract\nclass A(contract.Resource): pass\nTYPES = A", "A has no TYPE"),
    (LAMP.replace("Example::Lamp", "OS::Heat::Value"), "OS::Heat::Value is there already"),
    ("CONSTRAINTS = {'mine': 1}", "cannot be called with a value"),
    ("STACK_LIFECYCLE = object()", "has neither a method"),
    ("x = 1", "it has none of"),
    ("this is no Python", "SyntaxError"),
])
def test_a_broken_plug_in_is_named_and_stops_nothing(run: Any, text: str, why: str) -> None:
    code, listed = run("plugin", "list", broken=text, lamp=LAMP)
    assert code == codes.FAILED
    errors = {one["name"]: one["error"] for one in listed["plugins"]}
    assert why in errors["broken"]
    assert errors["lamp"] == ""
    assert "Example::Lamp" in json.dumps(run("resource-type", "list")[1])


def test_a_constraint_of_a_file_holds_for_parameters(run: Any, tmp_path: Path) -> None:
    more = """
        def even(value):
            return None if int(value) % 2 == 0 else f"{value} is odd"

        CONSTRAINTS = {"example.even": even}
    """
    (tmp_path / "t.yaml").write_text(
        "heat_template_version: 2021-04-16\n"
        "parameters: {n: {type: number, constraints: [{custom_constraint: example.even}]}}\n"
        "resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: n}}}}\n")
    assert run("validate", "t.yaml", "-p", "n=2", more=more)[0] == 0
    code, told = run("validate", "t.yaml", "-p", "n=3")
    assert code != 0
    assert "3 is odd" in json.dumps(told)
