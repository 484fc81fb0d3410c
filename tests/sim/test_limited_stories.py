"""Stories of limited updates: what stays for resources that were left out, and what a repair of these may delete."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from isotherm import errors
from isotherm.sim import run
from isotherm.sim.histories import drawn_histories
from isotherm.sim.histories.history import Request, Verb, Watched
from isotherm.sim.histories.shapes import Part, Shape


def world(*requests: Request, **more: Any) -> run.Run:
    quiet: dict[str, Any] = {"rates": {}, "workers": 1, "ends_with_delete": False, "dice": 0, **more}
    return run.Run(dataclasses.replace(drawn_histories.draw(0), requests=requests, **quiet))


def play(*requests: Request, **more: Any) -> run.Outcome:
    outcome = world(*requests, **more).play()
    assert outcome.well, outcome.violations
    return outcome


def objects(outcome: run.Outcome, verb: str, name: str) -> list[str]:
    """Return the objects of a name that were created or deleted before the faults were over, which is when clients rest."""
    end = next(i for i, line in enumerate(outcome.lines) if "faults are over" in line)
    return [line.split()[3] for line in outcome.lines[:end] if f"cloud: {verb} s0-{name}-" in line]


@pytest.mark.parametrize("later_s", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("user", [Part(base="d"), Part(uses=("d",)), Part(after=("d",))], ids=["base", "uses", "after"])
def test_what_a_superseded_update_dropped_stays_for_a_resource_that_is_left_out(user: Part, later_s: float) -> None:
    """The first update has not brought `b` to its definition without `d` when the second leaves `b` out (I2, I7)."""
    before = {"d": Part(), "b": user}
    after = {"a": Part(), "c": Part(uses=("a",)), "b": Part(base="c", fixed="x")}
    outcome = play(
        Request(0.0, "s0", Verb.CREATE, before), Request(100.0, "s0", Verb.UPDATE, after, rollback=True),
        Request(100.0 + later_s, "s0", Verb.UPDATE, after, exclude=("a",)))
    assert any("Left out" in line for line in outcome.lines)
    assert not objects(outcome, "deleted", "d")


def test_a_dropped_nested_stack_stays_for_a_resource_that_is_left_out() -> None:
    before = {"n": Part("", inner={"c": Part()}), "b": Part(after=("n",))}
    after = {"a": Part(), "c": Part(uses=("a",)), "b": Part(base="c", fixed="x")}
    outcome = play(
        Request(0.0, "s0", Verb.CREATE, before), Request(100.0, "s0", Verb.UPDATE, after, rollback=True),
        Request(102.0, "s0", Verb.UPDATE, after, exclude=("a",)))
    assert any("Left out" in line for line in outcome.lines)
    assert not objects(outcome, "deleted", "n-")


def test_an_object_stays_for_a_failed_creation_that_is_left_out() -> None:
    """The creation of `b` failed with the first `c`; an update of `c` alone replaces it (I2, I7)."""
    before = {"c": Part(fixed="x"), "b": Part(base="c", fail="create")}
    after = {"c": Part(fixed="y"), "b": Part(base="c")}
    outcome = play(Request(0.0, "s0", Verb.CREATE, before), Request(100.0, "s0", Verb.UPDATE, after, target=("c",)))
    assert any("UPDATE_COMPLETE" in line and "Left out: 1" in line for line in outcome.lines)
    assert len(objects(outcome, "created", "c")) == 2


OBSERVED = Watched(1, 30.0, policy="repair")
# `d` uses `f`, which an update replaces without it.
PAIR: Shape = {"f": Part(fixed="x"), "d": Part(a="1", fixed="x", uses=("f",))}
REPLACED: Shape = {**PAIR, "f": Part(fixed="y")}


def drift(it: run.Run, at: float, name: str, what: str) -> None:
    """Change the newest object of a name behind the engine's back."""

    def change() -> None:
        it.cloud.change([one for one in it.cloud.things.values() if one.name == name][-1], what)

    it.loop.call_later(at, change, context=it.faults.no_process)


@pytest.mark.parametrize("what", ["a", "fixed"])
def test_a_repair_of_what_was_left_out_deletes_what_it_used_before(what: str) -> None:
    """The repair brings `d` to the new `f`, by its own definition. The old `f` stayed for `d` alone (I8, I19)."""
    it = world(Request(0.0, "s0", Verb.CREATE, PAIR), Request(100.0, "s0", Verb.UPDATE, REPLACED, exclude=("d",)),
               Request(400.0, "s0", Verb.READ), watched=OBSERVED, rates={"drift": 0.0})
    drift(it, 150.0, "d", what)
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert len(objects(outcome, "deleted", "f")) == 1


@pytest.mark.parametrize("fails", [False, True])
def test_an_object_that_stays_is_no_original(*, fails: bool) -> None:
    """The second limited update takes the first `a` up again, and the second `a` stays for `b` alone, until an update or a
    rollback has brought `b` to the first one (I2, I15)."""
    old = {"a": Part(fixed="x"), "e": Part(base="a"), "b": Part(uses=("a",))}
    new = {**old, "a": Part(fixed="y")}
    last = {**old, "z": Part(fail="create")} if fails else old
    outcome = play(
        Request(0.0, "s0", Verb.CREATE, old), Request(100.0, "s0", Verb.UPDATE, new, target=("b",)),
        Request(200.0, "s0", Verb.UPDATE, old, target=("a",)), Request(300.0, "s0", Verb.UPDATE, last, rollback=True))
    first, second = objects(outcome, "created", "a")
    assert objects(outcome, "deleted", "a") == [second]
    assert any("ROLLBACK_COMPLETE" in line for line in outcome.lines) == fails
    assert first


def repairs(outcome: run.Outcome) -> int:
    return sum("accepted UPDATE of s0, " in line and line.rpartition(" ")[2].startswith("o") for line in outcome.lines)


@pytest.mark.parametrize("waits", [False, True])
def test_a_nested_stack_that_was_left_out_is_repaired(*, waits: bool) -> None:
    """The repair is asked for `c` inside, and is one of `r` around it (I19)."""
    nested = Part("", link="g", inner={"c": Part(a="1", link="", given=False), "z": Part(a="z")})
    before = {"g": Part(fixed="x"), "r": nested}
    after = {"g": Part(fixed="y"), "r": dataclasses.replace(nested, a="2") if waits else nested}
    it = world(Request(0.0, "s0", Verb.CREATE, before), Request(100.0, "s0", Verb.UPDATE, after, exclude=("r",)),
               Request(400.0, "s0", Verb.READ), watched=OBSERVED, rates={"drift": 0.0})
    drift(it, 150.0, "c", "a")
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert any("Left out: 1" in line for line in outcome.lines)
    assert repairs(outcome) == 1


def test_a_repair_goes_on_with_what_the_last_one_has_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """The repair replaces `d`, and the update of `e` fails. The next repair is one of `d`, which is repaired; `e` was not
    left out by a user, as `w` was (I2, I19)."""
    shape = {"d": Part(a="1", fixed="x"), "e": Part(a="1", link="d"), "w": Part(a="1")}
    it = world(Request(0.0, "s0", Verb.CREATE, shape),
               Request(100.0, "s0", Verb.UPDATE, {**shape, "w": Part(a="2")}, exclude=("w",)),
               Request(400.0, "s0", Verb.READ), watched=OBSERVED, rates={"drift": 0.0})
    update = it.cloud.update
    refused: list[str] = []

    async def refuse_once(physical_id: str, properties: Any) -> bool:
        if "-e-" in physical_id and not refused:
            refused.append(physical_id)
            raise errors.Permanent("not now")
        return await update(physical_id, properties)

    monkeypatch.setattr(it.cloud, "update", refuse_once)
    drift(it, 150.0, "d", "fixed")
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert refused
    assert repairs(outcome) == 2


def test_a_repair_goes_on_with_a_limited_update_that_a_suspend_has_stopped() -> None:
    """The update has left `w` out, and has neither proven `b` nor begun `c`. The repair of `d` goes on with
    these (I2, I19)."""
    before = {"d": Part(a="1"), "w": Part(a="1")}
    after = {"d": Part(a="1"), "b": Part(), "c": Part(base="b"), "w": Part(a="2")}
    it = world(Request(0.0, "s0", Verb.CREATE, before), Request(100.0, "s0", Verb.UPDATE, after, exclude=("w",)),
               Request(100.5, "s0", Verb.SUSPEND), Request(150.0, "s0", Verb.RESUME), Request(200.0, "s0", Verb.CHECK),
               Request(500.0, "s0", Verb.READ), watched=OBSERVED, rates={"drift": 0.0})
    drift(it, 250.0, "d", "a")
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert objects(outcome, "created", "c")
    assert repairs(outcome) == 1
    assert any("RESUME_COMPLETE" in line and "Left out: 2" in line for line in outcome.lines)
    assert any("UPDATE_COMPLETE" in line and "Left out: 1" in line for line in outcome.lines)


def test_a_repair_deletes_an_older_version_of_a_resource_that_was_left_out() -> None:
    """A full update has replaced `f`, and failed before its clean-up; the next one leaves `f` out, which is up to date. The
    old `f` has no user (I8, I19)."""
    before = {"f": Part(fixed="x"), "d": Part(a="1")}
    failing = {"f": Part(fixed="y"), "d": Part(a="1"), "z": Part(fail="create")}
    after = {"f": Part(fixed="y"), "d": Part(a="1")}
    it = world(Request(0.0, "s0", Verb.CREATE, before), Request(100.0, "s0", Verb.UPDATE, failing),
               Request(150.0, "s0", Verb.UPDATE, after, exclude=("f",)), Request(400.0, "s0", Verb.READ),
               watched=OBSERVED, rates={"drift": 0.0})
    drift(it, 200.0, "d", "a")
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert repairs(outcome) == 1
