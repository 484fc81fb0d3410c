"""`heat-manage`, as operators type it."""

from __future__ import annotations

import asyncio
import json
import time
import tomllib
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm.cli import codes, main
from isotherm.cli.manage import commands
from isotherm.engine.orchestrator import Request
from isotherm.engine.process import key_file, liveness
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.process.home import Folder
from isotherm.secrets import is_sealed
from isotherm.states import Status
from isotherm.store import tables as t
from isotherm.store.database.writer import Connection
from tests.cli.conftest import Run
from tests.engine.legacy_rows import forget

TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  secret: {type: string, hidden: true, default: a-hidden-word}
resources:
  a: {type: OS::Heat::TestResource, properties: {value: {get_param: secret}}}
  b: {type: OS::Heat::RandomString, depends_on: a}
"""
HANDLE = """
  handle: {type: OS::Heat::WaitConditionHandle}
  config: {type: OS::Heat::SoftwareConfig, properties: {config: "echo a-hidden-word"}}
"""
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def template(tmp_path: Path) -> Path:
    file = tmp_path / "template.yaml"
    file.write_text(TEMPLATE)
    return file


def change(home: Path, unit: Callable[[Connection], Any]) -> Any:
    with closing(Folder(home)) as folder:
        return asyncio.run(folder.store.write(unit))


def rows(home: Path, table: sa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = change(home, lambda connection: [
        dict(row) for row in connection.execute(sa.select(table)).mappings()])
    return found


@pytest.fixture
def legacy(run: Run, home: Path, template: Path) -> Callable[..., None]:
    def make(*names: str) -> None:
        for name in names:
            assert run("deploy", name, "-t", template).code == 0
        change(home, forget)

    return make


def test_the_script_is_named_in_the_package() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts["heat-manage"].partition(":")
    assert getattr(import_module(module), name) is commands.run


@pytest.mark.parametrize("name", [*commands.COMMANDS, "migrate_convergence_1", "db-sync", "import_heat", "purge-deleted"])
def test_both_spellings_work_and_explain_themselves(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([name, "--help"], commands.manage, "heat-manage") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Usage: heat-manage {name}")


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_the_list_says_what_each_says_of_itself(name: str) -> None:
    command = commands.manage.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None and command.help is not None
    assert command.help.splitlines()[0] == commands.COMMANDS[name][1]


@pytest.mark.ledger("S4.1")
def test_stacks_are_migrated_and_told(run: Run, legacy: Callable[..., None], home: Path, tmp_path: Path) -> None:
    legacy("one", "two")
    listed = run("manage", "stack", "list", "--json").data
    assert {one["stack_name"]: one["path"] for one in listed} == {"one": "legacy", "two": "legacy"}
    ran = run("manage", "migrate-convergence-1", listed[0]["id"])
    assert ran.code == 0 and "1 tree migrated." in ran.out
    report = tmp_path / "report.json"
    ran = run("manage", "migrate_convergence_1", "--all", "--json", "--report", report)
    assert ran.code == 0
    assert ran.data == json.loads(report.read_text())
    assert ran.data["summary"] == {"migrated": 1, "already": 0, "remaining": 0}
    assert [one["stack_name"] for one in ran.data["stacks"]] == ["two"]
    assert {one["path"] for one in run("manage", "stack", "list", "--json").data} == {"convergence"}
    assert "No stack is on the legacy path" in run("manage", "migrate-convergence-1", "--all").out
    assert run("manage", "migrate-convergence-1", "one", "--json").data["summary"]["already"] == 1


@pytest.mark.ledger("S4.2")
def test_what_is_not_complete_is_named_with_a_warning(run: Run, legacy: Callable[..., None], home: Path) -> None:
    legacy("good", "bad")
    change(home, lambda connection: connection.execute(
        sa.update(t.stacks).where(t.stacks.c.name == "bad").values(status=Status.IN_PROGRESS)))
    ran = run("manage", "migrate-convergence-1", "--all")
    assert ran.code == codes.FAILED
    assert "it is CREATE_IN_PROGRESS" in ran.out
    assert "WARNING: 1 tree on the legacy path remains there. Run the command again" in ran.out
    assert {one["stack_name"]: one["path"] for one in run("manage", "stack", "list", "--json").data} == {
        "good": "convergence", "bad": "legacy"}
    change(home, lambda connection: connection.execute(sa.update(t.stacks).values(status=Status.COMPLETE)))
    assert run("manage", "migrate-convergence-1", "--all").code == 0


@pytest.mark.ledger("S4.2")
def test_a_dry_run_tells_and_changes_nothing(run: Run, legacy: Callable[..., None]) -> None:
    legacy("one")
    ran = run("manage", "migrate-convergence-1", "--all", "--dry-run")
    assert ran.code == 0 and "would be migrated" in ran.out
    assert run("manage", "stack", "list", "--json").data[0]["path"] == "legacy"


def test_it_wants_stacks_or_all_of_them(run: Run) -> None:
    assert run("manage", "migrate-convergence-1").code == codes.USAGE
    assert run("manage", "migrate-convergence-1", "--all", "x").code == codes.USAGE
    assert run("manage", "migrate-convergence-1", "x").code == codes.NOT_FOUND


def test_options_come_from_a_file_as_with_heat(run: Run, tmp_path: Path, template: Path) -> None:
    elsewhere, conf = tmp_path / "elsewhere.db", tmp_path / "heat.conf"
    conf.write_text(f"[database]\nconnection = sqlite:///{elsewhere}\n")
    assert run("deploy", "here", "-t", template).code == 0
    assert run("manage", "--config-file", conf, "stack", "list", "--json").data == []
    assert elsewhere.exists()
    assert [one["stack_name"] for one in run("manage", "stack", "list", "--json").data] == ["here"]


def test_the_schema_is_told_and_not_changed_by_asking(run: Run, home: Path) -> None:
    assert run("manage", "db_version", "--json").data["version"] is None
    assert not (home / "isotherm.db").exists()
    newest = run("manage", "db_sync", "--json").data["version"]
    assert run("manage", "db_version").out.strip() == newest
    assert run("manage", "db_sync", newest).code == 0
    assert run("manage", "db_sync", "9999").code == codes.USAGE


def test_dead_engines_are_listed_and_cleaned_up_after(run: Run, home: Path) -> None:
    assert run("manage", "db_sync").code == 0
    alive = liveness.ProcessLock(home / "workers", "alive")
    alive.join()
    (home / "workers" / "dead.lock").touch()
    change(home, lambda connection: connection.execute(sa.insert(t.nodes), [
        {"id": number, "stack_id": "s", "name": name, "kind": 1, "state": 2, "generation": 1, "pending": 0,
         "fence": 1, "worker": name, "lease_until": time.time() + 600}
        for number, name in enumerate(("alive", "dead"))]))
    assert {one["engine_id"]: one["status"] for one in run("manage", "service", "list", "--json").data} == {
        "alive": "up", "dead": "down"}
    assert run("manage", "service", "clean", "--json").data["cleaned"] == ["dead"]
    assert {row["name"]: row["worker"] for row in rows(home, t.nodes)} == {"alive": "alive", "dead": None}
    assert [one["engine_id"] for one in run("manage", "service", "list", "--json").data] == ["alive"]
    alive.leave()
    assert "No engine is running" in run("manage", "service", "list").out


def test_deleted_stacks_are_forgotten_when_they_are_old_enough(run: Run, home: Path, template: Path) -> None:
    for name in ("old", "new", "alive"):
        assert run("deploy", name, "-t", template).code == 0
    for name in ("old", "new"):
        assert run("delete", name, "--yes").code == 0
    change(home, lambda connection: connection.execute(
        sa.update(t.stacks).where(t.stacks.c.name == "old").values(deleted_at=time.time() - 3 * 3600)))
    assert run("manage", "purge_deleted", "--json").data["purged"] == 0
    assert run("manage", "purge_deleted", "-g", "hours", "-p", "others", "2", "--json").data["purged"] == 0
    assert run("manage", "purge_deleted", "-g", "hours", "2", "--dry-run", "--json").data["purged"] == 1
    assert run("manage", "purge_deleted", "-g", "hours", "2", "--json").data["purged"] == 1
    left = {row["name"]: row["id"] for row in rows(home, t.stacks)}
    assert left.keys() == {"new", "alive"}
    for table in (t.events, t.operations, t.nodes):
        assert {row["stack_id"] for row in rows(home, table)} <= set(left.values())
    assert run("manage", "purge-deleted-tenant", "default", "-g", "seconds", "0", "--json").data["purged"] == 1
    assert run("show", "alive").code == 0


def test_what_may_own_something_is_not_forgotten(run: Run, home: Path, template: Path) -> None:
    assert run("deploy", "odd", "-t", template).code == 0
    change(home, lambda connection: connection.execute(
        sa.update(t.stacks).values(tomb=t.stacks.c.id, deleted_at=1.0)))
    assert run("manage", "purge_deleted", "0", "--json").data["purged"] == 0
    assert len(rows(home, t.resources)) == 2


@pytest.mark.parametrize("convergence", ["true", "false"])
def test_a_stack_that_is_stuck_is_reset(run: Run, home: Path, tmp_path: Path, convergence: str) -> None:
    stuck = tmp_path / "stuck.yaml"
    stuck.write_text("heat_template_version: 2018-08-31\nresources:\n"
                     "  a: {type: OS::Heat::TestResource, properties: {value: x, action_wait_secs: {create: 600}}}\n"
                     "  b: {type: OS::Heat::TestResource, depends_on: a}\n")
    home.mkdir()
    (home / "isotherm.conf").write_text(f"[DEFAULT]\nconvergence_engine = {convergence}\n")
    with closing(Embedded(home)) as engine:
        asyncio.run(_begin(engine, stuck.read_text()))
    assert run("manage", "reset_stack_status", "no-such", "--yes").code == codes.NOT_FOUND
    ran = run("manage", "reset_stack_status", "s", "--yes", "--json")
    assert [one["stack_status"] for one in ran.data] == ["CREATE_FAILED"]
    assert "No operation is in progress" in run("manage", "reset_stack_status", "s", "--yes").out
    assert run("show", "s", "--json").data["stack_status_reason"] == "Reset by the operator"
    assert run("delete", "s", "--yes").code == 0
    assert not [line for line in objects(home) if "token" in line]


async def _begin(engine: Embedded, text: str) -> None:
    async with engine.driving():
        await engine.orchestrator.stacks.create("s", Request(text))
        async with asyncio.timeout(60):
            while not [one for one in await engine.orchestrator.resources.list("s") if one["physical_resource_id"]]:
                await asyncio.sleep(0.01)


def objects(home: Path) -> list[dict[str, Any]]:
    """Return the objects in the journal."""
    found: dict[str, dict[str, Any]] = {}
    for line in filter(None, (home / "reality.journal").read_text().splitlines()):
        entry = json.loads(line)
        found[entry["id"]] = entry
    return [entry for entry in found.values() if "token" in entry]


def test_a_resource_tells_its_data(run: Run, home: Path, template: Path) -> None:
    assert run("deploy", "s", "-t", template).code == 0
    row = next(row for row in rows(home, t.resources) if row["name"] == "b")
    assert is_sealed(row["data"])
    for called in (row["id"], row["token"], row["physical_id"]):
        found = run("manage", "resource_data_list", called, "--json").data
        assert (found["resource_name"], len(found["data"]["value"])) == ("b", 32)
    assert run("manage", "resource_data_list", row["id"]).out.startswith("value = ")
    assert run("manage", "resource_data_list", "nobody").code == codes.NOT_FOUND


def test_everything_is_sealed_anew_and_the_old_key_can_go(run: Run, home: Path, template: Path) -> None:
    template.write_text(TEMPLATE + HANDLE)
    assert run("deploy", "s", "-t", template).code == 0
    assert run("signal", "s", "handle", "--data", '{"data": "a word", "id": "1"}').code == 0
    assert run("snapshot", "create", "s", "kept").code == 0
    keys = home / key_file.KEYS
    old = key_file.read(keys)
    assert run("manage", "update_params", "encrypt", "--json").data["sealed"] == 0
    keys.write_text("f" * 64 + "\n" + "\n".join(old) + "\n")
    before = _texts(home)
    assert run("manage", "update_params", "encrypt").code == 0
    after = _texts(home)
    assert before and len(after) == len(before) and not set(before) & set(after)
    assert run("manage", "update_params", "encrypt", "--json").data == {"sealed": 0, "unreadable": 0, "busy": 0}
    keys.write_text("f" * 64 + "\n")
    made = (home / "reality.journal").read_text()
    events = len(run("events", "s", "--json").data)
    assert run("update", "s", "-t", template).code == 0
    assert (home / "reality.journal").read_text() == made
    assert len(run("events", "s", "--json").data) == events + 2  # the stack's own: nothing was looked at
    assert run("restore", "s", "kept").code == 0
    assert run("delete", "s", "--yes").code == 0


def _texts(home: Path) -> list[str]:
    """Return all sealed values of the database."""
    found = [value for table in t.metadata.sorted_tables for row in rows(home, table) for value in row.values()]
    return [text for text in found if isinstance(text, str) and is_sealed(text)]


def test_texts_that_no_key_opens_are_counted(run: Run, home: Path, template: Path) -> None:
    assert run("deploy", "s", "-t", template).code == 0
    (home / key_file.KEYS).write_text("0" * 64 + "\n")
    ran = run("manage", "update_params", "encrypt", "--json")
    assert ran.code == codes.FAILED and ran.data["unreadable"] > 0


def test_nothing_is_stored_in_the_clear(run: Run) -> None:
    assert run("manage", "update_params", "decrypt").code == codes.WRONG
    assert "Nothing to do" in run("manage", "migrate_properties_data").out


def test_a_reset_looks_for_the_stack_before_it_asks(run: Run) -> None:
    ran = run("manage", "reset_stack_status", "nope")
    assert ran.code == codes.NOT_FOUND
    assert "Continue?" not in ran.out + ran.err
