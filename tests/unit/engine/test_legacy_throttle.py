"""The semaphore for steps: it admits no more than its size, and projects and stacks take turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from isotherm.engine.legacy.fair_semaphore import FairSemaphore


class Steps:
    """Steps that want room, and end when they are told to."""

    def __init__(self, room: Any) -> None:
        self.room = room
        self.inside: list[Any] = []
        self.order: list[Any] = []
        self.tasks: dict[Any, Any] = {}

    def come(self, name: Any, project: Any, stack: Any) -> None:
        self.tasks[name] = asyncio.create_task(self._step(name, project, stack))

    async def _step(self, name: Any, project: Any, stack: Any) -> None:
        async with self.room.slot(project, stack):
            self.inside.append(name)
            self.order.append(name)
            try:
                await asyncio.Event().wait()
            finally:
                self.inside.remove(name)

    async def end(self, *names: Any) -> None:
        for name in names or [*self.inside]:
            self.tasks.pop(name).cancel()
        for _ in range(5):
            await asyncio.sleep(0)


def test_projects_and_their_stacks_take_turns() -> Any:
    async def story() -> Any:
        steps = Steps(FairSemaphore(1))
        for n in range(4):
            steps.come(f"a{n}", "p", "a")
        for n in range(2):
            steps.come(f"b{n}", "p", "b")
        steps.come("c0", "q", "c")
        await asyncio.sleep(0)
        while steps.inside or steps.tasks:
            assert len(steps.inside) == 1
            await steps.end()
        return steps.order

    assert asyncio.run(story()) == ["a0", "a1", "c0", "b0", "a2", "b1", "a3"]


def test_a_project_has_no_more_than_it_may() -> None:
    async def story() -> None:
        steps = Steps(FairSemaphore(5, of_project=2))
        for n in range(4):
            steps.come(f"a{n}", "p", "a")
            steps.come(f"b{n}", "q", "b")
        await asyncio.sleep(0)
        assert sorted(steps.inside) == ["a0", "a1", "b0", "b1"]
        await steps.end("a0")
        assert sorted(steps.inside) == ["a1", "a2", "b0", "b1"]
        while steps.inside:
            await steps.end()
        assert len(steps.order) == 8

    asyncio.run(story())


@pytest.mark.parametrize("called", [False, True])
def test_a_cancelled_waiter_takes_no_slot(called: Any) -> None:
    """Also if it is admitted at the very moment of its cancellation."""

    async def story() -> None:
        steps = Steps(FairSemaphore(1))
        for name in ("first", "gone", "last"):
            steps.come(name, "p", name)
        await asyncio.sleep(0)
        assert steps.inside == ["first"]
        if called:
            steps.tasks.pop("first").cancel()
            await asyncio.sleep(0)
            steps.tasks.pop("gone").cancel()
            await asyncio.sleep(0)
        else:
            await steps.end("gone")
            await steps.end("first")
        for _ in range(5):
            await asyncio.sleep(0)
        assert steps.inside == ["last"]
        await steps.end()
        steps.come("next", "p", "next")
        await asyncio.sleep(0)
        assert steps.inside == ["next"]
        await steps.end()

    asyncio.run(story())
