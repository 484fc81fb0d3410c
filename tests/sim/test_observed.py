"""Histories with observers in the simulated world, among them those that seeds have found."""

from __future__ import annotations

import dataclasses
import math

import pytest

from isotherm.sim import run
from isotherm.sim.histories import drawn_histories, shapes
from isotherm.sim.histories.history import Request, Verb, Watched
from isotherm.sim.seeds import shrink
from isotherm.sim.world import processes
from isotherm.store.watch import goals
from tests.sim import bug_histories

pytestmark = pytest.mark.ledger("S1.5")
PAIR = {"a": shapes.Part(a="v1"), "b": shapes.Part(a="v1", link="a")}


def world(seed: int, *requests: Request, **more: object) -> run.Run:
    drawn = dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={"drift": 0.0}, ends_with_delete=False,
                                workers=1, watched=Watched(1, 30.0, policy="repair"))
    return run.Run(dataclasses.replace(drawn, **more))  # type: ignore[arg-type]


def created(shape: shapes.Shape = PAIR) -> Request:
    return Request(0.0, "s0", Verb.CREATE, shape)


def repairs(outcome: run.Outcome) -> list[str]:
    return [line for line in outcome.lines if "accepted UPDATE" in line and line.rpartition(" ")[2].startswith("o")]


def drift_later(it: run.Run, name: str, at: float) -> None:
    """Change the object of this name at a time behind the engine's back."""

    def change() -> None:
        it.cloud.change(next(one for one in it.cloud.things.values() if one.name == name), "a")

    it.loop.call_later(at, change, context=it.faults.no_process)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("policy", "mended"), [("repair", 1), ("report", 0), ("ignore", 0)])
def test_what_drifts_is_dealt_with_by_policy(seed: int, policy: str, mended: int) -> None:
    it = world(seed, created(), Request(100.0, "s0", Verb.DRIFT), watched=Watched(1, 30.0, policy=policy))
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert len(repairs(outcome)) == mended


@pytest.mark.parametrize(("word", "mended"), [("all", 0), ("delete", 1)])
def test_what_may_not_change_is_reported_alone(word: str, mended: int) -> None:
    """The breaker of `a` stays closed, and an update at the end brings `a` back in order."""
    it = world(0, created(), Request(50.0, "s0", Verb.PROTECT, resource="a", word=word), Request(300.0, "s0", Verb.READ))
    drift_later(it, "a", 100.0)
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert len(repairs(outcome)) == mended
    assert not any(row.tripped_at for row in it.database.read_table("repairs"))


@pytest.mark.parametrize("seed", range(4))
def test_a_fight_is_given_up(seed: int) -> None:
    it = world(seed, created(), watched=Watched(1, 30.0, policy="repair", limit=2, fight=("s0", "a")))
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert len(repairs(outcome)) == 2
    assert [row.name for row in it.database.read_table("repairs") if row.tripped_at is not None] == ["a"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("hook", ["cloud.get.before", "cloud.get.after", "write.before", "write.after", "read.after"])
def test_an_observer_that_dies_is_replaced(seed: int, hook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one goes on when its lease has run out, and what drifted is repaired once."""
    it = world(seed, created(), Request(100.0, "s0", Verb.DRIFT), watched=Watched(2, 30.0, policy="repair"))
    killed: list[str] = []

    def may_die(process: processes.Process, where: str) -> None:
        if it.loop.time() - it.epoch > 100.0 and where == hook and process.name.startswith("o") and len(killed) < 3:
            killed.append(process.name)
            it.faults.kill(process, where)

    monkeypatch.setattr(it.faults, "may_die", may_die)
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert len(killed) == 3
    assert len(repairs(outcome)) == 1


@pytest.mark.parametrize("seed", range(8))
def test_an_update_whose_answer_got_lost_is_waited_for(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values are shown at once, and the object is still changing: its users have to wait."""
    before = {"a": shapes.Part(a="v1"), "b": shapes.Part(a="v1", base="a")}
    after = {"a": shapes.Part(a="v2"), "b": shapes.Part(a="v1", base="a", fixed="x")}
    it = world(seed, created(before), Request(200.0, "s0", Verb.UPDATE, after, converge=True), watched=Watched())
    lost: list[str] = []

    def strikes(fault: str, hook: str) -> bool:
        hit = (fault, hook) == ("answer lost, try again", "cloud.update") and not lost
        lost.extend([fault] if hit else [])
        return hit

    monkeypatch.setattr(it.chance, "strikes", strikes)
    # Everything takes as long as it may: building longer than the time after which it is asked again.
    monkeypatch.setattr(it.chance, "delay", lambda longest: longest)
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert lost


@pytest.mark.parametrize("seed", range(4))
def test_what_is_adopted_after_a_failure_uses_what_it_used(seed: int) -> None:
    """What it needs is gone and made anew; until it has moved to that, it is known to use the old one."""
    requests = [created(), Request(200.0, "s0", Verb.ABANDON), Request(300.0, "s0", Verb.ADOPT),
                Request(400.0, "s0", Verb.UPDATE, PAIR)]
    it = world(seed, *requests, watched=Watched())

    def vanish() -> None:
        it.cloud.vanish(next(one.id for one in it.cloud.things.values() if one.name == "a"))

    it.loop.call_later(150.0, vanish, context=it.faults.no_process)
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert any("ADOPT_FAILED" in line for line in outcome.lines)


@pytest.mark.parametrize("seed", range(4))
def test_a_failed_suspend_is_not_undone_after_a_check(seed: int) -> None:
    """A suspend fails on a lost object, and so does a check: the stack counts as suspended, and is not repaired."""
    shape = {"e": shapes.Part(a="v1"), "g": shapes.Part(a="v1", base="e", drift="ignore")}
    requests = [created(shape), Request(200.0, "s0", Verb.SUSPEND), Request(400.0, "s0", Verb.CHECK)]
    it = world(seed, *requests)

    def vanish() -> None:
        it.cloud.vanish(next(one.id for one in it.cloud.things.values() if one.name == "g"))

    it.loop.call_later(150.0, vanish, context=it.faults.no_process)
    drift_later(it, "e", 300.0)
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert any("SUSPEND_FAILED" in line for line in outcome.lines)
    assert any("CHECK_FAILED" in line for line in outcome.lines)
    assert not repairs(outcome)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("part", [
    shapes.Part(shapes.NOTHING), shapes.Part("", inner={"c": shapes.Part(shapes.NOTHING)}),
], ids=["without an object", "nested stack"])
def test_what_has_no_object_can_be_suspended(seed: int, part: shapes.Part) -> None:
    """A suspend fails on `g`, and `e`, which `g` uses, is not suspended. But `n` is: the stack is not repaired."""
    shape = {"e": shapes.Part(a="v1"), "g": shapes.Part(fail="build", link="e", drift="ignore"), "n": part}
    requests = [created(shape), Request(200.0, "s0", Verb.SUSPEND), Request(400.0, "s0", Verb.CHECK)]
    it = world(seed, *requests)
    drift_later(it, "e", 300.0)
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert any("SUSPEND_FAILED" in line for line in outcome.lines)
    assert any("CHECK_FAILED" in line for line in outcome.lines)
    assert not repairs(outcome)


def test_a_repair_of_what_is_suspended_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goals, "_has_suspended", lambda connection, stack_id: False)
    shape = {"e": shapes.Part(a="v1"), "g": shapes.Part(fail="build", link="e"), "n": shapes.Part(shapes.NOTHING)}
    it = world(0, created(shape), Request(200.0, "s0", Verb.SUSPEND), Request(400.0, "s0", Verb.CHECK))
    drift_later(it, "e", 300.0)
    assert it.play().violations == ["I19: a repair of s0 was accepted while n is suspended"]


NESTED = shapes.Part("", inner={"c": shapes.Part(a="v1")})
# Shapes before and after; a failure of the operation on what uses the nested stack keeps that from being deleted.
DROPPED: dict[str, tuple[shapes.Shape, shapes.Shape | None]] = {
    "with the stack": ({"n": NESTED, "g": shapes.Part(fail="delete", after=("n",))}, None),
    "by an update": ({"n": NESTED, "g": shapes.Part(after=("n",))}, {"g": shapes.Part(a="v2", fail="update")}),
    "inside": ({"o": shapes.Part("", inner={"n": NESTED, "g": shapes.Part(after=("n",))})},
               {"o": shapes.Part("", inner={"g": shapes.Part(a="v2", fail="update")})}),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("how", DROPPED)
def test_a_nested_stack_that_is_to_be_deleted_is_not_repaired(seed: int, how: str) -> None:
    """Its deletion has not begun when the operation fails; a check follows. A repair would undo the deletion of `g`."""
    before, after = DROPPED[how]
    drops = Request(100.0, "s0", Verb.DELETE) if after is None else Request(100.0, "s0", Verb.UPDATE, after)
    it = world(seed, created(before), drops, Request(200.0, "s0", Verb.CHECK), Request(600.0, "s0", Verb.READ))
    drift_later(it, "c", 300.0)
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert any(f"{drops.verb.name}_FAILED of s0:" in line for line in outcome.lines)
    assert not repairs(outcome)


def test_a_repair_of_what_is_to_be_deleted_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goals, "_wanted_parent", lambda connection, stack_id, owner_id: "n")
    shape, _ = DROPPED["with the stack"]
    it = world(0, created(shape), Request(100.0, "s0", Verb.DELETE), Request(200.0, "s0", Verb.CHECK),
               Request(600.0, "s0", Verb.READ))
    drift_later(it, "c", 300.0)
    assert it.play().violations == ["I19: a repair of s0 undoes its deletion"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("moment", [0.03, 0.05, 0.08, 0.5, 2.0])
def test_what_is_abandoned_while_it_is_made_is_there_once_after_the_adoption(seed: int, moment: float) -> None:
    """Answers are lost: the export document has no id of the created object, which is found by its token."""
    requests = [created(), Request(moment, "s0", Verb.ABANDON), Request(900.0, "s0", Verb.ADOPT)]
    it = world(seed, *requests, watched=Watched(), rates={"drift": 0.0, "answer lost, try again": 0.5, "answer slow": 0.5})
    outcome = it.play()
    assert outcome.well, outcome.violations
    assert any("ADOPT_COMPLETE" in line for line in outcome.lines)
    assert sorted(one.name for one in it.cloud.things.values() if not one.foreign) == ["a", "b"]


def test_a_history_with_observers_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """The history is a written one, and the shrinker has as long as it takes: how fast the machine is does not matter."""
    bug_histories.OF_OBSERVER["a_repair_is_for_everything"](monkeypatch)
    requests = created(), Request(50.0, "s0", Verb.READ), Request(100.0, "s0", Verb.DRIFT), Request(200.0, "s0", Verb.READ)
    whole = world(0, *requests, watched=Watched(2, 30.0, policy="repair"))
    outcome = whole.play()
    assert shrink.kind(outcome) == "I19"
    small = shrink.shrink(whole.history, outcome, seconds=math.inf)
    assert shrink.kind(small.outcome) == "I19"
    assert [one.verb for one in small.history.requests] == [Verb.CREATE, Verb.DRIFT]
    assert small.history.watched.observers == 1
