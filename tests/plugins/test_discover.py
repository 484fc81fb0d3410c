"""Plug-ins from files: what is found, what is refused, and that a broken one stops nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
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


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run a command with plug-ins from a folder, in a process of its own: plug-ins are loaded once per process."""
    folder, home = tmp_path / "plugins", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    (home / "isotherm.conf").write_text(f"[DEFAULT]\nplugin_dirs = {folder}\n")

    def command(*arguments: str, **files: str) -> tuple[int, Any]:
        for name, text in files.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text))
        done = subprocess.run([sys.executable, "-m", "isotherm.cli.main", *arguments, "--json"], check=False, text=True,
                              capture_output=True, env={**os.environ, "ISOTHERM_HOME": str(home)}, cwd=tmp_path)
        assert not done.stderr.startswith("Traceback"), done.stderr
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else done.stderr

    return command


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
