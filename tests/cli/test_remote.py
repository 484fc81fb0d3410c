"""Commands against a service: how it is named, what fails and how, the same answers as near, and a Heat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isotherm.api import clouds
from isotherm.cli import codes
from tests.cli import heat
from tests.cli.conftest import Run
from tests.cli.service import Service

TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  colour: {type: string, default: red, description: Of the lamp.}
  secret: {type: string, hidden: true, default: hush}
resources:
  lamp: {type: OS::Heat::TestResource, properties: {value: {get_param: colour}}}
  shade: {type: OS::Heat::RandomString, depends_on: lamp}
outputs:
  colour: {value: {get_attr: [lamp, output]}}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "isotherm.conf").write_text("[DEFAULT]\nenable_stack_abandon = true\nenable_stack_adopt = true\n")
    found = Service(folder)
    with found.running():
        yield found


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "lamp.yaml"
    file.write_text(TEMPLATE)
    return file


@pytest.fixture
def clean(service: Service, run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Choose the service by its URL; delete at the end what the test has left there."""
    monkeypatch.setenv("ISOTHERM_REMOTE_TOKEN", service.token)
    with monkeypatch.context() as chosen:
        chosen.setenv("ISOTHERM_REMOTE", service.url)
        yield
    for stack in run("--remote", service.url, "list", "--json").data:
        run("--remote", service.url, "delete", stack["id"], "--yes")


def kinds(value: Any) -> Any:
    """Return the keys of data, and the types of their values. A text may be missing: times of the observer come later."""
    if isinstance(value, dict):
        return {key: kinds(one) for key, one in value.items()}
    if isinstance(value, list):
        return [kinds(one) for one in value]
    return "str" if value is None else type(value).__name__


# The name of the service.


@pytest.mark.usefixtures("clean")
def test_a_url_with_or_without_version_and_project(service: Service, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ISOTHERM_REMOTE")
    root = service.url.removesuffix("/v1/default")
    for url in (service.url, f"{service.url}/", root, f"{root}/v1"):
        assert run("--remote", url, "list", "--json").data == []


@pytest.mark.usefixtures("clean")
def test_the_entry_that_up_writes(
    service: Service, run: Run, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOTHERM_REMOTE_TOKEN", "unused")
    written = clouds.write(tmp_path, service.url.removesuffix("/v1/default"), service.token)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(written))
    monkeypatch.setenv("ISOTHERM_REMOTE", "isotherm")
    assert run("deploy", "lamp", "-t", text).code == codes.OK
    assert [one["stack_name"] for one in run("list", "--json").data] == ["lamp"]
    unknown = run("--remote", "other", "list")
    assert (unknown.code, unknown.out) == (codes.WRONG, "")
    assert "has no cloud other. It has: isotherm." in unknown.err
    assert "--remote or ISOTHERM_REMOTE" in unknown.err
    monkeypatch.setenv("ISOTHERM_REMOTE_TOKEN", service.token)


@pytest.mark.parametrize("url", ["http://127.0.0.1:x/v1", "ftp://127.0.0.1", "http://"])
def test_an_address_that_is_none(run: Run, url: str) -> None:
    ran = run("--remote", url, "list")
    assert ran.code == codes.WRONG
    assert "is no address of a service" in ran.err


def test_a_service_that_does_not_answer(run: Run) -> None:
    ran = run("--remote", "http://127.0.0.1:9/v1/default", "list")
    assert ran.code == codes.WRONG
    assert "http://127.0.0.1:9 cannot be reached" in ran.err


def test_a_token_that_is_wrong(service: Service, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOTHERM_REMOTE_TOKEN", "wrong")
    ran = run("--remote", service.url, "show", "lamp")
    assert ran.code == codes.WRONG
    assert "accepts no token" in ran.err
    assert "ISOTHERM_REMOTE_TOKEN" in ran.err
    assert "wrong" not in ran.err.replace("http", "")


@pytest.mark.usefixtures("clean")
def test_a_command_about_the_home_says_so(run: Run) -> None:
    ran = run("open")
    assert ran.code == codes.WRONG
    assert "not over the API of a service" in ran.err


def test_the_option_after_the_command_is_told_where_it_belongs(run: Run) -> None:
    ran = run("list", "--remote", "x")
    assert ran.code == codes.USAGE
    assert "Write --remote before the command" in ran.err


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.usefixtures("clean")
def test_the_session_of_the_page_works(
    service: Service, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ISOTHERM_REMOTE")
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(clouds.write(
        tmp_path, service.url.removesuffix("/v1/default"), service.token)))
    monkeypatch.setenv("ISOTHERM_VAR_max_wait_secs", "0")
    page = (ROOT / "docs" / "remote.md").read_text(encoding="utf-8")
    typed = re.findall(r"^\$ isotherm (.+)$", page, re.MULTILINE)
    assert len(typed) >= 8
    for line in typed:
        ran = run(*(str(ROOT / word) if word.startswith("examples/") else word for word in line.split()))
        assert (ran.code, ran.err) == (codes.OK, ""), line


# The same as near.


@pytest.mark.usefixtures("clean")
def test_answers_have_the_same_form_near_and_far(
    service: Service, run: Run, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ISOTHERM_REMOTE")
    for where in ((), ("--remote", service.url)):
        assert run(*where, "deploy", "lamp", "-t", text).code == codes.OK
    commands = [("list",), ("show", "lamp"), ("resources", "lamp"), ("resources", "lamp", "--nested", 1), ("graph", "lamp"),
                ("events", "lamp"), ("events", "lamp", "--nested", 1), ("events", "lamp", "--last", 2), ("outputs", "lamp"),
                ("resource", "lamp", "shade"), ("template", "lamp"), ("environment", "lamp"), ("files", "lamp"),
                ("drift", "lamp"), ("drift", "lamp", "lamp"), ("why", "lamp", "shade"), ("timeline", "lamp"),
                ("hook", "list", "lamp"), ("snapshot", "list", "lamp"), ("observing",), ("export", "lamp"),
                ("plan", "lamp", "-t", text, "-p", "colour=blue"), ("watch", "lamp")]
    for command in commands:
        near, far = run(*command, "--json"), run("--remote", service.url, *command, "--json")
        assert near.code == far.code == codes.OK, (command, near.err, far.err)
        if command != ("watch", "lamp"):
            assert kinds(near.data) == kinds(far.data), command
    shown = [run(*where, "show", "lamp").out.splitlines() for where in ((), ("--remote", service.url))]
    assert [line.split()[:1] for line in shown[0]] == [line.split()[:1] for line in shown[1]]


@pytest.mark.usefixtures("clean")
def test_a_mistake_is_told_with_its_place_and_hint(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("heat_template_version: 2018-08-31\nresources:\n  lamp:\n    type: OS::Heat::TestResource\n"
                    "    properties: {valeu: x}\n  shade: {type: OS::Heat::TestResource, properties: {nope: y}}\n")
    for command in ("deploy", "apply"):
        ran = run(command, "lamp", "-t", file)
        assert ran.code == codes.WRONG
        assert f"{file}:5:18: error:" in ran.err
        assert "Unknown Property valeu" in ran.err
        assert f"{file}:6:" in ran.err, "all problems are told"
        assert "hint:" in ran.err
        assert "2 errors" in ran.err
    assert run("list", "--json").data == []


@pytest.mark.usefixtures("clean")
def test_an_update_of_a_stack_that_moved_on_is_refused(run: Run, text: Path, tmp_path: Path) -> None:
    run("deploy", "lamp", "-t", text)
    plan = tmp_path / "lamp.plan"
    assert run("plan", "lamp", "-t", text, "-p", "colour=blue", "--out", plan).code == codes.OK
    assert run("update", "lamp", "-t", text, "-p", "colour=green").code == codes.OK
    refused = run("apply", plan)
    assert refused.code == codes.CONFLICT
    assert "does not hold any more" in refused.err


@pytest.mark.usefixtures("clean")
def test_a_timeout_is_in_whole_minutes(run: Run, text: Path) -> None:
    ran = run("deploy", "lamp", "-t", text, "--timeout", "0.5")
    assert ran.code == codes.WRONG
    assert "whole minutes" in ran.err
    assert run("deploy", "lamp", "-t", text, "--timeout", "2", "--tags", "a,b").code == codes.OK
    assert run("update", "lamp", "-t", text, "-p", "colour=blue").code == codes.OK
    shown = run("show", "lamp", "--json").data
    assert (shown["timeout_s"], shown["tags"]) == (120.0, ["a", "b"])


# A Heat.


@pytest.mark.usefixtures("clean")
def test_a_heat_as_far_as_its_api_carries(
    service: Service, run: Run, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with heat.beside(service) as cloud:
        (tmp_path / "clouds.yaml").write_text(
            f"clouds: {{mine: {{auth: {{auth_url: '{cloud.url}/identity/v3', username: u, password: pw, "
            "project_name: demo, user_domain_name: Default, project_domain_name: Default}}}\n")
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))
        monkeypatch.setenv("ISOTHERM_REMOTE", "mine")
        planned = run("plan", "lamp", "-t", text)
        assert (planned.code, planned.err) == (codes.OK, "")
        assert "lamp: 2 to create" in planned.out
        made = run("deploy", "lamp", "-t", text)
        assert (made.code, made.err) == (codes.OK, "")
        told = [line.split()[1:3] for line in made.out.splitlines() if line.startswith("20")]
        assert told[0] == ["CREATE_IN_PROGRESS", "stack"]
        assert told[-1] == ["CREATE_COMPLETE", "stack"]
        assert run("outputs", "lamp", "colour").out.strip() == "red"
        assert "~ lamp" in run("plan", "lamp", "-t", text, "-p", "colour=blue").out
        updated = run("apply", "lamp", "-t", text, "-p", "colour=blue", "--yes")
        assert (updated.code, updated.err) == (codes.OK, "")
        assert "CREATE_COMPLETE" not in updated.out, "events of earlier operations are left out"
        assert run("outputs", "lamp", "colour").out.strip() == "blue"
        assert [one["resource_name"] for one in run("resources", "lamp", "--json").data] == ["lamp", "shade"]
        assert run("graph", "lamp").out.splitlines()[2].startswith("└─ ✓ shade")
        assert run("resource", "lamp", "shade").code == codes.OK
        assert run("list", "--json").data[0]["stack_status"] == "UPDATE_COMPLETE"
        assert run("show", "lamp").code == codes.OK
        for command in (("why", "lamp", "shade"), ("drift", "lamp"), ("timeline", "lamp"), ("observe", "lamp")):
            refused = run(*command)
            assert refused.code == codes.WRONG, command
            assert "does not know this request" in refused.err
            assert "It may be a Heat" in refused.err
        assert run("delete", "lamp", "--yes").code == codes.OK
        assert len(cloud.logins) > 1
    assert run("--remote", service.url, "list", "--json").data == []
