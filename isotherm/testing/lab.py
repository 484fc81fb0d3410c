"""An engine on a folder of its own, with one stack of one resource: what the checks of the kit work with."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isotherm.engine.operations.accept import Accepted, Request
from isotherm.engine.process.embedded import Embedded
from isotherm.resources import contract

STACK, NAME = "conformance", "subject"
CONFIG = "[DEFAULT]\nenable_local_resources = always\n"
_PATIENCE_S = 120.0


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


class Lab:
    """Runs operations on the stack and waits for their ends."""

    def __init__(self, folder: Path, type_: type[contract.Resource]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "isotherm.conf"
        if not config.exists():
            config.write_text(CONFIG, encoding="utf-8")
        self.type = type_
        self.engine = Embedded(folder)
        if type_.TYPE not in self.engine.types.types:
            self.engine.types.register(type_)

    def request(self, properties: Mapping[str, Any] | None, **more: Any) -> Request:
        """Return the request for a stack with the resource, or without it."""
        resources = {} if properties is None else {NAME: {"type": self.type.TYPE, "properties": dict(properties)}}
        return Request(json.dumps({"heat_template_version": "2021-04-16", "resources": resources}), **more)

    async def create(self, properties: Mapping[str, Any]) -> str:
        return await self._end(await self.engine.orchestrator.stacks.create(STACK, self.request(properties)))

    async def update(self, properties: Mapping[str, Any] | None, *, converge: bool = False) -> str:
        request = self.request(properties, converge=converge)
        return await self._end(await self.engine.orchestrator.stacks.update(STACK, request))

    async def delete(self) -> str:
        return await self._end(await self.engine.orchestrator.stacks.delete(STACK))

    async def check(self) -> str:
        return await self._end(await self.engine.orchestrator.stacks.check(STACK))

    async def wait(self) -> str:
        """Wait for the end of whatever is in progress; return the status with its reason where it failed."""
        async with asyncio.timeout(_PATIENCE_S):
            while (stack := await self.engine.orchestrator.stacks.show(self._stack))["status"] == "IN_PROGRESS":
                await asyncio.sleep(0.01)
        failed = stack["status"] == "FAILED"
        return f"{stack['stack_status']}: {stack['stack_status_reason']}" if failed else str(stack["stack_status"])

    async def _end(self, accepted: Accepted) -> str:
        self._stack = accepted.stack_id
        return await self.wait()

    async def adopt_stack(self) -> bool:
        """Work on the stack that another process has made in this folder; return whether there is one."""
        found = await self.engine.orchestrator.stacks.list()
        self._stack = found[0]["id"] if found else ""
        return bool(found)

    async def resource(self) -> dict[str, Any] | None:
        found = await self.engine.orchestrator.resources.list(STACK)
        return next((one for one in found if one["resource_name"] == NAME), None)

    async def drifted(self) -> list[str]:
        """Observe the resource; return the properties that have drifted, or ["gone"]."""
        drift = self.engine.orchestrator.drift
        await drift.observe(STACK)
        shown = await drift.show_resource(STACK, NAME)
        return ["gone"] if shown["drift"] == "gone" else [one["property"] for one in shown["properties"]]

    def close(self) -> None:
        self.engine.close()
