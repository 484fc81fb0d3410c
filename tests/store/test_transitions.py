"""The state machines: nothing writes these tables but the transitions, and each of them does what it declares.

Triggers note every change of state while histories are simulated on both paths; each change must be one that the function
which made it declares.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import isotherm.store
from isotherm.sim import run
from isotherm.sim.histories import drawn_histories
from isotherm.states import Action, NodeState, OperationState, Status
from isotherm.store import memory
from isotherm.store.transitions import nodes, operations, versions
from isotherm.store.transitions.machine import NO_ROW, Machine, State
from tests.sim.legacy_world import LegacyRun

ROOT = Path(isotherm.store.__file__).parent
TABLES = ("nodes", "operations", "resources")
MODULES: dict[str, ModuleType] = {"nodes": nodes, "operations": operations, "resources": versions}
INVARIANTS = {f"I{number}" for number in range(1, 20)}
# Writes to these tables that change no state: another seal, another address of the same input, a purge of deleted stacks.
ELSEWHERE = {"admin/reseal.py", "admin/purge.py"}


def written(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every `update(t.nodes)`, `insert(t.nodes, ...)`, `delete(t.nodes)` or `delete_by_id(c, t.nodes.c.id, ...)`."""
    aliases = dict(_aliases(tree))
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        where = {"update": 0, "insert": 0, "delete": 0, "delete_by_id": 1}.get(name)
        if where is not None and len(call.args) > where:
            first, *rest = ast.unparse(call.args[where]).split(".")
            text = ".".join([aliases.get(first, first), *rest])
            if (found := re.match(rf"t\.({'|'.join(TABLES)})\b", text)) is not None:
                yield found[1], call.lineno


def _aliases(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Names such as `_NODE = t.nodes.c`, also where several are assigned at once."""
    for one in ast.walk(tree):
        if isinstance(one, ast.Assign):
            pairs = zip(one.targets[0].elts, one.value.elts, strict=False) if isinstance(
                one.targets[0], ast.Tuple) and isinstance(one.value, ast.Tuple) else [(one.targets[0], one.value)]
            yield from ((name.id, ast.unparse(value)) for name, value in pairs if isinstance(name, ast.Name))


def test_nothing_else_writes_these_tables() -> None:
    found = {f"{path.relative_to(ROOT)}:{line}: {table}" for path in sorted(ROOT.rglob("*.py"))
             if path.parent.name != "transitions" and path.relative_to(ROOT).as_posix() not in ELSEWHERE
             for table, line in written(ast.parse(path.read_text(encoding="utf-8")))}
    assert not found, "call a function of isotherm.store.transitions instead"


@pytest.mark.parametrize("text", [
    "sa.update(t.nodes).where(x)", "_X = t.resources.c\nrows.delete_by_id(connection, _X.id, ids)",
    "a, b = t.stacks.c, t.nodes.c\ndelete_by_id(c, b.id, [])", "insert(t.operations, 'id')"])
def test_such_a_write_would_be_found(text: str) -> None:
    assert list(written(ast.parse(text)))


@pytest.mark.parametrize("table", TABLES)
def test_every_writer_is_declared(table: str) -> None:
    """Each public function of a module is a transition, and each transition says what it is for."""
    machine: Machine = MODULES[table].MACHINE
    public = {name for name, one in vars(MODULES[table]).items()
              if callable(one) and getattr(one, "__module__", "") == MODULES[table].__name__
              and not name.startswith("_") and not isinstance(one, type)}
    assert public - {"holds_object"} == machine.transitions.keys()
    for one in machine.transitions.values():
        assert one.summary.endswith("."), one.name
        assert set(one.keeps) <= INVARIANTS, one.name
        assert bool(one.from_) == bool(one.to), one.name


def test_every_state_is_reached() -> None:
    for module in MODULES.values():
        machine: Machine = module.MACHINE
        reached = {state for one in machine.transitions.values() for state in one.to}
        assert reached == {*machine.states, NO_ROW}


def version_state(superseded: int, action: int, status: int) -> versions.VersionState:
    if (action, status) == (Action.DELETE, Status.COMPLETE):
        return versions.VersionState.FORGOTTEN
    return versions.VersionState.SUPERSEDED if superseded else versions.VersionState(status)


READ: dict[str, tuple[tuple[str, ...], Callable[..., State]]] = {
    "nodes": (("state",), NodeState),
    "operations": (("state",), OperationState),
    "resources": (("superseded", "action", "status"), version_state),
}
LOG = "CREATE TEMP TABLE log (before TEXT, after TEXT)"


def triggers(table: str) -> Iterator[str]:
    columns = READ[table][0]
    old, new = (" || ',' || ".join(f"{row}.{column}" for column in columns) for row in ("OLD", "NEW"))
    for event, before, after in (("INSERT", "NULL", new), ("UPDATE", old, new), ("DELETE", old, "NULL")):
        yield (f"CREATE TEMP TRIGGER log_{table}_{event} AFTER {event} ON {table} "
               f"BEGIN INSERT INTO log VALUES ('{table}:' || ({before}), '{table}:' || ({after})); END")


class Recorder:
    """Wraps each transition, and reads after each call what the triggers noted during it."""

    def __init__(self, patch: pytest.MonkeyPatch, database: memory.MemoryDatabase) -> None:
        self.seen: Counter[tuple[str, str, State, State]] = Counter()
        self.wrong: list[str] = []
        self._raw: Any = database._raw
        self._raw.execute(LOG)
        for table in TABLES:
            for statement in triggers(table):
                self._raw.execute(statement)
            for name in MODULES[table].MACHINE.transitions:
                patch.setattr(MODULES[table], name, self._recording(table, name, getattr(MODULES[table], name)))

    def _recording(self, table: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        declared = MODULES[table].MACHINE.transitions[name]

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            self._raw.execute("DELETE FROM log")
            result = function(*arguments, **named)
            for before, after in self._raw.execute("SELECT before, after FROM log").fetchall():
                states = [_state(one) for one in (before, after)]
                self.seen[table, name, states[0], states[1]] += 1
                if not declared.allows(*states):
                    self.wrong.append(f"{table}.{name}: {before} -> {after}")
            self._raw.execute("DELETE FROM log")
            return result

        return call


def _state(noted: str | None) -> State:
    if noted is None:
        return NO_ROW
    table, _, values = noted.partition(":")
    return READ[table][1](*map(int, values.split(",")))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    run.database.cache_clear()
    yield Recorder(monkeypatch, run.database())
    run.database.cache_clear()


@pytest.mark.parametrize("legacy", [False, True], ids=["convergence", "legacy"])
def test_each_transition_does_what_it_declares(legacy: bool, recorder: Recorder) -> None:
    for seed in range(40):
        drawn = drawn_histories.draw(seed)
        outcome = LegacyRun(drawn).play() if legacy else run.play(drawn)
        assert outcome.well
    assert not recorder.wrong, sorted(set(recorder.wrong))
    called = {(table, name) for table, name, _, _ in recorder.seen}
    assert len(called) > 30, sorted(called)
