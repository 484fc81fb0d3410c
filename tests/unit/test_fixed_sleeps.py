"""Tests wait for conditions: a sleep is a step of a polling loop, or it is listed here with the reason for its duration."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

TESTS = Path(__file__).resolve().parents[1]
#: The longest pause between two looks of a polling loop.
POLL_S = 0.1

# By module, or by module and function: why the sleep has to last as long as it does.
_KILLED = "the moment at which a process is killed is drawn"
_VIRTUAL = "the time is the simulator's: it passes at once"
ALLOWED: dict[str, str] = {
    "bus/test_bus_breaks::test_a_broker_that_was_killed_is_found_again":
        "RabbitMQ writes the names of its queues to its disk in its own time, and does not say when it has",
    "clients/loaded::main": "it is the pause of the client that is tested, made shorter",
    "e2e/test_kill::kill_somewhere": _KILLED,
    "e2e/test_kill_legacy::test_whatever_was_killed_is_recovered_by_an_update": _KILLED,
    "e2e/test_migrate_kill::kill_somewhere": _KILLED,
    "e2e/test_observer_killed::test_nothing_is_lost_and_nothing_is_repaired_twice": _KILLED,
    "engine/local_stage::run": "it waits as long as a type asks the engine to",
    "engine/test_fairness::step": "the step of a resource lasts a little, so that others can overlap with it",
    "sim/test_rare_stories": _VIRTUAL,
    "sim/test_rough_signals": _VIRTUAL,
    "sim/test_world": _VIRTUAL,
    "unit/openstack/test_polls": _VIRTUAL,
    "unit/openstack/test_twin": _VIRTUAL,
    "unit/resources/test_calls::test_a_service_of_the_simulator_has_as_many_threads_as_said": _VIRTUAL,
}


def fixed_sleeps(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the function and the line of each sleep that is neither `sleep(0)` nor a short pause of a `while` loop."""
    yield from _within(tree, "", polls=False)


def _within(node: ast.AST, function: str, *, polls: bool) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            name = function or getattr(child, "name", "")
            yield from _within(child, name, polls=False)
            continue
        if _is_sleep(child) and not _is_short(child, POLL_S if polls else 0.0):
            yield function, child.lineno
        yield from _within(child, function, polls=polls or isinstance(child, ast.While))


def _is_sleep(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "asyncio.sleep")


def _is_short(call: ast.Call, limit_s: float) -> bool:
    [duration] = call.args
    return isinstance(duration, ast.Constant) and isinstance(duration.value, int | float) and duration.value <= limit_s


def test_no_test_sleeps_for_a_fixed_time() -> None:
    found: dict[str, list[int]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        module = path.relative_to(TESTS).with_suffix("").as_posix()
        for function, line in fixed_sleeps(ast.parse(path.read_text(encoding="utf-8"))):
            name = f"{module}::{function}"
            found.setdefault(module if module in ALLOWED else name, []).append(line)
    unknown = [f"tests/{name.partition('::')[0]}.py:{line}" for name, lines in found.items() for line in lines
               if name not in ALLOWED]
    assert unknown == [], "wait for a condition instead, with a deadline (tests/patience.py)"
    assert sorted(set(ALLOWED) - set(found)) == [], "these entries of ALLOWED are no longer needed"


def test_what_counts_as_a_fixed_sleep() -> None:
    source = """
async def one():
    await asyncio.sleep(0)
    while not done():
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.05)

def two():
    while not done():
        time.sleep(0.5)
    for _ in range(3):
        time.sleep(PAUSE_S)
"""
    assert list(fixed_sleeps(ast.parse(source))) == [("one", 6), ("two", 10), ("two", 12)]
