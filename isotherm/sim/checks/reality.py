"""I2: reality equals the shape: no object is missing, different or left over."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from isotherm.sim.checks.evidence import kept_objects
from isotherm.sim.histories import shapes
from isotherm.sim.histories.limits import Slack
from isotherm.sim.histories.shapes import Shape
from isotherm.sim.world.cloud import Cloud, Thing
from isotherm.states import Status
from isotherm.store.memory import MemoryDatabase


class Comparison:
    """Compares the objects of a stack with its shape, and reports each difference."""

    def __init__(self, database: MemoryDatabase, cloud: Cloud, broken: Callable[[str, str], None]) -> None:
        self._database = database
        self._cloud = cloud
        self._broken = broken

    def __call__(
        self, stack_id: str, stack: str, shape: Shape, given: dict[str, Any] | None = None, slack: Slack | None = None
    ) -> Any:
        """Compare; return the echo of the stack, for the shape around it. `slack`: of an operation that left parts out."""
        parts = shapes.living(shape)
        excused = {name for name in parts if slack is not None and slack.excuses(name)}
        kept = set() if slack is None else kept_objects(self._database, self._cloud, stack_id, parts, slack.excuses)
        found = self._found(stack, parts, slack, kept)
        ids = {name: part.external or (found[name].id if name in found else "") for name, part in parts.items()}
        things = self._cloud.things
        echoes = {name: things[id_].properties.get("a") for name, id_ in ids.items() if id_ in things}
        echoes |= self._compare_nested(stack_id, stack, parts, ids, slack, kept)
        for name, part in parts.items():
            if part.external or part.inner is not None or name in excused:
                continue
            if name not in found:
                self._broken("I2", f"{name} of {stack} is missing")
            elif self._cloud.status(found[name]) != "READY":
                self._broken("I2", f"{found[name].id} is {self._cloud.status(found[name])}")
            elif echoes.keys() >= ids.keys() - excused:
                self._compare_object(found[name], part.kind, shapes.expected(part, ids, echoes, given))
        return echoes.get(shapes.echo_part(shape) or "")

    def _found(self, stack: str, parts: Shape, slack: Slack | None, kept: Collection[str]) -> dict[str, Thing]:
        found: dict[str, Thing] = {}
        mine = [thing for thing in self._cloud.things.values()
                if thing.stack == stack and not thing.foreign and thing.id not in self._cloud.released]
        for thing in mine:
            if slack is not None and slack.excuses(thing.name):
                found[thing.name] = thing
                continue
            if thing.id in kept:
                continue
            if thing.name in found or thing.name not in parts:
                self._broken("I2", f"{thing.id} is left over")
            found[thing.name] = thing
        return found

    def _compare_nested(
        self, stack_id: str, stack: str, parts: Shape, ids: dict[str, str], slack: Slack | None, kept: Collection[str]
    ) -> dict[str, Any]:
        """Compare the nested stacks; return their echoes."""
        inside: dict[str, Any] = {}
        for child in self._database.read_table("stacks"):
            if child.owner_id != stack_id or child.tomb:
                continue
            name = child.name.removeprefix(f"{stack}-").rpartition("-")[0]
            if child.id in kept or (slack is not None and slack.excuses(name)):
                continue
            if name in inside or name not in parts or parts[name].inner is None:
                self._broken("I2", f"stack {child.name} is left over")
            inside[name] = child
        echoes: dict[str, Any] = {}
        for name, part in parts.items():
            if part.inner is None or (slack is not None and slack.excuses(name)):
                continue
            if name not in inside:
                self._broken("I2", f"the stack {name} of {stack} is missing")
                continue
            child = inside[name]
            if child.status != Status.COMPLETE:
                self._broken("I14", f"{stack} is complete, and {child.name} inside is {Status(child.status).name}")
            given = {"a": part.a or None, "link": ids[part.link] if part.link else None}
            echoes[name] = self(child.id, child.name, part.inner, given)
        return echoes

    def _compare_object(self, thing: Thing, kind: str, wanted: dict[str, Any]) -> None:
        if thing.properties.get("rest"):
            self._broken("I2", f"{thing.id} is suspended")
        if thing.kind != kind:
            self._broken("I2", f"{thing.id} is a {thing.kind}, and should be a {kind}")
        for key, value in wanted.items():
            real = thing.properties.get(key)
            if (real or None) != value:
                self._broken("I2", f"{thing.id} has {key}={real!r}, and should have {value!r}")
