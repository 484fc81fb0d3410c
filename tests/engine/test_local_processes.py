"""Processes of this machine, through the whole engine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.process.embedded import Embedded
from isotherm.resources import contract
from isotherm.resources.local import processes
from isotherm.resources.local.process import Process
from tests.engine.conftest import PATIENCE_S, Lab, Tell
from tests.engine.local_stage import STAYS, STUBBORN, Stage, folder, logged, process, state


def test_a_process_outlives_the_engine_and_is_found_again(tmp_path: Path, base: Path) -> None:
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
                checked = await it.end(await it.api.stacks.check("s"))
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


def test_a_process_gets_its_environment_and_nothing_of_the_engines(
    lab: Tell, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_change_ends_the_old_one_before_the_new_one_begins(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        await it.create({"p": process(log="log.txt")})
        before = state(base)
        await it.update({"p": process(log="log.txt", stop_timeout_secs=5)})
        assert state(base).child == before.child  # nothing that matters to it has changed
        await it.update({"p": {**process(log="log.txt", stop_timeout_secs=5), "metadata": {"a": 1}}})
        assert state(base).child == before.child
        await it.update({"p": process([*STAYS, "more"], log="log.txt")})
        after = state(base)
        assert after.child != before.child
        assert not before.is_running
        assert after.is_running
        assert after.command[-1] == "more"
        assert len(await logged(base / "log.txt", 2)) == 2
        await it.delete()

    lab(story)


def test_one_that_does_not_listen_is_killed(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        await it.create({"p": process(STUBBORN, stop_timeout_secs=0.3, log="log.txt")})
        await logged(base / "log.txt", 1)
        child = state(base).child
        assert child is not None
        await it.delete()
        assert not processes.Process(*child).is_alive()

    lab(story)


def test_what_a_process_has_started_ends_with_it(lab: Tell, base: Path) -> None:
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


def test_one_that_ends_at_once_is_a_failure_with_its_last_words(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        # A shell, not Python: it has to end within the moment in which a process may still fail, on a busy machine too.
        stack = await it.create({"p": process(["sh", "-c", "echo no such port >&2; exit 1"])})
        assert stack["status"] == "FAILED"
        assert "no such port" in stack["stack_status_reason"]
        assert "with code 1" in stack["stack_status_reason"]
        stack = await it.update({"p": process()})
        assert stack["status"] == "COMPLETE", stack
        await it.delete()

    lab(story)


@pytest.mark.parametrize("command", [["no-such-program-anywhere"], ["./nothing"]])
def test_what_cannot_be_run_is_told(lab: Tell, command: Any) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"p": process(command)})
        assert stack["status"] == "FAILED"
        assert "cannot be run" in stack["stack_status_reason"]
        await it.delete()

    lab(story)


def test_a_process_is_started_again_if_its_policy_says_so(lab: Tell, base: Path) -> None:
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


def test_a_job_that_ends_well_has_done_its_work(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"p": process([sys.executable, "-S", "-c", "pass"], restart_policy="on-failure")})
        assert stack["status"] == "COMPLETE", stack
        checked = await it.end(await it.api.stacks.check("s"))
        assert checked["status"] == "COMPLETE", checked
        await it.delete()

    lab(story)


@pytest.mark.ledger("S1.1")
def test_the_reality_of_a_process(tmp_path: Path, base: Path) -> None:
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


def test_a_process_that_was_killed_is_gone(base: Path) -> None:
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


def test_a_process_whose_starter_was_killed_is_found_and_not_started_twice(base: Path) -> None:
    async def story() -> None:
        stage = Stage(base, Process, command=STAYS, log="log.txt", settle_secs=0)
        assert await stage.resource().find_by_token() == contract.Absent()
        await stage.run("create")
        child = state(base).child
        stage.state.physical_id = None
        assert await stage.resource().find_by_token() == contract.Found("token-1")
        # For one token there is one supervisor, also without a check.
        await stage.resource().handle_create()
        assert state(base).child == child
        assert len(await logged(base / "log.txt", 1)) == 1
        stage.state.physical_id = "token-1"
        await stage.run("delete")

    asyncio.run(story())


def test_a_reused_process_number_is_never_signalled(base: Path) -> None:
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


def test_processes_of_another_run_of_the_machine_are_gone(base: Path) -> None:
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


def test_an_imported_process_is_looked_at_and_left_alone(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        base.mkdir(exist_ok=True)
        other = await asyncio.create_subprocess_exec(*STAYS, cwd=base, stdout=asyncio.subprocess.DEVNULL)
        try:
            stack = await it.create({"p": {**process(), "external_id": str(other.pid)}})
            assert stack["status"] == "COMPLETE", stack
            await it.delete()
            assert other.returncode is None
            # A process outside of the folder is left alone.
            stack = await it.create({"p": {**process(), "external_id": str(os.getpid())}})
            assert stack["status"] == "FAILED"
            await it.delete()
        finally:
            other.kill()
            await other.wait()

    lab(story)
