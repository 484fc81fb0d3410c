"""Heat's notifications: `orchestration.stack.*` and `orchestration.autoscaling.*`, with Heat's payload.

A message is that of oslo.messaging: with the driver `messagingv2` in its envelope of version 2.0, with `messaging` without.
The user's id is not stored with a stack, so `user_identity` is null. The payload shows the stack as it is at delivery, and
the state of the event.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from isotherm import bus
from isotherm.config import Settings
from isotherm.engine.delivery.messages import NotDelivered, SinkMessage, message_id
from isotherm.states import Action, Status
from isotherm.store.sinks.deliveries import DeliverableEvent, StackView

_SUFFIXES: Mapping[Status, str] = {Status.IN_PROGRESS: "start", Status.COMPLETE: "end", Status.FAILED: "error"}
_SERVICE = "orchestration"
_MESSAGES: Mapping[str, str] = {"start": "Start resizing the group %s", "end": "End resizing the group %s"}


class NotificationSink:
    """Sends notifications to the topics of a broker."""

    kind = "notifications"
    most_attempts: int | None = None

    def __init__(self, settings: Settings) -> None:
        self.name = f"notifications:{','.join(settings.notification_topics)}"[:64]
        self._is_enveloped = settings.notification_driver == "messagingv2"
        self._topics = settings.notification_topics
        self._level = settings.default_notification_level
        self._publisher_id = settings.default_publisher_id or f"{_SERVICE}.{socket.gethostname()}"
        self._publisher = bus.publisher(settings.notification_transport_url or settings.transport_url,
                                        settings.control_exchange, durable=settings.amqp_durable_queues)

    def messages(self, event: DeliverableEvent) -> Sequence[SinkMessage]:
        if event.resource:
            return ()
        suffix = _SUFFIXES[event.status]
        found = [self._message(event, f"stack.{_action(event.action)}.{suffix}", _payload(event, event.stack))]
        if event.scaling is not None and event.group_stack is not None:
            found.append(self._message(event, f"autoscaling.{suffix}", _scaling_payload(event, suffix)))
        # As in Heat: the group is being resized before its nested stack is, and after it.
        return found[::-1] if suffix == "start" else found

    def _message(self, event: DeliverableEvent, type_: str, payload: dict[str, Any]) -> SinkMessage:
        id_ = message_id(event, type_)
        priority = "ERROR" if event.status is Status.FAILED else self._level
        at = datetime.fromtimestamp(event.created_at, UTC)
        return SinkMessage(id_, f"{_SERVICE}.{type_}", {
            "message_id": id_, "publisher_id": self._publisher_id, "event_type": f"{_SERVICE}.{type_}",
            "priority": priority, "payload": payload, "timestamp": at.strftime("%Y-%m-%d %H:%M:%S.%f"),
            # Receivers of oslo.messaging drop a message whose number they have just seen.
            "_unique_id": id_.replace("-", ""),
        })

    async def deliver(self, message: SinkMessage) -> None:
        text = json.dumps(message.body)
        if self._is_enveloped:
            text = json.dumps({"oslo.version": "2.0", "oslo.message": text})
        priority = message.body["priority"].lower()
        for topic in self._topics:
            try:
                await self._publisher.publish(f"{topic}.{priority}", text.encode(), message.id)
            except bus.NotPublished as error:
                raise NotDelivered(str(error)) from error

    async def close(self) -> None:
        await self._publisher.close()


def _action(action: Action) -> str:
    """Return the word of Heat for an action: an abandon is a delete that leaves the objects."""
    return (Action.DELETE if action is Action.ABANDON else action).name.lower()


def _payload(event: DeliverableEvent, stack: StackView) -> dict[str, Any]:
    return {
        "tenant_id": stack.project, "user_id": stack.username, "user_identity": None, "username": stack.username,
        "stack_identity": stack.id, "stack_name": stack.name,
        "state": f"{_action(event.action).upper()}_{event.status.name}", "state_reason": event.reason,
        "create_at": _time(stack.created_at), "tags": stack.tags,
        "updated_at": None if stack.updated_at is None else _time(stack.updated_at), "description": stack.description,
    }


def _scaling_payload(event: DeliverableEvent, suffix: str) -> dict[str, Any]:
    scaling, stack = event.scaling, event.group_stack
    assert scaling is not None and stack is not None
    message = _MESSAGES.get(suffix, "")
    return {
        **_payload(event, stack), "adjustment_type": scaling.adjustment_type, "adjustment": scaling.adjustment,
        "capacity": scaling.new_capacity if suffix == "end" else scaling.capacity, "groupname": scaling.group_name,
        "message": message % scaling.group_name if message else event.reason,
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
