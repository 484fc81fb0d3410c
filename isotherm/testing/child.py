"""A process with an engine that is killed at a chosen call of its type: `python -m isotherm.testing.child`.

It gets a JSON document: the folder, the address of the type, the action, the properties, and at which call of the gate it
kills itself, before or after the method has run. Exit code 9: it was killed; 0: there was no such call.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from isotherm.resources import gate, runner
from isotherm.testing.lab import Lab, find

KILLED = 9


def _arm(number: int, moment: str) -> None:
    """Let the process kill itself at a call of a type."""
    counted = [0]

    def counting(call: Any) -> Any:
        async def counted_call(*arguments: Any) -> Any:
            counted[0] += 1
            fatal = counted[0] == number
            if fatal and moment == "before":
                os._exit(KILLED)
            answer = await call(*arguments)
            if fatal:
                os._exit(KILLED)
            return answer

        return counted_call

    for module, name in ((gate, "call"), (gate, "change"), (runner, "call"), (runner, "change")):
        setattr(module, name, counting(getattr(module, name)))


async def _act(lab: Lab, action: str, properties: dict[str, Any]) -> None:
    async with lab.engine.driving():
        if action == "create":
            await lab.create(properties)
        elif action == "update":
            await lab.update(properties)
        else:
            await lab.delete()


def main(told: str) -> None:
    asked = json.loads(told)
    sys.path[:0] = asked["path"]
    lab = Lab(Path(asked["folder"]), find(asked["type"]))
    _arm(asked["number"], asked["moment"])
    asyncio.run(_act(lab, asked["action"], asked["properties"]))
    lab.close()


if __name__ == "__main__":
    main(sys.argv[1])
