"""Signals to resources and hooks. The commit that stores a signal also wakes the resources that wait for it."""

from __future__ import annotations

from typing import Any

import msgspec

from isotherm import errors
from isotherm.engine.operations.scaling import PolicySignal, Scaler
from isotherm.engine.queries import views
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import documents
from isotherm.resources import contract
from isotherm.resources.context.signals import HandledSignal
from isotherm.resources.heat.groups.scaling_policy import ScalingPolicy
from isotherm.states import Action, NodeKind
from isotherm.store.database.writer import Connection
from isotherm.store.reads import lookups
from isotherm.store.signals import health, hooks, signals, waiters
from isotherm.template.environment import HOOKS

# The most characters of a signal's id; a request id has as many.
_ID_LENGTH = 64
# The deepest nesting of a signal's data; it protects recursive readers.
_DEPTH = 32


class SignalService:
    """Takes signals to resources, clears hooks, and marks resources unhealthy."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)
        self._scaler = Scaler(ports, requester.project)

    async def send(self, name_or_id: str, resource: str, details: Any = None, *, signal_id: str = "") -> None:
        """Send a signal to a resource. With `signal_id`, a repetition of the signal changes nothing."""
        _check(details, signal_id)
        if isinstance(details, dict) and "unset_hook" in details:
            await self.clear_hook(name_or_id, resource, details["unset_hook"])
            return
        stack = await self._stacks.row(name_or_id)
        id_ = signal_id or self._ports.new_id()
        to = await self._ports.store.read(lambda connection: signals.addressee(connection, stack["id"], resource))
        if to.implementation == ScalingPolicy.TYPE:
            self._refuse_now(to)
            await self._scaler.scale(PolicySignal(stack, to, id_, _reason(details)))
            return
        await self._ports.store.write(lambda connection: self._take(connection, stack, resource, details, id_))
        self._ports.wake(stack["id"])

    async def counted_under(self, stack_id: str, resource: str) -> str:
        """Return the key under which signals to a resource are counted: its token, or its path if it does not exist."""
        try:
            to = await self._ports.store.read(lambda connection: signals.addressee(connection, stack_id, resource))
        except errors.NotFound:
            return f"{stack_id}/{resource}"
        return to.token

    async def send_to_version(self, stack_id: str, token: str, details: Any = None) -> None:
        """Send a signal to one version of a resource, as the owner of its signed URL may. Raises NotFound if the version
        is gone, and Conflict if no resource waits for its signals any more."""
        _check(details, "")
        stack = await self._stacks.row(stack_id)
        name = await self._ports.store.read(lambda connection: waiters.name_of(connection, stack["id"], token))
        if stack["id"] != stack_id or name is None:
            raise _gone()

        def unit(connection: Connection) -> signals.Addressee:
            to = signals.addressee(connection, stack["id"], name)
            self._refuse_late(connection, to, token)
            if to.implementation != ScalingPolicy.TYPE:
                self._take(connection, stack, name, details, id_)
            return to

        id_ = self._ports.new_id()
        to = await self._ports.store.write(unit)
        if to.implementation == ScalingPolicy.TYPE:
            self._refuse_now(to)
            await self._scaler.scale(PolicySignal(stack, to, id_, _reason(details)))
        self._ports.wake(stack["id"])

    def _refuse_late(self, connection: Connection, to: signals.Addressee, token: str) -> None:
        if to.token != token:
            raise _gone()
        by = self._class_of(to.implementation).traits.signals_awaited_by
        if by and not waiters.is_waited_for(connection, to, by):
            raise errors.Conflict(f"No resource waits for signals of {to.name} any more.",
                                  hint="The resource that waited is complete, or was deleted.")

    async def clear_hook(self, name_or_id: str, resource: str, hook: Any) -> None:
        """Clear a hook: the resource that has paused at it continues."""
        stack = await self._stacks.row(name_or_id)
        if hook not in HOOKS:
            shown = await self._ports.store.read(lambda connection: hooks.named(connection, stack["id"], resource))
            raise errors.UserError(f'Invalid hook type "{hook}" for {shown}', kind="InvalidBreakPointHook",
                                   hint=f"one of {', '.join(HOOKS)}")
        await self._ports.store.write(
            lambda connection: hooks.clear(connection, stack["id"], resource, hook, self._ports.clock.now())
        )
        self._ports.wake(stack["id"])

    async def hooks(self, name_or_id: str) -> list[dict[str, Any]]:
        """Return the hooks at which the newest operation has paused."""
        stack = await self._stacks.row(name_or_id)
        found = await self._ports.store.read(lambda connection: hooks.pending(connection, stack["id"]))
        return [{"resource_name": one.resource, "hook": one.hook, "since": views.time(one.since)} for one in found]

    async def mark_unhealthy(self, name_or_id: str, resource: str, unhealthy: bool = True, reason: str = "") -> None:
        """Mark a resource (by its name or physical id) as unhealthy, or as healthy again."""
        stack = await self._stacks.row(name_or_id)
        shown = (await self._inputs.secrets(stack)).text(reason or "state changed by resource_mark_unhealthy api")[:1000]
        mark, clock = health.HealthMark(unhealthy, shown), self._ports.clock
        await self._ports.store.write(lambda connection: health.mark(connection, stack, resource, mark, clock.now()))

    def _take(self, connection: Connection, stack: lookups.Row, resource: str, details: Any, id_: str) -> None:
        to = signals.addressee(connection, stack["id"], resource)
        type_ = self._class_of(to.implementation)
        self._refuse_now(to)
        if signals.is_known(connection, to.id, id_):
            return
        taken = _handle(type_, details, signals.count(connection, to.id))
        if len(taken.key) > 255:
            raise errors.UserError("The id of a signal is too long: at most 255 characters.", kind="ValueError")
        text = documents.encode(taken.details)
        new = signals.NewSignal(id_, taken.key, text, taken.reason or _reason(details))
        signals.take(connection, to, new, stack["operation_id"], self._ports.clock.now())

    def _refuse_now(self, to: signals.Addressee) -> None:
        action = Action.DELETE if to.kind == NodeKind.CLEANUP else Action(to.action)
        if action in self._class_of(to.implementation).traits.no_signal_actions:
            raise errors.UserError(f"Signal resource during {action.name} is not supported.", kind="NotSupported")

    def _class_of(self, implementation: str) -> type[contract.Resource]:
        # A template that serves as a type has no class here; like the base class, it takes no signals.
        return self._ports.types.types.get(implementation, contract.Resource)


def _gone() -> errors.NotFound:
    return errors.NotFound("The resource that this address was for does not exist any more.", kind="NotFound")


def _handle(type_: type[contract.Resource], details: Any, count: int) -> HandledSignal:
    try:
        return type_.handle_signal(details, count)
    except ValueError as error:
        raise errors.UserError(str(error), kind="ValueError") from error


def _reason(details: Any) -> str:
    """Return the reason of a signal's event, in Heat's words, for types that give none."""
    if details is None:
        return "No signal details provided"
    if isinstance(details, str):
        return details[:1000]
    if isinstance(details, dict) and all(key in details for key in ("previous", "current", "reason")):
        return f"alarm state changed from {details['previous']} to {details['current']} ({details['reason']})"[:1000]
    return "Unknown"


def _check(details: Any, signal_id: str) -> None:
    if len(signal_id) > _ID_LENGTH:
        raise errors.UserError(f"The id of a request has at most {_ID_LENGTH} characters.", kind="ValueError")
    if _is_deeper(details, _DEPTH):
        raise errors.UserError(f"A signal may hold lists and maps at most {_DEPTH} deep.", kind="ValueError")
    try:
        size = len(msgspec.json.encode(details))
    except (TypeError, ValueError, UnicodeError) as error:
        raise errors.UserError(f"A signal is JSON: {error}", kind="ValueError") from error
    if size > signals.SIGNAL_BYTES:
        limit = signals.SIGNAL_BYTES >> 10
        raise errors.UserError(f"A signal holds at most {limit:,} KiB; this one has {size >> 10:,}.",
                               kind="RequestLimitExceeded")


def _is_deeper(value: Any, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(_is_deeper(one, depth - 1) for one in inner)
