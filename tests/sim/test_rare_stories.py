"""Stories of what rare seeds have found, told without those seeds. Each broke an invariant once."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from isotherm.sim import run
from isotherm.sim.histories import drawn_histories, shapes
from isotherm.sim.histories.history import Request, Verb
from isotherm.sim.run import Outcome
from isotherm.sim.world import processes


def play(*requests: Request, dice: int = 0, **more: Any) -> Outcome:
    outcome = run.play(dataclasses.replace(drawn_histories.draw(0), requests=requests, rates={}, dice=dice, **more))
    assert outcome.well, (dice, outcome.violations)
    return outcome


@pytest.mark.parametrize("dice", range(8))
def test_a_deletion_policy_holds_though_the_plan_waits_for_waking(dice: int) -> None:
    """A delete overtakes an update that has not got further than waking what sleeps (I17)."""
    kept = {"g": shapes.Part(a="1", retain=True), "b": shapes.Part()}
    free = {"g": shapes.Part(a="1"), "b": shapes.Part()}
    outcome = play(Request(0.0, "s0", Verb.CREATE, kept), Request(100.0, "s0", Verb.SUSPEND),
                   Request(200.0, "s0", Verb.CHECK), Request(300.0, "s0", Verb.UPDATE, free),
                   Request(300.2 + dice / 4, "s0", Verb.DELETE), dice=dice)
    assert any("accepted DELETE" in line for line in outcome.lines)


@pytest.mark.parametrize("dice", range(8))
def test_what_used_a_broken_object_is_woken_all_the_same(dice: int) -> None:
    """The rollback has not brought `a` to the new `b` when a suspend comes: it wakes with the broken one that it used."""
    good = {"b": shapes.Part(a="1"), "a": shapes.Part(a="1", base="b")}
    bad = {"a": shapes.Part(), "b": shapes.Part(fail="build")}
    play(Request(0.0, "s0", Verb.CREATE, good), Request(200.0, "s0", Verb.UPDATE, bad),
         Request(400.0, "s0", Verb.ROLLBACK), Request(400.1 + dice / 8, "s0", Verb.SUSPEND),
         Request(600.0, "s0", Verb.RESUME), dice=dice)


@pytest.mark.parametrize("dice", range(12))
def test_what_a_stack_inside_uses_is_not_changed_while_it_is_being_made(dice: int) -> None:
    """The update changes `g` before it comes to the stack inside, which an older operation is still making (I4, I6)."""
    inner = {"c": shapes.Part(given=True), "b": shapes.Part(after=("c",), given=True)}
    before = {"g": shapes.Part(a="1"), "n": shapes.Part("", link="g", inner=inner)}
    after = {**before, "g": shapes.Part(a="2")}
    outcome = play(Request(0.0, "s0", Verb.CREATE, before), Request(3.0 + dice / 3, "s0", Verb.UPDATE, after), dice=dice)
    assert sum("cloud: created s0-n-" in line for line in outcome.lines) == 2, "nothing inside was made twice"


def test_a_stack_inside_is_deleted_in_the_time_of_the_operation_around_it() -> None:
    """The stack inside was made with a timeout of ten seconds, and its deletion takes longer than that (I13)."""
    requests = (Request(0.0, "s0", Verb.CREATE, {"n": shapes.Part("", inner={"c": shapes.Part()})}, timeout_s=10.0),
                Request(100.0, "s0", Verb.UPDATE, {"a": shapes.Part()}))
    world = run.Run(dataclasses.replace(drawn_histories.draw(0), requests=requests, rates={}))
    delete = world.cloud.delete

    async def slow(physical_id: str) -> bool:
        await asyncio.sleep(20.0)
        return await delete(physical_id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.cloud, "delete", slow)
        outcome = world.play()
    assert outcome.well, outcome.violations
    assert not any("DELETE_FAILED" in line for line in outcome.lines), outcome.lines


@pytest.mark.parametrize("later_s", [1.0, 4.0])
def test_an_object_is_not_deleted_while_its_replacement_of_the_same_id_is_being_made(later_s: float) -> None:
    """The worker that replaces a drifted object is paused before it hears that this was done; then come a delete and an
    update. The old version must not take the new object away (I1)."""
    shape = {"e": shapes.Part("Sim::Named", fixed="x")}
    requests = (Request(0.0, "s0", Verb.CREATE, shape), Request(100.0, "s0", Verb.UPDATE, shape, converge=True),
                Request(100.0 + later_s, "s0", Verb.DELETE), Request(101.0 + later_s, "s0", Verb.UPDATE, shape))
    world = run.Run(dataclasses.replace(drawn_histories.draw(0), requests=requests, rates={}, workers=2))
    create, calls = world.cloud.create, []

    def drift(physical_id: str) -> None:
        world.cloud.things[physical_id].properties["fixed"] = "drift"

    async def create_and_pause(kind: str, token: str, properties: Mapping[str, object], physical_id: str) -> None:
        await create(kind, token, properties, physical_id)
        calls.append(physical_id)
        if len(calls) == 1:
            world.loop.call_later(50.0, drift, physical_id)
        elif len(calls) == 2 and (process := processes.current()) is not None:
            process.paused = True
            world.loop.call_later(60.0, world.faults.resume, process)
            await asyncio.sleep(0.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.cloud, "create", create_and_pause)
        outcome = world.play()
    assert outcome.well, outcome.violations
    assert calls[0] == calls[1], "the replacement has the id of what it replaces"
    assert len(calls) == 2, "and is not made once more"
