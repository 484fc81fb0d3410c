"""The simulated world itself: the same seed is the same history, the dead stay dead, and the cloud says no."""

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
from bugs import BUGS

from isotherm import errors
from isotherm.sim import history, processes, run, shapes, shrink
from isotherm.sim.history import History, Request, Verb
from isotherm.sim.loop import SimLoop

REPLAY = """
import hashlib
from isotherm.sim import history, run
drawn = [history.draw(seed) for seed in range(40, 80)]
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

    process = processes.Process("w", mortal=True)
    start(loop, process, work())
    loop.call_later(5, setattr, process, "alive", False)
    loop.run(lambda: False)
    assert said == []


def test_a_paused_process_goes_on_where_it_was() -> None:
    drawn = run.Run(History(1, 1, (), {}))
    process = processes.Process("w", mortal=True)
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
    hit = {fault for seed in range(60) for fault, _ in run.play(history.draw(seed)).hit}
    assert hit == set(history.RATES)


def test_a_history_that_breaks_something_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS["deletes_in_any_order"](monkeypatch)
    drawn = history.draw(0)
    small = shrink.shrink(drawn, run.play(drawn), seconds=10.0)
    assert shrink.kind(small.outcome) == "I7"
    assert len(small.history.requests) < len(drawn.requests)


@pytest.mark.ledger("S1.3")
@pytest.mark.parametrize("seed", range(8))
def test_killed_between_the_look_and_the_deed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes next looks for himself, and makes what is gone once."""
    shape = {"a": shapes.Part(a="v1"), "b": shapes.Part(a="v1")}
    requests = (Request(0.0, "s0", Verb.CREATE, shape), Request(200.0, "s0", Verb.VANISH),
                Request(201.0, "s0", Verb.UPDATE, shape, converge=True))
    drawn = dataclasses.replace(history.draw(seed), requests=requests, rates={"drift": 0.0}, ends_with_delete=False)
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
    """Both went while they were at rest. Waking the first fails; the second is never tried, and still counts as asleep."""
    shape = {"a": shapes.Part(a="v1"), "b": shapes.Part(a="v1", after=("a",))}
    verbs = (Verb.CREATE, Verb.SUSPEND, Verb.VANISH, Verb.VANISH, Verb.RESUME)
    requests = tuple(Request(200.0 * n, "s0", verb, shape if verb is Verb.CREATE else {}) for n, verb in enumerate(verbs))
    drawn = dataclasses.replace(history.draw(seed), requests=requests, rates={"drift": 0.0}, ends_with_delete=False)
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
    world = run.Run(dataclasses.replace(history.draw(seed), requests=requests, rates={}, ends_with_delete=True))
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
    world = run.Run(dataclasses.replace(history.draw(seed), requests=requests, rates={}, ends_with_delete=True))
    outcome = world.play()
    assert outcome.well, outcome.violations
    assert any("ROLLBACK_COMPLETE" in line for line in world.log.lines)
    for name in ("c", "a"):
        # The first, the replacement that was rolled back, and the one that the end of every run asks for.
        assert sum(f"cloud: created s0-{name}-" in line for line in world.log.lines) == 3


@pytest.mark.parametrize("seed", range(5))
def test_what_slept_when_its_deletion_began_is_made_anew_and_not_woken(seed: int) -> None:
    """A check calls the deletion off when the object is gone already; then everything is wanted back."""
    requests = (Request(0.0, "s0", Verb.CREATE, {"c": shapes.Part(kind="Sim::Pet")}), Request(100.0, "s0", Verb.SUSPEND),
                Request(200.0, "s0", Verb.DELETE), Request(200.5 + seed / 5, "s0", Verb.CHECK))
    outcome = run.play(dataclasses.replace(history.draw(seed), requests=requests, rates={"answer slow": 1.0}))
    assert outcome.well, outcome.violations
    assert any("accepted CHECK" in line for line in outcome.lines)


def test_what_was_to_be_given_up_is_kept_where_a_newer_update_wants_it() -> None:
    """A delete would have let go of it. Nothing had been done to it when the update came, which does not let go."""
    requests = (Request(0.0, "s0", Verb.CREATE, {"e": shapes.Part(retain=True)}), Request(100.0, "s0", Verb.DELETE),
                Request(100.01, "s0", Verb.UPDATE, {"e": shapes.Part()}))
    for dice in range(20):
        drawn = dataclasses.replace(history.draw(0), requests=requests, rates={}, workers=1, dice=dice)
        outcome = run.play(drawn)
        assert outcome.well, (dice, outcome.violations)


@pytest.mark.parametrize("seed", range(5))
def test_a_change_that_a_check_saw_to_its_end_is_told_to_those_who_read_it(seed: int) -> None:
    """The check has no mind to change anything; what an update had begun to change counts all the same."""
    before = {"c": shapes.Part(a="1"), "g": shapes.Part(seen="c")}
    after = {**before, "c": shapes.Part(a="2")}
    requests = (Request(0.0, "s0", Verb.CREATE, before), Request(100.0, "s0", Verb.UPDATE, after),
                Request(100.2 + seed / 10, "s0", Verb.CHECK))
    outcome = run.play(dataclasses.replace(history.draw(seed), requests=requests, rates={}))
    assert outcome.well, outcome.violations
    assert any("CHECK_COMPLETE" in line for line in outcome.lines)


@pytest.mark.parametrize("inside", [False, True])
def test_what_could_not_be_woken_is_woken_before_it_is_changed(inside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is mended in place, so it is the same that sleeps. Once it is awake, an update without a change finds it so."""
    pet = shapes.Part(kind="Sim::Pet", a="1")
    shape = {"q": shapes.Part("", inner={"a": pet})} if inside else {"a": pet}
    requests = (Request(0.0, "s0", Verb.CREATE, shape), Request(200.0, "s0", Verb.SUSPEND),
                Request(400.0, "s0", Verb.RESUME))
    world = run.Run(dataclasses.replace(history.draw(1), requests=requests, rates={}, ends_with_delete=False))
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
