"""The faults: one every few seconds, from a shuffled deck, so that all kinds are equally frequent.

A process that is stopped past its lease stays stopped during other faults. Every other fault ends before the next begins.
"""

from __future__ import annotations

import asyncio
import functools
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from tools.torture import broker, proxy
from tools.torture.farm import NONE, SQLITE, Farm
from tools.torture.members import Member
from tools.torture.watch import Watch

# The engine's leases last for half a minute.
PAUSE_S = (31.5, 36.0)
CUT_S = {proxy.REFUSE: (0.3, 6.0), proxy.RESET: (0.0, 0.1), proxy.FREEZE: (1.0, 20.0)}


class Faults:
    """Injects faults into a farm until it is stopped."""

    def __init__(
        self, farm: Farm, watch: Watch, dice: random.Random, note: Callable[[str], None], longest_cut_s: float
    ) -> None:
        self._farm, self._watch, self._dice, self._note = farm, watch, dice, note
        self._longest_cut_s = longest_cut_s
        self.injected: Counter[str] = Counter()
        self.cuts: Counter[str] = Counter()
        self._ways: dict[str, list[str]] = {}
        #: Set when every kind of fault was injected once.
        self.all_came = asyncio.Event()
        self._stopped = asyncio.Event()
        self._pauses: dict[str, asyncio.Task[None]] = {}
        self._kinds = self._known()

    def _known(self) -> dict[str, Callable[[], Awaitable[None]]]:
        kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "pause_engine": self._pause, "kill_engine": self._kill_engine, "kill_api": self._kill_api,
            "restart_everything": self._restart_everything,
        }
        for what, service in (("database", self._farm.plan.database), ("broker", self._farm.plan.broker)):
            if service in (SQLITE, NONE):
                continue
            kinds[f"kill_{what}"] = functools.partial(self._kill_service, service)
            kinds[f"cut_{what}"] = functools.partial(self._cut, service, what)
        if self._farm.plan.broker != NONE:
            kinds["purge_broker"] = self._purge
        return kinds

    def stop(self) -> None:
        self._stopped.set()

    async def run(self, least_s: float, most_s: float) -> None:
        """Inject faults until stopped; afterwards all processes run, and no connection is cut."""
        deck: list[str] = []
        while not await self._stopped_within(self._dice.uniform(least_s, most_s)):
            deck = deck or self._deck()
            await self._inject(deck.pop(0))
            if not deck:
                self.all_came.set()
        for task in list(self._pauses.values()):
            await task
        await self._farm.start_services()
        for member in self._farm.members:
            for one in member.proxies.values():
                await one.mend()
            member.held = False
        await self._farm.all_ready()

    def _deck(self) -> list[str]:
        """Return the next faults: long stops first, and faults that would end them last. With few kinds, some repeat."""
        first, last = "pause_engine", "restart_everything"
        others = [kind for kind in self._kinds if kind not in (first, last)] * (1 if self._farm.services else 2)
        return [first, *self._dice.sample(others, len(others)), last]

    async def _inject(self, kind: str) -> None:
        self.injected[kind] += 1
        self._note(kind)
        await self._kinds[kind]()
        if kind != "pause_engine":
            self._watch.fault_ended(kind)

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        except TimeoutError:
            return False
        return True

    async def _wait(self, least_s: float, most_s: float) -> None:
        await self._stopped_within(self._dice.uniform(least_s, most_s))

    # The kinds.

    async def _kill_engine(self) -> None:
        await self._kill(self._dice.choice(self._farm.engines))

    async def _kill_api(self) -> None:
        await self._kill(self._dice.choice(self._farm.apis))

    async def _kill(self, member: Member) -> None:
        self._farm.kill(member, elsewhere=True)
        await self._wait(0.0, 3.0)
        member.held = False
        await self._farm.all_ready([member])

    async def _pause(self) -> None:
        found = [one for one in self._farm.engines if one.name not in self._pauses]
        # One member must remain to do the work.
        if len(found) > 1:
            member = self._dice.choice(found)
            self._pauses[member.name] = asyncio.create_task(self._paused(member))

    async def _paused(self, member: Member) -> None:
        life = member.lives
        await self._farm.pause(member)
        await asyncio.sleep(self._dice.uniform(*PAUSE_S))
        if member.lives == life:
            self._farm.resume(member)
            self._watch.fault_ended("pause_engine")
        del self._pauses[member.name]

    async def _restart_everything(self) -> None:
        """Kill all processes at once, stopped ones included, as a power failure would; only the cloud stays."""
        await asyncio.gather(*self._pauses.values())
        for member in self._farm.members:
            self._farm.kill(member)
        for service in self._farm.services:
            self._farm.kill_service(service)
        await self._wait(0.0, 1.0)
        for member in self._farm.members:
            member.held = False
        if self._farm.services:
            await self._farm.start_services()
        await self._farm.all_ready()

    async def _kill_service(self, service: str) -> None:
        self._farm.kill_service(service)
        await self._wait(0.0, 2.0)
        await self._farm.start_services([service])

    async def _cut(self, service: str, what: str) -> None:
        """Cut the service off from one, some or all of its members, in a random way."""
        if not self._ways.get(what):
            self._ways[what] = self._dice.sample(proxy.WAYS, len(proxy.WAYS))
        way = self._ways[what].pop()
        self.cuts[f"{what}_{way}"] += 1
        members = self._dice.sample(self._farm.members, self._dice.choice((1, 1, 2, len(self._farm.members))))
        ways = [one.proxies[service] for one in members]
        for one in ways:
            await one.cut(way)
        least_s, most_s = CUT_S[way]
        await self._wait(least_s, min(most_s, self._longest_cut_s))
        for one in ways:
            await one.mend()

    async def _purge(self) -> None:
        await broker.purge(self._farm.url(self._farm.plan.broker), self._dice)
