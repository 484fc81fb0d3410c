"""Lines of the ledger about the division of work: one implementation of a type, a light wrapper, a worker of its own."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import random
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

import isotherm
from isotherm.clock import SystemClock
from isotherm.config import Settings
from isotherm.engine import contexts
from isotherm.engine.convergence import worker
from isotherm.engine.operations.stacks import StackService
from isotherm.engine.orchestrator import Orchestrator, ServicePorts
from isotherm.engine.process import key_file
from isotherm.engine.process.embedded import Embedded, new_id
from isotherm.engine.steps import act
from isotherm.engine.steps.ports import EnginePorts
from isotherm.planning import planner
from isotherm.resources import builtin, contract
from isotherm.resources.reality.journal import JournalReality
from isotherm.resources.registry import Registry
from isotherm.store.database.writer import ThreadedStore
from tests import databases
from tests.engine.conftest import Lab, Tell, resource

HOUSE = Path(isotherm.__file__).parent


def words(module: Path) -> set[str]:
    """Every name that a module uses or defines."""
    tree = ast.parse(module.read_text())
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def imports(module: Path) -> set[str]:
    tree = ast.parse(module.read_text())
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


@pytest.mark.ledger("S0.1", "S0.3")
def test_a_type_knows_nothing_of_its_engine() -> None:
    types = [*(HOUSE / "resources").rglob("*.py")]
    assert len(types) > 15
    for module in types:
        assert not any(name.startswith(("isotherm.engine", "isotherm.store")) for name in imports(module)), module
        assert words(module).isdisjoint({"generation", "fence", "lease_until", "convergence", "legacy"}), module


@pytest.mark.ledger("S0.3")
def test_lease_and_generation_are_known_to_the_wrapper_alone() -> None:
    wrapper = words(Path(inspect.getfile(act)))
    assert {"LeaseGuard", "operation_id", "TaskRunner"} <= wrapper
    assert words(HOUSE / "resources" / "runner.py").isdisjoint({"LeaseGuard", "Claim", "Report"})


@pytest.mark.ledger("S2.23")
def test_the_logic_of_an_update_is_not_in_the_service() -> None:
    """The command line and the API call the Orchestrator; an update is decided behind it."""
    for module in (HOUSE / "cli").glob("*.py"):
        assert not any(name.startswith("isotherm.store") for name in imports(module)), module
    assert len(inspect.getsource(StackService.update).splitlines()) < 40


@pytest.mark.ledger("S2.22", "S2.20")
def test_a_worker_alone_drives_what_others_have_asked_for(tmp_path: Path) -> None:
    """No Orchestrator, no template at hand: the worker finds its work in the database, loads it and converges it."""
    assert "isotherm.engine.orchestrator" not in imports(Path(inspect.getfile(worker)))

    async def ask() -> None:
        engine = Embedded(tmp_path)
        await engine.orchestrator.stacks.create("s", Lab.request({"a": resource("1"), "b": resource("2", needs=["a"])}))
        engine.close()

    async def work() -> None:
        store = ThreadedStore.open(databases.url_of(tmp_path), lambda: key_file.ring(tmp_path, Settings()))
        reality, clock, types = JournalReality(tmp_path / "reality.journal"), SystemClock(), builtin.registry()
        context = contexts.shared(store, clock, contexts.ProcessPorts(reality, random.Random(1)))
        ports = EnginePorts(store, context, types.implementation, planner.Planning(store, types, clock), new_id)
        alone = worker.Worker("alone", ports)
        task = asyncio.create_task(alone.run())
        async with asyncio.timeout(60):
            while len(reality.objects) < 2:
                await asyncio.sleep(0.01)
        alone.stop()
        await task
        with contextlib.closing(reality):
            assert sorted(one["properties"]["value"] for one in reality.objects.values()) == ["1", "2"]
        store.close()

    asyncio.run(ask())
    asyncio.run(work())


class Blocking(contract.Resource):
    """A type whose calls block, as those of cloud libraries do."""

    TYPE = "Test::Blocking"
    gate = threading.Event()
    inside = threading.Event()

    def handle_create(self) -> None:  # type: ignore[override]  # plain: it runs on a thread
        Blocking.inside.set()
        assert Blocking.gate.wait(60)


@pytest.mark.ledger("S2.11")
def test_a_step_that_blocks_does_not_keep_the_worker_from_taking_others(tmp_path: Path) -> None:
    async def story() -> None:
        store = ThreadedStore.open(databases.url_of(tmp_path))
        clock, reality = SystemClock(), JournalReality(tmp_path / "reality.journal")
        types = Registry([Blocking, builtin.registry().get("OS::Heat::TestResource")])
        context = contexts.shared(store, clock, contexts.ProcessPorts(reality, random.Random(1)))
        ports = EnginePorts(store, context, types.implementation, planner.Planning(store, types, clock), new_id)
        one = worker.Worker("one", ports)
        api = Orchestrator(ServicePorts(
            store, types, clock, new_id, planner.Planning(store, types, clock), wake=lambda *_: one.wake()))
        task = asyncio.create_task(one.run())
        blocked = await api.stacks.create("blocked", Lab.request({"a": {"type": "Test::Blocking"}}))
        async with asyncio.timeout(60):
            while not Blocking.inside.is_set():
                await asyncio.sleep(0.01)
            free = await api.stacks.create("free", Lab.request({f"r{i}": resource() for i in range(20)}))
            while (await api.stacks.show(free.stack_id))["status"] != "COMPLETE":
                await asyncio.sleep(0.01)
            assert (await api.stacks.show(blocked.stack_id))["status"] == "IN_PROGRESS"
            Blocking.gate.set()
            while (await api.stacks.show(blocked.stack_id))["status"] != "COMPLETE":
                await asyncio.sleep(0.01)
        one.stop()
        await task
        reality.close()
        store.close()

    asyncio.run(story())


@pytest.mark.ledger("S2.19")
def test_only_an_operation_that_overtakes_another_looks_for_what_is_under_way(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        said: list[str] = []

        def listen(connection: Any, cursor: Any, statement: Any, parameters: Any, context: Any, executemany: Any) -> None:
            said.append(re.sub(r"%\(\w+\)s(::\w+)?", "?", " ".join(statement.split())))

        await it.create({"a": resource("1")})
        engine = it.engine.store._engine
        event.listen(engine, "before_cursor_execute", listen)
        await it.update({"a": resource("2")})
        halts = "UPDATE nodes SET state=?, due=? WHERE nodes.stack_id = ? AND nodes.due IS NOT NULL"
        assert halts not in said, "nothing was running: nothing is searched for"
        await it.api.stacks.update("s", it.request({"a": resource("3", wait_secs=30)}))
        said.clear()
        await it.update({"a": resource("4")})
        assert halts in said

    lab(story)

