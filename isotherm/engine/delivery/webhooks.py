"""Webhooks: signed calls of URLs of the operator when an operation ends or fails, drift is seen, or a repair given up.

    X-Isotherm-Id: 0b6f...           the same for a call that is repeated
    X-Isotherm-Timestamp: 1790000000
    X-Isotherm-Signature: v1=HEX     HMAC-SHA256 with the secret, over the timestamp, a full stop, and the body

Addresses are checked as those of fetched texts (`fetch`): no private network is called unless it is allowed. Redirects are
not followed, and answers are not read.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine.delivery.messages import NotDelivered, SinkMessage, message_id
from isotherm.fetch import AllowedAddresses, UrlRefused, connect
from isotherm.resources.context.context import Clock
from isotherm.states import Action, Status
from isotherm.store.sinks.deliveries import DeliverableEvent
from isotherm.store.watch import repair_records

ENDED, FAILED, DRIFT, GIVEN_UP = EVENTS = ("operation.ended", "operation.failed", "drift.seen", "repair.given_up")
_SHORTEST_SECRET = 16


class WebhookSink:
    """Calls one URL."""

    kind = "webhook"

    def __init__(self, settings: Settings, url: str, clock: Clock) -> None:
        self.name = f"webhook:{hashlib.sha256(url.encode()).hexdigest()[:40]}"
        self.most_attempts: int | None = settings.webhook_attempts
        self._target = connect.target(url)
        self._secret = settings.webhook_secret.encode()
        self._wanted = frozenset(settings.webhook_events)
        self._allowed = AllowedAddresses(settings.webhook_networks)
        self._timeout_s = settings.webhook_timeout
        self._clock = clock

    def messages(self, event: DeliverableEvent) -> Sequence[SinkMessage]:
        type_ = _type(event)
        if type_ not in self._wanted:
            return ()
        id_ = message_id(event, type_)
        return (SinkMessage(id_, type_, _body(id_, type_, event)),)

    async def deliver(self, message: SinkMessage) -> None:
        failures = connect.failures()
        try:
            async with asyncio.timeout(self._timeout_s):
                status = await self._call(message)
        except UrlRefused as error:
            raise NotDelivered("the address is private, or its name is unknown") from error
        except TimeoutError as error:
            raise NotDelivered(f"no answer within {self._timeout_s:g} seconds") from error
        except (*failures.unreached, *failures.broken, *failures.nonsense) as error:
            raise NotDelivered(f"the server does not answer: {type(error).__name__}") from error
        if not 200 <= status < 300:
            raise NotDelivered(f"the server answered {status}")

    async def _call(self, message: SinkMessage) -> int:
        address = await self._allowed.address(self._target.host, self._target.port)
        body = json.dumps(message.body).encode()
        timestamp = str(int(self._clock.now()))
        headers = {"Content-Type": "application/json", "User-Agent": "isotherm", "X-Isotherm-Id": message.id,
                   "X-Isotherm-Timestamp": timestamp, "X-Isotherm-Signature": signature(self._secret, timestamp, body)}
        async with connect.response(connect.PinnedRequest("POST", self._target, headers, body), address) as answer:
            return answer.status

    async def close(self) -> None:
        """Do nothing: each call has a connection of its own."""


def check(settings: Settings) -> None:
    """Raise UserError if the options of webhooks are wrong."""
    unknown = sorted(set(settings.webhook_events) - set(EVENTS))
    if unknown:
        raise errors.UserError(f"[webhooks] events: there is no event {unknown[0]}", hint=f"They are {', '.join(EVENTS)}.")
    if settings.webhook_urls and len(settings.webhook_secret) < _SHORTEST_SECRET:
        raise errors.UserError(f"[webhooks] secret: it needs at least {_SHORTEST_SECRET} characters, to sign calls",
                               hint="`openssl rand -hex 32` prints one.")
    AllowedAddresses(settings.webhook_networks)


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """Return the value of the header that signs a call."""
    return f"v1={hmac.new(secret, timestamp.encode() + b'.' + body, hashlib.sha256).hexdigest()}"


def _type(event: DeliverableEvent) -> str:
    """Return the event's type for webhooks; empty for beginnings, ends of drift, and operations on nested stacks."""
    if not event.resource:
        ends = {Status.COMPLETE: ENDED, Status.FAILED: FAILED}
        return ends.get(event.status, "") if event.stack.is_root else ""
    if event.action is Action.OBSERVE and event.reason.startswith(repair_records.DRIFT_SEEN):
        return DRIFT
    return GIVEN_UP if event.action is Action.OBSERVE and event.reason.startswith(repair_records.GIVEN_UP) else ""


def _body(id_: str, type_: str, event: DeliverableEvent) -> dict[str, Any]:
    stack = event.stack
    resource = {"name": event.resource, "type": event.type, "physical_id": event.physical_id} if event.resource else None
    return {
        "id": id_, "type": type_, "time": datetime.fromtimestamp(event.created_at, UTC).isoformat(),
        "project": stack.project, "stack": {"id": stack.id, "name": stack.name},
        "operation": {"id": event.operation_id, "action": event.action.name, "status": event.status.name},
        "resource": resource, "reason": event.reason,
    }
