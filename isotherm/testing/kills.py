"""The checks of the kit that kill an engine at each call of a resource, and let another one finish its work."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from isotherm.resources import contract
from isotherm.testing import child
from isotherm.testing.example import Example
from isotherm.testing.lab import Lab

_MOST_CALLS = 40

Story = Callable[[Lab], Coroutine[Any, Any, None]]


@contextlib.asynccontextmanager
async def running(example: Example, folder: Path) -> AsyncIterator[Lab]:
    """Run an engine on the folder."""
    lab = Lab(folder, example)
    try:
        async with lab.engine.driving():
            yield lab
    finally:
        lab.close()


def play(example: Example, folder: Path, story: Story) -> None:
    """Run a story on an engine of its own."""

    async def whole() -> None:
        async with running(example, folder) as lab:
            await story(lab)

    asyncio.run(whole())


def expect_objects(example: Example, folder: Path, number: int, when: str) -> None:
    """Fail if the example has more or fewer objects than this."""
    if example.objects is not None:
        found = sorted(example.objects(folder))
        assert len(found) == number, f"{when} there should be {number} objects, and there are {found}"


def survives_a_kill_of_a_create(example: Example, folder: Path) -> None:
    async def finish(lab: Lab, when: str) -> None:
        assert await lab.wait() == "CREATE_COMPLETE", when

    _at_each_call(example, folder, ("create", example.properties), finish)


def survives_a_kill_of_an_update(example: Example, folder: Path) -> None:
    _kill_updates(example, folder, example.in_place or {})


def survives_a_kill_of_a_replacement(example: Example, folder: Path) -> None:
    _kill_updates(example, folder, example.replacing or {})


def survives_a_kill_of_a_delete(example: Example, folder: Path) -> None:
    async def finish(lab: Lab, when: str) -> None:
        assert await lab.wait() == "DELETE_COMPLETE", when

    _at_each_call(example, folder, ("delete", {}), finish)


def _kill_updates(example: Example, folder: Path, after: Mapping[str, Any]) -> None:
    async def finish(lab: Lab, when: str) -> None:
        # An engine that was killed while the request was accepted has not stored it.
        if (status := await lab.wait()) == "CREATE_COMPLETE":
            status = await lab.update(after)
        assert status == "UPDATE_COMPLETE", when
        if contract.is_observable(example.type):
            assert await lab.drifted() == [], when

    _at_each_call(example, folder, ("update", after), finish)


def _at_each_call(
    example: Example, folder: Path, action: tuple[str, Mapping[str, Any]],
    finish: Callable[[Lab, str], Coroutine[Any, Any, None]],
) -> None:
    """Kill -9 before the first call of the resource, and after each one."""
    def killed(name: str, moment: str, number: int) -> bool:
        return _kill(example, folder / name, (*action, moment, number), finish)

    killed("before", "before", 1)
    for number in range(1, _MOST_CALLS):
        if not killed(str(number), "after", number):
            return
    raise AssertionError(f"a {action[0]} should have fewer than {_MOST_CALLS} calls")


def _kill(
    example: Example, folder: Path, at: tuple[str, Mapping[str, Any], str, int],
    finish: Callable[[Lab, str], Coroutine[Any, Any, None]],
) -> bool:
    """Kill an engine at one call, and let another finish its work; return whether there was such a call."""
    action, properties, moment, number = at
    if action != "create":
        play(example, folder, lambda lab: _create(lab, example))
    there_was = _killer().kill({
        "folder": str(folder), "type": child.address(example.type), "action": action, "moment": moment, "number": number,
        "properties": dict(properties), "beside": dict(example.beside), "signals": dict(example.signals),
        "cloud": example.cloud, "environment": dict(os.environ)})
    when = f"after a kill {moment} call {number} of a {action}"

    async def story(lab: Lab) -> None:
        if await lab.adopt_stack():
            await finish(lab, when)
        if await lab.adopt_stack():
            expect_objects(example, folder, 1, when)
            assert await lab.delete() == "DELETE_COMPLETE", when
        expect_objects(example, folder, 0, when)

    play(example, folder, story)
    return there_was


async def _create(lab: Lab, example: Example) -> None:
    assert await lab.create(example.properties) == "CREATE_COMPLETE"


class _Killer:
    """The program that runs engines and lets them kill themselves. One serves all checks of a process."""

    def __init__(self) -> None:
        self._problems = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed with the program
        self._program = subprocess.Popen(
            [sys.executable, "-m", child.__name__, json.dumps(sys.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._problems, text=True)
        atexit.register(self.close)

    def kill(self, order: Mapping[str, Any]) -> bool:
        """Run an engine by this order; return whether it was killed."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(json.dumps(order) + "\n")
        self._program.stdin.flush()
        code = self._program.stdout.readline().strip()
        self._problems.seek(0)
        problems = self._problems.read()
        assert code in ("0", str(child.KILLED)), f"the engine ended with {code or 'no code'}: {problems}"
        return code != "0"

    def close(self) -> None:
        # The program ends with its input.
        self._program.communicate()
        self._problems.close()


@functools.cache
def _killer() -> _Killer:
    return _Killer()
