"""The simulated world: a seed is deterministic, killed processes stay dead, and the cloud refuses wrong orders."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import os
import subprocess
import sys
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm import errors
from isotherm.sim import run
from isotherm.sim.histories import drawn_histories, shapes
from isotherm.sim.histories.history import History, Request, Verb
from isotherm.sim.seeds import shrink
from isotherm.sim.world import processes, store
from isotherm.sim.world.loop import SimLoop
from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.records import Event
from isotherm.store.versions import superseded
from tests.sim.bugs import BUGS

REPLAY = """
import hashlib
from isotherm.sim import run
from isotherm.sim.histories import drawn_histories
drawn = [drawn_histories.draw(seed) for seed in range(40, 80)]
chosen = [*drawn[:4], *[one for one in drawn if one.watched.observers][:3]]
lines = [line for one in chosen for line in run.play(one).lines]
print(hashlib.sha256("\\n".join(lines).encode()).hexdigest())
"""


def start(loop: SimLoop, process: processes.Process, work: object) -> asyncio.Task[None]:
    context = contextvars.copy_context()
    context.run(processes.OWNER.set, process)
    return context.run(lambda: loop.create_task(work, context=context))


def test_a_seed_is_one_history_in_every_process() -> None:
    """Also where Python orders its sets differently."""
    said = {
        subprocess.run([sys.executable, "-c", REPLAY], env={**os.environ, "PYTHONHASHSEED": number}, check=True,
                       capture_output=True, text=True).stdout
        for number in ("1", "2")
    }
    assert len(said) == 1


def test_time_stands_still_until_nothing_can_run() -> None:
    loop = SimLoop(Random(1))
    began = loop.time()

    async def nap() -> None:
        await asyncio.sleep(3600)

    loop.run_until(nap())
    assert loop.time() - began == 3600


def test_the_order_of_what_is_ready_is_the_seeds() -> None:
    def order(seed: int) -> list[int]:
        loop = SimLoop(Random(seed))
        seen: list[int] = []
        for number in range(6):
            loop.call_soon(seen.append, number)
        loop.run(lambda: len(seen) == 6)
        return seen

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(20)}) > 10


@pytest.mark.ledger("S0.4")
def test_nothing_of_a_killed_process_runs_any_more() -> None:
    loop = SimLoop(Random(1))
    said: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(10)
            said.append("went on")
        finally:
            said.append("cleaned up")

    process = processes.Process("w", killable=True)
    start(loop, process, work())
    loop.call_later(5, setattr, process, "alive", False)
    loop.run(lambda: False)
    assert said == []


def test_a_paused_process_goes_on_where_it_was() -> None:
    drawn = run.Run(History(1, 1, (), {}))
    process = processes.Process("w", killable=True)
    said: list[float] = []

    async def work() -> None:
        await asyncio.sleep(1)
        said.append(drawn.loop.time() - drawn.epoch)

    start(drawn.loop, process, work())
    process.paused = True
    drawn.loop.call_later(100, drawn.faults.resume, process)
    drawn.loop.run(lambda: bool(said))
    assert said == [101]


def cloud() -> run.Run:
    world = run.Run(History(1, 1, (), {}))
    world.cloud.witness = None
    world.cloud.build_s = 0.0
    return world


def ask(world: run.Run, work: object) -> object:
    return world.loop.run_until(work)  # type: ignore[arg-type]


def test_the_cloud_refuses_to_delete_what_is_in_use() -> None:
    world = cloud()
    ask(world, world.cloud.create("k", "t1", {}, "s-a-1"))
    ask(world, world.cloud.create("k", "t2", {"link": "s-a-1"}, "s-b-2"))
    with pytest.raises(errors.Permanent, match="in use"):
        ask(world, world.cloud.delete("s-a-1"))
    assert ask(world, world.cloud.delete("s-b-2"))
    assert ask(world, world.cloud.delete("s-a-1"))
    assert not ask(world, world.cloud.delete("s-a-1"))


def test_the_cloud_refuses_a_token_that_was_used() -> None:
    world = cloud()
    ask(world, world.cloud.create("k", "t1", {}, "s-a-1"))
    with pytest.raises(errors.Permanent, match="twice"):
        ask(world, world.cloud.create("k", "t1", {}, "s-a-2"))
    assert not ask(world, world.cloud.update("s-x-9", {}))


def test_all_faults_strike_somewhere() -> None:
    hit = {fault for seed in range(60) for fault, _ in run.play(drawn_histories.draw(seed)).hit}
    assert hit == set(drawn_histories.RATES)


def test_a_history_that_breaks_something_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS["deletes_in_any_order"](monkeypatch)
    drawn = drawn_histories.draw(0)
    small = shrink.shrink(drawn, run.play(drawn), seconds=10.0)
    assert shrink.kind(small.outcome) == "I7"
    assert len(small.history.requests) < len(drawn.requests)


@pytest.mark.ledger("S1.3")
@pytest.mark.parametrize("seed", range(8))
def test_killed_between_the_look_and_the_deed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next worker observes by itself, and creates the lost object once."""
    shape = {"a": shapes.Part(a="v1"), "b": shapes.Part(a="v1")}
    requests = (Request(0.0, "s0", Verb.CREATE, shape), Request(200.0, "s0", Verb.VANISH),
                Request(201.0, "s0", Verb.UPDATE, shape, converge=True))
    drawn = dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={"drift": 0.0}, ends_with_delete=False)
    world = run.Run(drawn)
    killed: list[str] = []

    def may_die(process: processes.Process, hook: str) -> None:
        if world.loop.time() - world.epoch > 201.0 and hook == "cloud.get.after" and len(killed) < 2:
            killed.append(hook)
            world.faults.kill(process, hook)

    monkeypatch.setattr(world.faults, "may_die", may_die)
    outcome = world.play()
    assert outcome.well, outcome.violations
    assert len(killed) == 2
    made = [line for line in outcome.lines if "cloud: created" in line]
    assert len(made) == 3, "two at first, and the one that had vanished"


@pytest.mark.parametrize("seed", range(4))
def test_what_is_gone_is_not_woken_first(seed: int) -> None:
    """Both are lost while they are suspended. Resuming the first fails; the second is not tried, and stays suspended."""
    shape = {"a": shapes.Part(a="v1"), "b": shapes.Part(a="v1", after=("a",))}
    verbs = (Verb.CREATE, Verb.SUSPEND, Verb.VANISH, Verb.VANISH, Verb.RESUME)
    requests = tuple(Request(200.0 * n, "s0", verb, shape if verb is Verb.CREATE else {}) for n, verb in enumerate(verbs))
    drawn = dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={"drift": 0.0}, ends_with_delete=False)
    outcome = run.play(drawn)
    assert outcome.well, outcome.violations
    assert any("RESUME_FAILED" in line for line in outcome.lines)
    assert sum("cloud: created" in line for line in outcome.lines) == 4


@pytest.mark.ledger("S2.14")
@pytest.mark.parametrize("seed", range(5))
def test_a_failed_replacement_leaves_the_old_one_for_the_rollback(seed: int) -> None:
    """The old object is taken up again, not made anew."""
    good = {"a": shapes.Part(fixed="x"), "b": shapes.Part(link="a")}
    bad = {"a": shapes.Part(fixed="y"), "b": shapes.Part(link="a", fail="update")}
    requests = (Request(0.0, "s0", Verb.CREATE, good), Request(100.0, "s0", Verb.UPDATE, bad, rollback=True))
    world = run.Run(dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={}, ends_with_delete=True))
    assert world.play().well
    made = [line for line in world.log.lines if "cloud: created s0-a-" in line]
    # The first, the replacement that was rolled back, and the one that the end of every run asks for.
    assert len(made) == 3
    assert any("ROLLBACK_COMPLETE" in line for line in world.log.lines)


@pytest.mark.ledger("S2.14")
@pytest.mark.parametrize("seed", range(5))
def test_a_rollback_takes_up_what_a_replacement_moved_with_it(seed: int) -> None:
    """What used the old object was replaced with it: both come back, though the template changed but one."""
    good = {"c": shapes.Part(fixed="x"), "a": shapes.Part(base="c")}
    bad = {"c": shapes.Part(fixed="y"), "a": shapes.Part(base="c"), "d": shapes.Part(base="a", fail="create")}
    requests = (Request(0.0, "s0", Verb.CREATE, good), Request(100.0, "s0", Verb.UPDATE, bad, rollback=True))
    world = run.Run(dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={}, ends_with_delete=True))
    outcome = world.play()
    assert outcome.well, outcome.violations
    assert any("ROLLBACK_COMPLETE" in line for line in world.log.lines)
    for name in ("c", "a"):
        # The first, the replacement that was rolled back, and the one that the end of every run asks for.
        assert sum(f"cloud: created s0-{name}-" in line for line in world.log.lines) == 3


def _after_the_newer_version(*then: Request) -> tuple[Request, ...]:
    """Requests that leave e without its newer version, which was dropped and deleted first, and with its older one."""
    f, older, newer = shapes.Part(fixed="x"), shapes.Part(base="f"), shapes.Part()
    return (Request(0.0, "s0", Verb.CREATE, {"f": f, "e": older}),
            Request(100.0, "s0", Verb.UPDATE, {"f": f, "e": newer, "z": shapes.Part(after=("e",), fail="create")}),
            Request(200.0, "s0", Verb.UPDATE, {"f": f, "y": shapes.Part(after=("f",), fail="create")}), *then)


@pytest.mark.ledger("S2.14")
@pytest.mark.parametrize("seed", range(5))
def test_a_rollback_takes_up_an_original_whose_newer_version_was_deleted(seed: int) -> None:
    """The name has no node any more: the original gets one, and is not made anew (I15)."""
    requests = _after_the_newer_version(Request(300.0, "s0", Verb.ROLLBACK))
    outcome = run.play(dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={}))
    assert outcome.well, outcome.violations
    assert any("ROLLBACK_COMPLETE" in line for line in outcome.lines)
    assert sum("cloud: created s0-e-" in line for line in outcome.lines) == 2, "the original, and the newer one"


@pytest.mark.parametrize("seed", range(5))
def test_a_deletion_policy_holds_for_an_older_version_whose_newer_one_was_deleted(seed: int) -> None:
    """The name has no node any more when the template says that its objects are to be kept (I17)."""
    kept = {"f": shapes.Part(fixed="x"), "e": shapes.Part(fixed="x", retain=True)}
    requests = _after_the_newer_version(Request(300.0, "s0", Verb.UPDATE, kept))
    outcome = run.play(dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={}))
    assert outcome.well, outcome.violations
    assert sum("cloud: deleted s0-e-" in line for line in outcome.lines) == 1, "only the newer one"


@pytest.mark.parametrize("seed", range(5))
def test_what_slept_when_its_deletion_began_is_made_anew_and_not_woken(seed: int) -> None:
    """A check calls the deletion off when the object is gone already; then everything is wanted back."""
    requests = (Request(0.0, "s0", Verb.CREATE, {"c": shapes.Part(kind="Sim::Pet")}), Request(100.0, "s0", Verb.SUSPEND),
                Request(200.0, "s0", Verb.DELETE), Request(200.5 + seed / 5, "s0", Verb.CHECK))
    outcome = run.play(dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={"answer slow": 1.0}))
    assert outcome.well, outcome.violations
    assert any("accepted CHECK" in line for line in outcome.lines)


def test_what_was_to_be_given_up_is_kept_where_a_newer_update_wants_it() -> None:
    """A delete would have let go of it. Nothing had been done to it when the update came, which does not let go."""
    requests = (Request(0.0, "s0", Verb.CREATE, {"e": shapes.Part(retain=True)}), Request(100.0, "s0", Verb.DELETE),
                Request(100.01, "s0", Verb.UPDATE, {"e": shapes.Part()}))
    for dice in range(20):
        drawn = dataclasses.replace(drawn_histories.draw(0), requests=requests, rates={}, workers=1, dice=dice)
        outcome = run.play(drawn)
        assert outcome.well, (dice, outcome.violations)


@pytest.mark.parametrize(("hook", "after"), [
    ("after", {"a": shapes.Part(), "b": shapes.Part("Sim::Repeatable", a="2", uses=("a",))}),
    # What the first request named changes while it would be repeated: its user is told instead.
    ("before", {"a": shapes.Part(a="2"), "b": shapes.Part("Sim::Repeatable", a="2")}),
])
def test_a_create_is_repeated_as_it_was_and_in_order(
    hook: str, after: shapes.Shape, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies right before or after the request; the next one comes for a newer template."""
    first = {"a": shapes.Part(), "b": shapes.Part("Sim::Repeatable", a="1", uses=("a",))}
    requests = (Request(0.0, "s0", Verb.CREATE, first), Request(30.0, "s0", Verb.UPDATE, after))
    for dice in range(8):
        world = run.Run(dataclasses.replace(drawn_histories.draw(0), requests=requests, rates={}, workers=2, dice=dice))
        create = world.cloud.create
        killed: list[Any] = []

        async def dies_once(
            kind: str, token: str, *rest: Any, world: Any = world, create: Any = create, killed: Any = killed
        ) -> None:
            dies = kind == "Sim::Repeatable" and not killed
            killed += [token] * dies
            if dies and hook == "after":
                world.loop.call_soon(world.faults.kill, processes.current(), hook)
            elif dies:
                world.faults.kill(processes.current(), hook)
            await create(kind, token, *rest)

        monkeypatch.setattr(world.cloud, "create", dies_once)
        outcome = world.play()
        assert outcome.well, (dice, outcome.violations)
        assert len(killed) == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_change_that_ended_during_a_check_reaches_its_readers(seed: int) -> None:
    """The check has no mind to change anything; what an update had begun to change counts all the same."""
    before = {"c": shapes.Part(a="1"), "g": shapes.Part(seen="c")}
    after = {**before, "c": shapes.Part(a="2")}
    requests = (Request(0.0, "s0", Verb.CREATE, before), Request(100.0, "s0", Verb.UPDATE, after),
                Request(100.2 + seed / 10, "s0", Verb.CHECK))
    outcome = run.play(dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={}))
    assert outcome.well, outcome.violations
    assert any("CHECK_COMPLETE" in line for line in outcome.lines)


@pytest.mark.parametrize("inside", [False, True])
def test_what_could_not_be_woken_is_woken_before_it_is_changed(inside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is mended in place, so it is the same that sleeps. Once it is awake, an update without a change finds it so."""
    pet = shapes.Part(kind="Sim::Pet", a="1")
    shape = {"q": shapes.Part("", inner={"a": pet})} if inside else {"a": pet}
    requests = (Request(0.0, "s0", Verb.CREATE, shape), Request(200.0, "s0", Verb.SUSPEND),
                Request(400.0, "s0", Verb.RESUME))
    world = run.Run(dataclasses.replace(drawn_histories.draw(1), requests=requests, rates={}, ends_with_delete=False))
    update, calls = world.cloud.update, []

    async def fails_once(physical_id: str, properties: dict[str, Any]) -> None:
        calls.append(physical_id)
        if len(calls) == 2:
            raise errors.Permanent("no valid host was found")
        await update(physical_id, properties)

    monkeypatch.setattr(world.cloud, "update", fails_once)
    outcome = world.play()
    assert outcome.well, outcome.violations
    assert any("RESUME_FAILED of s0:" in line for line in outcome.lines)
    assert sum("cloud: created" in line for line in outcome.lines) == 1


@pytest.mark.parametrize("seed", range(5))
def test_what_sleeps_wakes_before_what_it_used_is_changed(seed: int) -> None:
    """The newest template has other references; the objects still have the old ones (I6)."""
    before = {"f": shapes.Part(), "a": shapes.Part(uses=("f",))}
    after = {"c": shapes.Part(), "f": shapes.Part(a="2", uses=("c",)), "a": shapes.Part(a="2", uses=("c",))}
    requests = (Request(0.0, "s0", Verb.CREATE, before), Request(100.0, "s0", Verb.SUSPEND),
                Request(200.0, "s0", Verb.CHECK), Request(300.0, "s0", Verb.UPDATE, after))
    outcome = run.play(dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={}, workers=2))
    assert outcome.well, outcome.violations
    assert sum("cloud: created" in line for line in outcome.lines) == 3, "nothing was made anew"


@pytest.mark.parametrize("seed", range(5))
def test_what_sleeps_wakes_after_what_it_used_and_will_be_used_by(seed: int) -> None:
    """The two have changed places: each has to be there before the other, once to wake and once to change."""
    before = {"f": shapes.Part(), "a": shapes.Part(uses=("f",))}
    after = {"a": shapes.Part(a="2"), "f": shapes.Part(uses=("a",))}
    requests = (Request(0.0, "s0", Verb.CREATE, before), Request(100.0, "s0", Verb.SUSPEND),
                Request(200.0, "s0", Verb.CHECK), Request(300.0, "s0", Verb.UPDATE, after))
    outcome = run.play(dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={}))
    assert outcome.well, outcome.violations
    assert sum("cloud: created" in line for line in outcome.lines) == 2, "nothing was made anew"


@pytest.mark.parametrize("seconds", [0.5, 3.0, 8.0])
def test_what_uses_one_that_is_still_waking_waits_for_it_though_it_is_not_wanted_any_more(seconds: float) -> None:
    """A resume that ran out of time leaves it half awake; the next template has no place for it."""
    before = {"g": shapes.Part(), "e": shapes.Part(uses=("g",))}
    requests = (Request(0.0, "s0", Verb.CREATE, before), Request(100.0, "s0", Verb.UPDATE, before, timeout_s=11.0),
                Request(200.0, "s0", Verb.SUSPEND), Request(300.0, "s0", Verb.RESUME),
                Request(300.0 + seconds, "s0", Verb.CANCEL_STAY), Request(300.1 + seconds, "s0", Verb.UPDATE, {
                    "e": shapes.Part(a="2")}))
    for dice in range(5):
        outcome = run.play(dataclasses.replace(drawn_histories.draw(0), requests=requests, rates={}, dice=dice))
        assert outcome.well, (dice, outcome.violations)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_gone_inside_does_not_fail_the_update_that_would_wake_it(seed: int) -> None:
    """A stack inside need not be woken before it is updated, and cannot be when something in it is gone."""
    shape = {"q": shapes.Part("", inner={"n": shapes.Part("", inner={"f": shapes.Part()})})}
    requests = (Request(0.0, "s0", Verb.CREATE, shape), Request(100.0, "s0", Verb.SUSPEND),
                Request(200.0, "s0", Verb.CHECK), Request(300.0, "s0", Verb.DRIFT),
                Request(400.0, "s0", Verb.UPDATE, shape, converge=True))
    outcome = run.play(dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={"drift": 0.0}))
    assert outcome.well, outcome.violations
    assert any("vanishes" in line for line in outcome.lines)
    assert not any("UPDATE_FAILED" in line for line in outcome.lines)


def test_what_cannot_be_adopted_any_more_is_brought_to_what_the_update_wants() -> None:
    """Its creation had failed, and it was not checked before the update came: the update does not fail because of it."""
    requests = (Request(0.0, "s0", Verb.CREATE, {"c": shapes.Part(fail="build")}), Request(100.0, "s0", Verb.ABANDON),
                Request(200.0, "s0", Verb.ADOPT), Request(200.08, "s0", Verb.UPDATE, {"c": shapes.Part(a="2")}))
    overtaken = 0
    for dice in range(20):
        outcome = run.play(dataclasses.replace(drawn_histories.draw(0), requests=requests, rates={}, dice=dice))
        assert outcome.well, (dice, outcome.violations)
        assert not any("UPDATE_FAILED" in line for line in outcome.lines), dice
        overtaken += not any("ADOPT_FAILED" in line for line in outcome.lines)
    assert overtaken


@pytest.mark.parametrize("seed", range(5))
def test_what_is_to_be_deleted_need_not_rest_though_a_check_had_meant_to_look_at_it(seed: int) -> None:
    requests = (Request(0.0, "s0", Verb.CREATE, {"a": shapes.Part(), "d": shapes.Part(fail="delete")}),
                Request(100.0, "s0", Verb.UPDATE, {"a": shapes.Part()}), Request(200.0, "s0", Verb.CHECK),
                Request(200.0, "s0", Verb.SUSPEND))
    for dice in range(10):
        outcome = run.play(dataclasses.replace(drawn_histories.draw(seed), requests=requests, rates={}, dice=dice))
        assert outcome.well, (dice, outcome.violations)


def test_a_version_whose_deletion_ends_after_its_node_was_given_to_another_leaves_no_node_behind() -> None:
    """A rollback to nothing has begun to delete the newer of two versions when an update wants the older one back (I9)."""
    first = {"a": shapes.Part(fixed="x"), "e": shapes.Part(base="a")}
    late = {"z": shapes.Part(after=("e",), fail="create")}
    requests = (Request(0.0, "s0", Verb.CREATE, {**first, **late}),
                Request(200.0, "s0", Verb.UPDATE, {**first, "a": shapes.Part(fixed="y", fail="build")}),
                Request(400.0, "s0", Verb.ROLLBACK), Request(400.1, "s0", Verb.UPDATE, first))
    for dice in range(15):
        outcome = run.play(dataclasses.replace(drawn_histories.draw(0), requests=requests, rates={}, dice=dice))
        assert outcome.well, (dice, outcome.violations)


def test_the_witness_knows_copies_from_originals() -> None:
    """An object that was to be brought back is deleted for the rollback, and another like it is made (I15)."""
    good = {"c": shapes.Part(fixed="x"), "a": shapes.Part(base="c")}
    bad = {"c": shapes.Part(fixed="y"), "a": shapes.Part(base="c"), "d": shapes.Part(base="a", fail="create")}
    requests = (Request(0.0, "s0", Verb.CREATE, good), Request(100.0, "s0", Verb.UPDATE, bad, rollback=True))
    drawn = dataclasses.replace(drawn_histories.draw(0), requests=requests, rates={}, ends_with_delete=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(superseded, "take_up", lambda *arguments: set())
        outcome = run.play(drawn)
    assert outcome.violations[0].startswith("I15: s0-"), outcome.violations


def test_the_witness_sees_a_unit_that_another_one_of_the_same_commit_undoes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "COMMIT_S", 1000.0)  # virtual: the second unit comes before the commit of the first
    world = run.Run(History(1, 1, (), {}))
    told = Event("s", "o", "a", "T", None, Action.CREATE, Status.IN_PROGRESS, shapes.SECRET)

    async def both() -> None:
        first = asyncio.create_task(world.store.write(lambda connection: rows.insert_events(connection, [told], 0.0)))
        await asyncio.sleep(1)
        await world.store.write(lambda connection: connection.execute(sa.delete(t.events)))
        await first

    ask(world, both())
    assert world.store.commits == 1
    assert world.witness.violations[0].startswith("I17: an event shows a secret"), world.witness.violations
