"""An adversary that undoes every repair of one resource, as an operator or another tool might."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from isotherm.sim.world.cloud import Cloud

# Seconds between two observations of the resource.
EVERY_S = 9.0


class Adversary:
    """Changes one resource of a stack again and again until it is stopped."""

    def __init__(self, cloud: Cloud, stack: str, name: str, note: Callable[[str], None]) -> None:
        self._cloud = cloud
        self._target = stack, name
        self._note = note
        self._stopped = False

    def stop(self) -> None:
        self._note("the adversary gives up")
        self._stopped = True

    async def run(self) -> None:
        while not self._stopped:
            await asyncio.sleep(EVERY_S)
            for thing in [one for one in self._cloud.things.values() if (one.stack, one.name) == self._target]:
                if not self._stopped and thing.properties.get("a") and not thing.drifted and self._is_ours(thing.id):
                    self._cloud.change(thing, "a")

    def _is_ours(self, id_: str) -> bool:
        thing = self._cloud.things[id_]
        return not thing.foreign and id_ not in self._cloud.released and self._cloud.status(thing) == "READY"
