"""Processes that play seeds for us, until they are ended.

They are ours alone, and have nothing to lose: whoever has heard enough ends them at once, in the middle of whatever they
are at. An interrupt from a terminal is meant for us, and does not reach them.
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

# So many tasks are with each of them: the one at work, and one that waits.
_AHEAD = 2


def play(work: Callable[[Task], Result], tasks: Iterable[Task], jobs: int) -> Iterator[Result]:
    """The results in the order of the tasks, of which there may be no end."""
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
    """One process, and the way to it."""

    def __init__(self, work: Callable[[Task], Result]) -> None:
        self._here, there = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_play, args=(work, there), daemon=True)
        # What is blocked here is blocked there from its first moment on.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        # Only it has the other end now, and nobody waits for one that is dead.
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
