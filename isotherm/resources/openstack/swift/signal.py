"""OS::Heat::SwiftSignal: waits for the signals of a handle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.openstack.swift import signals
from isotherm.resources.openstack.swift.account import SERVICE, Account
from isotherm.resources.openstack.table import between, since
from isotherm.resources.schema import INTEGER, NUMBER, STRING, AttributeSchema, Schema

HANDLE, TIMEOUT, COUNT = "handle", "timeout", "count"
_NO_HANDLE = "is not the URL of an OS::Heat::SwiftSignalHandle"


class SwiftSignalFailure(errors.Permanent):
    """A signal reported a failure."""


class SwiftSignalTimeout(errors.Permanent):
    """Too few signals arrived in time."""


class SwiftSignal(contract.RowOnly):
    """Is complete when its handle has received enough signals."""

    TYPE = "OS::Heat::SwiftSignal"
    DESCRIPTION = "Waits for signals at a URL of the object store; fails if one says so, or if time runs out."
    support = since("2014.2")
    traits = contract.Traits(service=SERVICE, only_waits=True)
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        HANDLE: Schema(STRING, "The URL of the handle.", required=True),
        TIMEOUT: Schema(NUMBER, "How long to wait for the signals, in seconds.", required=True,
                        constraints=between(1, 43200)),
        COUNT: Schema(INTEGER, "How many signals of success are waited for.", default=1, constraints=between(1, 1000)),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "data": AttributeSchema("The data of all signals, by their id, as JSON text.", STRING),
    }

    @classmethod
    def bound_to_stack(cls, properties: Mapping[str, Any]) -> str:
        return "it waits for signals of a resource of its stack"

    @property
    def _account(self) -> Account:
        return Account.of(self.context.cloud)

    def _object(self) -> str:
        """Return the name of the handle's object. Raises Permanent for the URL of anything else."""
        url = str(self.properties[HANDLE])
        parts = urlsplit(url)
        path = parts.path.split("/")
        # /v1/ACCOUNT/CONTAINER/OBJECT, below any path of the service.
        if not parts.netloc or len(path) < 5 or "temp_url_sig" not in parse_qs(parts.query):
            raise errors.Permanent(f"{url} {_NO_HANDLE}.")
        if unquote(path[-2]) != self.stack_id:
            raise errors.Permanent(f"{url} {_NO_HANDLE} in this stack: its container is {path[-2]}.")
        return unquote(path[-1])

    async def handle_create(self) -> object:
        self._object()
        self.physical_id = self.physical_name
        return {"until": self.context.clock.now() + self.properties[TIMEOUT]}

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        versions = await signals.listed(self._account, self.stack_id, self._object())
        if not versions:
            raise errors.Permanent(f"The object of the handle is gone: {self._object()}")
        seen = hashlib.sha256(json.dumps([(one["name"], one["hash"]) for one in versions]).encode()).hexdigest()
        received = progress.get("received", 0)
        if seen != progress.get("seen"):
            # Reading takes a request for each signal: only when there is a new one.
            received = await self._received(versions)
            if received is None:
                return True
        wanted = self.properties[COUNT]
        if self.context.clock.now() >= progress["until"]:
            raise SwiftSignalTimeout(f"{received} of {wanted} received")
        return contract.Wait(reason=f"{received} of {wanted} signals received",
                             progress={**progress, "seen": seen, "received": received})

    async def _received(self, versions: list[dict[str, Any]]) -> int | None:
        """Return the number of successes; None if they are enough. Raises SwiftSignalFailure if one is a failure."""
        found = await signals.read(self._account, self.stack_id, versions)
        failures = [str(one["reason"]) for one in found if one["status"] == signals.FAILURE]
        if failures:
            raise SwiftSignalFailure(";".join(failures))
        count = sum(one["status"] == signals.SUCCESS for one in found)
        return None if count >= self.properties[COUNT] else count

    async def reference(self) -> object:
        return self.name

    async def attribute(self, name: str) -> object:
        if self.physical_id is None:
            return None
        versions = await signals.listed(self._account, self.stack_id, self._object())
        found = await signals.read(self._account, self.stack_id, versions)
        return json.dumps({str(one["id"]): one["data"] for one in found})
