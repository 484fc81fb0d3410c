"""An object store in memory, in place of a cloud."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from isotherm.resources import contract
from isotherm.resources.context.local_access import Call, Reply


@dataclass
class Swift:
    """One account with a key for URLs. Objects are kept by their paths, with the headers that they came with."""

    objects: dict[str, tuple[dict[str, str], Any]] = field(default_factory=dict)
    containers: set[str] = field(default_factory=set)
    slow: asyncio.Event | None = None
    refuses: bool = False
    credential: contract.Credential = field(default_factory=lambda: contract.Credential("one", "p"))

    def of_stack(self, stack_id: str) -> Swift:
        return self

    async def endpoint(self, service: str) -> str:
        assert service == "object-store"
        return "http://swift/v1/AUTH_p"

    async def project_id(self) -> str:
        return "p"

    async def call(self, service: str, call: Call) -> Reply:
        path = urlsplit(call.url).path.strip("/")
        if self.refuses:
            return Reply(503)
        if call.method == "PUT" and self.slow is not None:
            await self.slow.wait()
        return self._object(call, path) if "/" in path else self._container(call, path)

    def _container(self, call: Call, path: str) -> Reply:
        if call.method == "DELETE":
            if any(one.startswith(f"{path}/") for one in self.objects):
                return Reply(409)
            self.containers.discard(path)
        elif call.method == "PUT":
            self.containers.add(path)
        return Reply(204, {"x-account-meta-temp-url-key": "key"})

    def _object(self, call: Call, path: str) -> Reply:
        if path.partition("/")[0] not in self.containers or (call.method != "PUT" and path not in self.objects):
            return Reply(404)
        if call.method == "PUT":
            headers = {name.lower(): value for name, value in call.headers.items()}
            self.objects[path] = headers, json.loads(call.body)
        found = self.objects[path] if call.method != "DELETE" else self.objects.pop(path)
        return Reply(200, found[0])

    def at(self, url: str) -> Any:
        """Return what an agent reads at a signed URL."""
        parts = urlsplit(url)
        assert parts.query.startswith("temp_url_sig=")
        return self.objects[parts.path.removeprefix("/v1/AUTH_p/")][1]
