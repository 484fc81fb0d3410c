"""Scripted scenarios, in the form that the convergence prototype and Heat use for theirs.

A scenario is a script that queues messages for the engine: operations, assertions, and `noop(n)`: "let the worker take n
more steps". One message is one tick, and at each tick the worker takes one step. In Heat a step is a message about any
node; here workers visit only the nodes that need work. So that a script finds the progress that it expects, the saved
steps still take their ticks: a replacement costs one more, and clean-up begins when Heat's update would be complete.

The seed decides the order in which ready nodes are taken; seed 0 takes them first come, first served.
"""

from __future__ import annotations

import json
import unittest
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from isotherm import errors
from isotherm.engine import orchestrator
from isotherm.resources import contract
from isotherm.resources.registry import Registry
from isotherm.resources.schema import ANY, AttributeSchema, Schema
from isotherm.sim import run
from isotherm.sim.checks import idle
from isotherm.sim.histories.history import History
from isotherm.sim.run import Run
from isotherm.sim.world import processes
from isotherm.sim.world.cloud import Thing
from isotherm.states import NodeKind, NodeState, OperationState

TYPE = "Sim::Actor"


NAMES = tuple(mark + name for mark in ("", "!") for name in ("a", "b", "c", "d", "ca", "cb"))


class Actor(contract.Resource):
    """The resource of scenarios: a change of a property with a `!` in its name replaces it."""

    TYPE = TYPE
    DESCRIPTION = "A resource of scripted scenarios."
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        name: Schema(ANY, "Any value.", update_allowed=True) for name in NAMES
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        name: AttributeSchema("The property of that name.") for name in NAMES
    }

    async def handle_create(self) -> object:
        await self.context.reality.create(self.TYPE, self.token, self._given(), self.physical_name)
        self.physical_id = self.physical_name
        return None

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if not await self.context.reality.update(self.physical_id or "", self._given()):
            raise errors.Permanent(f"{self.physical_id} does not exist")
        return None

    async def handle_delete(self) -> object:
        if self.physical_id is not None:
            await self.context.reality.delete(self.physical_id)
        return None

    async def find_by_token(self) -> contract.Search:
        return contract.found(await self.context.reality.find(self.token))

    def _given(self) -> dict[str, Any]:
        return {name: value for name, value in self.properties.items() if value is not None}

    def needs_replace(self, before: Mapping[str, Any], after: Mapping[str, Any], changed: Mapping[str, Any]) -> str | None:
        return next((name for name in changed if "!" in name), None)

    async def attribute(self, name: str) -> object:
        found = await self.context.reality.get(self.physical_id or "")
        return None if found is None else found.get(name, name)


# The language of the scripts.


@dataclass(frozen=True, slots=True)
class GetRes:
    target_name: str


@dataclass(frozen=True, slots=True)
class GetAtt:
    target_name: str
    attr: str


@dataclass(frozen=True, slots=True)
class RsrcDef:
    properties: Mapping[str, Any]
    depends_on: Sequence[str] = ()


@dataclass(slots=True)
class Template:
    resources: dict[str, RsrcDef] = field(default_factory=dict)
    key: Any = None

    def __post_init__(self) -> None:
        self.resources = dict(self.resources or {})

    def text(self) -> str:
        resources = {
            name: {"type": TYPE, "properties": {key: _rendered(value) for key, value in one.properties.items()},
                   "depends_on": list(one.depends_on)}
            for name, one in self.resources.items()
        }  # fmt: skip
        return json.dumps({"heat_template_version": "2013-05-23", "resources": resources})


def _rendered(value: Any) -> Any:
    if isinstance(value, GetAtt):
        return {"get_attr": [value.target_name, value.attr]}
    return {"get_resource": value.target_name} if isinstance(value, GetRes) else value


@dataclass(frozen=True)
class Physical:
    """An object of the cloud, as scripts read it."""

    uuid: str
    name: str
    properties: Mapping[str, Any] = field(compare=False, hash=False)


class Reality:
    """The objects that exist in the cloud."""

    def __init__(self, things: Mapping[str, Thing]) -> None:
        self._things = things

    def all_resources(self) -> list[Physical]:
        return [Physical(one.id, one.name, one.properties) for one in self._things.values() if not one.foreign]

    def resources_by_logical_name(self, logical_name: str) -> list[Physical]:
        return [one for one in self.all_resources() if one.name == logical_name]

    def resource_properties(self, resource: Physical, name: str) -> Any:
        return resource.properties[name]


class Engine:
    """Queues the messages of a script."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, tuple[Any, ...]]] = []

    def create_stack(self, name: str, template: Template) -> None:
        self.messages.append(("create", (name, template)))

    def update_stack(self, name: str, template: Template, moved: Mapping[str, str] | None = None) -> None:
        self.messages.append(("update", (name, template, moved)))

    def delete_stack(self, name: str) -> None:
        self.messages.append(("delete", (name,)))

    def rollback_stack(self, name: str) -> None:
        self.messages.append(("rollback", (name,)))

    def noop(self, count: int = 1) -> None:
        self.messages += [("noop", ())] * count

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.messages.append(("call", (function, arguments)))


class Worker:
    """A name that scripts may use; the worker takes its work from the engine."""


@dataclass(slots=True)
class ScenarioResult:
    """The result of a scenario under one seed."""

    file: Path
    seed: int
    problem: str
    lines: list[str]


def registry() -> Registry:
    types = run.registry()
    types.register(Actor)
    return types


def play(file: Path, seed: int = 0) -> ScenarioResult:
    """Step the scenario, taking nodes in the order of this seed."""
    stepper = _Stepper(seed)
    problem = ""
    with stepper.run.reporting_errors():
        try:
            exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), stepper.names())
            stepper.play()
        except AssertionError as error:
            problem = f"{error}"
        except errors.UserError as error:
            problem = f"was refused: {error}"
    return ScenarioResult(file, seed, problem or "; ".join(stepper.run.witness.violations[:1]), stepper.run.log.lines)


class _Stepper:
    """Plays the messages of one script, tick by tick."""

    def __init__(self, seed: int) -> None:
        registry()
        self.run = Run(History(seed, 1, (), {}, dice=seed))
        self.run.witness.drifts.unresolved = True  # the script says what reality should be, not a shape
        self.run.cloud.build_s = self.run.cloud.answer_s = 0.0
        for foreign in list(self.run.cloud.things):
            del self.run.cloud.things[foreign]
        self._order = Random(f"order/{seed}") if seed else None
        self._engine = Engine()
        self._test = unittest.TestCase()
        self._reality = Reality(self.run.cloud.things)
        # Ticks left to spend on nodes that need no step.
        self._idle = 0
        # Steps that the worker has taken, and the nodes on which it is taking one.
        self._steps = 0
        self._running: set[int] = set()
        # The users of each version when the last operation was accepted, and whether its clean-up has begun.
        self._users: dict[int, set[int]] = {}
        self._cleans = False
        self._witness_ran = self.run.witness.ran
        self.run.witness.ran = self._ran  # type: ignore[method-assign]

    def names(self) -> dict[str, Any]:
        return {
            "engine": self._engine, "worker": Worker(), "converger": Worker(), "reality": self._reality,
            "verify": self._verify, "test": self._test, "Template": Template, "RsrcDef": RsrcDef, "GetRes": GetRes,
            "GetAtt": GetAtt,
        }  # fmt: skip

    def play(self) -> None:
        self.run.hosts.start(1, 1, registry())
        self._pause()
        for kind, arguments in self._engine.messages:
            if kind == "call":
                function, given = arguments
                if function == self._verify:
                    self._settle()
                self.run.log.note(f"call {getattr(function, '__name__', 'verify')}")
                function(*given)
            elif kind != "noop":
                self._operate(kind, *arguments)
            self._step()
            if self.run.witness.violations:
                return
        self._settle()
        if not self.run.witness.violations:
            idle.check(self.run.witness.evidence, drifted=True)

    def _operate(
        self, kind: str, name: str, template: Template | None = None, moved: Mapping[str, str] | None = None
    ) -> None:
        api = self.run.api
        # Heat's own clean-up comes after all updates: that is what rollback asks of ours.
        request = orchestrator.Request(template.text() if template else "", disable_rollback=False, moved=moved or {})
        self.run.witness.requests.moved[""] = request.moved
        asked: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
            "create": lambda: api.stacks.create(name, request), "update": lambda: api.stacks.update(name, request),
            "delete": lambda: api.stacks.delete(name), "rollback": lambda: api.stacks.rollback(name),
        }  # fmt: skip
        self.run.log.note(f"{kind} {name}")
        self.run.loop.run_until(asked[kind]())
        self._idle, self._cleans = self._unvisited(), False
        self._users = {}
        for row in self.run.database.read_table("resources"):
            for need in json.loads(row.requires):
                self._users.setdefault(need, set()).add(row.id)

    # The worker's turns.

    def _pause(self) -> None:
        for process in self.run.hosts.processes():
            process.paused = True

    def _resume(self) -> None:
        self.run.hosts.wake()
        for process in self.run.hosts.processes():
            self.run.faults.resume(process)

    def _ran(self, by: processes.Process | None) -> None:
        self._witness_ran(by)
        running = {node.id for node in self.run.database.read_table("nodes") if node.state == NodeState.RUNNING}
        self._steps += len(self._running - running)
        self._running = running

    def _step(self) -> None:
        """Let the worker take one step, if there is one."""
        if self._cleaning() and not self._cleans:
            self._cleans = True
            self._idle += self._in_the_way()
        if self._idle:
            self._idle -= 1
            return
        if idle.is_idle(self.run.database):
            return
        before, known = self._steps, self._twice()
        self._turn(lambda: self._steps > before or idle.is_idle(self.run.database))
        # A replacement takes two messages.
        self._idle += len(self._twice() - known)

    def _settle(self) -> None:
        if not self._turn(lambda: idle.is_idle(self.run.database)):
            self.run.witness.broken("I13", "the work does not come to an end")

    def _turn(self, until: Callable[[], bool]) -> bool:
        if self._order is not None:
            order = self._order
            self.run.database.reorder(self.run.loop.time(), lambda _id: order.random())
        self._resume()
        done = self.run.turn(until, within=run.PATIENCE_S)
        self._pause()
        return done

    def _cleaning(self) -> bool:
        return any(row.state == OperationState.CLEANING for row in self.run.database.read_table("operations"))

    def _unvisited(self) -> int:
        """Return the number of nodes that the newest operation does not visit; each takes a tick first."""
        newest = {stack.id: stack.generation for stack in self.run.database.read_table("stacks")}
        nodes = self.run.database.read_table("nodes")
        return sum(node.kind == NodeKind.UPDATE and node.generation != newest[node.stack_id] for node in nodes)

    def _in_the_way(self) -> int:
        """Return the number of kept versions that use an unwanted one, directly or not; each takes a tick first."""
        unwanted = {node.resource_id for node in self.run.database.read_table("nodes") if node.kind == NodeKind.CLEANUP}
        reached, todo = set(unwanted), list(unwanted)
        while todo:
            users = self._users.get(todo.pop(), set()) - reached
            reached |= users
            todo += users
        return len(reached - unwanted)

    def _twice(self) -> set[str]:
        names = [row.name for row in self.run.database.read_table("resources")]
        return {name for name in names if names.count(name) > 1}

    # Assertions of the scripts.

    def _verify(self, template: Template) -> None:
        """Assert that each resource exists once with exactly its properties, and that no other object exists."""
        test, reality = self._test, self._reality
        for name, wanted in template.resources.items():
            found = reality.resources_by_logical_name(name)
            test.assertEqual(1, len(found), f"Found {len(found)} copies of resource {name}")
            for key, value in wanted.properties.items():
                test.assertEqual(self._resolved(value), found[0].properties.get(key), f"Unexpected value of {name}.{key}")
            test.assertEqual(len(wanted.properties), len(found[0].properties), f"{name} has other properties")
        test.assertEqual(set(template.resources), {one.name for one in reality.all_resources()})

    def _resolved(self, value: Any) -> Any:
        if not isinstance(value, GetAtt | GetRes):
            return value
        target = self._reality.resources_by_logical_name(value.target_name)[0]
        return target.properties.get(value.attr, value.attr) if isinstance(value, GetAtt) else target.uuid
