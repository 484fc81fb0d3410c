"""A big stack does not delay a small one, projects share capacity, and limits on parallel steps are kept."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa

from isotherm import errors
from isotherm.engine.process.embedded import Embedded
from isotherm.identity.requester import Requester
from isotherm.resources import contract
from isotherm.resources.schema import STRING, Schema
from isotherm.states import NodeState
from isotherm.store import tables as t
from tests import patience
from tests.engine.conftest import Lab, resource
from tests.engine.test_limits import options


class Gauge:
    """The number of steps at the same moment, counted by the steps themselves."""

    def __init__(self) -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.begun = 0
        self.gate: asyncio.Event | None = None

    @contextlib.asynccontextmanager
    async def step(self, *names: str) -> AsyncIterator[None]:
        self.begun += 1
        self.now.update(names)
        self.most |= self.now
        try:
            if self.gate:
                await self.gate.wait()
            await asyncio.sleep(0.005)
            yield
        finally:
            self.now.subtract(names)


GAUGE = Gauge()


class Meter(contract.Resource):
    """Says how many of its kind are at it."""

    TYPE = "Test::Meter::One"
    DESCRIPTION = "Counts."
    properties_schema: ClassVar[Mapping[str, Schema]] = {"project": Schema(STRING, "Whose it is.", default="p")}
    service = "Test::Meter"

    async def handle_create(self) -> object:
        async with GAUGE.step(self.TYPE, self.service, f"project {self.properties['project']}"):
            self.physical_id = self.physical_name
        return {"polls": 2}

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        async with GAUGE.step(self.TYPE, self.service, f"project {self.properties['project']}"):
            return True if not progress["polls"] else contract.Wait(0.01, progress={"polls": progress["polls"] - 1})


class Other(Meter):
    TYPE = "Test::Meter::Two"


@pytest.fixture(autouse=True)
def gauge() -> Any:
    global GAUGE  # resources are made by the engine: there is no other way to them
    GAUGE = Gauge()
    return GAUGE


@contextlib.asynccontextmanager
async def driven(folder: Any, engines: int = 1) -> AsyncIterator[Any]:
    """So many engines on one folder, each of which knows the meters."""
    async with contextlib.AsyncExitStack() as stack:
        made = []
        for _ in range(engines):
            engine = Embedded(folder)
            stack.callback(engine.close)
            engine.types.register(Meter)
            engine.types.register(Other)
            await stack.enter_async_context(engine.driving())
            made.append(engine)
        yield [Lab(engine) for engine in made]


@contextlib.asynccontextmanager
async def closed_gate(gauge: Any) -> AsyncIterator[None]:
    """Steps begin, and do not end before the gate is opened."""
    gauge.gate = asyncio.Event()
    try:
        yield
    finally:
        gauge.gate.set()


async def at_once(lab: Lab, gauge: Gauge, steps: int) -> None:
    """Wait until so many are under way: behind a closed gate they come together, however busy the machine is."""
    async def are_under_way() -> bool:
        return gauge.now[Meter.service] >= steps

    await lab.until(are_under_way)


def meters(count: Any, type_: Any = Meter.TYPE, project: str = "p") -> Any:
    return {f"{type_[-3:]}{n}": {"type": type_, "properties": {"project": project}} for n in range(count)}


async def finished(lab: Lab, *names: str) -> list[int]:
    """How many nodes of each stack have ended."""
    query = (sa.select(t.stacks.c.name, sa.func.count()).join(t.stacks, t.stacks.c.id == t.nodes.c.stack_id)
             .where(t.nodes.c.state == NodeState.DONE).group_by(t.stacks.c.name))
    found = await lab.engine.store.read(lambda connection: dict(map(tuple, connection.execute(query))))
    return [found.get(name, 0) for name in names]


async def planned(lab: Lab) -> int:
    """How many stacks have nodes."""
    query = sa.select(sa.func.count(sa.distinct(t.nodes.c.stack_id)))
    return await lab.engine.store.read(lambda connection: connection.execute(query).scalar_one())


def test_a_small_stack_ends_long_before_a_big_one(tmp_path: Path, architecture: Any) -> None:
    size = 5000 if architecture == "convergence" else 1000

    async def story() -> None:
        async with driven(tmp_path) as (it,):
            big = await it.api.stacks.create("big", it.request({f"r{n}": resource() for n in range(size)}))

            async def is_under_way() -> Any:
                return (await finished(it, "big"))[0] > 0

            await it.until(is_under_way)
            small = await it.end(await it.api.stacks.create("small", it.request({"one": resource()})))
            assert small["stack_status"] == "CREATE_COMPLETE"
            (done,) = await finished(it, "big")
            assert done < size * 2 / 3, f"{done} of {size} came first"
            await it.end(await it.api.stacks.delete("small"))
            assert (await it.end(big))["stack_status"] == "CREATE_COMPLETE"

    asyncio.run(story())


def test_projects_share(tmp_path: Path, gauge: Any) -> None:
    """One has many stacks, the other comes later with a single one of the same size."""
    options(tmp_path, engine_concurrency=8)

    async def story() -> None:
        async with driven(tmp_path) as (it,), closed_gate(gauge):
            other = Lab(it.engine)
            other.api = it.engine.orchestrator_for(Requester("other"))
            first = [await it.api.stacks.create(f"a{n}", it.request(meters(40))) for n in range(5)]
            second = await other.api.stacks.create("b", it.request(meters(40)))

            async def are_planned() -> Any:
                return await planned(it) == 6

            await it.until(are_planned)
            gauge.gate.set()
            assert (await other.end(second))["stack_status"] == "CREATE_COMPLETE"
            done = sum(await finished(it, *(f"a{n}" for n in range(5))))
            assert done < 5 * 40 / 2, f"{done} came before the other project's 40"
            for one in first:
                assert (await it.end(one))["stack_status"] == "CREATE_COMPLETE"

    asyncio.run(story())


def test_a_type_and_its_service_have_no_more_steps_than_they_may(tmp_path: Path, gauge: Any) -> None:
    options(tmp_path, max_parallel_steps="Test::Meter::One=2, Test::Meter=3")

    async def story() -> None:
        async with driven(tmp_path) as (it,), closed_gate(gauge):
            both = await asyncio.gather(
                it.api.stacks.create("a", it.request({**meters(10), **meters(10, Other.TYPE)})),
                it.api.stacks.create("b", it.request(meters(10))))
            await at_once(it, gauge, 3)
            gauge.gate.set()
            for one in both:
                assert (await it.end(one))["stack_status"] == "CREATE_COMPLETE"

    asyncio.run(story())
    assert gauge.most[Meter.TYPE] == 2
    assert gauge.most[Meter.service] == 3


@pytest.mark.parametrize("engines", [1, 2])
def test_a_project_has_no_more_steps_than_it_may(tmp_path: Path, gauge: Any, engines: Any) -> None:
    options(tmp_path, max_parallel_steps_per_project=3)

    async def story() -> None:
        async with driven(tmp_path, engines) as labs:
            other = Lab(labs[-1].engine)
            other.api = labs[-1].engine.orchestrator_for(Requester("other"))
            asked = [(labs[0], await labs[0].api.stacks.create("a", Lab.request(meters(12)))),
                     (labs[-1], await labs[-1].api.stacks.create("b", Lab.request(meters(12)))),
                     (other, await other.api.stacks.create("c", Lab.request(meters(12, project="other"))))]
            for lab, one in asked:
                assert (await lab.end(one))["stack_status"] == "CREATE_COMPLETE"

    asyncio.run(story())
    assert 1 < gauge.most["project p"] <= 3
    assert 1 < gauge.most["project other"] <= 3


@pytest.mark.parametrize("limit", [{"max_parallel_steps": "Test::Meter=1"}, {"max_parallel_steps_per_project": 1}])
def test_what_has_to_wait_says_why_and_nothing_else_waits_for_it(tmp_path: Path, gauge: Any, limit: Any) -> None:
    options(tmp_path, **limit)
    whose = "Test::Meter" if "max_parallel_steps" in limit else "the project"
    told = f"1 step of {whose} is under way, the most allowed"

    async def story() -> None:
        async with driven(tmp_path) as (it,), closed_gate(gauge):
            accepted = await it.api.stacks.create("s", it.request(meters(6)))

            async def is_told() -> Any:
                return gauge.begun and told in [one["waits_for"] for one in await it.api.resources.list("s")]

            await it.until(is_told)

            async def one_has_begun() -> Any:
                return gauge.begun == 1

            await patience.stays(one_has_begun)
            gauge.gate.set()
            assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"
            assert {one["waits_for"] for one in await it.api.resources.list("s")} == {""}

    asyncio.run(story())
    assert max(gauge.most.values()) == 1


@pytest.mark.parametrize("limit", [{"max_parallel_steps": "Test::Meter=1"}, {"max_parallel_steps_per_project": 1}])
def test_what_waits_for_its_turn_has_not_begun_and_never_does_when_it_is_cancelled(
    tmp_path: Path, gauge: Any, limit: Any
) -> None:
    options(tmp_path, **limit)

    async def story() -> None:
        async with driven(tmp_path) as (it,), closed_gate(gauge):
            accepted = await it.api.stacks.create("s", it.request(meters(8), disable_rollback=True))

            async def has_begun() -> Any:
                return gauge.begun == 1 and any(one["waits_for"] for one in await it.api.resources.list("s"))

            await it.until(has_begun)
            await it.api.stacks.cancel("s", rollback=False)
            gauge.gate.set()
            assert (await it.end(accepted))["stack_status"] == "CREATE_FAILED"
            made = [one for one in await it.api.resources.list("s") if one["physical_resource_id"]]
            # An engine may have held one more at that moment.
            assert 1 <= len(made) <= 2

    asyncio.run(story())


def test_a_limit_outlives_the_engine(tmp_path: Path, gauge: Any) -> None:
    """What was under way in an engine that goes is not counted for good."""
    options(tmp_path, max_parallel_steps="Test::Meter=2", max_parallel_steps_per_project=2)

    async def story() -> None:
        async with driven(tmp_path) as (it,):
            await it.api.stacks.create("s", it.request(meters(20)))

            async def is_under_way() -> Any:
                return gauge.begun > 4

            await it.until(is_under_way)
        async with driven(tmp_path) as (it,), closed_gate(gauge):
            await at_once(it, gauge, 2)
            gauge.gate.set()

            async def is_over() -> Any:
                return (await it.api.stacks.show("s"))["status"] != "IN_PROGRESS"

            await it.until(is_over)
            assert (await it.api.stacks.show("s"))["stack_status"] == "CREATE_COMPLETE"

    asyncio.run(story())
    assert gauge.most[Meter.service] == 2


def test_a_limit_that_cannot_be_read_is_an_error_at_the_start(tmp_path: Path) -> None:
    options(tmp_path, max_parallel_steps="OS::Nova::Server")

    async def story() -> None:
        async with driven(tmp_path):
            pass

    with pytest.raises(errors.UserError, match="'OS::Nova::Server' is not TYPE=NUMBER"):
        asyncio.run(story())
