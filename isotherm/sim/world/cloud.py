"""The simulated cloud: a store of objects that is independent of the engine's tables.

Calls take time, fail at times, or take effect and lose their answer. The cloud refuses to delete an object that another one
uses, to refer to a missing object, and to create two objects for one token. Such a refusal means that the engine got an
order wrong, and is reported to the witness.

A call takes effect at once; the answer and the building of the object take time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from isotherm import errors
from isotherm.sim.world import processes
from isotherm.sim.world.chance import Chance
from isotherm.sim.world.faults import Faults

ANSWER_S = 8.0
BUILD_S = 12.0
# Objects of these kinds cannot be searched for; of the second kind, a repeated token creates no second object.
BLIND, REPEATABLE = "Sim::Blind", "Sim::Repeatable"
# The kind of objects whose ids the client chooses: creating one under an existing id overwrites that object.
NAMED = "Sim::Named"
# The kind of objects that their type creates again when they come up broken.
FRAGILE = "Sim::Fragile"
# The kind of objects that need those whose names stand in `near`, without naming their ids.
FOLLOWER = "Sim::Follower"
# The kind of objects that are described by a table and called over HTTP: see `twin`.
RECORD = "Sim::Record"
# Objects of these kinds are deleted and created again by their type while they are created, with the same token.
CREATED_AGAIN = (FRAGILE, RECORD)


class ThingInUse(errors.Permanent):
    """Another object uses the one that is to be deleted."""


@dataclass(slots=True)
class Thing:
    """An object in the cloud."""

    id: str
    kind: str
    token: str
    stack: str
    name: str
    properties: dict[str, Any]
    ready_at: float
    broken: bool = False
    # Whether the user made it: the engine may not touch it.
    foreign: bool = False
    uses: frozenset[str] = field(default=frozenset())
    # The properties that the engine has set; any difference is drift.
    made: Mapping[str, Any] = field(default_factory=dict)

    @property
    def drifted(self) -> list[str]:
        """The names of the properties that were changed behind the engine's back."""
        return [name for name, value in self.made.items() if value is not None and self.properties.get(name) != value]


class CloudWitness(Protocol):
    """Sees every mutation before it takes effect, and every refusal, drift and read."""

    def mutation(self, verb: str, by: processes.Process | None, thing: Thing) -> None: ...

    def wrong_order(self, what: str, thing: Thing, others: list[str]) -> None: ...

    def drift(self, thing: Thing) -> None: ...

    def look(self, by: processes.Process | None, kind: str, ids: Sequence[str]) -> None: ...


class Cloud:
    """Implements the engine's Reality."""

    def __init__(self, clock: Callable[[], float], chance: Chance, faults: Faults, note: Callable[[str], None]) -> None:
        self._clock = clock
        self._chance = chance
        self._faults = faults
        self._note = note
        self.things: dict[str, Thing] = {}
        self.tokens: dict[str, str] = {}
        # Every token that was ever used. None may be used twice (I1).
        self._spent: set[str] = set()
        self._ever: set[str] = set()
        self._kinds: dict[str, str] = {}
        self._drifts = 0
        self.witness: CloudWitness | None = None
        self.calls = 0
        self.build_s = BUILD_S
        self.answer_s = ANSWER_S
        # Ids of objects that went away behind the engine's back, and of those that the engine has given up on purpose.
        self.vanished: set[str] = set()
        self.released: set[str] = set()

    # Calls of the engine.

    async def create(self, kind: str, token: str, properties: Mapping[str, object], physical_id: str) -> None:
        stack, name, _ = physical_id.rsplit("-", 2)
        thing = Thing(physical_id, kind, token, stack, name, dict(properties), 0.0, made=dict(properties))
        await self.arrive("create", thing)
        if kind == REPEATABLE and token in self.tokens:
            await self._depart("create")
            return
        self.carry_out(thing)
        await self._depart("create")

    def carry_out(self, thing: Thing) -> None:
        """Create an object, at once. Raises Permanent if the request is refused."""
        kind, token, name, properties, physical_id = thing.kind, thing.token, thing.name, thing.properties, thing.id
        if token in self._spent:
            self._refuse("a token was used twice", thing, [self.tokens.get(token, "")])
        thing.uses = self._uses(thing, properties)
        self._check_near(thing)
        if properties.get("fail") == "create":
            raise errors.Permanent(f"quota exceeded for {name}")
        thing.ready_at = self._clock() + self._chance.delay(self.build_s)
        thing.broken = properties.get("fail") == "build" or self._chance.strikes("build fails", "cloud.create")
        if kind == NAMED and physical_id in self.things:
            self._note(f"cloud: {physical_id} is written over")
            self._remove(self.things[physical_id])
            # Overwriting takes no time: a row that is reused without knowing of it still describes its object.
            thing.ready_at, thing.broken = self._clock(), properties.get("fail") == "build"
        # A recreated object is neither vanished nor released.
        self.vanished.discard(physical_id)
        self.released.discard(physical_id)
        self._spent.add(token)
        self.tokens[token] = physical_id
        self.things[physical_id] = thing
        self._ever.add(physical_id)
        self._kinds[physical_id] = kind
        self._note(f"cloud: created {physical_id} {_shown(properties)}")

    async def get(self, physical_id: str) -> Mapping[str, Any] | None:
        [found] = await self.get_many([physical_id])
        return found

    async def get_many(self, ids: Sequence[str]) -> Sequence[Mapping[str, Any] | None]:
        """Read several objects in one call."""
        self._looked_at(ids)
        await self._faults.point("cloud.get.before")
        if self._chance.strikes("cloud busy", "cloud.get"):
            raise errors.Temporary("the cloud is busy", 2.0)
        things = [self.things.get(one) for one in ids]
        found = [None if thing is None else {**thing.properties, "status": self.status(thing)} for thing in things]
        if self._chance.strikes("drift", "cloud.get"):
            self.drift()
        if self._chance.strikes("look slow", "cloud.get"):
            # The late answer shows the state at the time of the call.
            await asyncio.sleep(self._chance.world.uniform(1.0, 3 * self.answer_s))
        await self._faults.point("cloud.get.after")
        return found

    def _looked_at(self, ids: Sequence[str]) -> None:
        if self.witness is not None and ids:
            self.witness.look(processes.current(), self._kinds.get(ids[0], ""), ids)

    async def find(self, token: str) -> str | None:
        await self._faults.point("cloud.find.before")
        if self._chance.strikes("cloud busy", "cloud.find"):
            raise errors.Temporary("the cloud is busy", 2.0)
        found = self.tokens.get(token)
        await self._faults.point("cloud.find.after")
        return found

    async def update(
        self, physical_id: str, properties: Mapping[str, object], sent: Mapping[str, object] | None = None
    ) -> bool:
        """Set the properties of an object. `sent` are those that the engine has set, where it leaves out others."""
        thing = self.things.get(physical_id)
        if thing is None:
            await self._faults.point("cloud.update.after")
            return False
        await self.arrive("update", thing)
        turned = properties.get("rest") != thing.properties.get("rest")
        # A suspend does not require that the used objects are ready; a resume does.
        uses = thing.uses if turned and properties.get("rest") else self._uses(thing, properties, waking=turned)
        if properties.get("fail") == "update" and not turned:
            raise errors.Permanent(f"{thing.name} cannot be changed now")
        # A suspend or resume does not undo drift of the other properties.
        set_by_engine = {"rest": properties.get("rest")} if turned else sent
        thing.made = dict(properties) if set_by_engine is None else {**thing.made, **set_by_engine}
        thing.properties, thing.uses = dict(properties), uses
        thing.broken = properties.get("fail") == "build"
        thing.ready_at = max(thing.ready_at, self._clock() + self._chance.delay(self.build_s))
        self._note(f"cloud: updated {physical_id} {_shown(properties)}")
        await self._depart("update")
        return True

    async def delete(self, physical_id: str) -> bool:
        thing = self.things.get(physical_id)
        if thing is None:
            await self._faults.point("cloud.delete.after")
            return False
        await self.arrive("delete", thing)
        users = [
            other.id for other in self.things.values()
            if physical_id in other.uses and other is not thing and other.id not in self.released
        ]
        if users:
            self._refuse("in use", thing, users, ThingInUse)
        if thing.properties.get("fail") == "delete" and not self._chance.faultless:
            raise errors.Permanent(f"{thing.name} is locked")
        self._remove(thing)
        if thing.kind in CREATED_AGAIN:
            self._spent.discard(thing.token)
        self._note(f"cloud: deleted {physical_id}")
        await self._depart("delete")
        return True

    # Events of the simulated world.

    def status(self, thing: Thing) -> str:
        if self._clock() < thing.ready_at:
            return "BUILDING"
        return "ERROR" if thing.broken else "READY"

    def add_foreign(self, physical_id: str, properties: Mapping[str, Any]) -> None:
        """Add an object that the user made."""
        self._ever.add(physical_id)
        self.things[physical_id] = Thing(
            physical_id, "foreign", "", "", physical_id, dict(properties), 0.0, foreign=True
        )

    def vanish(self, physical_id: str) -> None:
        """Delete an object behind the engine's back."""
        self._note(f"cloud: {physical_id} vanishes")
        thing = self.things[physical_id]
        self._spent.discard(thing.token)
        self._remove(thing)
        if self.witness is not None:
            self.witness.drift(thing)
        self.vanished.add(physical_id)

    def clear_away(self, physical_id: str) -> None:
        """Delete an object for its user, who was asked to look for it."""
        if physical_id in self.things:
            self._note(f"cloud: {physical_id} is deleted by its user")
            self._remove(self.things[physical_id])

    def drift(self, stack: str = "", *, used_too: bool = False) -> None:
        """Change or delete a random object behind the engine's back; with `used_too`, also delete one that others use."""
        used = set() if used_too else {one for thing in self.things.values() for one in thing.uses}
        found = sorted(
            thing.id for thing in self.things.values()
            if not thing.foreign and thing.id not in self.released and self.status(thing) == "READY"
            and stack in ("", thing.stack.partition("-")[0])
        )
        if not found:
            return
        thing = self.things[self._chance.world.choice(found)]
        # Drift can only be found in properties that the template sets.
        given = [name for name in ("a", "a", "fixed") if thing.properties.get(name)]
        if thing.id not in used and (not given or self._chance.world.random() < 0.4):
            self.vanish(thing.id)
        elif given:
            self.change(thing, self._chance.world.choice(given))

    def change(self, thing: Thing, name: str) -> None:
        """Change a property behind the engine's back."""
        self._drifts += 1
        value = f"drift{self._drifts}"
        self._note(f"cloud: {thing.id} drifts: {name}={value}")
        thing.properties[name] = value
        if self.witness is not None:
            self.witness.drift(thing)

    def _remove(self, thing: Thing) -> None:
        del self.things[thing.id]
        self.tokens.pop(thing.token, None)

    async def arrive(self, verb: str, thing: Thing) -> None:
        """Receive a mutation. Between the caller's check of its lease and this, the process can only be killed."""
        self.calls += 1
        process = processes.current()
        hook = f"cloud.{verb}.before"
        if process is not None and process.killable:
            self._faults.may_die(process, hook)
            if not process.alive:
                await self._faults.point(hook)
        if self.witness is not None:
            self.witness.mutation(verb, process, thing)
        if self._chance.strikes("cloud busy", f"cloud.{verb}"):
            busy = errors.NotBegun if thing.kind in (BLIND, REPEATABLE) else errors.Temporary
            raise busy("the cloud is busy", 1.0 + self._chance.delay(20.0))
        if self._chance.strikes("cloud refuses", f"cloud.{verb}"):
            raise errors.Permanent("no valid host was found")

    async def _depart(self, verb: str) -> None:
        """Send the answer of a mutation, which may be slow or get lost."""
        if self._chance.strikes("drift", f"cloud.{verb}"):
            self.drift()
        await self._faults.point(f"cloud.{verb}.done")
        if self._chance.strikes("answer slow", f"cloud.{verb}"):
            await asyncio.sleep(self._chance.world.uniform(1.0, 6 * self.answer_s))
        elif self._chance.delays.random() < 0.3:
            await asyncio.sleep(self._chance.delay(self.answer_s))
        await self._faults.point(f"cloud.{verb}.after")
        if self._chance.strikes("answer lost, try again", f"cloud.{verb}"):
            raise errors.Temporary("gateway timeout", 1.0 + self._chance.delay(10.0))
        if self._chance.strikes("answer lost, error", f"cloud.{verb}"):
            raise ConnectionError("connection reset by peer")

    def unusable(self, properties: Mapping[str, Any]) -> bool:
        """Return whether the properties name an object that does not exist any more."""
        named = {one for value in properties.values() for one in (value if isinstance(value, list) else [value])
                 if isinstance(one, str)}
        return bool((named & self._ever) - self.things.keys())

    def _uses(self, thing: Thing, properties: Mapping[str, Any], *, waking: bool = False) -> frozenset[str]:
        """Return the objects that the properties name; refuse the call unless all of them exist and are ready.

        A resume names nothing new: it is not refused because an object that was used all the time is broken.
        """
        named = [one for value in properties.values() for one in (value if isinstance(value, list) else [value])
                 if isinstance(one, str) and one in self._ever]  # fmt: skip
        wrong = [one for one in named if one not in self.things and one not in self.vanished]
        if wrong:
            self._refuse("names what does not exist", thing, wrong)
        usable = ("READY", "ERROR") if waking else ("READY",)
        unready = [one for one in named if one in self.things and self.status(self.things[one]) not in usable]
        if unready:
            self._refuse("names what is not ready", thing, unready)
        return frozenset(named)

    def _check_near(self, thing: Thing) -> None:
        """Refuse to create a follower before the objects that it needs are there."""
        if thing.kind != FOLLOWER:
            return
        there = {one.name for one in self.things.values() if one.stack == thing.stack}
        there |= {one.rsplit("-", 2)[1] for one in self.vanished if one.startswith(f"{thing.stack}-")}
        missing = [name for name in (thing.properties.get("near") or "").split() if name not in there]
        if missing:
            self._refuse("comes before what it needs", thing, missing)

    def _refuse(
        self, what: str, thing: Thing, others: list[str], error: type[errors.Permanent] = errors.Permanent
    ) -> None:
        if self.witness is not None:
            self.witness.wrong_order(what, thing, others)
        raise error(f"{thing.id}: {what}: {', '.join(others)}")


def _shown(properties: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(properties.items()) if value not in (None, "", []))
