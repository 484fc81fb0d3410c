"""The gate through which the engine calls types, and the threads behind it."""

from __future__ import annotations

import ast
import asyncio
import random
import threading
from pathlib import Path
from typing import Any

import pytest

import isotherm
from isotherm import errors
from isotherm.clock import SystemClock
from isotherm.resources import contract, gate
from isotherm.resources.reality.journal import MemoryReality
from isotherm.resources.service_threads import ServiceThreads, refuse_abandoned
from isotherm.sim.world import plain_types
from isotherm.sim.world.loop import SimLoop
from isotherm.sim.world.threads import SimThreads


async def _port(value: str) -> str:
    await asyncio.sleep(0)
    return value


async def _broken_port() -> str:
    await asyncio.sleep(0)
    raise errors.Permanent("no")


class Example:
    """Methods of all kinds."""

    TYPE = "Test::Example"
    traits = contract.Traits()

    def __init__(self, threads: gate.Threads, lease: contract.Lease = contract.Unleased()) -> None:  # noqa: B008
        self.threads = threads
        self.context = contract.Context(clock=SystemClock(), random=random.Random(1), reality=MemoryReality(),
                                        threads=threads, lease=lease)
        self.thread: int | None = None

    async def of_the_loop(self, value: str) -> str:
        return value

    def plain(self, value: str) -> str:
        self.thread = threading.get_ident()
        return self.threads.wait(_port(value))

    def refused(self) -> str:
        return self.threads.wait(_broken_port())

    def wrapped(self, value: str) -> object:
        return self.of_the_loop(value)


def _on_the_loop(story: Any) -> Any:
    return asyncio.run(story)


def _in_the_simulator(story: Any) -> Any:
    loop = SimLoop(random.Random(1))
    try:
        return loop.run_until(story)
    finally:
        loop.close()


@pytest.fixture(params=[(ServiceThreads, _on_the_loop), (SimThreads, _in_the_simulator)], ids=["loop", "simulator"])
def kind(request: pytest.FixtureRequest) -> Any:
    """The two implementations of the port: how to make one, and how to run a story with it."""
    return request.param


@pytest.mark.parametrize("method", ["of_the_loop", "plain", "wrapped"])
def test_each_kind_of_method_is_called(kind: Any, method: Any) -> None:
    threads, run = kind
    one = Example(threads())
    assert run(gate.call(one, getattr(one, method), "x")) == "x"


def test_a_plain_method_has_a_thread_of_its_own(kind: Any) -> None:
    threads, run = kind
    one = Example(threads())
    run(gate.call(one, one.plain, "x"))
    assert one.thread not in (None, threading.get_ident())


def test_what_a_port_raises_comes_out_of_the_method(kind: Any) -> None:
    threads, run = kind
    one = Example(threads())
    with pytest.raises(errors.Permanent, match="no"):
        run(gate.call(one, one.refused))


def test_outside_of_a_plain_method_nothing_is_waited_for(kind: Any) -> None:
    threads, run = kind

    async def story() -> None:
        with pytest.raises(errors.Bug):
            threads().wait(_port("x"))

    run(story())


def test_a_cancelled_call_gets_no_more_answers() -> None:
    """The thread cannot be stopped; but it changes nothing through the ports of a step that has been given up."""
    threads, entered, released, ended = ServiceThreads(), threading.Event(), threading.Event(), threading.Event()
    done: list[object] = []

    async def change() -> None:
        done.append("changed")

    def method() -> None:
        entered.set()
        released.wait()
        try:
            threads.wait(change())
        except errors.Superseded as error:
            done.append(error)
        ended.set()

    async def story() -> None:
        task = asyncio.create_task(threads.run(gate.BlockingCall(method)))
        await asyncio.to_thread(entered.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        released.set()
        await asyncio.to_thread(ended.wait)

    asyncio.run(story())
    [refused] = done
    assert isinstance(refused, errors.Superseded)


def test_what_is_waited_for_ends_with_the_step() -> None:
    threads, entered, ended = ServiceThreads(), threading.Event(), threading.Event()
    told: list[BaseException] = []

    async def for_ever() -> None:
        entered.set()
        await asyncio.Event().wait()

    def method() -> None:
        try:
            threads.wait(for_ever())
        except errors.Superseded as error:
            told.append(error)
        ended.set()

    async def story() -> None:
        task = asyncio.create_task(threads.run(gate.BlockingCall(method)))
        await asyncio.to_thread(entered.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(ended.wait)

    asyncio.run(story())
    assert len(told) == 1


def test_a_service_of_the_simulator_has_as_many_threads_as_said() -> None:
    busy = 0

    async def port() -> int:
        nonlocal busy
        busy += 1
        most = busy
        await asyncio.sleep(1)
        busy -= 1
        return most

    async def story() -> list[Any]:
        threads = SimThreads(2)

        def plain() -> int:
            return threads.wait(port())

        calls = [gate.BlockingCall(plain, service=service, timeout_s=1.5) for service in "AAAAAB"]
        return await asyncio.gather(*map(threads.run, calls), return_exceptions=True)

    answers = _in_the_simulator(story())
    # Two at a time of A and the one of B; the fifth of A gets no thread within its time limit, and is not begun.
    assert max(one for one in answers if isinstance(one, int)) == 3
    assert [type(one) for one in answers].count(errors.NotBegun) == 1


class Lost:
    def check(self) -> None:
        raise errors.Superseded("the lease has run out")


@pytest.mark.parametrize("method", ["of_the_loop", "plain"])
def test_under_a_lost_lease_nothing_is_called(kind: Any, method: Any) -> None:
    threads, run = kind
    one = Example(threads(), Lost())
    with pytest.raises(errors.Superseded):
        run(gate.change(one, getattr(one, method), "x"))
    assert one.thread is None
    assert run(gate.call(one, getattr(one, method), "x")) == "x"


def test_a_lease_that_is_lost_while_a_call_waits_for_a_thread_stops_the_call() -> None:
    threads, release, called = ServiceThreads(1), threading.Event(), []
    lease = Later()

    class Other(Example):
        def plain(self, value: str) -> str:
            called.append(value)
            return value

    async def story() -> None:
        busy = asyncio.create_task(threads.run(gate.BlockingCall(release.wait, service="Test")))
        await asyncio.sleep(0)
        one = Other(threads, lease)
        late = asyncio.create_task(gate.change(one, one.plain, "x"))
        await asyncio.sleep(0)
        lease.lost = True
        release.set()
        with pytest.raises(errors.Superseded):
            await late
        assert await busy

    asyncio.run(story())
    assert called == []


class Later:
    lost = False

    def check(self) -> None:
        if self.lost:
            raise errors.Superseded("the lease has run out")


def test_each_service_has_a_bounded_number_of_threads() -> None:
    threads, lock, release = ServiceThreads(2), threading.Lock(), threading.Event()
    running = {"a": 0, "b": 0}
    most = dict(running)

    def method(service: str) -> None:
        with lock:
            running[service] += 1
            most[service] = max(most[service], running[service])
        release.wait(10)
        with lock:
            running[service] -= 1

    async def story() -> None:
        calls = [asyncio.create_task(threads.run(gate.BlockingCall(method, (service,), service)))
                 for service in ("a", "b") for _ in range(5)]
        while sum(running.values()) < 4:
            await asyncio.sleep(0)
        release.set()
        await asyncio.gather(*calls)

    asyncio.run(story())
    assert most == {"a": 2, "b": 2}


def test_a_call_without_a_free_thread_has_not_begun_and_one_that_hangs_has() -> None:
    threads, release, told = ServiceThreads(1), threading.Event(), []

    def hangs() -> None:
        release.wait(10)
        try:
            refuse_abandoned()
        except errors.Superseded as error:
            told.append(error)
        ended.set()

    ended = threading.Event()

    async def story() -> None:
        first = asyncio.create_task(threads.run(gate.BlockingCall(hangs, service="Test", timeout_s=0.05)))
        await asyncio.sleep(0)
        second = asyncio.create_task(threads.run(gate.BlockingCall(told.append, ("called",), "Test", timeout_s=0.01)))
        with pytest.raises(errors.NotBegun, match="all 1 threads were busy"):
            await second
        with pytest.raises(errors.Temporary, match=r"Test did not answer within 0\.05 s") as raised:
            await first
        assert not isinstance(raised.value, errors.NotBegun)
        release.set()
        await asyncio.to_thread(ended.wait)

    asyncio.run(story())
    [refused] = told
    assert isinstance(refused, errors.Superseded), "its lease counts as lost"


def test_a_timeout_that_a_method_raises_is_its_own() -> None:
    def method() -> None:
        raise TimeoutError("the client gave up")

    with pytest.raises(TimeoutError, match="the client gave up"):
        asyncio.run(ServiceThreads().run(gate.BlockingCall(method)))


@pytest.mark.parametrize(
    ("type_", "service"), [("OS::Nova::Server", "OS::Nova"), ("Example::Lamp", "Example"), ("Lamp", "Lamp")])
def test_the_service_of_a_type_is_the_beginning_of_its_name(type_: Any, service: Any) -> None:
    assert gate.service_of(type_) == service


def test_the_engine_calls_types_through_the_gate_only() -> None:
    """Outside of the types themselves, no method of a type is called directly: it may be plain."""
    methods, house = {*plain_types.METHODS, "observe_many"}, Path(isotherm.__file__).parent
    past_it = [
        f"{file.relative_to(house)}:{node.lineno} {node.func.attr}"
        for file in house.rglob("*.py") if "resources" not in file.relative_to(house).parts
        for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Await)
        for node in [node.value]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods
        # A type of the simulator may call its own.
        if ast.unparse(node.func.value) != "self"
    ]
    assert past_it == []
