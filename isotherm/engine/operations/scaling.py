"""Scaling: the effect of a signal to a scaling policy on its group.

Scaling is an ordinary update of the group's nested stack, accepted in the transaction that takes the signal. The outer
stack takes no part. A group that is being changed, or that has just been scaled, is not scaled, and the event of the signal
says so.

The group's row is written without its lease. The write is conditional: the row has no intent, its node is DONE, and the row
has not changed since it was read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from isotherm import errors
from isotherm.engine.delivery import sinks
from isotherm.engine.service_ports import ServicePorts
from isotherm.planning import desired, documents, masking, request_limits, requests
from isotherm.planning.planner import input_of
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
from isotherm.store.sinks import scalings
from isotherm.store.sinks.scalings import Scaling
from isotherm.store.versions import protection

_TRIES = 5


@dataclass(frozen=True, slots=True)
class PolicySignal:
    """A signal to a scaling policy."""

    stack: lookups.Row
    policy: signals.Addressee
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class _ScalingOperation:
    """An operation on the nested stack of a group, and the new data of the group's row."""

    acceptance: Acceptance
    goal: desired.Desired
    data: str
    reason: str
    scaling: Scaling


class Scaler:
    """Scales groups of one project."""

    def __init__(self, ports: ServicePorts, project: str) -> None:
        self._ports = ports
        self._project = project

    async def scale(self, signal: PolicySignal) -> None:
        for tries_left in reversed(range(_TRIES)):
            try:
                await self._try_to_scale(signal)
            except errors.Conflict:
                # The group or its nested stack has changed since it was read: read it again.
                if not tries_left:
                    raise
            else:
                self._ports.wake(signal.stack["id"])
                return

    async def _try_to_scale(self, signal: PolicySignal) -> None:
        policy, group = await self._ports.store.read(lambda connection: _read(connection, signal))
        decision = await self._decide(signal, policy, group)

        def unit(connection: Connection) -> None:
            now = self._ports.clock.now()
            if signals.is_known(connection, signal.policy.id, signal.id):
                return
            reason = decision if isinstance(decision, str) else decision.reason
            if isinstance(decision, _ScalingOperation):
                protection.refuse_change(connection, decision.acceptance.stack_id)
                groups.adjust(connection, group, decision.data, f"{_digest(group)}{group_base.SCALED}")
                accept.supersede(connection, decision.acceptance, now)
                plan.write(connection, decision.acceptance.operation_id, decision.goal.wanted, now)
                limits.resources(connection, decision.acceptance.stack_id, self._ports.settings.max_resources_per_stack)
                if sinks.sends_notifications(self._ports.settings):
                    scalings.add(connection, decision.scaling, now)
            # 256 keys: old signals are overwritten. A signal is kept only to recognise its repetition.
            key = hashlib.sha256(signal.id.encode()).hexdigest()[:2]
            new = signals.NewSignal(signal.id, key, "null", f"{signal.reason} ({reason})"[:1000])
            current = signals.addressee(connection, signal.policy.stack_id, signal.policy.name)
            signals.take(connection, current, new, signal.stack["operation_id"], now)

        await self._ports.store.write(unit)

    async def _decide(
        self, signal: PolicySignal, policy: Mapping[str, Any], group: groups.GroupRow
    ) -> _ScalingOperation | str:
        """Return the operation that scales the group, or the reason why it is not scaled."""
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
        change = Scaling(self._ports.new_id(), version.stack_id, nested["name"],
                         float(policy[scaling_policy.ADJUSTMENT]), policy[scaling_policy.KIND], current, size)
        return await self._operation(signal, policy, one, nested, change)

    async def _operation(
        self, signal: PolicySignal, policy: Mapping[str, Any], one: AutoScalingGroup, nested: lookups.Row, change: Scaling
    ) -> _ScalingOperation:
        size = change.new_capacity
        child = await one.resized(size, await one.in_order())
        operation = await self._ports.store.read(lambda connection: rows.operation(connection, nested["operation_id"]))
        if operation is None or not operation.input:
            raise errors.Bug(f"stack {nested['id']} has no input")
        before = await self._ports.store.read(lambda connection: input_of(connection, operation.stack_id, operation.input))
        input_ = replace(before, template=child.template, exports=child.exports)
        identity = desired.Identity(nested["name"], nested["id"], self._project)
        bounds = request_limits.bounds(self._ports.settings)
        types, most = self._ports.types, self._ports.settings.max_hidden_size

        def work() -> desired.Desired:
            try:
                return desired.desire(input_, identity, types, bounds=bounds)
            except errors.UserError as error:
                raise masking.error(error, input_, types, most) from None

        goal = await self._ports.planning.compute(input_.size, work)
        input_key, blobs = requests.stored(input_)
        acceptance = Acceptance(nested["id"], nested["generation"], change.operation_id, Action.UPDATE, input_key, True,
                                signal.stack["timeout_s"], blobs=blobs, reason="Stack UPDATE started")
        cooldown = policy[scaling_policy.COOLDOWN]
        one.data["scaled"] = {"operation": acceptance.operation_id,
                              "cooldown_s": max(0, (one.properties[COOLDOWN] if cooldown is None else cooldown) or 0)}
        return _ScalingOperation(acceptance, goal, documents.encode(one.data), f"scaled to {size}", change)

    async def _cooling(self, group: AutoScalingGroup) -> float:
        """Return the rest of the group's cooldown, which begins at the end of its last scaling."""
        until = float(group.data.get(COOLDOWN_END, 0))
        scaled = group.data.get("scaled")
        if scaled:
            found = await self._ports.store.read(lambda connection: lookups.operation(connection, scaled["operation"]))
            if found is not None and found["ended_at"] is not None:
                until = max(until, found["ended_at"] + scaled["cooldown_s"])
        return until - self._ports.clock.now()


def _read(connection: Connection, signal: PolicySignal) -> tuple[Mapping[str, Any], groups.GroupRow]:
    # Read again: the policy may have been deleted or replaced since the signal was addressed.
    current = signals.addressee(connection, signal.policy.stack_id, signal.policy.name)
    version = rows.versions(connection, [current.id])[current.id]
    policy = documents.decode(version.properties, dict[str, Any])
    group = groups.find(connection, version.stack_id, str(policy[scaling_policy.GROUP]))
    if group is None or group.version.implementation != AutoScalingGroup.TYPE:
        name = policy[scaling_policy.GROUP]
        raise errors.NotFound(f'Alarm {version.name} could not find scaling group named "{name}"')
    return policy, group


def _digest(group: groups.GroupRow) -> str:
    return (group.version.digest or "").removesuffix(group_base.SCALED)
