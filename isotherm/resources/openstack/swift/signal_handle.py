"""OS::Heat::SwiftSignalHandle: a URL of Swift that takes signals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm.resources import contract
from isotherm.resources.openstack.swift import signals, temp_urls
from isotherm.resources.openstack.swift.account import SERVICE, Account
from isotherm.resources.openstack.table import since
from isotherm.resources.schema import CACHE_NONE, STRING, AttributeSchema

ENDPOINT = "endpoint"


class SwiftSignalHandle(contract.Resource):
    """An object in the container of the stack, and the URL that takes its next version."""

    TYPE = "OS::Heat::SwiftSignalHandle"
    DESCRIPTION = "A URL of the object store that takes signals, for OS::Heat::SwiftSignal."
    support = since("2014.2")
    traits = contract.Traits(service=SERVICE, failed_is_observed=True)
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "token": AttributeSchema("An empty text: the URL is all that is needed.", STRING, CACHE_NONE),
        ENDPOINT: AttributeSchema("The URL to which signals are sent.", STRING, CACHE_NONE),
        "curl_cli": AttributeSchema("The beginning of a command that sends a signal with curl.", STRING, CACHE_NONE),
    }

    @classmethod
    def bound_to_stack(cls, properties: Mapping[str, Any]) -> str:
        return "its object is in the container of its stack"

    @property
    def _account(self) -> Account:
        return Account.of(self.context.cloud)

    async def handle_create(self) -> object:
        name, container = self.physical_name, self.stack_id
        url = await temp_urls.url(self._account, "PUT", container, name)
        await self._account.put_container(container, {"X-Versions-Location": container})
        await self._account.put_object(container, name, signals.IN_PROGRESS)
        self.physical_id, self.data[ENDPOINT] = name, url
        return None

    async def find_by_token(self) -> contract.Search:
        # Both requests may be repeated: an object that is put again has one version more, which is no signal.
        return contract.Absent()

    async def handle_delete(self) -> object:
        await signals.delete(self._account, self.stack_id, self.physical_id or self.physical_name)
        return None

    async def handle_get_reality(self) -> contract.LiveState:
        found = await self._account.has_object(self.stack_id, str(self.physical_id))
        return contract.Seen({}) if found else contract.Gone()

    async def reference(self) -> object:
        return self.data.get(ENDPOINT) or await super().reference()

    async def attribute(self, name: str) -> object:
        url: Any = self.data.get(ENDPOINT)
        if name == "token":
            return ""
        return url if name == ENDPOINT or url is None else f"curl -i -X PUT '{url}'"
