"""The cloud of a stack: chosen with --os-cloud or OS_CLOUD, remembered, and never mixed up with another."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from isotherm.cli import codes
from isotherm.cli.main import main
from isotherm.resources import builtin
from isotherm.resources.context import local_access
from isotherm.resources.heat.test_resource import TestResource
from tests import fake_openstack

CLOUDY = """
heat_template_version: 2021-04-16
resources:
  thing: {type: Test::Cloudy, properties: {value: %s}}
"""
NESTED = """
heat_template_version: 2021-04-16
resources:
  group: {type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: {type: Test::Cloudy}}}
"""
NETWORK = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
"""
PLAIN = """
heat_template_version: 2021-04-16
resources:
  text: {type: OS::Heat::Value, properties: {value: a}}
"""


class Cloudy(TestResource):
    TYPE = "Test::Cloudy"

    async def handle_create(self) -> object:
        assert self.context.cloud is not None
        reply = await self.context.cloud.call("network", local_access.Call("POST", "/networks", {}, b"{}"))
        assert reply.status == 200
        return await super().handle_create()


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    builtin.registry().register(Cloudy)
    yield
    del builtin.registry().types[Cloudy.TYPE]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_openstack.Server]:
    """Two clouds in clouds.yaml, which are two projects of one Keystone, and an empty home."""
    with fake_openstack.beside() as made:
        made.projects = {"demo": "p1", "other": "p2"}
        # Commands have the system's clock.
        made.clock.time = time.time()
        write(tmp_path, made, mine="demo", yours="other", same="demo")
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))
        monkeypatch.setenv("ISOTHERM_HOME", str(tmp_path / "home"))
        monkeypatch.delenv("OS_CLOUD", raising=False)
        monkeypatch.chdir(tmp_path)
        yield made


def write(folder: Path, server: fake_openstack.Server, **projects: str) -> None:
    login = {"auth_url": server.url, "username": "ann", "password": "hidden-word"}
    entries = {name: {"auth": {**login, "project_name": project}, "region_name": "one"}
               for name, project in projects.items()}
    (folder / "clouds.yaml").write_text(yaml.safe_dump({"clouds": entries}))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def call(*arguments: str, template: str = "") -> tuple[int, str]:
        if template:
            Path("template.yaml").write_text(template)
        code = main([*arguments, *(["-t", "template.yaml"] if template else [])])
        output = capsys.readouterr()
        return code, output.out + output.err

    return call


Run = Callable[..., tuple[int, str]]


def tokens(server: fake_openstack.Server) -> set[str]:
    return {one["auth"]["scope"]["project"]["name"] for one in server.logins}


def test_a_stack_stays_in_its_cloud(server: fake_openstack.Server, run: Run, tmp_path: Path) -> None:
    assert run("deploy", "s", "--os-cloud", "mine", template=CLOUDY % "a")[0] == codes.OK
    assert [method for method, _, _ in server.calls] == ["POST"]
    # No option: the stack knows its cloud.
    code, said = run("update", "s", template=CLOUDY % "b")
    assert code == codes.OK, said
    assert tokens(server) == {"demo"}
    for command in (("update", "s"), ("delete", "s", "--yes"), ("check", "s"), ("suspend", "s"), ("rollback", "s"),
                    ("snapshot", "create", "s")):
        template = CLOUDY % "c" if command[0] == "update" else ""
        code, said = run(*command, "--os-cloud", "yours", template=template)
        assert code == codes.CONFLICT, (command, said)
        assert "p1" in said
        assert "p2" in said
        assert "mine" in said
    # Another name of the same project.
    assert run("delete", "s", "--yes", "--os-cloud", "same")[0] == codes.OK
    stored = b"".join(file.read_bytes() for file in (tmp_path / "home").rglob("*") if file.is_file())
    assert b"hidden-word" not in stored


def test_the_variable_chooses_a_cloud_and_nested_stacks_have_that_of_their_root(
    server: fake_openstack.Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OS_CLOUD", "yours")
    assert run("deploy", "s", template=NESTED)[0] == codes.OK
    assert len(server.calls) == 2
    assert tokens(server) == {"other"}
    assert len(server.logins) == 1, "one token for all"


def test_a_stack_without_cloudy_types_is_in_no_cloud(server: fake_openstack.Server, run: Run) -> None:
    assert run("deploy", "s", "--os-cloud", "mine", template=PLAIN)[0] == codes.OK
    assert run("update", "s", "--os-cloud", "yours", template=PLAIN)[0] == codes.OK
    assert server.logins == []
    # The first resource that may need a cloud binds it.
    assert run("update", "s", "--os-cloud", "yours", template=CLOUDY % "a")[0] == codes.OK
    assert run("check", "s", "--os-cloud", "mine")[0] == codes.CONFLICT


def test_a_stack_that_needs_a_cloud_and_has_none_says_so(server: fake_openstack.Server, run: Run) -> None:
    code, said = run("deploy", "s", template=CLOUDY % "a")
    assert code == codes.FAILED
    assert "--os-cloud" in said
    assert run("update", "s", "--os-cloud", "mine", template=CLOUDY % "a")[0] == codes.OK


@pytest.mark.parametrize("type_", ["OS::Neutron::Net", "OS::Heat::ResourceGroup"])
def test_types_of_a_cloud_are_refused_where_no_cloud_is_chosen(server: fake_openstack.Server, run: Run, type_: str) -> None:
    properties = {"OS::Neutron::Net": {}, "OS::Heat::ResourceGroup": {"resource_def": {"type": "OS::Neutron::Net"}}}
    template = yaml.safe_dump({"heat_template_version": "2021-04-16",
                               "resources": {"one": {"type": type_, "properties": properties[type_]}}})
    code, said = run("deploy", "s", template=template)
    assert code == codes.WRONG
    assert "OS::Neutron::Net needs a cloud" in said
    assert "--os-cloud" in said
    assert json.loads(run("list", "--json")[1]) == []


def test_types_of_a_service_that_the_cloud_has_not_are_refused(server: fake_openstack.Server, run: Run) -> None:
    entries = Path("clouds.yaml")
    entries.write_text(entries.read_text().replace("region_name: one", "region_name: three"))
    code, said = run("deploy", "s", "--os-cloud", "mine", template=NETWORK)
    assert code == codes.WRONG, said
    assert "neutron network endpoint is not in service catalog" in said


def test_a_cloud_that_cannot_be_used_changes_nothing(server: fake_openstack.Server, run: Run) -> None:
    code, said = run("deploy", "s", "--os-cloud", "nowhere", template=CLOUDY % "a")
    assert code == codes.WRONG
    assert "mine, same, yours" in said
    server.refusal = 401, "Bad password."
    code, said = run("deploy", "s", "--os-cloud", "mine", template=CLOUDY % "a")
    assert code == codes.WRONG
    assert "Bad password." in said
    server.refusal = 503, "Come back."
    code, said = run("deploy", "s", "--os-cloud", "mine", template=CLOUDY % "a")
    assert code == codes.WRONG
    assert "Come back." in said
    assert json.loads(run("list", "--json")[1]) == []


def test_an_entry_that_stands_for_another_project_now_is_not_used(
    server: fake_openstack.Server, run: Run, tmp_path: Path
) -> None:
    assert run("deploy", "s", "--os-cloud", "mine", template=CLOUDY % "a")[0] == codes.OK
    write(tmp_path, server, mine="other", first="demo")
    before = len(server.calls)
    code, said = run("update", "s", "--timeout", "0.03", template=CLOUDY.replace("thing", "another") % "b")
    assert code == codes.FAILED, said
    assert len(server.calls) == before, "nothing is made in the other project"
    # The entry has another name now; the stack is found by its project.
    assert run("update", "s", "--os-cloud", "first", template=CLOUDY % "c")[0] in (codes.OK, codes.FAILED)
    database = sqlite3.connect(tmp_path / "home" / "isotherm.db")
    rows = database.execute("select name, project_id from stack_clouds").fetchall()
    assert rows == [("first", "p1")]
