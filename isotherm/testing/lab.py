"""An engine on a folder of its own, with one stack that has the resource of an example: the checks of the kit use it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isotherm import errors
from isotherm.engine.operations.accept import Accepted, Request
from isotherm.engine.process.embedded import Embedded
from isotherm.testing.example import Example

STACK, NAME = "conformance", "subject"
# Examples use files, processes and services of this machine.
CONFIG = "[DEFAULT]\nenable_local_resources = always\nallowed_fetch_networks = 127.0.0.0/8\n"
_PATIENCE_S = 120.0
_PAUSE_S = 0.01


class Lab:
    """Runs operations on the stack and waits for their ends."""

    def __init__(self, folder: Path, example: Example) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "isotherm.conf"
        if not config.exists():
            config.write_text(CONFIG, encoding="utf-8")
        self._example = example
        self.engine = Embedded(folder, cloud_name=example.cloud)
        if self.engine.types.types.get(example.type.TYPE) is not example.type:
            # The registry may be shared: the type is not left in it.
            self.engine.types.types = self.engine.types.types.with_classes([example.type])

    def request(self, properties: Mapping[str, Any], **more: Any) -> Request:
        """Return the request for a stack with the resource and those beside it."""
        subject = {"type": self._example.type.TYPE, "properties": dict(properties)}
        resources = {**self._example.beside, NAME: subject}
        return Request(json.dumps({"heat_template_version": "2021-04-16", "resources": resources}), **more)

    async def create(self, properties: Mapping[str, Any]) -> str:
        return await self._end(await self.engine.orchestrator.stacks.create(STACK, self.request(properties)))

    async def update(self, properties: Mapping[str, Any], *, converge: bool = False) -> str:
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
                await self._signal()
                await asyncio.sleep(_PAUSE_S)
        failed = stack["status"] == "FAILED"
        return f"{stack['stack_status']}: {stack['stack_status_reason']}" if failed else str(stack["stack_status"])

    async def _signal(self) -> None:
        """Send the signals of the example while its resource waits for them."""
        if not self._example.signals:
            return
        # The stack may be gone by now, and a resource that takes no signals yet is signalled again.
        with contextlib.suppress(errors.IsothermError):
            found = await self.resource()
            if found is None or not found["resource_status"].endswith("IN_PROGRESS"):
                return
            for name, given in self._example.signals.items():
                for details in given if isinstance(given, list) else [given]:
                    await self.engine.orchestrator.signals.send(STACK, name, details)

    async def _end(self, accepted: Accepted) -> str:
        self._stack = accepted.stack_id
        return await self.wait()

    async def adopt_stack(self) -> bool:
        """Work on the stack that another process has made in this folder; return whether there is one."""
        found = [one for one in await self.engine.orchestrator.stacks.list() if one["stack_name"] == STACK]
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

