"""The supervisor's side of a worker: how it is started, checked and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isotherm.cli.service import supervised
from isotherm.engine.process import metrics

log = logging.getLogger(__name__)

# Time for a worker to shut down gracefully before it is killed.
GRACE_S = 45.0


class WorkerProcess:
    """One running worker."""

    def __init__(self, process: Process, tie: socket.socket, metrics: str) -> None:
        self.process = process
        self._metrics = metrics
        self._tie = tie
        self._started_at = time.monotonic()
        self._is_ending = False

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._started_at

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None

    async def is_ready(self) -> bool:
        """Wait until the worker is ready; return False if it ends before."""
        try:
            return await asyncio.get_running_loop().sock_recv(self._tie, len(supervised.READY)) != b""
        except OSError:
            return False

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self.is_alive:
                self.process.send_signal(number)

    async def ended(self) -> int:
        code = await self.process.wait()
        metrics.forget_process(self._metrics, self.process.pid)
        self._tie.close()
        return code

    async def end(self, grace_s: float = GRACE_S) -> None:
        """Ask the worker to shut down; kill it after `grace_s`."""
        if not self._is_ending:
            # Once only: a second SIGTERM means to stop at once.
            self._is_ending = True
            self.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace_s):
                await self.ended()
        except TimeoutError:
            log.warning("worker did not end in time and is killed", extra={"pid": self.process.pid})
            self.signal(signal.SIGKILL)
            await self.ended()


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """The command line of the workers, their number, and what they share: a socket, and the folder of their metrics."""

    arguments: Sequence[str]
    # Called again at each renewal: the options may have changed.
    number: Callable[[], int]
    listening: socket.socket | None = None
    metrics: str = ""

    async def start(self) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        shared = [] if self.listening is None else [self.listening.fileno()]
        with theirs:
            # A session of its own: Ctrl-C reaches the supervisor only, which stops the workers in order.
            process = await asyncio.create_subprocess_exec(
                *_command(), *self.arguments, stdin=DEVNULL, stdout=DEVNULL, pass_fds=[theirs.fileno(), *shared],
                env=supervised.environment(theirs, self.listening, self.metrics), start_new_session=True)
        return WorkerProcess(process, ours, self.metrics)


def _command() -> list[str]:
    """Return the command of this program, without the current folder on the path unless it was there before."""
    safe = [] if sys.path[0] in ("", os.getcwd()) else ["-P"]  # noqa: PTH109 - compared as a string
    return [sys.executable, *safe, "-m", "isotherm.cli.main"]
