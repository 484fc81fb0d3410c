"""Commands on one resource, on the input of a stack and on nested stacks; watching and working."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from isotherm.cli import codes
from tests.cli.conftest import HERE, Run

pytestmark = pytest.mark.usefixtures("engine_at")

INNER = """
heat_template_version: 2018-08-31
resources:
  one: {type: OS::Heat::TestResource}
  two: {type: OS::Heat::TestResource, depends_on: one}
"""
OUTER = """
heat_template_version: 2018-08-31
description: Lamps.
parameters:
  colour: {type: string, default: red}
  secret: {type: string, hidden: true, default: hush-hush}
resources:
  lamp: {type: OS::Heat::TestResource, properties: {value: {get_param: colour}}, depends_on: group}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 2, resource_def: {type: inner.yaml}}
"""


@pytest.fixture
def outer(tmp_path: Path, run: Run) -> Path:
    (tmp_path / "inner.yaml").write_text(INNER)
    file = tmp_path / "outer.yaml"
    file.write_text(OUTER)
    ran = run("deploy", "web", "-t", file, "-p", "colour=blue", "-p", "secret=tell-nobody")
    assert (ran.code, ran.err) == (codes.OK, "")
    return file


@pytest.mark.usefixtures("outer")
def test_resources_events_and_graph_go_into_nested_stacks(run: Run) -> None:
    def names(*arguments: object) -> list[str]:
        return [".".join([*one.get("stack", []), one["resource_name"]]) for one in run(*arguments, "--json").data]

    assert names("resources", "web") == ["lamp", "group"]
    assert names("resources", "web", "--nested", 1) == ["lamp", "group", "group.0", "group.1"]
    assert sorted(names("resources", "web", "--nested", 2)[4:]) == [
        "group.0.one", "group.0.two", "group.1.one", "group.1.two"]
    assert "group.1.two  CREATE_COMPLETE" in run("resources", "web", "--nested", 9).out
    assert not [name for name in names("events", "web") if "." in name]
    assert {"group.0.one", "group.", "group.1."} <= set(names("events", "web", "--nested", 2))
    assert names("events", "web", "--nested", 2, "--last", 3)[-1] == ""
    assert "group.0 (stack)" in run("events", "web", "--nested", 2).out
    drawn = run("graph", "web", "--nested", 2).out.splitlines()
    assert [line for line in drawn if "└─ ✓ two" in line]
    assert '"group.0.one" -> "group.0.two";' in run("graph", "web", "--nested", 2, "--dot").out


@pytest.mark.usefixtures("outer")
def test_the_question_before_a_delete_counts_what_is_nested(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    def confirm(question: str, **_: object) -> None:
        asked.append(question)
        raise click.Abort

    monkeypatch.setattr("click.confirm", confirm)
    assert run("delete", "web").code == codes.INTERRUPTED
    assert asked == ["Delete stack web and its 5 resources?"]


@pytest.mark.usefixtures("outer")
def test_one_resource(run: Run) -> None:
    ran = run("resource", "web", "lamp")
    assert (ran.code, ran.err) == (codes.OK, "")
    assert ran.out.splitlines()[0].split() == ["lamp", "CREATE_COMPLETE", "OS::Heat::TestResource"]
    for word in ("requires", "physical id", "Properties", "Attributes", "Newest events"):
        assert word in ran.out
    told = run("resource", "web", "lamp", "--json").data
    assert told["requires"] == ["group"]
    assert told["drift"]["applied"]["value"] == "blue"
    assert told["attributes"]["output"] == "blue"
    assert [one["status"] for one in told["versions"]] == ["COMPLETE"]
    assert run("resource", "web", "nothing").code == codes.NOT_FOUND


@pytest.mark.usefixtures("outer")
def test_the_input_of_a_stack(run: Run) -> None:
    shown = run("show", "web")
    assert "colour     blue" in shown.out
    assert run("show", "web", "--json").data["parameters"] == {"colour": "blue", "secret": "******"}
    assert "description: Lamps." in run("template", "web").out
    assert run("template", "web", "--json").data["resources"]["lamp"]["type"] == "OS::Heat::TestResource"
    environment = run("environment", "web", "--json").data
    assert environment["parameters"] == {"colour": "blue", "secret": "******"}
    assert "colour: blue" in run("environment", "web").out
    assert "inner.yaml" in run("files", "web").out
    assert run("files", "web", "inner.yaml").out.strip() == INNER.strip()
    assert run("files", "web", "inner.yaml", "--json").data == {"inner.yaml": INNER}
    missing = run("files", "web", "other.yaml")
    assert (missing.code, "It has: inner.yaml." in missing.err) == (codes.NOT_FOUND, True)
    said = shown.out + run("template", "web").out + run("environment", "web").out
    assert "tell-nobody" not in said


@pytest.mark.usefixtures("outer")
def test_watching_shows_an_operation_that_has_ended_with_nested_events(run: Run) -> None:
    ran = run("watch", "web", "--nested", 2, "--json")
    assert ran.code == codes.OK
    *events, last = [json.loads(line) for line in ran.out.splitlines()]
    assert ["group", "0"] in [one["event"]["stack"] for one in events]
    assert last["stack"]["stack_status"] == "CREATE_COMPLETE"


def test_working_carries_an_operation_on_and_watching_does_not(
    run: Run, tmp_path: Path, engine_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine_at != HERE:
        assert run("work", "nothing").code == codes.NOT_FOUND
        return
    file = tmp_path / "t.yaml"
    file.write_text(INNER)
    with monkeypatch.context() as killed:
        killed.setattr("isotherm.cli.client.embedded._drive", lambda *_: _ended())
        run("deploy", "web", "-t", file)
    with monkeypatch.context() as short:
        # It would wait for somebody else's engine: stop it as Ctrl-C does, at its first look.
        short.setattr("isotherm.cli.client.live._Pace.pause", lambda _: _stopped())
        watched = run("watch", "web")
    assert watched.code == codes.INTERRUPTED
    assert "No engine is running, so web makes no progress. To continue: isotherm work web" in watched.out
    assert "Stopped watching web, which is CREATE_IN_PROGRESS" in watched.out
    assert run("show", "web", "--json").data["stack_status"] == "CREATE_IN_PROGRESS"
    assert run("work", "web").code == codes.OK
    assert run("show", "web", "--json").data["stack_status"] == "CREATE_COMPLETE"


async def _ended() -> int:
    return codes.INTERRUPTED


async def _stopped() -> bool:
    return True
