"""The twin of an OpenStack cloud: services behind the port `contract.Cloud`, with the habits of the real ones.

A request whose client has died or has given up is still carried out, a little later. Answers are slow or get lost. A busy
service answers 503 or 429. A list lacks objects that were made a moment ago. Deleting an object in use is answered by 409.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

import msgspec

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context.local_access import Call, Reply

READS = frozenset({"GET", "HEAD"})
# How long a request whose client has gone may take; the engine waits longer before it repeats a creation.
LATE_S = 35.0
# How long an object may be missing in lists.
UNLISTED_S = 4.0


@dataclass(frozen=True, slots=True)
class TwinRequest:
    """One request, taken apart."""

    method: str
    path: tuple[str, ...]
    query: tuple[tuple[str, str], ...]
    body: Any

    @classmethod
    def of(cls, call: Call) -> TwinRequest:
        parts = urlsplit(call.url)
        path = tuple(part for part in parts.path.split("/") if part)
        body = msgspec.json.decode(call.body) if call.body else None
        return cls(call.method, path, tuple(parse_qsl(parts.query, keep_blank_values=True)), body)

    def values(self, name: str) -> list[str]:
        """Return the values of a parameter of the query."""
        return [value for key, value in self.query if key == name]


class Service(Protocol):
    """One service of the twin."""

    async def answer(self, asked: TwinRequest) -> Reply: ...


class Twin:
    """The services by their types. All stacks call it with one credential."""

    def __init__(self, services: Mapping[str, Service]) -> None:
        self._services = services
        self.calls = 0

    @property
    def credential(self) -> contract.Credential:
        return contract.Credential("twin", "twin")

    def of_stack(self, stack_id: str) -> Twin:
        return self

    async def call(self, service: str, call: Call) -> Reply:
        if service not in self._services:
            raise errors.Permanent(f"The cloud has no service {service}.")
        self.calls += 1
        if call.method not in READS:
            # As in the real port, nothing else runs between the check of the lease and the request (I5).
            call.check()
        return await self._services[service].answer(TwinRequest.of(call))

    async def endpoint(self, service: str) -> str:
        return f"http://{service}.twin"

    async def project_id(self) -> str:
        return self.credential.project


def reply(status: int, body: object = None, **headers: str) -> Reply:
    """Return a reply with a body in JSON."""
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()},
                 b"" if body is None else msgspec.json.encode(body))


def refusal(status: int, text: str, kind: str = "error", **headers: str) -> Reply:
    """Return the reply of a service that refuses a request."""
    return reply(status, {kind: {"type": "", "message": text, "detail": ""}}, **headers)


def broken_connection() -> errors.Temporary:
    """Return the error that the port raises when the answer to a request is lost."""
    return errors.Temporary("The connection to the service broke before it answered.")


def later(seconds: float, effect: Any, context: Any) -> None:
    """Carry a request out after its client has gone; no kill of a process stops that."""
    asyncio.get_running_loop().call_later(seconds, effect, context=context)
