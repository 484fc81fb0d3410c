"""`isotherm import` and `--move`, as a user types them."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from isotherm.cli import codes
from isotherm.resources.reality.journal import JournalReality
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("objects", "engine_at")

TYPE = "OS::Heat::TestResource"


@pytest.fixture
def objects(home: Path) -> dict[str, Any]:
    """Make two objects that no stack has; return their properties."""
    made = {"one": {"value": "1"}, "two": {"value": "other"}}
    home.mkdir(parents=True, exist_ok=True)

    async def make() -> None:
        with contextlib.closing(JournalReality(home / "reality.journal")) as reality:
            for id_, properties in made.items():
                await reality.create(TYPE, f"token-{id_}", properties, id_)

    asyncio.run(make())
    return made


@pytest.fixture
def text(tmp_path: Path) -> Path:
    resources = {name: {"type": TYPE, "properties": {"value": value}} for name, value in (("a", "1"), ("b", "2"))}
    file = tmp_path / "t.yaml"
    file.write_text(yaml.safe_dump({"heat_template_version": "2021-04-16", "resources": resources}))
    return file


def ids(run: Run, stack: str = "s") -> dict[str, str]:
    return {one["resource_name"]: one["physical_resource_id"] for one in run("resources", stack, "--json").data}


def test_import_shows_what_it_found_and_takes_it_in(run: Run, text: Path, objects: dict[str, Any]) -> None:
    found = run("import", "s", "a=one", "b=two", "-t", text, "--plan")
    assert found.code == codes.OK
    assert "s: 2 objects to import" in found.out
    assert f"a  {TYPE}  one  equal" in found.out
    assert "value: other → 2" in found.out
    assert run("import", "s", "a=one", "b=two", "-t", text).code == codes.USAGE, "without a terminal, --yes is needed"
    assert run("import", "s", "a=one", "b=two", "-t", text, "--yes").code == codes.OK
    assert ids(run) == {"a": "one", "b": "two"}
    planned = run("plan", "s", "-t", text)
    assert "1 to update in place, 1 without change" in planned.out or "1 without change, 1 to update" in planned.out


def test_generate_writes_a_template_that_fits(run: Run, tmp_path: Path, objects: dict[str, Any]) -> None:
    made = run("import", "s", "b=two", "--generate", "--type", f"b={TYPE}")
    assert made.code == codes.OK
    file = tmp_path / "made.yaml"
    file.write_text(made.out)
    found = run("import", "s", "b=two", "-t", file, "--plan", "--json").data
    assert [one["found"] for one in found["resources"]] == ["equal"]


def test_what_cannot_be_imported_is_said(run: Run, text: Path, objects: dict[str, Any]) -> None:
    refused = run("import", "s", "a=none", "b=two", "-t", text, "--yes")
    assert refused.code == codes.WRONG
    assert "resources.a: there is no such object: none" in refused.err


def test_a_move_is_planned_and_carried_out(run: Run, text: Path, tmp_path: Path) -> None:
    assert run("apply", "s", "-t", text, "--yes").code == codes.OK
    before = ids(run)
    renamed = tmp_path / "renamed.yaml"
    renamed.write_text(text.read_text().replace("  a:", "  c:"))
    found = run("plan", "s", "-t", renamed, "--move", "a=c")
    assert "1 to move, 1 without change" in found.out
    assert f"→ c  {TYPE}  move  moved from a" in found.out
    assert run("apply", "s", "-t", renamed, "--move", "a=c", "--yes").code == codes.OK
    assert ids(run) == {"c": before["a"], "b": before["b"]}
    assert run("update", "s", "-t", text, "--move", "c=a").code == codes.OK
    assert ids(run) == before
    environment = tmp_path / "moved.env.yaml"
    environment.write_text("isotherm: {moved: {a: c}}\n")
    for _ in range(2):
        assert run("update", "s", "-t", renamed, "-e", environment).code == codes.OK
    assert ids(run) == {"c": before["a"], "b": before["b"]}
    refused = run("update", "s", "-t", renamed, "--move", "nothing=c")
    assert "the stack has no resource nothing" in refused.err


def test_a_resource_moves_to_another_stack_and_back(run: Run, text: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("heat_template_version: 2021-04-16\nresources:\n  own: {type: OS::Heat::None}\n")
    for stack, file in (("s", text), ("t", other)):
        assert run("apply", stack, "-t", file, "--yes").code == codes.OK
    before = ids(run)
    moved = run("move", "s/a", "t/first")
    assert moved.code == codes.OK, moved.err
    assert f"→ t/first  {TYPE}  moved from s/a" in moved.out
    assert (ids(run), ids(run, "t")["first"]) == ({"b": before["b"]}, before["a"])
    assert "first:" in run("template", "t").out
    back = run("move", "t/first", "s/a", "--json")
    assert (back.data["physical_resource_id"], back.data["to"]["stack_name"]) == (before["a"], "s")
    assert ids(run) == before
    refused = run("move", "s/a", "t/own")
    assert refused.code == codes.WRONG
    assert "stack t has a resource own already" in refused.err
    assert run("move", "s", "t/own").code == codes.USAGE
