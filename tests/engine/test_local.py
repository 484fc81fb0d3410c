"""Files, folders and processes of this machine, through the whole engine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from isotherm import config, errors
from isotherm.engine import lending
from isotherm.engine.embedded import Embedded
from isotherm.engine.orchestrator import Accepted
from isotherm.resources import contract, drift, known, reach, registry
from isotherm.resources.local import claims, confinement, keeping, processes
from isotherm.resources.local.directory import Directory
from isotherm.resources.local.file import File
from isotherm.resources.local.process import Process
from isotherm.resources.reality import MemoryReality
from tests.engine.conftest import PATIENCE_S, Lab
from tests.engine.test_moving import abandoned

# Writes its number down, and stays.
STAYS = [sys.executable, "-S", "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"]
STUBBORN = [sys.executable, "-S", "-c",
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('x', flush=True); time.sleep(600)"]


def file(path: str = "a.txt", content: str = "hello", **more: Any) -> dict[str, Any]:
    needs = {"depends_on": more.pop("needs")} if "needs" in more else {}
    return {"type": "Isotherm::Local::File", "properties": {"path": path, "content": content, **more}, **needs}


def folder(path: str = "d", **more: Any) -> dict[str, Any]:
    return {"type": "Isotherm::Local::Directory", "properties": {"path": path, **more}}


def process(command: list[str] = STAYS, **more: Any) -> dict[str, Any]:
    return {"type": "Isotherm::Local::Process", "properties": {"command": command, "settle_secs": 0.05, **more}}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    """The base folder; whatever still runs in it when the test is over is ended, by its own number."""
    found = tmp_path / "local"
    yield found
    for state in found.glob(".isotherm/processes/*.json"):
        told = json.loads(state.read_text())
        for one in (told["keeper"], told["child"]):
            if one is not None:
                processes.Process(*one).send(signal.SIGKILL)


class Stage:
    """One resource, without an engine around it."""

    def __init__(self, base: Path, type_: type[contract.Resource], token: str = "token-1", **given: Any) -> None:
        base.mkdir(exist_ok=True, parents=True)
        self.type, self.given = type_, registry.typed_properties(type_, given)
        self.self_ = contract.Self("r", "s", "stack", token, self.given)
        self.local: reach.Local | None = reach.Local(base, {"PATH": os.environ["PATH"]})

    def resource(self) -> Any:
        world = contract.World(SystemClock(), MemoryReality(), None, local=self.local)  # type: ignore[arg-type]
        return self.type(self.self_, world)

    async def run(self, action: str, *arguments: Any) -> None:
        one = self.resource()
        progress = await getattr(one, f"handle_{action}")(*arguments)
        self.self_.physical_id = one.physical_id
        while (answer := await getattr(one, f"check_{action}_complete")(progress)) is not True:
            assert isinstance(answer, contract.Wait)
            progress = progress if answer.progress is None else answer.progress
            await asyncio.sleep(answer.seconds)

    async def seen(self) -> contract.Sight:
        found: contract.Sight = await self.resource().get_reality()
        return found

    async def drift(self) -> list[str]:
        found = await self.seen()
        assert isinstance(found, contract.Seen), found
        return [one.property for one in drift.compare(self.type, self.given, found)]


class SystemClock:
    def now(self) -> float:
        return asyncio.get_running_loop().time()


def mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o7777:04o}"


# Files and folders.


def test_a_file_is_made_changed_and_deleted(lab, base):
    async def story(it: Lab) -> None:
        stack = await it.create({"f": file()}, outputs={
            name: {"value": {"get_attr": ["f", name]}} for name in ("path", "size", "sha256")})
        assert stack["status"] == "COMPLETE", stack
        assert (base / "a.txt").read_text() == "hello"
        assert mode(base / "a.txt") == "0644"
        assert await it.physical() == {"f": "a.txt"}
        before = (base / "a.txt").stat().st_ino
        await it.update({"f": file(content="bye", mode="0600")})
        assert (base / "a.txt").read_text() == "bye"
        assert mode(base / "a.txt") == "0600"
        assert (base / "a.txt").stat().st_ino != before  # written beside it, and put in its place
        await it.delete()
        assert [one.name for one in base.iterdir()] == [".isotherm"]
        assert not list(base.glob(".isotherm/*/*"))

    lab(story)


def test_attributes_tell_what_is_there(tmp_path):
    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt", content="hällo")
        await stage.run("create")
        one = stage.resource()
        assert await one.attribute("path") == str(tmp_path / "a.txt")
        assert await one.attribute("size") == 6
        (tmp_path / "a.txt").write_bytes(b"x")
        assert await one.attribute("sha256") == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

    asyncio.run(story())


def test_another_path_is_another_file(lab, base):
    async def story(it: Lab) -> None:
        await it.create({"f": file("a.txt")})
        await it.update({"f": file("b.txt")})
        assert not (base / "a.txt").exists()
        assert (base / "b.txt").read_text() == "hello"

    lab(story)


def test_a_folder_and_a_file_in_it(lab, base):
    async def story(it: Lab) -> None:
        stack = await it.create({"d": folder("d", mode="0750"), "f": file("d/a.txt", needs="d")})
        assert stack["status"] == "COMPLETE", stack
        assert mode(base / "d") == "0750"
        await it.update({"d": folder("d", mode="0700"), "f": file("d/a.txt", needs="d")})
        assert mode(base / "d") == "0700"
        await it.delete()
        assert not (base / "d").exists()

    lab(story)


def test_a_folder_with_something_else_in_it_is_only_deleted_when_told_to(lab, base):
    async def story(it: Lab) -> None:
        await it.create({"d": folder()})
        (base / "d" / "of-somebody-else").write_text("x")
        stack = await it.delete()
        assert stack["status"] == "FAILED"
        assert "d is not empty: of-somebody-else" in stack["stack_status_reason"]
        await it.update({"d": folder(purge=True)})
        await it.delete()
        assert not (base / "d").exists()

    lab(story)


def test_what_somebody_else_made_is_not_overwritten_and_not_deleted(lab, base):
    async def story(it: Lab) -> None:
        base.mkdir(exist_ok=True)
        (base / "a.txt").write_text("mine")
        stack = await it.create({"f": file()})
        assert stack["status"] == "FAILED"
        assert "a.txt exists already" in stack["stack_status_reason"]
        await it.delete()
        assert (base / "a.txt").read_text() == "mine"

    lab(story)


def test_two_resources_do_not_share_a_file(lab, base):
    async def story(it: Lab) -> None:
        stack = await it.create({"f": file(), "g": file(content="other", needs="f")})
        assert stack["status"] == "FAILED"
        assert "a.txt belongs to another resource" in stack["stack_status_reason"]
        assert (base / "a.txt").read_text() == "hello"

    lab(story)


def test_an_import_looks_and_leaves_it_alone(lab, base):
    async def story(it: Lab) -> None:
        base.mkdir(exist_ok=True)
        (base / "a.txt").write_text("mine")
        stack = await it.create({"f": {**file(content="other"), "external_id": "a.txt"}})
        assert stack["status"] == "COMPLETE", stack
        await it.delete()
        assert (base / "a.txt").read_text() == "mine"

    lab(story)


def test_an_import_of_what_is_not_there_fails(lab):
    async def story(it: Lab) -> None:
        for name in ("none.txt", "../engine.log"):
            stack = await it.create({"f": {**file(), "external_id": name}})
            assert stack["status"] == "FAILED"
            await it.delete()

    lab(story)


def test_a_file_that_is_gone_is_found_by_a_check_and_made_again(lab, base):
    async def story(it: Lab) -> None:
        await it.create({"f": file()})
        (base / "a.txt").unlink()
        checked = await it.end(await it.api.check("s"))
        assert checked["status"] == "FAILED"
        assert "the file a.txt does not exist" in checked["stack_status_reason"]
        assert (await it.update({"f": file()}))["status"] == "COMPLETE"
        # The version that was replaced has not taken its successor's file with it.
        assert (base / "a.txt").read_text() == "hello"
        await it.delete()
        assert not (base / "a.txt").exists()

    lab(story)


@pytest.mark.parametrize("path", ["../a", "d/../../a", ".isotherm/claims/x", "", "a\0b", "x" * 300])
def test_a_path_that_leads_elsewhere_is_refused_before_anything_is_made(lab, path):
    async def story(it: Lab) -> None:
        for made in (file(path), folder(path)):
            with pytest.raises(errors.UserError):
                await it.api.create("s", it.request({"r": made}))

    lab(story)


def test_an_absolute_path_may_be_used_inside_the_folder_only(lab, base, tmp_path):
    async def story(it: Lab) -> None:
        stack = await it.create({"f": file(str(base / "in.txt"))})
        assert stack["status"] == "COMPLETE", stack
        stack = await it.update({"f": file(str(tmp_path / "out.txt"))})
        assert stack["status"] == "FAILED"
        assert "outside of" in stack["stack_status_reason"]
        assert not (tmp_path / "out.txt").exists()

    lab(story)


def test_no_symbolic_link_leads_out(lab, base, tmp_path):
    async def story(it: Lab) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        base.mkdir(exist_ok=True)
        (base / "link").symlink_to(outside)
        stack = await it.create({"f": file("link/a.txt")})
        assert stack["status"] == "FAILED"
        assert not list(outside.iterdir())
        await it.delete()
        # In the place of a file of ours, a link is not followed either: it is replaced.
        await it.create({"f": file("a.txt", "one")})
        (outside / "victim").write_text("untouched")
        (base / "a.txt").unlink()
        (base / "a.txt").symlink_to(outside / "victim")
        await it.update({"f": file("a.txt", "two")})
        assert (outside / "victim").read_text() == "untouched"
        assert (base / "a.txt").read_text() == "two"
        assert not (base / "a.txt").is_symlink()

    lab(story)


@pytest.mark.parametrize("given", [420, "644", "0999", "rw-r--r--"])
def test_a_mode_that_yaml_has_misread_is_told(lab, given):
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError, match="four octal digits"):
            await it.api.create("s", it.request({"f": file(mode=given)}))

    lab(story)


@pytest.mark.ledger("S1.1")
def test_the_reality_of_a_file(tmp_path):
    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt", content="hello", owner=str(os.getuid()))
        await stage.run("create")
        assert await stage.drift() == []
        (tmp_path / "a.txt").write_text("changed")
        assert await stage.drift() == ["content"]
        (tmp_path / "a.txt").chmod(0o600)
        assert await stage.drift() == ["content", "mode"]
        await stage.run("update", stage.given, {"content": "hello", "mode": "0644"})
        assert await stage.drift() == []
        (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
        assert await stage.drift() == ["content"]
        (tmp_path / "a.txt").unlink()
        assert await stage.seen() == contract.Gone()
        (tmp_path / "a.txt").mkdir()
        assert await stage.seen() == contract.Gone()
        # The whole folder is not there, perhaps not mounted: that says nothing about what is in it.
        stage.local = reach.Local(tmp_path / "elsewhere")
        assert isinstance(await stage.seen(), contract.Unseen)

    asyncio.run(story())


def test_a_big_file_is_compared_by_its_hash(tmp_path):
    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt", content="x" * 3_000_000)
        await stage.run("create")
        seen = await stage.seen()
        assert isinstance(seen, contract.Seen)
        assert seen.properties["content"].startswith("sha256:")
        assert await stage.drift() == []
        with (tmp_path / "a.txt").open("a") as opened:
            opened.write("y")
        assert await stage.drift() == ["content"]

    asyncio.run(story())


def test_the_reality_of_a_folder(tmp_path):
    async def story() -> None:
        stage = Stage(tmp_path, Directory, path="d")
        await stage.run("create")
        assert await stage.drift() == []
        (tmp_path / "d").chmod(0o700)
        assert await stage.drift() == ["mode"]
        (tmp_path / "d").rmdir()
        assert await stage.seen() == contract.Gone()

    asyncio.run(story())


def test_a_file_whose_maker_was_killed_is_found_and_not_made_twice(tmp_path):
    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt", content="hello")
        assert await stage.resource().find_by_token() is None
        await stage.run("create")
        inode = (tmp_path / "a.txt").stat().st_ino
        stage.self_.physical_id = None  # nobody lived to write it down
        assert await stage.resource().find_by_token() == "a.txt"
        assert (tmp_path / "a.txt").stat().st_ino == inode
        # Killed after the claim, before the file: it is made then.
        (tmp_path / "a.txt").unlink()
        assert await stage.resource().find_by_token() is None
        await stage.run("create")
        assert (tmp_path / "a.txt").read_text() == "hello"
        assert await Stage(tmp_path, File, "token-2", path="a.txt").resource().find_by_token() is None

    asyncio.run(story())


def test_a_draft_that_a_kill_left_is_never_written_into(tmp_path):
    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt", content="hello")
        await stage.run("create")
        os.link(tmp_path / "a.txt", tmp_path / ".isotherm/drafts/token-1")
        held = (tmp_path / "a.txt").open()
        with held:
            stage.given["content"] = "bye"
            await stage.run("update", {}, {"content": "bye"})
            assert held.read() == "hello"

    asyncio.run(story())


def test_a_lease_that_has_run_out_stops_all_changes(tmp_path):
    def over() -> None:
        raise errors.Superseded("the lease has run out")

    async def story() -> None:
        stage = Stage(tmp_path, File, path="a.txt")
        assert stage.local is not None
        stage.local = stage.local.guarded(over)
        with pytest.raises(errors.Superseded):
            await stage.run("create")
        assert not (tmp_path / "a.txt").exists()

    asyncio.run(story())


def test_who_adopts_the_stack_owns_its_files(lab, base):
    async def story(it: Lab) -> None:
        await it.create({"f": file()})
        stack = await it.end(await it.api.adopt("s", await abandoned(it)))
        assert stack["status"] == "COMPLETE", stack
        await it.update({"f": file(content="bye")})
        assert (base / "a.txt").read_text() == "bye"
        await it.delete()
        assert not (base / "a.txt").exists()

    lab(story)


# An engine that is killed after it has made something, and before it could write that down.
KILLED = """
import asyncio, os, sys
from pathlib import Path
from isotherm.engine.embedded import Embedded
from isotherm.engine.orchestrator import Request
from isotherm.resources import known

def deadly(type_):
    made = type_.handle_create
    async def handle_create(self):
        await made(self)
        os._exit(9)
    type_.handle_create = handle_create

async def main():
    engine = Embedded(Path(sys.argv[1]))
    deadly(engine.types.get(sys.argv[2]))
    await engine.orchestrator.create("s", Request(sys.stdin.read()))
    async with engine.driving():
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("made", [file(), folder("a.txt"), process(log="a.txt")], ids=["file", "folder", "process"])
def test_what_a_killed_engine_made_is_taken_up_and_not_made_twice(tmp_path, base, made):
    request = Lab.request({"r": made})
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), made["type"]], input=request.template, text=True,
                          check=False, timeout=PATIENCE_S)
    assert done.returncode == 9
    first = (base / "a.txt").stat()

    async def story() -> None:
        engine = Embedded(tmp_path)
        with contextlib.closing(engine):
            async with engine.driving():
                it = Lab(engine)
                stack = await it.end(Accepted((await it.api.show("s"))["id"], "", 0))
                assert stack["status"] == "COMPLETE", stack
                assert (base / "a.txt").stat().st_ino == first.st_ino
                if made["type"] == "Isotherm::Local::Process":
                    [pid] = await logged(base / "a.txt", 1)
                    assert state(base).child == (int(pid), processes.of(int(pid)).start)
                await it.delete()

    asyncio.run(story())


# Not everywhere.


@pytest.mark.parametrize(("enable", "auth", "allowed"), [
    ("standalone", "standalone", True), ("standalone", "keystone", False), ("always", "keystone", True),
    ("never", "standalone", False),
])
def test_the_operator_decides(tmp_path, enable, auth, allowed):
    settings = config.Settings(enable_local_resources=enable, auth_strategy=auth)
    assert (lending.local(settings, tmp_path) is not None) is allowed
    assert (lending.http(settings) is not None) is allowed
    assert ("Isotherm::Local::File" in known.registry(reaching=allowed).list()) is allowed


def test_where_it_is_not_allowed_a_template_is_refused(tmp_path):
    (tmp_path / "isotherm.conf").write_text("[DEFAULT]\nenable_local_resources = never\n")

    async def story() -> None:
        engine = Embedded(tmp_path)
        with contextlib.closing(engine), pytest.raises(errors.UserError, match="is not allowed here"):
            await engine.orchestrator.create("s", Lab.request({"f": file()}))

    asyncio.run(story())
    assert not (tmp_path / "local").exists()


@pytest.mark.parametrize(("type_", "given"), [(File, {"path": "a"}), (Directory, {"path": "a"}),
                                              (Process, {"command": ["true"]})])
def test_without_a_folder_nothing_is_made(tmp_path, type_, given):
    async def story() -> None:
        stage = Stage(tmp_path, type_, **given)
        stage.local = None
        with pytest.raises(errors.Permanent, match="not allowed here"):
            await stage.run("create")
        assert await stage.resource().find_by_token() is None
        stage.self_.physical_id = "a"
        assert isinstance(await stage.seen(), contract.Unseen)

    asyncio.run(story())


def test_the_folder_can_be_another(tmp_path):
    settings = config.Settings(local_base_folder=str(tmp_path / "x" / "y"))
    lent = lending.local(settings, tmp_path)
    assert lent is not None
    assert lent.base == tmp_path / "x" / "y"
    assert lent.base.is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.UserError, match="local_base_folder"):
        lending.local(config.Settings(local_base_folder=str(tmp_path / "file" / "y")), tmp_path)


# Processes.


def state(base: Path) -> keeping.State:
    [one] = base.glob(".isotherm/processes/*.json")
    found = keeping.state(confinement.Confined(base), one.stem)
    assert found is not None
    return found


def runs(base: Path) -> bool:
    return bool(list(base.glob(".isotherm/processes/*.json"))) and state(base).is_running


async def logged(path: Path, lines: int) -> list[str]:
    async with asyncio.timeout(PATIENCE_S):
        while len(found := path.read_text().splitlines() if path.exists() else []) < lines:
            await asyncio.sleep(0.02)
    return found


def test_a_process_outlives_the_engine_and_is_found_again(tmp_path, base):
    async def make() -> None:
        engine = Embedded(tmp_path)
        with contextlib.closing(engine):
            async with engine.driving():
                stack = await Lab(engine).create({"p": process()})
                assert stack["status"] == "COMPLETE", stack

    async def end() -> None:
        engine = Embedded(tmp_path)
        with contextlib.closing(engine):
            async with engine.driving():
                it = Lab(engine)
                checked = await it.end(await it.api.check("s"))
                assert checked["status"] == "COMPLETE", checked
                await it.delete()

    asyncio.run(make())
    assert state(base).is_running
    child = state(base).child
    assert child is not None
    assert os.getsid(child[0]) == child[0] != os.getsid(0)
    asyncio.run(end())
    assert not processes.Process(*child).is_alive()
    assert not list(base.glob(".isotherm/processes/*"))


def test_a_process_gets_its_environment_and_nothing_of_the_engines(lab, base, monkeypatch):
    monkeypatch.setenv("ISOTHERM_SECRET", "very secret")

    async def story(it: Lab) -> None:
        tells = [sys.executable, "-S", "-c", "import os, json, time; print(json.dumps([dict(os.environ), os.getcwd(), "
                 "sorted(int(n) for n in os.listdir('/proc/self/fd'))]), flush=True); time.sleep(600)"]
        stack = await it.create({"d": folder(), "p": {**process(tells, env={"PORT": 8080}, cwd="d", log="d/log.txt"),
                                                      "depends_on": "d"}})
        assert stack["status"] == "COMPLETE", stack
        [line] = await logged(base / "d" / "log.txt", 1)
        environment, cwd, files = json.loads(line)
        assert environment["PORT"] == "8080"
        assert not {name for name in environment if name.startswith("ISOTHERM")}
        assert environment.keys() <= {"PORT", "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ"}
        assert cwd == str(base / "d")
        assert files[:3] == [0, 1, 2]
        assert len(files) == 4  # and the one by which it looked
        assert (await it.update({"d": folder(purge=True), "p": {**process(tells, cwd="d"), "depends_on": "d"}}))[
            "status"] == "COMPLETE"
        await it.delete()

    lab(story)


def test_a_change_ends_the_old_one_before_the_new_one_begins(lab, base):
    async def story(it: Lab) -> None:
        await it.create({"p": process(log="log.txt")})
        before = state(base)
        await it.update({"p": process(log="log.txt", stop_timeout_secs=5)})
        assert state(base).child == before.child  # nothing that matters to it has changed
        await it.update({"p": process([*STAYS, "more"], log="log.txt")})
        after = state(base)
        assert after.child != before.child
        assert not before.is_running
        assert after.is_running
        assert after.command[-1] == "more"
        assert len(await logged(base / "log.txt", 2)) == 2
        await it.delete()

    lab(story)


def test_one_that_does_not_listen_is_killed(lab, base):
    async def story(it: Lab) -> None:
        await it.create({"p": process(STUBBORN, stop_timeout_secs=0.3, log="log.txt")})
        await logged(base / "log.txt", 1)
        child = state(base).child
        assert child is not None
        await it.delete()
        assert not processes.Process(*child).is_alive()

    lab(story)


def test_what_a_process_has_started_ends_with_it(lab, base):
    async def story(it: Lab) -> None:
        parent = [*STAYS[:3], f"import os; os.fork(); {STAYS[3]}"]
        await it.create({"p": process(parent, log="log.txt")})
        both = [processes.of(int(line)) for line in await logged(base / "log.txt", 2)]
        assert len(both) == 2
        await it.delete()
        async with asyncio.timeout(PATIENCE_S):
            while any(one is not None and one.is_alive() for one in both):
                await asyncio.sleep(0.02)

    lab(story)


def test_one_that_ends_at_once_is_a_failure_with_its_last_words(lab):
    async def story(it: Lab) -> None:
        stack = await it.create({"p": process([sys.executable, "-S", "-c", "raise SystemExit('no such port')"])})
        assert stack["status"] == "FAILED"
        assert "no such port" in stack["stack_status_reason"]
        assert "with code 1" in stack["stack_status_reason"]
        stack = await it.update({"p": process()})
        assert stack["status"] == "COMPLETE", stack
        await it.delete()

    lab(story)


@pytest.mark.parametrize("command", [["no-such-program-anywhere"], ["./nothing"]])
def test_what_cannot_be_run_is_told(lab, command):
    async def story(it: Lab) -> None:
        stack = await it.create({"p": process(command)})
        assert stack["status"] == "FAILED"
        assert "cannot be run" in stack["stack_status_reason"]
        await it.delete()

    lab(story)


def test_a_process_is_started_again_if_its_policy_says_so(lab, base):
    async def story(it: Lab) -> None:
        await it.create({"p": process(restart_policy="always", log="log.txt")})
        first = state(base)
        assert first.child is not None
        assert processes.Process(*first.child).send(signal.SIGKILL)
        await logged(base / "log.txt", 2)
        async with asyncio.timeout(PATIENCE_S):
            while not (state(base).is_running and state(base).restarts == 1):
                await asyncio.sleep(0.02)
        assert state(base).child != first.child
        assert state(base).keeper == first.keeper
        await it.delete()
        assert not processes.Process(*first.keeper).is_alive()

    lab(story)


def test_a_job_that_ends_well_has_done_its_work(lab):
    async def story(it: Lab) -> None:
        stack = await it.create({"p": process([sys.executable, "-S", "-c", "pass"], restart_policy="on-failure")})
        assert stack["status"] == "COMPLETE", stack
        checked = await it.end(await it.api.check("s"))
        assert checked["status"] == "COMPLETE", checked
        await it.delete()

    lab(story)


@pytest.mark.ledger("S1.1")
def test_the_reality_of_a_process(tmp_path, base):
    async def story() -> None:
        stage = Stage(base, Process, command=STAYS, restart_policy="always", settle_secs=0)
        await stage.run("create")
        assert await stage.drift() == []
        found = state(base)
        assert found.child is not None
        # Without its keeper it runs on, but is not what was asked for.
        processes.Process(*found.keeper).send(signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_S):
            while found.has_keeper:
                await asyncio.sleep(0.02)
        assert await stage.drift() == ["restart_policy"]
        await stage.run("update", stage.given, {"restart_policy": "always"})
        assert await stage.drift() == []
        assert not found.is_running
        await stage.run("delete")
        assert await stage.seen() == contract.Gone()

    asyncio.run(story())


def test_a_process_that_was_killed_is_gone(base):
    async def story() -> None:
        stage = Stage(base, Process, command=STAYS, settle_secs=0)
        await stage.run("create")
        found = state(base)
        assert found.child is not None
        processes.Process(*found.child).send(signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_S):
            while found.has_keeper or found.is_running:
                await asyncio.sleep(0.02)
        assert await stage.seen() == contract.Gone()
        with pytest.raises(errors.Permanent, match="it does not run, with code -9"):
            await stage.run("check")
        await stage.run("update", {}, {"command": STAYS})
        assert await stage.drift() == []
        await stage.run("delete")

    asyncio.run(story())


def test_a_process_whose_starter_was_killed_is_found_and_not_started_twice(base):
    async def story() -> None:
        stage = Stage(base, Process, command=STAYS, log="log.txt", settle_secs=0)
        assert await stage.resource().find_by_token() is None
        await stage.run("create")
        child = state(base).child
        stage.self_.physical_id = None
        assert await stage.resource().find_by_token() == "token-1"
        # Even if nobody looks: for one token there is one keeper.
        await stage.resource().handle_create()
        assert state(base).child == child
        assert len(await logged(base / "log.txt", 1)) == 1
        stage.self_.physical_id = "token-1"
        await stage.run("delete")

    asyncio.run(story())


def test_a_number_that_belongs_to_somebody_else_now_is_never_signalled(base):
    async def story() -> None:
        stage = Stage(base, Process, command=STAYS, settle_secs=0)
        await stage.run("create")
        found = state(base)
        assert found.child is not None
        [file] = base.glob(".isotherm/processes/*.json")
        told = json.loads(file.read_text())
        # As if all of that had been long ago, and the numbers had been given to others since.
        told["keeper"][1] -= 1
        told["child"][1] -= 1
        file.write_text(json.dumps(told))
        assert await stage.seen() == contract.Gone()
        await stage.run("delete")
        assert found.is_running
        assert found.has_keeper
        for one in (found.keeper, found.child):
            processes.Process(*one).send(signal.SIGKILL)

    asyncio.run(story())


def test_processes_of_another_run_of_the_machine_are_gone(base):
    async def story() -> None:
        stage = Stage(base, Process, command=STAYS, settle_secs=0)
        await stage.run("create")
        [file] = base.glob(".isotherm/processes/*.json")
        told = json.loads(file.read_text())
        file.write_text(json.dumps({**told, "boot": "another"}))
        assert await stage.seen() == contract.Gone()
        file.write_text(json.dumps(told))
        await stage.run("delete")

    asyncio.run(story())


def test_an_imported_process_is_looked_at_and_left_alone(lab, base):
    async def story(it: Lab) -> None:
        base.mkdir(exist_ok=True)
        other = await asyncio.create_subprocess_exec(*STAYS, cwd=base, stdout=asyncio.subprocess.DEVNULL)
        try:
            stack = await it.create({"p": {**process(), "external_id": str(other.pid)}})
            assert stack["status"] == "COMPLETE", stack
            await it.delete()
            assert other.returncode is None
            # One that has nothing to do with the folder is none of our business.
            stack = await it.create({"p": {**process(), "external_id": str(os.getpid())}})
            assert stack["status"] == "FAILED"
            await it.delete()
        finally:
            other.kill()
            await other.wait()

    lab(story)


def test_claims_are_of_one_resource(tmp_path):
    all_ = claims.Claims(confinement.Confined(tmp_path))
    first = claims.Claim("a", "t1", "stack", "r")
    all_.take(("a",), first, ("t1",))
    with pytest.raises(errors.Permanent):
        all_.take(("a",), claims.Claim("a", "t2", "stack", "other"), ("t2",))
    successor = claims.Claim("a", "t3", "stack", "r")
    all_.take(("a",), successor, ("t3",))
    assert all_.of(("a",)) == successor
    all_.release(("a",))
    assert all_.of(("a",)) is None
