"""The gate through which the engine calls types, and the threads behind it."""

from __future__ import annotations

import ast
import asyncio
import random
import threading
from pathlib import Path

import pytest

import isotherm
from isotherm import errors
from isotherm.resources import gate
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

    def __init__(self, threads: gate.Threads) -> None:
        self.threads = threads
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


def _on_the_loop(story):
    return asyncio.run(story)


def _in_the_simulator(story):
    loop = SimLoop(random.Random(1))
    try:
        return loop.run_until(story)
    finally:
        loop.close()


@pytest.fixture(params=[(gate.LoopThreads, _on_the_loop), (SimThreads, _in_the_simulator)], ids=["loop", "simulator"])
def kind(request):
    """The two implementations of the port: how to make one, and how to run a story with it."""
    return request.param


@pytest.mark.parametrize("method", ["of_the_loop", "plain", "wrapped"])
def test_each_kind_of_method_is_called(kind, method):
    threads, run = kind
    one = Example(threads())
    assert run(gate.call(one.threads, getattr(one, method), "x")) == "x"


def test_a_plain_method_has_a_thread_of_its_own(kind):
    threads, run = kind
    one = Example(threads())
    run(gate.call(one.threads, one.plain, "x"))
    assert one.thread not in (None, threading.get_ident())


def test_what_a_port_raises_comes_out_of_the_method(kind):
    threads, run = kind
    one = Example(threads())
    with pytest.raises(errors.Permanent, match="no"):
        run(gate.call(one.threads, one.refused))


def test_outside_of_a_plain_method_nothing_is_waited_for(kind):
    threads, run = kind

    async def story() -> None:
        with pytest.raises(errors.Bug):
            threads().wait(_port("x"))

    run(story())


def test_who_was_cancelled_gets_no_answers_any_more():
    """The thread cannot be stopped; but it changes nothing through the ports of a step that has been given up."""
    threads, entered, released, ended = gate.LoopThreads(), threading.Event(), threading.Event(), threading.Event()
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
        task = asyncio.create_task(threads.run(method))
        await asyncio.to_thread(entered.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        released.set()
        await asyncio.to_thread(ended.wait)

    asyncio.run(story())
    [refused] = done
    assert isinstance(refused, errors.Superseded)


def test_what_is_waited_for_ends_with_the_step():
    threads, entered, ended = gate.LoopThreads(), threading.Event(), threading.Event()
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
        task = asyncio.create_task(threads.run(method))
        await asyncio.to_thread(entered.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(ended.wait)

    asyncio.run(story())
    assert len(told) == 1


def test_the_engine_calls_types_through_the_gate_only():
    """Outside of the types themselves, no method of a type is called directly: it may be plain."""
    methods, house = {*plain_types.METHODS, "observe_many"}, Path(isotherm.__file__).parent
    past_it = [
        f"{file.relative_to(house)}:{node.lineno} {node.func.attr}"
        for file in house.rglob("*.py") if "resources" not in file.relative_to(house).parts
        for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Await)
        for node in [node.value]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods
    ]
    assert past_it == []
