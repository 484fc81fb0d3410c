"""The port by which acceptance binds a stack to a cloud, and its adapter for services whose stacks are all in one cloud."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Protocol

from isotherm.identity.requester import Requester
from isotherm.resources.catalog import heat_types
from isotherm.store.records import BoundCloud

# Types that call no cloud. A stack of these alone can be updated with any cloud, or without one.
_OWN = "Isotherm::"
_WITHOUT = frozenset(f"OS::Heat::{name}" for name in (
    "CloudConfig", "Delay", "MultipartMime", "None", "RandomString", "SoftwareComponent", "SoftwareConfig",
    "StructuredConfig", "TestResource", "UpdateWaitConditionHandle", "Value", "WaitCondition",
))


class CloudBinding(Protocol):
    """Binds stacks to clouds."""

    async def bound(self, requester: Requester, stack_id: str, types: Iterable[str]) -> BoundCloud | None:
        """Return the cloud to bind a stack to whose template has these types; None: the binding stays as it is."""
        ...

    async def services(self, requester: Requester, stack_id: str) -> Container[str] | None:
        """Return the types of the services that the stack's cloud has; None: there is no catalogue to ask."""
        ...

    async def check(self, requester: Requester, stack_id: str) -> None:
        """Raise UserError if the request names another cloud than that of the stack."""
        ...


class OneCloud:
    """Binds nothing: all stacks are in the cloud of the service."""

    async def bound(self, requester: Requester, stack_id: str, types: Iterable[str]) -> BoundCloud | None:
        return None

    async def services(self, requester: Requester, stack_id: str) -> Container[str] | None:
        return None

    async def check(self, requester: Requester, stack_id: str) -> None:
        return


def may_need_cloud(types: Iterable[str]) -> bool:
    """Return whether one of these types may call a cloud, by itself or by its nested stack."""
    return any(not name.startswith(_OWN) and name not in _WITHOUT for name in map(heat_types.meaning, types))
