"""Local resources: objects of a killed engine are adopted, the operator enables the types, the example works."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from isotherm import config, errors
from isotherm.engine.orchestrator import Accepted, Patch, Request
from isotherm.engine.process import local_access
from isotherm.engine.process.embedded import Embedded
from isotherm.resources import builtin, contract
from isotherm.resources.local import processes
from isotherm.resources.local.directory import Directory
from isotherm.resources.local.file import File
from isotherm.resources.local.process import Process
from tests import databases
from tests.engine.conftest import PATIENCE_S, Lab, Tell
from tests.engine.local_stage import Stage, file, folder, logged, process, state
from tools.services.processes import free_ports

# An engine that is killed after it has made something, and before it could write that down.
KILLED = """
import asyncio, os, sys
from pathlib import Path
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.orchestrator import Request

def deadly(type_):
    made = type_.handle_create
    async def handle_create(self):
        await made(self)
        os._exit(9)
    type_.handle_create = handle_create

async def main():
    engine = Embedded(Path(sys.argv[1]))
    deadly(engine.types.get(sys.argv[2]))
    await engine.orchestrator.stacks.create("s", Request(sys.stdin.read()))
    async with engine.driving():
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("made", [file(), folder("a.txt"), process(log="a.txt")], ids=["file", "folder", "process"])
def test_what_a_killed_engine_made_is_taken_up_and_not_made_twice(tmp_path: Path, base: Path, made: Any) -> None:
    request = Lab.request({"r": made})
    databases.tell(tmp_path)
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), made["type"]], input=request.template, text=True,
                          check=False, timeout=PATIENCE_S)
    assert done.returncode == 9
    first = (base / "a.txt").stat()

    async def story() -> None:
        engine = Embedded(tmp_path)
        with contextlib.closing(engine):
            async with engine.driving():
                it = Lab(engine)
                stack = await it.end(Accepted((await it.api.stacks.show("s"))["id"], "", 0))
                assert stack["status"] == "COMPLETE", stack
                assert (base / "a.txt").stat().st_ino == first.st_ino
                if made["type"] == "Isotherm::Local::Process":
                    [pid] = await logged(base / "a.txt", 1)
                    running = processes.of(int(pid))
                    assert running is not None and state(base).child == (int(pid), running.start)
                await it.delete()

    asyncio.run(story())


# Not everywhere.


@pytest.mark.parametrize(("enable", "auth", "allowed"), [
    ("standalone", "standalone", True), ("standalone", "keystone", False), ("always", "keystone", True),
    ("never", "standalone", False),
])
def test_the_operator_decides(tmp_path: Path, enable: Any, auth: Any, allowed: Any) -> None:
    settings = config.Settings(enable_local_resources=enable, auth_strategy=auth)
    assert (local_access.local(settings, tmp_path) is not None) is allowed
    assert (local_access.http(settings) is not None) is allowed
    assert ("Isotherm::Local::File" in builtin.registry(reaching=allowed).list()) is allowed


def test_where_it_is_not_allowed_a_template_is_refused(tmp_path: Path) -> None:
    (tmp_path / "isotherm.conf").write_text("[DEFAULT]\nenable_local_resources = never\n")

    async def story() -> None:
        engine = Embedded(tmp_path)
        with contextlib.closing(engine), pytest.raises(errors.UserError, match="is not allowed here"):
            await engine.orchestrator.stacks.create("s", Lab.request({"f": file()}))

    asyncio.run(story())
    assert not (tmp_path / "local").exists()


@pytest.mark.parametrize(("type_", "given"), [(File, {"path": "a"}), (Directory, {"path": "a"}),
                                              (Process, {"command": ["true"]})])
def test_without_a_folder_nothing_is_made(tmp_path: Path, type_: Any, given: Any) -> None:
    async def story() -> None:
        stage = Stage(tmp_path, type_, **given)
        stage.local = None
        with pytest.raises(errors.Permanent, match="not allowed here"):
            await stage.run("create")
        assert isinstance(await stage.resource().find_by_token(), contract.CannotTell)
        stage.state.physical_id = "a"
        assert isinstance(await stage.seen(), contract.Unseen)

    asyncio.run(story())


def test_the_folder_can_be_another(tmp_path: Path) -> None:
    settings = config.Settings(local_base_folder=str(tmp_path / "x" / "y"))
    lent = local_access.local(settings, tmp_path)
    assert lent is not None
    assert lent.base == tmp_path / "x" / "y"
    assert lent.base.is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.UserError, match="local_base_folder"):
        local_access.local(config.Settings(local_base_folder=str(tmp_path / "file" / "y")), tmp_path)


# The example.


async def fetched(url: str) -> str:
    """What a page says, once its server listens."""
    def get() -> str:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return str(answer.read().decode())

    async with asyncio.timeout(PATIENCE_S):
        while True:
            with contextlib.suppress(urllib.error.URLError):
                return await asyncio.to_thread(get)
            await asyncio.sleep(0.05)


def test_the_example_is_a_real_application(lab: Tell, base: Path) -> None:
    text = (Path(__file__).parents[2] / "examples" / "webapp.yaml").read_text(encoding="utf-8")
    (port,) = free_ports(1)

    async def story(it: Lab) -> None:
        request = Request(text, environment={"parameters": {"port": port, "greeting": "Good morning"}})
        stack = await it.end(await it.api.stacks.create("s", request))
        assert stack["status"] == "COMPLETE", stack
        told = {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}
        assert await fetched(told["page"]) == "Good morning\n"
        assert f'"pid": {told["pid"]}' in await fetched(told["health"])
        greeting = Patch(environment={"parameters": {"greeting": "Good night"}}, existing=True)
        await it.end(await it.api.stacks.update("s", greeting))
        assert await fetched(told["page"]) == "Good night\n"
        # The server ran on: what it is told by the file, it reads.
        server = await it.api.resources.show("s", "server")
        assert (server["attributes"]["pid"], server["attributes"]["restarts"]) == (told["pid"], 0)
        await it.delete()
        assert [one.name for one in base.iterdir()] == [".isotherm"]

    lab(story)
