"""The number of requests that waiting resources cost their service, with the poll hub and without it.

It counts requests in virtual time: the figures do not depend on the machine.
"""

from __future__ import annotations

import asyncio
import sys
from random import Random

from bench import harness
from isotherm.resources import contract
from isotherm.resources.context.local_access import Reply
from isotherm.resources.reality.journal import MemoryReality
from isotherm.sim.world.loop import SimLoop
from isotherm.sim.world.twin import Twin, TwinRequest, reply
from isotherm.sim.world.twin_records import Record

SECONDS = 300.0
ANSWER_S = 0.3


class Building:
    """A service whose objects are all being built."""

    def __init__(self) -> None:
        self.asked = 0

    async def answer(self, asked: TwinRequest) -> Reply:
        self.asked += 1
        await asyncio.sleep(ANSWER_S)
        if len(asked.path) > 1:
            return reply(200, {"record": _building(asked.path[1])})
        return reply(200, {"records": [_building(one) for one in asked.values("id")]})


def _building(id_: str) -> dict[str, str]:
    return {"id": id_, "status": "BUILD", "description": ""}


class _Clock:
    def now(self) -> float:
        return asyncio.get_running_loop().time()


def requests(size: int, *, alone: bool) -> float:
    """Return the requests in a second while so many resources wait."""
    service, random = Building(), Random(1)
    context = contract.Context(clock=_Clock(), random=random, reality=MemoryReality(), cloud=Twin({"records": service}))

    async def wait(number: int) -> None:
        await asyncio.sleep(random.uniform(0.0, 10.0))
        state = contract.ResourceState(name="a", stack_name="s", stack_id="1", token=f"{number}", properties={},
                                       physical_id=f"r{number}")
        attempts, until = 0, _Clock().now() + SECONDS
        while _Clock().now() < until:
            one = Record(state, context)
            one.is_asked_alone = alone
            await one.check_create_complete({"finished": True})
            await asyncio.sleep(Record.traits.poll.pause_s(attempts, random))
            attempts += 1

    async def wait_all() -> None:
        await asyncio.gather(*map(wait, range(size)))

    loop = SimLoop(random, max_steps=10**9)
    began = loop.time()
    loop.run_until(wait_all())
    passed_s = loop.time() - began
    loop.close()
    return service.asked / passed_s


def main() -> int:
    options = harness.arguments("The requests of waiting resources, with the poll hub and without it.")
    report = harness.Report("polls", 1)
    size = 100 if options.small else 1000
    report.figure(f"{size} waiting, each alone", requests(size, alone=True), "requests/s")
    report.figure(f"{size} waiting, poll hub", requests(size, alone=False), "requests/s", limit=2.0)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
