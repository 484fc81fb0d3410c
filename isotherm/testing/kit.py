"""The checks of the conformance kit. Each runs a real engine, on a folder of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isotherm.resources import contract, gate
from isotherm.sim.world import plain_types
from isotherm.testing import kills
from isotherm.testing.example import Example
from isotherm.testing.kills import expect_objects, play
from isotherm.testing.lab import Lab

Check = Callable[[Example, Path], None]


def conformance(*examples: Example) -> Any:
    """Return a test function for pytest: one test for each check that fits an example."""
    tests = [
        pytest.param(example, check, id=check.__name__.strip("_") if len(examples) == 1 else _name(example, check))
        for example in examples for check in checks(example)
    ]

    @pytest.mark.parametrize(("example", "check"), tests)
    def test(example: Example, check: Check, tmp_path: Path) -> None:
        check(example, tmp_path)

    return test


def _name(example: Example, check: Check) -> str:
    return f"{example.type.TYPE}-{check.__name__.strip('_')}"


def checks(example: Example) -> list[Check]:
    """Return the checks that fit an example."""
    found = [_lives_and_goes, kills.survives_a_kill_of_a_create, kills.survives_a_kill_of_a_delete]
    is_async = any(gate.is_async(getattr(example.type, name)) for name in ("handle_create", "handle_delete"))
    is_kept = not example.type.traits.replaced_by_each_update
    optional = (
        (is_kept, _changes_nothing_without_a_change),
        (not is_kept, _is_replaced_by_each_update),
        (is_async, _works_with_plain_methods),
        (example.in_place is not None, _changes_in_place),
        (example.in_place is not None, kills.survives_a_kill_of_an_update),
        (example.replacing is not None, _is_replaced),
        (example.replacing is not None, kills.survives_a_kill_of_a_replacement),
        (contract.is_observable(example.type), _is_seen_as_made),
        (example.drift is not None, _drift_is_seen_and_repaired),
        (example.vanish is not None, _is_made_again_where_it_is_gone),
        (bool(example.secret), _keeps_its_secret),
    )
    return [*found, *(check for fits, check in optional if fits)]


async def _physical(lab: Lab) -> str:
    found = await lab.resource()
    assert found is not None
    return str(found["physical_resource_id"])


def _lives_and_goes(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        assert await lab.create(example.properties) == "CREATE_COMPLETE"
        expect_objects(example, folder, 1, "after a create")
        assert await lab.check() == "CHECK_COMPLETE"
        assert await lab.delete() == "DELETE_COMPLETE"
        expect_objects(example, folder, 0, "after a delete")

    play(example, folder, story)


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

    play(example, folder, story)


def _is_replaced_by_each_update(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        before = await _physical(lab)
        assert await lab.update(example.properties) == "UPDATE_COMPLETE"
        assert await _physical(lab) != before, "each update should have replaced the object"
        expect_objects(example, folder, 1, "after a replacement")
        await lab.delete()
        expect_objects(example, folder, 0, "after a delete")

    play(example, folder, story)


def _changes_in_place(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        before = await _physical(lab)
        assert await lab.update(example.in_place or {}) == "UPDATE_COMPLETE"
        assert await _physical(lab) == before, "the change should have been made in place"
        expect_objects(example, folder, 1, "after a change in place")
        await lab.delete()
        expect_objects(example, folder, 0, "after a delete")

    play(example, folder, story)


def _is_replaced(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        assert await lab.update(example.replacing or {}) == "UPDATE_COMPLETE"
        expect_objects(example, folder, 1, "after a replacement")
        assert await lab.check() == "CHECK_COMPLETE"
        await lab.delete()
        expect_objects(example, folder, 0, "after a delete")

    play(example, folder, story)


def _is_seen_as_made(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        assert await lab.drifted() == [], "right after a create, nothing should have drifted"
        if example.in_place is not None:
            await lab.update(example.in_place)
            assert await lab.drifted() == [], "right after an update, nothing should have drifted"
        await lab.delete()

    play(example, folder, story)


def _drift_is_seen_and_repaired(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        assert example.drift is not None
        await asyncio.to_thread(example.drift, folder, await _physical(lab))
        assert await lab.drifted(), "a change behind the engine's back should be seen"
        assert await lab.update(example.properties, converge=True) == "UPDATE_COMPLETE"
        assert await lab.drifted() == [], "a converging update should have repaired it"
        expect_objects(example, folder, 1, "after a repair")
        await lab.delete()

    play(example, folder, story)


def _is_made_again_where_it_is_gone(example: Example, folder: Path) -> None:
    """The new object may have the id of the lost one: it must survive the clean-up of the lost one."""

    async def story(lab: Lab) -> None:
        await lab.create(example.properties)
        assert example.vanish is not None
        await asyncio.to_thread(example.vanish, folder, await _physical(lab))
        expect_objects(example, folder, 0, "after the object was taken away")
        assert await lab.update(example.properties, converge=True) == "UPDATE_COMPLETE"
        expect_objects(example, folder, 1, "after a repair")
        assert await lab.delete() == "DELETE_COMPLETE"
        expect_objects(example, folder, 0, "after a delete")

    play(example, folder, story)


def _keeps_its_secret(example: Example, folder: Path) -> None:
    async def story(lab: Lab) -> None:
        await lab.create(example.properties)

    play(example, folder, story)
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "reality.journal":
            assert example.secret.encode() not in path.read_bytes(), f"the secret stands in {path.name}"


def _works_with_plain_methods(example: Example, folder: Path) -> None:
    """The same methods on threads: a type must not depend on the loop."""
    twin = plain_types.twin(example.type, example.type.TYPE)
    _lives_and_goes(replace(example, type=twin), folder)
