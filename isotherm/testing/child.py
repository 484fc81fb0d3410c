"""Processes with an engine that kill themselves at a chosen call of the type: `python -m isotherm.testing.child`.

The program reads one JSON document for each line: the folder, the environment, the address of the type, the action, the
properties, and at which call of the resource the engine is killed, before or after the method has run. It forks for each
document, because a fork costs much less than a new process that imports the engine, and writes the exit code: 9, killed;
0, there was no such call.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from isotherm.resources import contract, gate, runner
from isotherm.testing.example import Example
from isotherm.testing.lab import NAME, STACK, Lab

KILLED = 9
_ERROR = 1


def address(type_: type[contract.Resource]) -> str:
    """Return the address of a type, by which another process finds it."""
    return f"{type_.__module__}:{type_.__qualname__}"


def find(found: str) -> type[contract.Resource]:
    """Return the type at an address."""
    module, _, name = found.partition(":")
    one: Any = importlib.import_module(module)
    for part in name.split("."):
        one = getattr(one, part)
    type_: type[contract.Resource] = one
    return type_


def _arm(number: int, moment: str) -> None:
    """Let the process kill itself at a call of the resource of the example."""
    counted = [0]

    def counting(call: Any) -> Any:
        async def counted_call(resource: Any, *arguments: Any) -> Any:
            # Members of a group are resources of other stacks: their calls are not counted.
            counted[0] += (resource.stack_name, resource.name) == (STACK, NAME)
            fatal = counted[0] == number and (resource.stack_name, resource.name) == (STACK, NAME)
            if fatal and moment == "before":
                os._exit(KILLED)
            answer = await call(resource, *arguments)
            if fatal:
                os._exit(KILLED)
            return answer

        return counted_call

    for module, name in ((gate, "call"), (gate, "change"), (runner, "change")):
        setattr(module, name, counting(getattr(module, name)))


async def _act(lab: Lab, action: str, properties: dict[str, Any]) -> None:
    async with lab.engine.driving():
        if action == "create":
            await lab.create(properties)
        elif action == "update":
            await lab.update(properties)
        else:
            await lab.delete()


def _run(order: dict[str, Any]) -> None:
    os.environ.update(order["environment"])
    example = Example(find(order["type"]), {}, beside=order["beside"], signals=order["signals"], cloud=order["cloud"])
    lab = Lab(Path(order["folder"]), example)
    _arm(order["number"], order["moment"])
    asyncio.run(_act(lab, order["action"], order["properties"]))
    lab.close()


def _fork(order: dict[str, Any]) -> int:
    """Run one engine in a process of its own; return its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        _run(order)
    except BaseException:  # noqa: BLE001 - the parent reports it; a forked process must not return from here
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(_ERROR)
    os._exit(0)


def main(path: str) -> None:
    sys.path[:0] = json.loads(path)
    # The engine imports it at the first database that is empty: once here is cheaper than once in each process.
    importlib.import_module("alembic.command")
    for line in sys.stdin:
        order = json.loads(line)
        find(order["type"])
        sys.stdout.write(f"{_fork(order)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
