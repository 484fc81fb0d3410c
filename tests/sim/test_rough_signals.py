"""Signals under faults: workers are killed, commits fail or lose their answers, and every signal counts once."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.orchestrator import Request
from isotherm.sim import run
from isotherm.sim.histories.drawn_histories import RATES
from isotherm.sim.histories.history import History
from isotherm.sim.world import processes
from isotherm.sim.world.store import DatabaseGone

COUNT = 4
# How long after the last signal the stack may need, with workers that are dead for up to 90 s and paused for up to 120.
BOUND_S = 900.0


def template(count: int, **more: Any) -> str:
    return json.dumps({"heat_template_version": "2021-04-16", "resources": {
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
        "condition": {"type": "OS::Heat::WaitCondition",
                      "properties": {"handle": {"get_resource": "handle"}, "timeout": 43200, "count": count}},
        **more,
    }, "outputs": {"data": {"value": {"get_attr": ["condition", "data"]}}}})


class World:
    """A simulated world without the witness of the cloud: what counts here is what the engine's own client sees."""

    def __init__(self, seed: int) -> None:
        rough = (0.0, 0.5, 1.0, 2.0)[seed % 4]
        rates = {fault: rate * rough for fault, rate in RATES.items()}
        self.run = run.Run(History(seed, workers=1 + seed % 3, requests=(), rates=rates, concurrency=4, dice=seed))
        self.run.store.witness = None
        self.random = self.run.chance.world
        self.api = self.run.api
        self.problems: list[str] = []

    def play(self, story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
        with self.run.reporting_errors():
            contextvars.copy_context().run(self._play, story)
        assert self.problems == [], "\n".join([*self.problems, *self.run.log.lines])
        assert self.run.witness.violations == []

    def _play(self, story: Callable[[World], Coroutine[Any, Any, None]]) -> None:
        self.run.hosts.start(self.run.history.workers, self.run.history.concurrency, run.registry())
        context = contextvars.copy_context()
        context.run(processes.OWNER.set, processes.Process("client"))
        task = context.run(lambda: self.run.loop.create_task(story(self), context=context))
        self.run.loop.run(task.done)
        if (error := task.exception()) is not None:
            self.problems.append(f"{type(error).__name__}: {error}")

    async def surely(self, ask: Callable[[], Coroutine[Any, Any, Any]], *also: type[Exception]) -> Any:
        """Ask until there is an answer; a lost one is asked for again."""
        while True:
            try:
                return await ask()
            except DatabaseGone:
                await asyncio.sleep(1.0)
            except also:
                await asyncio.sleep(2.0)

    async def create(self, text: str, environment: dict[str, Any] | None = None) -> None:
        # Conflict: it was accepted the first time, and the answer was lost.
        with contextlib.suppress(errors.Conflict):
            request = Request(text, environment=environment or {}, timeout_s=40000.0)
            await self.surely(lambda: self.api.stacks.create("s", request))

    async def signal(self, name: str) -> None:
        await self.surely(lambda: self.api.signals.send("s", "handle", {"data": name}, signal_id=name), errors.NotFound)

    async def end(self) -> Any:
        until = self.run.loop.time() + BOUND_S
        while (stack := await self.surely(lambda: self.api.stacks.show("s")))["status"] == "IN_PROGRESS":
            if self.run.loop.time() >= until:
                resources = await self.surely(lambda: self.api.resources.list("s"))
                raise AssertionError(f"nobody was woken: {resources}")
            await asyncio.sleep(5.0)
        return stack


@pytest.mark.parametrize("seed", range(40))
def test_every_signal_counts_once_and_wakes(seed: Any) -> None:
    async def story(it: World) -> None:
        await it.create(template(COUNT))
        for number in range(COUNT):
            await asyncio.sleep(it.random.choice((0.0, 0.1, 3.0, 60.0)))
            await it.signal(f"n{number}")
        stack = await it.end()
        assert stack["stack_status"] == "CREATE_COMPLETE"
        (data,) = await it.surely(lambda: it.api.outputs.list("s"))
        assert sorted(json.loads(data["output_value"]).values()) == [f"n{number}" for number in range(COUNT)]

    World(seed).play(story)


@pytest.mark.parametrize("seed", range(40))
def test_signals_meet_updates(seed: Any) -> None:
    async def story(it: World) -> None:
        await it.create(template(2))
        sent = 0
        for number in range(3):
            await asyncio.sleep(it.random.choice((0.0, 0.1, 3.0, 60.0)))
            if it.random.random() < 0.5:
                count = it.random.randint(1, 4)
                more = {"x": {"type": "OS::Heat::RandomString", "properties": {"length": number + 1}}}
                request = Request(template(count, **more), timeout_s=40000.0)
                await it.surely(partial(it.api.stacks.update, "s", request), errors.Conflict)
            else:
                sent += 1
                await it.signal(f"n{number}")
        for number in range(4 - sent):
            await it.signal(f"last{number}")
        assert (await it.end())["status"] == "COMPLETE"

    World(seed).play(story)


@pytest.mark.parametrize("seed", range(30))
def test_a_pause_ends_when_it_is_cleared(seed: Any) -> None:
    async def story(it: World) -> None:
        environment = {"resource_registry": {"resources": {"handle": {"hooks": ["pre-create", "post-create"]}}}}
        await it.create(template(1), environment)
        for hook in ("pre-create", "post-create"):
            while hook not in [one["hook"] for one in await it.surely(lambda: it.api.signals.hooks("s"))]:
                await asyncio.sleep(5.0)
            # An error: it was cleared the first time, and the answer was lost.
            with contextlib.suppress(errors.UserError):
                await it.surely(partial(it.api.signals.clear_hook, "s", "handle", hook))
        await it.signal("one")
        assert (await it.end())["stack_status"] == "CREATE_COMPLETE"
        told = [one["resource_status_reason"] for one in await it.surely(lambda: it.api.events.list("s"))]
        assert told.count("CREATE paused until Hook pre-create is cleared") == 1
        assert told.count("Hook post-create is cleared") == 1

    World(seed).play(story)
