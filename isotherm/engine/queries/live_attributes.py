"""Live attributes: asked of a resource's type outside of any operation. Nothing is changed.

An attribute that the type cannot read, or not in time, is None."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from isotherm import errors
from isotherm.engine import contexts
from isotherm.planning import documents, publish, resource_states
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.resources.attributes import SHOW_ATTRIBUTE
from isotherm.resources.nested import nested_stack
from isotherm.resources.registry import Registry
from isotherm.store.database.writer import Store
from isotherm.store.records import Version

# The time limit for all attributes of a resource together.
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class LiveAttributes:
    """Reads live attributes of resources."""

    store: Store
    types: Registry
    planning: Planning
    context: Callable[[], contract.Context]

    async def of(
        self, implementation: str, version: Version | None, stack_name: str, more: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return every attribute of the type, and `more` by name. Values in attribute `show` come first, as in Heat."""
        try:
            type_ = await self._type(implementation)
        except errors.NotFound:  # the type does not exist any more
            return dict.fromkeys(more)
        found: dict[str, Any] = dict.fromkeys([*_named(type_), *more])
        if version is None:
            return found
        resource = type_(_state(version, stack_name), self._context_of(version))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                whole = await _read(resource, SHOW_ATTRIBUTE)
                if isinstance(whole, Mapping):
                    found = {**dict.fromkeys(more), **whole}
                for name in [name for name in found if not isinstance(whole, Mapping) or name not in whole]:
                    found[name] = await _read(resource, name)
        return found

    async def one(self, implementation: str, version: Version, stack_name: str, name: str) -> Any:
        """Return one attribute of a resource; None if it cannot be read."""
        type_ = await self._type(implementation)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                return await _read(type_(_state(version, stack_name), self._context_of(version)), name)
        return None

    def _context_of(self, version: Version) -> contract.Context:
        context = self.context()
        return replace(context, cloud=contexts.cloud_of(context, version.stack_id))

    async def _type(self, implementation: str) -> type[contract.Resource]:
        with contextlib.suppress(KeyError):
            if not nested_stack.is_forgotten(found := self.types.implementation(implementation)):
                return found
        await self.planning.learn(implementation)
        return self.types.implementation(implementation)


def _named(type_: type[contract.Resource]) -> list[str]:
    return [name for name in type_.attributes_schema if name != SHOW_ATTRIBUTE]


def _state(version: Version, stack_name: str) -> contract.ResourceState:
    published = None if version.published is None else documents.decode(version.published, documents.Published)
    exports = () if published is None else tuple(published.attributes)
    return resource_states.of(version, stack_name, exports=exports)


async def _read(resource: contract.Resource, name: str) -> Any:
    if name not in resource.attributes_schema and not resource.traits.has_more_attributes:
        return None
    return await publish.shown(resource, name)
