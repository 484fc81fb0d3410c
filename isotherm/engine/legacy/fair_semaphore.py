"""How many steps an engine has under way at once, and whose turn it is when one more can begin.

Projects take turns, and the stacks of each: a stack with thousands of nodes that could begin does not keep another waiting.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_Line = deque[asyncio.Future[None]]


class FairSemaphore:
    """Admits `size` steps at a time; of one project at most `of_project`, unless that is 0."""

    def __init__(self, size: int, of_project: int = 0) -> None:
        self._free = size
        self._of_project = of_project
        self._taken: Counter[str] = Counter()
        # Those whose turn comes next stand first.
        self._lines: dict[str, dict[str, _Line]] = {}

    @asynccontextmanager
    async def slot(self, project: str, stack_id: str) -> AsyncIterator[None]:
        """For one step."""
        turn = asyncio.get_running_loop().create_future()
        self._lines.setdefault(project, {}).setdefault(stack_id, deque()).append(turn)
        self._call()
        try:
            await turn
            yield
        finally:
            # Who was cancelled may have been called at the same moment.
            if turn.done() and not turn.cancelled():
                self._free += 1
                self._taken[project] -= 1
                self._call()

    def _call(self) -> None:
        while self._free and (project := self._next()):
            stacks = self._lines.pop(project)
            stack_id = next(iter(stacks))
            line = stacks.pop(stack_id)
            turn = line.popleft()
            # To the end of both lines, if more of them wait.
            if line:
                stacks[stack_id] = line
            if stacks:
                self._lines[project] = stacks
            if not turn.done():
                self._free -= 1
                self._taken[project] += 1
                turn.set_result(None)

    def _next(self) -> str | None:
        most = self._of_project
        return next((project for project in self._lines if not most or self._taken[project] < most), None)
