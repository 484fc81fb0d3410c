"""A whole engine for each test, on a scratch folder, and helpers to use it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from isotherm import config
from isotherm.engine.orchestrator import Accepted, Orchestrator, Request
from isotherm.engine.process.embedded import Embedded
from isotherm.resources.local import processes
from isotherm.resources.reality.journal import JournalReality
from tests import databases, of_one_database
from tests.engine.differences import DIFFERENCES, OF_ONE_PATH

PATHS = ("convergence", "legacy")
# Nothing in these tests takes longer on an idle machine than a second; on a busy one, patience costs nothing.
PATIENCE_S = 240.0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tell each test of an engine on both paths, except where the list of differences has it, or the run is on a server."""
    module, test = metafunc.module.__name__.rpartition(".")[2], metafunc.function.__name__
    if "tmp_path" in metafunc.fixturenames:
        paths = (OF_ONE_PATH[module],) if module in OF_ONE_PATH else PATHS[:1] if test in DIFFERENCES \
            else of_one_database.paths(databases.ON, PATHS)
        metafunc.parametrize("architecture", paths, indirect=True)


@pytest.fixture(autouse=True)
def architecture(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path on which new stacks are made; a file of options in the folder has the last word."""
    chosen = getattr(request, "param", PATHS[0])
    if chosen == "legacy":
        options = request.getfixturevalue("tmp_path_factory").mktemp("options") / "legacy.conf"
        options.write_text("[DEFAULT]\nconvergence_engine = false\n")
        load = config.load
        monkeypatch.setattr(config, "load", lambda *files: load(options, *files))
    return chosen


class Lab:
    """An engine that drives itself, a reality to look at, and stacks in short."""

    def __init__(self, engine: Embedded) -> None:
        self.engine = engine
        self.api: Orchestrator = engine.orchestrator

    @staticmethod
    def request(resources: dict[str, Any], **options: Any) -> Request:
        given = [key for key in ("parameters", "conditions", "outputs") if key in options]
        sections: dict[str, Any] = {key: options.pop(key) for key in given}
        template = {"heat_template_version": "2021-04-16", **sections, "resources": resources}
        return Request(yaml.safe_dump(template, sort_keys=False), **options)

    async def create(self, resources: dict[str, Any], **options: Any) -> dict[str, Any]:
        return await self.end(await self.api.stacks.create("s", self.request(resources, **options)))

    async def update(self, resources: dict[str, Any], **options: Any) -> dict[str, Any]:
        return await self.end(await self.api.stacks.update("s", self.request(resources, **options)))

    async def delete(self) -> dict[str, Any]:
        return await self.end(await self.api.stacks.delete("s"))

    async def end(self, accepted: Accepted) -> dict[str, Any]:
        """Wait until the newest operation of the stack has ended."""
        async with asyncio.timeout(PATIENCE_S):
            while (stack := await self.api.stacks.show(accepted.stack_id))["status"] == "IN_PROGRESS":
                await asyncio.sleep(0.01)
        return stack

    def act(self, action: str) -> Coroutine[Any, Any, Accepted]:
        """Ask for the operation of this name."""
        asked: Coroutine[Any, Any, Accepted]
        asked = self.api.snapshots.take("s") if action == "snapshot" else getattr(self.api.stacks, action)("s")
        return asked

    async def until(self, condition: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not await condition():
                await asyncio.sleep(0.01)

    async def status(self, name: str) -> str:
        found = [one for one in await self.api.resources.list("s") if one["resource_name"] == name]
        return found[0]["resource_status"] if found else "gone"

    async def physical(self) -> dict[str, str]:
        return {one["resource_name"]: one["physical_resource_id"] for one in await self.api.resources.list("s")}

    def objects(self) -> dict[str, Any]:
        """Return the objects that exist, independently of the engine's rows: physical id and properties."""
        reality = JournalReality(self.engine.path / "reality.journal")
        with contextlib.closing(reality):
            return {id_: one["properties"] for id_, one in reality.objects.items()}

    async def take_away(self, physical_id: str) -> None:
        """Delete an object behind the engine's back."""
        with contextlib.closing(JournalReality(self.engine.path / "reality.journal")) as reality:
            assert await reality.delete(physical_id)

    async def change(self, physical_id: str, properties: dict[str, Any]) -> None:
        """Change an object behind the engine's back."""
        with contextlib.closing(JournalReality(self.engine.path / "reality.journal")) as reality:
            assert await reality.update(physical_id, properties)

    def values(self) -> list[str]:
        return sorted(one["value"] for one in self.objects().values())

    async def history(self, name: str) -> list[str]:
        events = await self.api.events.list("s", last=1000)
        return [one["resource_status"] for one in events if one["resource_name"] == name]


# Runs a story with a lab of its own.
Tell = Callable[[Callable[[Lab], Coroutine[Any, Any, None]]], None]


def resource(value: object = "x", *, needs: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "OS::Heat::TestResource", "properties": {"value": value, **properties}}
    if needs:
        made["depends_on"] = needs
    return made


@contextlib.asynccontextmanager
async def _lab(folder: Path) -> AsyncIterator[Lab]:
    engine = Embedded(folder)
    try:
        async with engine.on_bus(), engine.driving():
            yield Lab(engine)
    finally:
        engine.close()


@pytest.fixture
def lab(tmp_path: Path) -> Tell:
    """Runs a story with a lab of its own."""

    def tell(story: Callable[[Lab], Coroutine[Any, Any, None]]) -> None:
        async def whole() -> None:
            async with _lab(tmp_path) as it:
                await story(it)

        asyncio.run(whole())

    return tell


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    """Yield the base folder; end the processes that still run in it after the test, by their own numbers."""
    found = tmp_path / "local"
    yield found
    for state in found.glob(".isotherm/processes/*.json"):
        told = json.loads(state.read_text())
        for one in (told["keeper"], told["child"]):
            if one is not None:
                processes.Process(*one).send(signal.SIGKILL)
