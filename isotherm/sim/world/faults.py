"""Faults of processes: a process is killed or paused at a point where it waits for a port."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable

from isotherm.sim.world import processes
from isotherm.sim.world.chance import Chance
from isotherm.sim.world.loop import SimLoop


class Faults:
    """Kills and pauses processes. `on_kill` is called with every killed process."""

    def __init__(self, loop: SimLoop, chance: Chance, note: Callable[[str], None]) -> None:
        self._loop = loop
        self._chance = chance
        self._note = note
        # The context of callbacks that belong to no process: no kill stops them.
        self.no_process = contextvars.Context()
        self.on_kill: Callable[[processes.Process], None] = lambda process: None
        self.longest_pause_s = 120.0
        self.point_delay_s = 0.05

    async def point(self, hook: str) -> None:
        """Let other callbacks run; the current process may be killed or paused here."""
        process = processes.current()
        if process is not None and process.killable:
            self.may_die(process, hook)
            if process.alive and not process.paused and self._chance.strikes("pause", hook):
                self.pause(process)
            if not process.alive:
                await self._loop.create_future()
        if self._chance.delays.random() < 0.5:
            await asyncio.sleep(0)
        else:
            await asyncio.sleep(self._chance.delay(self.point_delay_s))

    def may_die(self, process: processes.Process, hook: str) -> None:
        if process.alive and self._chance.strikes("kill", hook):
            self.kill(process, hook)

    def kill(self, process: processes.Process, hook: str) -> None:
        self._note(f"kill -9 {process} at {hook}")
        process.alive = False
        self.on_kill(process)

    def pause(self, process: processes.Process) -> None:
        seconds = self._chance.world.uniform(1.0, self.longest_pause_s)
        self._note(f"{process} is paused for {seconds:.0f} s")
        process.paused = True
        self._loop.call_later(seconds, self.resume, process, context=self.no_process)

    def resume(self, process: processes.Process) -> None:
        if process.paused:
            self._note(f"{process} goes on")
            process.paused = False
            process.since = self._loop.time()
            held, process.held = process.held, []
            self._loop.release(held)
