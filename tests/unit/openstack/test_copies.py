"""Images of servers and backups of volumes: an engine that dies while it asks for one leaves no other one behind."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from isotherm.resources import contract
from isotherm.resources.context.local_access import Reply
from isotherm.resources.openstack.cinder.volume import Volume
from isotherm.resources.openstack.nova.server import Server
from isotherm.resources.reality.journal import MemoryReality
from isotherm.sim.world.twin import Twin, TwinRequest, refusal, reply


class Clock:
    def now(self) -> float:
        return 1000.0


class Services:
    """Nova, Glance and Cinder, with one server and one volume. A copy is complete when it is read a second time."""

    def __init__(self) -> None:
        self.copies: dict[str, dict[str, Any]] = {}
        self.deleted: list[str] = []

    async def answer(self, asked: TwinRequest) -> Reply:
        match asked.method, asked.path:
            case "GET", ("servers", _):
                gone = "server" in self.deleted
                return refusal(404, "gone") if gone else reply(200, {"server": {
                    "id": "s", "status": "ACTIVE", "tags": [], "OS-EXT-STS:task_state": None}})
            case "POST", ("servers", _, "action"):
                wanted = asked.body["createImage"]
                made = self._copy({"name": wanted["name"], **wanted["metadata"]}, "queued")
                return reply(202, {"image_id": made})
            case "GET", ("volumes", _):
                gone = "volume" in self.deleted
                return refusal(404, "gone") if gone else reply(200, {"volume": {"id": "v", "status": "available"}})
            case "POST", ("backups",):
                return reply(202, {"backup": {"id": self._copy(asked.body["backup"], "creating")}})
            case "GET", (("images" | "backups") as kind,):
                return reply(200, {kind: list(self.copies.values())})
            case "GET", ("backups", "detail"):
                return reply(200, {"backups": list(self.copies.values())})
            case "GET", (("images" | "backups") as kind, id_):
                return self._shown(kind, id_)
            case "DELETE", (("images" | "backups"), id_):
                return reply(204) if self.copies.pop(id_, None) else refusal(404, "gone")
            case "DELETE", (kind, _):
                self.deleted.append(kind.removesuffix("s"))
                return reply(204)
            case "GET", ("ports",):
                return reply(200, {"ports": []})
        return refusal(400, f"{asked.method} {asked.path}")

    def _copy(self, properties: dict[str, Any], status: str) -> str:
        id_ = f"copy-{len(self.copies)}"
        made = f"2026-01-01T00:00:0{len(self.copies)}"
        self.copies[id_] = {**properties, "id": id_, "status": status, "created_at": made}
        return id_

    def _shown(self, kind: str, id_: str) -> Reply:
        shown = dict(self.copies[id_])
        self.copies[id_]["status"] = "active" if kind == "images" else "available"
        return reply(200, shown if kind == "images" else {"backup": shown})


KINDS: tuple[type[contract.Resource], ...] = (Server, Volume)


def context_of(services: Services) -> contract.Context:
    return contract.Context(clock=Clock(), random=random.Random(1), reality=MemoryReality(), cloud=Twin(
        dict.fromkeys(("compute", "image", "block-storage", "network"), services)))


def made(kind: type[contract.Resource], context: contract.Context, **more: Any) -> contract.Resource:
    properties = {name: one.default for name, one in kind.properties_schema.items()}
    state = contract.ResourceState(name="a", stack_name="s", stack_id="1", token="0123456789abcdef", properties=properties,
                                   physical_id="1", **more)
    return kind(state, context)


class Engine:
    """Runs an operation in steps, as the engine does: it stores the progress when a step is over.

    With a number, the engine dies in that step, after its requests, and another one goes on from what was stored.
    """

    def __init__(self, operation: str, dies_in: int | None = None) -> None:
        self._operation = operation
        self._dies_in = dies_in
        self.steps = 0

    async def run(self, new: Callable[[], contract.Resource]) -> Any:
        """Return the last progress."""
        handled, progress = False, None
        while self.steps < 30:
            resource = new()
            before = progress
            if not handled:
                progress = await getattr(resource, f"handle_{self._operation}")()
            answer = await getattr(resource, f"check_{self._operation}_complete")(progress)
            self.steps += 1
            if self.steps == self._dies_in:
                progress = before
                continue
            handled = True
            if answer is True:
                return progress
            assert isinstance(answer, contract.Wait)
            progress = progress if answer.progress is None else answer.progress
        raise AssertionError(f"no end: {progress}")


def steps_of(kind: type[contract.Resource], operation: str) -> int:
    engine = Engine(operation)
    context = context_of(Services())
    asyncio.run(engine.run(lambda: made(kind, context, snapshot_on_delete=True)))
    return engine.steps


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operation", ["snapshot", "delete"])
def test_there_is_one_copy_whenever_the_engine_dies(kind: type[contract.Resource], operation: str) -> None:
    for dies_in in range(1, steps_of(kind, operation) + 1):
        services = Services()
        context = context_of(services)
        asyncio.run(Engine(operation, dies_in).run(lambda: made(kind, context, snapshot_on_delete=True)))  # noqa: B023
        assert len(services.copies) == 1, f"the engine died in step {dies_in}"
        assert bool(services.deleted) is (operation == "delete")


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_delete_makes_a_copy_of_its_own(kind: type[contract.Resource]) -> None:
    services = Services()
    context = context_of(services)
    for copies in (1, 2):
        # The delete fails after the copy was made; meanwhile the object is used again.
        services.deleted.clear()
        asyncio.run(Engine("delete").run(lambda: made(kind, context, snapshot_on_delete=True)))
        assert len(services.copies) == copies


@pytest.mark.parametrize("kind", KINDS)
def test_a_snapshot_is_deleted_by_what_was_stored_of_it(kind: type[contract.Resource]) -> None:
    services = Services()
    context = context_of(services)
    stored = asyncio.run(Engine("snapshot").run(lambda: made(kind, context)))
    restored = kind.restored_properties({}, stored)
    assert "copy-0" in restored.values()
    asyncio.run(_deleted(made(kind, context), stored))
    assert services.copies == {}


async def _deleted(resource: contract.Resource, stored: Any) -> None:
    await resource.handle_delete_snapshot(stored)
    # Again, as after a crash.
    await resource.handle_delete_snapshot(stored)
