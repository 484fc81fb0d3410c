"""A process on the bus, for tests: it prints the messages it gets, and holds a call for help until it is killed.

    python -m tests.bus.process URL [STACK ...]     # tells of the stacks once it is connected
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from isotherm import bus


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


class BusListener:
    def stacks_changed(self, stack_ids: Sequence[str]) -> None:
        if stack_ids:
            say("news", *stack_ids)

    async def take_turn(self) -> None:
        say("come")
        await asyncio.Event().wait()

    def has_capacity(self) -> bool:
        return True

    def reality_hint(self, what: Mapping[str, Any]) -> None:
        say("hint", what)


async def main(url: str, stacks: Sequence[str]) -> None:
    here = bus.of(url)
    async with here.listening(BusListener()):
        while not here.connected:
            await asyncio.sleep(0.01)
        say("connected")
        here.announce(stacks)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
