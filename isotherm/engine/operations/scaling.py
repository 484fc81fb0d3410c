"""Scaling: what a signal to a scaling policy does to its group.

The size of a group is the business of the stack inside it: scaling is an ordinary operation on that stack, accepted in
the transaction that takes the signal. The stack around it takes no part. It must be at rest, as far as the group is
concerned: a group that is being changed, or that has just been scaled, is left alone, and the signal's event says so.

The row of the group is written without its lease, on the condition that nobody is at work on it: that nothing is under
way (no intent, its node done), and that it is what it was when it was read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from isotherm import errors
from isotherm.engine.service_ports import ServicePorts
from isotherm.planning import desired, documents, request_limits, requests
from isotherm.planning.planner import asked_for
from isotherm.resources.heat.groups import scaling_policy
from isotherm.resources.heat.groups.auto_scaling_group import COOLDOWN, COOLDOWN_END, AutoScalingGroup, bounded
from isotherm.resources.nested import group_base
from isotherm.states import Action, NodeState, Status
from isotherm.store import limits, rows
from isotherm.store.database.writer import Connection
from isotherm.store.operations import accept, plan
from isotherm.store.reads import lookups
from isotherm.store.records import Acceptance
from isotherm.store.signals import scaling as groups
from isotherm.store.signals import signals

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Signalled:
    """A signal to a scaling policy."""

    stack: lookups.Row
    policy: signals.Addressee
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Order:
    """An operation on the stack inside a group, and what it does to the group's row."""

    acceptance: Acceptance
    goal: desired.Desired
    data: str
    reason: str


class Scaler:
    """Scales groups of one project."""

    def __init__(self, ports: ServicePorts, project: str) -> None:
        self._ports = ports
        self._project = project

    async def scale(self, signal: Signalled) -> None:
        for tries_left in reversed(range(_TRIES)):
            try:
                await self._try_to_scale(signal)
            except errors.Conflict:
                # Something has changed since it was looked at: look again.
                if not tries_left:
                    raise
            else:
                self._ports.wake(signal.stack["id"])
                return

    async def _try_to_scale(self, signal: Signalled) -> None:
        policy, group = await self._ports.store.read(lambda connection: _look(connection, signal))
        order = await self._order(signal, policy, group)

        def unit(connection: Connection) -> None:
            now = self._ports.clock.now()
            if signals.is_known(connection, signal.policy.id, signal.id):
                return
            reason = order if isinstance(order, str) else order.reason
            if isinstance(order, _Order):
                groups.adjust(connection, group, order.data, f"{_digest(group)}{group_base.SCALED}")
                accept.supersede(connection, order.acceptance, now)
                plan.write(connection, order.acceptance.operation_id, order.goal.wanted, now)
                limits.resources(connection, order.acceptance.stack_id, self._ports.settings.max_resources_per_stack)
            # Only so many are kept: what matters of a signal is whether it was the same a moment ago.
            key = hashlib.sha256(signal.id.encode()).hexdigest()[:2]
            told = signals.NewSignal(signal.id, key, "null", f"{signal.reason} ({reason})"[:1000])
            current = signals.addressee(connection, signal.policy.stack_id, signal.policy.name)
            signals.take(connection, current, told, signal.stack["operation_id"], now)

        await self._ports.store.write(unit)

    async def _order(self, signal: Signalled, policy: Mapping[str, Any], group: groups.Group) -> _Order | str:
        """What to do, or why nothing is done."""
        version = group.version
        if version.status is not Status.COMPLETE or version.intent is not None or group.state != NodeState.DONE:
            return "not scaled: the group is being changed, or has failed"
        inside = self._ports.inner_reader(self._project)
        nested = await inside.stack(version.physical_id or "")
        if nested["status"] == Status.IN_PROGRESS:
            return "not scaled: the group is being scaled"
        target = documents.decode(group.definition, documents.Target)
        one = inside.group(version, target.exports)
        there = await one.in_order()
        current = sum(not member.failed for member in there)
        size = bounded(scaling_policy.size_after(current, policy), one.properties)
        if size == current:
            return f"not scaled: the group has {current} members"
        left_s = await self._cooling(one)
        if left_s > 0:
            return f"not scaled: cooling down for {left_s:.0f} s"
        return await self._ordered(signal, policy, one, nested, size)

    async def _ordered(
        self, signal: Signalled, policy: Mapping[str, Any], one: AutoScalingGroup, nested: lookups.Row, size: int
    ) -> _Order:
        child = await one.resized(size, await one.in_order())
        operation = await self._ports.store.read(lambda connection: rows.operation(connection, nested["operation_id"]))
        if operation is None or not operation.input:
            raise errors.Bug(f"stack {nested['id']} has no input")
        before = await self._ports.store.read(lambda connection: asked_for(connection, operation.stack_id, operation.input))
        asked = replace(before, template=child.template, exports=child.exports)
        identity = desired.Identity(nested["name"], nested["id"], self._project)
        goal = desired.desire(asked, identity, self._ports.types, bounds=request_limits.bounds(self._ports.settings))
        input_, blobs = requests.stored(asked)
        acceptance = Acceptance(nested["id"], nested["generation"], self._ports.new_id(), Action.UPDATE, input_, True,
                                signal.stack["timeout_s"], blobs=blobs, reason="Stack UPDATE started")
        cooldown = policy[scaling_policy.COOLDOWN]
        one.data["scaled"] = {"operation": acceptance.operation_id,
                              "cooldown_s": max(0, (one.properties[COOLDOWN] if cooldown is None else cooldown) or 0)}
        return _Order(acceptance, goal, documents.encode(one.data), f"scaled to {size}")

    async def _cooling(self, group: AutoScalingGroup) -> float:
        """How long the group is still to be left alone: from the end of what was last done to it."""
        until = float(group.data.get(COOLDOWN_END, 0))
        scaled = group.data.get("scaled")
        if scaled:
            found = await self._ports.store.read(lambda connection: lookups.operation(connection, scaled["operation"]))
            if found is not None and found["ended_at"] is not None:
                until = max(until, found["ended_at"] + scaled["cooldown_s"])
        return until - self._ports.clock.now()


def _look(connection: Connection, signal: Signalled) -> tuple[Mapping[str, Any], groups.Group]:
    # Asked for once more: it may have been deleted, or replaced, since it was signalled to.
    current = signals.addressee(connection, signal.policy.stack_id, signal.policy.name)
    version = rows.versions(connection, [current.id])[current.id]
    policy = documents.decode(version.properties, dict[str, Any])
    group = groups.find(connection, version.stack_id, str(policy[scaling_policy.GROUP]))
    if group is None or group.version.implementation != AutoScalingGroup.TYPE:
        name = policy[scaling_policy.GROUP]
        raise errors.NotFound(f'Alarm {version.name} could not find scaling group named "{name}"')
    return policy, group


def _digest(group: groups.Group) -> str:
    return (group.version.digest or "").removesuffix(group_base.SCALED)
