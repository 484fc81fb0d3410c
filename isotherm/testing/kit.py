"""The checks of the conformance kit. Each runs a real engine, on a folder of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from isotherm.resources import contract, gate
from isotherm.sim.world import plain_types
from isotherm.testing import child
from isotherm.testing.lab import Lab, address

_MOST_CALLS = 40


@dataclass(frozen=True, slots=True)
class Example:
    """A type, properties to try it with, and how to look behind its back. What is None is not checked."""

    type: type[contract.Resource]
    properties: Mapping[str, Any]
    # All properties after a change in place, and after one that replaces the object.
    in_place: Mapping[str, Any] | None = None
    replacing: Mapping[str, Any] | None = None
    # The physical ids of all objects of the example that exist outside of the engine. Like the functions below, it gets the
    # folder of the engine, for types whose objects are in there.
    objects: Callable[[Path], Collection[str]] | None = None
    # Change, or delete, the object with this physical id without telling the engine.
    drift: Callable[[Path, str], object] | None = None
    vanish: Callable[[Path, str], object] | None = None
    # A value among the properties that the engine must not store in clear text.
    secret: str = ""


def conformance(example: Example) -> Any:
    """Return a test function for pytest: one test for each check that fits the example."""

    @pytest.mark.parametrize("check", _checks(example), ids=lambda check: check.__name__.strip("_"))
    def test(check: Callable[[Example, Path], None], tmp_path: Path) -> None:
        check(example, tmp_path)

    return test


def _checks(example: Example) -> list[Callable[[Example, Path], None]]:
    found = [_lives_and_goes, _changes_nothing_without_a_change, _survives_a_kill_at_each_call]
    is_async = any(gate.is_async(getattr(example.type, name)) for name in ("handle_create", "handle_delete"))
    optional = (
        (is_async, _works_with_plain_methods),
        (example.in_place is not None, _changes_in_place),
        (example.replacing is not None, _is_replaced),
        (contract.is_observable(example.type), _is_seen_as_made),
        (example.drift is not None, _drift_is_seen_and_repaired),
        (example.vanish is not None, _is_made_again_where_it_is_gone),
        (bool(example.secret), _keeps_its_secret),
    )
    return [*found, *(check for fits, check in optional if fits)]


@contextlib.asynccontextmanager
async def _lab(example: Example, folder: Path) -> AsyncIterator[Lab]:
    lab = Lab(folder, example.type)
    try:
        async with lab.engine.driving():
            yield lab
    finally:
        lab.close()


def _tell(example: Example, folder: Path, story: Callable[[Lab], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        async with _lab(example, folder) as lab:
            await story(lab)

    asyncio.run(whole())


def _exist(example: Example, folder: Path, number: int, when: str) -> None:
    if example.objects is not None:
        found = sorted(example.objects(folder))
        assert len(found) == number, f"{when} there should be {number} objects, and there are {found}"


async def _physical(lab: Lab) -> str:
    found = await lab.resource()
    assert found is not None
    return str(found["physical_resource_id"])


def _lives_and_goes(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        assert await lab.create(example.properties) == "CREATE_COMPLETE"
        _exist(example, folder, 1, "after a create")
        assert await lab.check() == "CHECK_COMPLETE"
        assert await lab.delete() == "DELETE_COMPLETE"
        _exist(example, folder, 0, "after a delete")

    _tell(example, folder, story)


def _changes_nothing_without_a_change(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        before = await _physical(lab), len(await lab.engine.orchestrator.events.list("conformance", last=1000))
        assert await lab.update(example.properties) == "UPDATE_COMPLETE"
        events = await lab.engine.orchestrator.events.list("conformance", last=1000)
        touched = [one for one in events[before[1]:] if one["resource_name"] == "subject"]
        assert touched == [], "an update without a change must not touch the resource"
        assert await _physical(lab) == before[0]
        await lab.delete()

    _tell(example, folder, story)


def _changes_in_place(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        before = await _physical(lab)
        assert await lab.update(example.in_place) == "UPDATE_COMPLETE"
        assert await _physical(lab) == before, "the change should have been made in place"
        _exist(example, folder, 1, "after a change in place")
        await lab.delete()
        _exist(example, folder, 0, "after a delete")

    _tell(example, folder, story)


def _is_replaced(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        assert await lab.update(example.replacing) == "UPDATE_COMPLETE"
        _exist(example, folder, 1, "after a replacement")
        assert await lab.check() == "CHECK_COMPLETE"
        await lab.delete()
        _exist(example, folder, 0, "after a delete")

    _tell(example, folder, story)


def _is_seen_as_made(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        assert await lab.drifted() == [], "right after a create, nothing should have drifted"
        if example.in_place is not None:
            await lab.update(example.in_place)
            assert await lab.drifted() == [], "right after an update, nothing should have drifted"
        await lab.delete()

    _tell(example, folder, story)


def _drift_is_seen_and_repaired(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        assert example.drift is not None
        await asyncio.to_thread(example.drift, folder, await _physical(lab))
        assert await lab.drifted(), "a change behind the engine's back should be seen"
        assert await lab.update(example.properties, converge=True) == "UPDATE_COMPLETE"
        assert await lab.drifted() == [], "a converging update should have repaired it"
        _exist(example, folder, 1, "after a repair")
        await lab.delete()

    _tell(example, folder, story)


def _is_made_again_where_it_is_gone(example: Example, folder: Path) -> None:
    """The new object may have the id of the lost one: it must survive the clean-up of the lost one."""

    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        assert example.vanish is not None
        await asyncio.to_thread(example.vanish, folder, await _physical(lab))
        _exist(example, folder, 0, "after the object was taken away")
        assert await lab.update(example.properties, converge=True) == "UPDATE_COMPLETE"
        _exist(example, folder, 1, "after a repair")
        assert await lab.delete() == "DELETE_COMPLETE"
        _exist(example, folder, 0, "after a delete")

    _tell(example, folder, story)


def _keeps_its_secret(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)

    _tell(example, folder, story)
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "reality.journal":
            assert example.secret.encode() not in path.read_bytes(), f"the secret stands in {path.name}"


def _works_with_plain_methods(example: Example, folder: Path) -> None:
    """The same methods on threads: a type must not depend on the loop."""
    twin = plain_types.twin(example.type, example.type.TYPE)
    _lives_and_goes(replace(example, type=twin), folder)


def _survives_a_kill_at_each_call(example: Example, folder: Path) -> None:
    """Kill -9 after each call of the type, and before the first one, while it is created and while it is deleted."""
    for action in ("create", "delete"):
        _kill(example, folder / action / "before", 1, action, "before")
        numbers = iter(range(1, _MOST_CALLS))
        while _kill(example, folder / action / str(number := next(numbers)), number, action, "after"):
            pass


def _kill(example: Example, folder: Path, number: int, action: str, moment: str) -> bool:
    """Kill a process at one call, and let another finish its work; return whether there was such a call."""
    if action == "delete":
        _tell(example, folder, lambda lab: _create(lab, example))
    asked = {"folder": str(folder), "type": address(example.type), "action": action, "moment": moment, "number": number,
             "properties": dict(example.properties), "path": sys.path}
    done = subprocess.run([sys.executable, "-m", child.__name__, json.dumps(asked)], check=False, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode in (0, child.KILLED), done.stderr
    when = f"after a kill {moment} call {number} of a {action}"

    async def story(lab: Lab) -> None:
        there = await lab.adopt_stack()
        if action == "create":
            assert await lab.wait() == "CREATE_COMPLETE", when
            _exist(example, folder, 1, when)
            assert await lab.delete() == "DELETE_COMPLETE", when
        elif there:
            assert await lab.wait() == "DELETE_COMPLETE", when
        _exist(example, folder, 0, when)

    _tell(example, folder, story)
    return done.returncode == child.KILLED


async def _create(lab: Lab, example: Example) -> None:
    assert await lab.create(example.properties) == "CREATE_COMPLETE"
