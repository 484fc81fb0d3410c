"""Child processes that play seeds.

They hold no state, so they are killed as soon as the caller needs no more results. An interrupt from the terminal reaches
only the parent process.
"""

from __future__ import annotations

import itertools
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

from isotherm import errors

Task = TypeVar("Task")
Result = TypeVar("Result")

# Number of tasks that each process has: one under way and one waiting.
_AHEAD = 2


def play(work: Callable[[Task], Result], tasks: Iterable[Task], jobs: int) -> Iterator[Result]:
    """Yield the results in the order of the tasks, which may be endless."""
    todo = iter(tasks)
    players = [_Player(work) for _ in range(jobs)]
    try:
        busy: deque[_Player[Task, Result]] = deque()
        for player, task in zip(players * _AHEAD, todo):  # noqa: B905 - whichever ends first
            player.give(task)
            busy.append(player)
        while busy:
            player = busy.popleft()
            result = player.take()
            for task in itertools.islice(todo, 1):
                player.give(task)
                busy.append(player)
            yield result
    finally:
        for player in players:
            player.end()


class _Player(Generic[Task, Result]):
    """One child process, and the pipe to it."""

    def __init__(self, work: Callable[[Task], Result]) -> None:
        self._here, there = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_play, args=(work, there), daemon=True)
        # The child inherits the blocked signals from its start.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        # Only the child holds the other end now: reading from a dead child raises EOFError.
        there.close()

    def give(self, task: Task) -> None:
        try:
            self._here.send(task)
        except OSError:
            raise self._death() from None

    def take(self) -> Result:
        try:
            result: Result = self._here.recv()
            return result
        except (EOFError, OSError):
            raise self._death() from None

    def _death(self) -> errors.Bug:
        self._process.join()
        return errors.Bug(f"a process that played seeds ended with code {self._process.exitcode}")

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._here.close()


def _play(work: Callable[[Task], Result], there: Connection) -> None:
    while True:
        there.send(work(there.recv()))
