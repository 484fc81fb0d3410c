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
def test_requirements_of_a_nested_stack_do_not_change_while_it_is_created(dice: int) -> None:
    """The update changes `g` before it comes to the stack inside, which an older operation is still making (I4, I6)."""
    inner = {"c": shapes.Part(given=True), "b": shapes.Part(after=("c",), given=True)}
    before = {"g": shapes.Part(a="1"), "n": shapes.Part("", link="g", inner=inner)}
    after = {**before, "g": shapes.Part(a="2")}
    outcome = play(Request(0.0, "s0", Verb.CREATE, before), Request(3.0 + dice / 3, "s0", Verb.UPDATE, after), dice=dice)
    assert sum("cloud: created s0-n-" in line for line in outcome.lines) == 2, "nothing inside was made twice"


def test_a_nested_stack_is_deleted_in_the_time_of_the_outer_operation() -> None:
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


@pytest.mark.parametrize("later_s", [10.0, 20.0, 28.0])
def test_two_interrupted_replacements_do_not_wait_for_each_other(later_s: float) -> None:
    """Two updates replace a drifted object, and each is interrupted before it hears that this was done; the next one takes
    up the object itself. The clean-up has two versions whose creations look unfinished (I13)."""
    shape = {"d": shapes.Part(fixed="x")}
    updates = [Request(100.0 + n * later_s, "s0", Verb.UPDATE, shape, converge=True) for n in range(3)]
    world = run.Run(dataclasses.replace(
        drawn_histories.draw(0), requests=(Request(0.0, "s0", Verb.CREATE, shape), *updates), rates={}, workers=4))
    create, calls = world.cloud.create, []

    def drift(physical_id: str) -> None:
        world.cloud.things[physical_id].properties["fixed"] = "drift"
        world.witness.drift(world.cloud.things[physical_id])

    async def create_and_pause(kind: str, token: str, properties: Mapping[str, object], physical_id: str) -> None:
        await create(kind, token, properties, physical_id)
        calls.append(physical_id)
        if len(calls) == 1:
            world.loop.call_later(50.0, drift, physical_id)
        elif len(calls) <= 3 and (process := processes.current()) is not None:
            process.paused = True
            world.loop.call_later(300.0, world.faults.resume, process)
            await asyncio.sleep(0.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.cloud, "create", create_and_pause)
        outcome = world.play()
    assert outcome.well, outcome.violations
    assert len(calls) >= 3, "two replacements were interrupted"


@pytest.mark.parametrize("later_s", [1.0, 5.0])
def test_a_rollback_deletes_an_object_whose_replacement_was_interrupted(later_s: float) -> None:
    """The object was taken up again before the rollback, whose clean-up deletes the interrupted replacement last (I13)."""
    kept = {"a": shapes.Part()}
    old, new = ({**kept, "f": shapes.Part(fixed=fixed), "g": shapes.Part(fail="create")} for fixed in ("x", "y"))
    requests = (Request(0.0, "s0", Verb.CREATE, kept), Request(100.0, "s0", Verb.UPDATE, old),
                Request(200.0, "s0", Verb.UPDATE, new), Request(200.0 + later_s, "s0", Verb.UPDATE, old),
                Request(200.0 + 2 * later_s, "s0", Verb.ROLLBACK))
    world = run.Run(dataclasses.replace(drawn_histories.draw(0), requests=requests, rates={}, workers=3))
    create, calls = world.cloud.create, []

    async def create_and_pause(kind: str, token: str, properties: Mapping[str, object], physical_id: str) -> None:
        await create(kind, token, properties, physical_id)
        calls.append(physical_id)
        if sum("-f-" in one for one in calls) == 2 and (process := processes.current()) is not None:
            process.paused = True
            world.loop.call_later(60.0, world.faults.resume, process)
            await asyncio.sleep(0.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.cloud, "create", create_and_pause)
        outcome = world.play()
    assert outcome.well, outcome.violations


_ELSEWHERE = {"u": shapes.Part(seen="e")}


@pytest.mark.parametrize("rolls_back", [True, False])
@pytest.mark.parametrize(("between", "more"), [
    (shapes.Part(a="1", fixed="x"), _ELSEWHERE), (shapes.Part(a="2", fixed="x"), {}),
    (shapes.Part(a="1", fixed="x", drift="ignore"), {}), (shapes.Part(a="1", fixed="x", retain=True), {}),
    (shapes.Part(a="1", fixed="x", alias="One"), {}),
], ids=["its attribute is read", "changed in place", "other metadata", "other policy", "other type name"])
def test_an_original_with_another_definition_comes_back(
    between: shapes.Part, more: shapes.Shape, *, rolls_back: bool
) -> None:
    """A failed update applies another definition to `e` and keeps its object; the next one replaces `e` and fails. What
    returns to the complete operation brings the object back, also where the definition never touched it (I15)."""
    good = {"d": shapes.Part(), "e": shapes.Part(a="1", fixed="x")}
    first = {"d": shapes.Part(fixed="q", fail="build"), "e": between, **more}
    second = {"d": shapes.Part(fixed="r", fail="create", after=("e",)), "e": shapes.Part(fixed="y")}
    requests = [Request(0.0, "s0", Verb.CREATE, good), Request(200.0, "s0", Verb.UPDATE, first),
                Request(400.0, "s0", Verb.UPDATE, second, rollback=rolls_back)]
    if not rolls_back:
        requests.append(Request(600.0, "s0", Verb.UPDATE, good))
    outcome = play(*requests)
    back = outcome.lines[:next(i for i, line in enumerate(outcome.lines) if "faults are over" in line)]
    made = [line.split()[3] for line in back if "cloud: created s0-e-" in line]
    assert len(made) == 2, "no copy of the original is made"
    assert not any(f"deleted {made[0]}" in line for line in back)
    assert any(f"deleted {made[1]}" in line for line in back)


def test_a_copy_makes_way_for_the_original() -> None:
    """An update that changes more than `e` has made a copy of its original, which is as wanted; then an update returns to
    the complete operation (I15)."""
    good = {"d": shapes.Part(), "e": shapes.Part(a="1", fixed="x")}
    play(Request(0.0, "s0", Verb.CREATE, good),
         Request(200.0, "s0", Verb.UPDATE, {"e": shapes.Part(a="2", fixed="x"), "d": shapes.Part(fail="build", fixed="q")}),
         Request(400.0, "s0", Verb.UPDATE,
                 {"e": shapes.Part(fixed="y"), "d": shapes.Part(fail="create", after=("e",), fixed="r")}),
         Request(600.0, "s0", Verb.UPDATE, {**good, "d": shapes.Part(fail="create", after=("e",), fixed="s")}),
         Request(800.0, "s0", Verb.UPDATE, good))


def test_a_version_that_drift_has_replaced_does_not_come_back() -> None:
    """The replacement of the drifted `e` is complete, its dependant is not, and the same update comes again (I2)."""
    shape = {"e": shapes.Part(fixed="x"), "d": shapes.Part(fixed="x", base="e")}
    requests = (Request(0.0, "s0", Verb.CREATE, shape), Request(100.0, "s0", Verb.UPDATE, shape, converge=True),
                Request(105.0, "s0", Verb.UPDATE, shape))
    world = run.Run(dataclasses.replace(drawn_histories.draw(0), requests=requests, rates={}))

    def drift() -> None:
        thing = next(one for one in world.cloud.things.values() if one.name == "e")
        thing.properties["fixed"] = "drift"
        world.witness.drift(thing)

    world.loop.call_later(50.0, drift)
    outcome = world.play()
    assert outcome.well, outcome.violations
    assert not any("UPDATE_COMPLETE" in line and float(line.split()[0]) < 105.0 for line in outcome.lines)
    assert sum("cloud: created s0-e-" in line for line in outcome.lines) == 2


@pytest.mark.parametrize("later_s", [0.5, 2.0])
def test_a_stopped_operation_on_a_nested_stack_leaves_no_older_one(later_s: float) -> None:
    """Two updates stop the operation on the nested stack, one after another, and the last is cancelled before it opens a
    third one there (I16)."""
    nested = {"n": shapes.Part("", inner={"c": shapes.Part()})}
    outcome = play(
        Request(0.0, "s0", Verb.CREATE, nested), Request(0.5, "s0", Verb.UPDATE, {**nested, "x": shapes.Part()}),
        Request(0.5 + later_s, "s0", Verb.UPDATE, {**nested, "y": shapes.Part()}),
        Request(0.52 + later_s, "s0", Verb.CANCEL_STAY))
    assert sum("Stopped: a newer operation" in line for line in outcome.lines) == 2


def test_an_object_may_be_retained_in_the_commit_that_accepts_another_policy() -> None:
    """A deletion retains `a`, and with one of these dice the same commit accepts an update without the policy (I1, I17)."""
    kept, free = {"a": shapes.Part(a="1", retain=True)}, {"a": shapes.Part(a="1")}
    other = {"b": shapes.Part()}
    for dice in range(40):
        play(Request(0.0, "s0", Verb.CREATE, {**kept, **other}), Request(100.0, "s0", Verb.DELETE),
             Request(100.05, "s0", Verb.UPDATE, {**free, **other}), dice=dice)
