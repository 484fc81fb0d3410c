"""The attributes of a resource as they are now: asked of its type, outside of any operation, and nothing is changed.

What a type cannot read is not known, and shown as such; so is what takes too long.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from isotherm import errors
from isotherm.engine import ports, publish
from isotherm.engine.nested import inner_reads as inside
from isotherm.planning import documents
from isotherm.planning.planner import Planning
from isotherm.resources import contract, gate
from isotherm.resources.attributes import SHOW_ATTRIBUTE
from isotherm.resources.journal import MemoryReality
from isotherm.resources.nested import nested_stack
from isotherm.resources.registry import Registry
from isotherm.resources.world.local_access import Reach
from isotherm.resources.world.signal_urls import Doors
from isotherm.store.database.writer import Store
from isotherm.store.records import Version

# A reader waits no longer than this for all attributes of a resource together.
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class LiveAttributes:
    """Reads attributes."""

    store: Store
    types: Registry
    planning: Planning
    clock: contract.Clock
    inside: Callable[[], inside.InnerStackReader]
    reality: Callable[[], contract.Reality] = MemoryReality
    doors: Doors = Doors()  # noqa: RUF009 - frozen
    reach: Reach = Reach()  # noqa: RUF009 - frozen
    threads: gate.Threads = gate.LoopThreads()  # noqa: RUF009 - it keeps nothing

    async def of(
        self, implementation: str, version: Version | None, stack_name: str, more: Collection[str] = ()
    ) -> dict[str, Any]:
        """Every attribute of the type, and `more` by name. What `show` has to tell stands for all others, as in Heat."""
        try:
            type_ = await self._type(implementation)
        except errors.NotFound:  # the type is gone, and nobody can ask it
            return dict.fromkeys(more)
        found: dict[str, Any] = dict.fromkeys([*_named(type_), *more])
        if version is None:
            return found
        resource = type_(_self(version, stack_name), self._world())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                whole = await _read(resource, SHOW_ATTRIBUTE)
                if isinstance(whole, Mapping):
                    found = {**dict.fromkeys(more), **whole}
                for name in [name for name in found if not isinstance(whole, Mapping) or name not in whole]:
                    found[name] = await _read(resource, name)
        return found

    async def _type(self, implementation: str) -> type[contract.Resource]:
        with contextlib.suppress(KeyError):
            if not nested_stack.is_forgotten(found := self.types.implementation(implementation)):
                return found
        await self.planning.learn(implementation)
        return self.types.implementation(implementation)

    def _world(self) -> contract.World:
        return contract.World(
            self.clock, self.reality(), random.SystemRandom(),
            self.inside(),  # type: ignore[arg-type]  # it reads, and reading is all that is asked of it here
            ports.StoredSignals(self.store), self.doors, software=ports.StoredSoftware(self.store, self.clock),
            local=self.reach.local, http=self.reach.http, threads=self.threads,
        )


def _named(type_: type[contract.Resource]) -> list[str]:
    return [name for name in type_.attributes_schema if name != SHOW_ATTRIBUTE]


def _self(version: Version, stack_name: str) -> contract.Self:
    published = None if version.published is None else documents.decode(version.published, documents.Published)
    return contract.Self(
        version.name, stack_name, version.stack_id, version.token, documents.decode(version.properties, dict[str, Any]),
        version.physical_id, documents.decode(version.data, dict[str, Any]), documents.decode_any(version.metadata),
        exports=[] if published is None else list(published.attributes), id=version.id, requires=version.requires,
    )


async def _read(resource: contract.Resource, name: str) -> Any:
    if name not in resource.attributes_schema and not resource.has_more_attributes:
        return None
    return await publish.shown(resource, name)
