"""A semaphore that admits projects in turn, and the stacks of each project in turn.

A stack with thousands of ready nodes does not delay the nodes of another stack. This limits what an engine does at once;
the limits on steps of a type are in `engine.steps.throttle`.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_Line = deque[asyncio.Future[None]]


class FairSemaphore:
    """Admits `size` holders at a time; of one project at most `of_project`, unless that is 0."""

    def __init__(self, size: int, of_project: int = 0) -> None:
        self._free = size
        self._of_project = of_project
        self._taken: Counter[str] = Counter()
        # By project and stack, those whose turn is next first.
        self._lines: dict[str, dict[str, _Line]] = {}

    @asynccontextmanager
    async def slot(self, project: str, stack_id: str) -> AsyncIterator[None]:
        """Wait for a slot, and hold it inside of the context."""
        turn = asyncio.get_running_loop().create_future()
        self._lines.setdefault(project, {}).setdefault(stack_id, deque()).append(turn)
        self._admit()
        try:
            await turn
            yield
        finally:
            # A cancelled waiter may have been admitted at the same moment.
            if turn.done() and not turn.cancelled():
                self._free += 1
                self._taken[project] -= 1
                self._admit()

    def _admit(self) -> None:
        while self._free and (project := self._next_project()):
            stacks = self._lines.pop(project)
            stack_id = next(iter(stacks))
            line = stacks.pop(stack_id)
            turn = line.popleft()
            # Both go to the end of their lines, if more of them wait.
            if line:
                stacks[stack_id] = line
            if stacks:
                self._lines[project] = stacks
            if not turn.done():
                self._free -= 1
                self._taken[project] += 1
                turn.set_result(None)

    def _next_project(self) -> str | None:
        most = self._of_project
        return next((project for project in self._lines if not most or self._taken[project] < most), None)
