"""What tests of files and processes have in common: templates in short, and a stage for one resource."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from random import Random
from typing import Any

from isotherm.resources import contract, registry
from isotherm.resources.context import local_access
from isotherm.resources.local import confinement, supervisor_client
from isotherm.resources.reality import drift
from isotherm.resources.reality.journal import MemoryReality
from tests.engine.conftest import PATIENCE_S

# Writes its number down, and stays.
STAYS = [sys.executable, "-S", "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"]
STUBBORN = [sys.executable, "-S", "-c",
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('x', flush=True); time.sleep(600)"]


def file(path: str = "a.txt", content: str = "hello", **more: Any) -> dict[str, Any]:
    needs = {"depends_on": more.pop("needs")} if "needs" in more else {}
    return {"type": "Isotherm::Local::File", "properties": {"path": path, "content": content, **more}, **needs}


def folder(path: str = "d", **more: Any) -> dict[str, Any]:
    return {"type": "Isotherm::Local::Directory", "properties": {"path": path, **more}}


def process(command: list[str] = STAYS, **more: Any) -> dict[str, Any]:
    return {"type": "Isotherm::Local::Process", "properties": {"command": command, "settle_secs": 0.05, **more}}


class Stage:
    """One resource, without an engine around it."""

    def __init__(self, base: Path, type_: type[contract.Resource], token: str = "token-1", **given: Any) -> None:
        base.mkdir(exist_ok=True, parents=True)
        self.type, self.given = type_, registry.typed_properties(type_, given)
        self.state = contract.ResourceState(name="r", stack_name="s", stack_id="stack", token=token, properties=self.given)
        self.local: local_access.Local | None = local_access.Local(base, {"PATH": os.environ["PATH"]})

    def resource(self) -> Any:
        context = contract.Context(clock=SystemClock(), random=Random(1), reality=MemoryReality(), local=self.local)
        return self.type(self.state, context)

    async def run(self, action: str, *arguments: Any) -> None:
        one = self.resource()
        progress = await getattr(one, f"handle_{action}")(*arguments)
        self.state.physical_id = one.physical_id
        while (answer := await getattr(one, f"check_{action}_complete")(progress)) is not True:
            assert isinstance(answer, contract.Wait)
            progress = progress if answer.progress is None else answer.progress
            await asyncio.sleep(answer.seconds or 0.0)

    async def seen(self) -> contract.LiveState:
        found: contract.LiveState = await contract.observe(self.resource())
        return found

    async def drift(self) -> list[str]:
        found = await self.seen()
        assert isinstance(found, contract.Seen), found
        return [one.property for one in drift.compare(self.type, self.given, found)]


class SystemClock:
    def now(self) -> float:
        return asyncio.get_running_loop().time()


def state(base: Path) -> supervisor_client.State:
    [one] = base.glob(".isotherm/processes/*.json")
    found = supervisor_client.state(confinement.Confined(base), one.stem)
    assert found is not None
    return found


async def logged(path: Path, lines: int) -> list[str]:
    async with asyncio.timeout(PATIENCE_S):
        while len(found := path.read_text().splitlines() if path.exists() else []) < lines:
            await asyncio.sleep(0.02)
    return found
