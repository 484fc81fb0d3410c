"""The resource types of the simulation. They are thin: the engine is under test, not the types."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import builtin, contract
from isotherm.resources.registry import Registry
from isotherm.resources.schema import ANY, LIST, STRING, AttributeSchema, Schema
from isotherm.sim.world import cloud, plain_types
from isotherm.sim.world.twin_records import Record


class Thing(contract.Resource):
    """An object of the simulated cloud. `fixed` and `base` cannot change in place."""

    TYPE = "Sim::Thing"
    DESCRIPTION = "An object of the simulated cloud."
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        "a": Schema(STRING, "Changes in place.", update_allowed=True),
        "fixed": Schema(STRING, "A change replaces the object."),
        "base": Schema(ANY, "Another object; a change replaces this one."),
        "link": Schema(ANY, "Another object; changes in place.", update_allowed=True),
        "uses": Schema(LIST, "Other objects; change in place.", update_allowed=True),
        "seen": Schema(ANY, "What another object shows.", update_allowed=True),
        "secret": Schema(STRING, "Something to keep.", update_allowed=True),
        "fail": Schema(STRING, "Fail at create, build, update or delete.", update_allowed=True),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "echo": AttributeSchema("The property a, as the cloud has it."),
    }

    async def handle_create(self) -> object:
        await self.context.reality.create(self.TYPE, self.token, self.properties, self.physical_name)
        self.physical_id = self.physical_name
        return {"polls": 0}

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._built()

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if not await self.context.reality.update(self._id(), self.properties):
            raise errors.Permanent(f"{self.physical_id} does not exist")
        return {"polls": 0}

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._built()

    async def handle_delete(self) -> object:
        if self.physical_id is not None:
            await self.context.reality.delete(self.physical_id)
        return None

    async def check_delete_complete(self, progress: Any) -> bool | contract.Wait:
        gone = self.physical_id is None or await self.context.reality.get(self.physical_id) is None
        return True if gone else contract.Wait(1.0, "being deleted")

    async def check_check_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._built()

    async def handle_suspend(self) -> object:
        return await self._set_suspended("yes")

    async def check_suspend_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._built()

    async def handle_resume(self) -> object:
        return await self._set_suspended(None)

    async def check_resume_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._built()

    async def _set_suspended(self, suspended: str | None) -> object:
        found = await self.context.reality.get(self._id())
        if found is None:
            raise errors.Permanent(f"{self.physical_id} does not exist")
        if found.get("rest") != suspended:
            kept = {key: value for key, value in found.items() if key != "status"}
            await self.context.reality.update(self._id(), {**kept, "rest": suspended})
        return None

    async def handle_get_reality(self) -> contract.LiveState:
        return _observation(type(self), await self.context.reality.get(self._id()))

    async def find_by_token(self) -> contract.Search:
        return contract.found(await self.context.reality.find(self.token))

    async def attribute(self, name: str) -> object:
        found = await self.context.reality.get(self._id())
        return None if found is None else found.get("a")

    def _id(self) -> str:
        return self.physical_id or ""

    async def _built(self) -> bool | contract.Wait:
        found = await self.context.reality.get(self._id())
        status = "GONE" if found is None else found["status"]
        if status == "BUILDING":
            return contract.Wait(3.0, "being built")
        if status != "READY":
            raise errors.Permanent(f"went to status {status}")
        return True


class Pet(Thing):
    """A Thing that is updated in place after a failure instead of being replaced."""

    TYPE = "Sim::Pet"

    def needs_replace_failed(self) -> bool:
        return False

    @classmethod
    async def observe_many(
        cls, context: contract.Context, many: Sequence[contract.ResourceState]
    ) -> Sequence[contract.LiveState]:
        """Observe many objects in one call."""
        reality: Any = context.reality
        found = await reality.get_many([one.physical_id or "" for one in many])
        return [_observation(cls, one) for one in found]


class Blind(Thing):
    """A Thing of a service that cannot be searched."""

    TYPE = cloud.BLIND

    async def find_by_token(self) -> contract.Search:
        return contract.CannotTell()


class Repeatable(Thing):
    """A Thing of a service that cannot be searched, and creates one object only for each token."""

    TYPE = cloud.REPEATABLE

    async def find_by_token(self) -> contract.Search:
        return contract.CannotTell(repeat_is_harmless=True)


PlainThing = plain_types.twin(Thing, "Sim::PlainThing")
PlainPet = plain_types.twin(Pet, "Sim::PlainPet")


class Named(Thing):
    """An object whose id is a digest of its properties: recreated, it has the same id. Every change replaces it."""

    TYPE = cloud.NAMED
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        name: dataclasses.replace(one, update_allowed=False) for name, one in Thing.properties_schema.items()
    }

    async def handle_create(self) -> object:
        digest = hashlib.sha256(json.dumps(dict(self.properties), sort_keys=True).encode()).hexdigest()[:8]
        chosen = f"{self.stack_name}-{self.name}-{digest}"
        await self.context.reality.create(self.TYPE, self.token, self.properties, chosen)
        self.physical_id = chosen
        return {"polls": 0}


class Fragile(Thing):
    """A Thing that is deleted and created again when it comes up broken, a few times."""

    TYPE = cloud.FRAGILE
    ATTEMPTS: ClassVar[int] = 3

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        found = await self.context.reality.get(self._id())
        if found is not None and found["status"] in ("BUILDING", "READY"):
            return await self._built()
        attempts = self.data.get("attempts", 0) + 1
        if attempts >= self.ATTEMPTS:
            raise errors.Permanent(f"came up broken {attempts} times")
        if found is not None:
            self.context.lease.check()
            await self.context.reality.delete(self._id())
        self.data["attempts"], self.physical_id = attempts, None
        raise contract.CreateAgain(f"came up broken (attempt {attempts})", 2.0)


class Observed(Thing):
    """A Thing that is observed after a failure, and replaced only if it is broken."""

    TYPE = "Sim::Observed"
    traits = dataclasses.replace(Thing.traits, failed_is_observed=True)

    async def handle_get_reality(self) -> contract.LiveState:
        found = await self.context.reality.get(self._id())
        live = _observation(type(self), found)
        broken = found is not None and found["status"] == "ERROR"
        return dataclasses.replace(live, broken="ERROR") if broken and isinstance(live, contract.Seen) else live


class Follower(Thing):
    """A Thing that needs those whose names stand in `near` to be there first, without a reference."""

    TYPE = cloud.FOLLOWER
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        **Thing.properties_schema, "near": Schema(STRING, "Names of resources.", update_allowed=True),
    }

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Sequence[str]:
        found = (others.named(name) for name in properties.get("near", "").split())
        return [one.name for one in found if one is not None]


def _observation(type_: type[contract.Resource], found: Mapping[str, Any] | None) -> contract.LiveState:
    if found is None:
        return contract.Gone()
    return contract.Seen({name: value for name, value in found.items() if name in type_.properties_schema})


def registry() -> Registry:
    types = Registry(builtin.registry().types.values()) if hasattr(builtin, "registry") else Registry()
    for one in (Thing, Pet, Blind, Repeatable, PlainThing, PlainPet, Named, Fragile, Observed, Follower, Record):
        types.register(one)
    return types
