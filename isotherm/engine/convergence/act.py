"""Runs the operation that a worker has begun or taken up, a step at a time, and says how the step ended.

This is the light wrapper around a resource's operation (ledger S0.2, S0.3): the lease, the generation and what the end
means to others are known here; the operation itself knows nothing of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from isotherm import errors
from isotherm.engine import documents
from isotherm.engine.convergence import consider
from isotherm.resources import contract, runner
from isotherm.states import Action, NodeKind, NodeState, Status
from isotherm.store.records import Claim, Report, Version


@dataclasses.dataclass(slots=True)
class LeaseGuard:
    """The time until which this worker may act; renewals push it on."""

    clock: contract.Clock
    until: float

    def check(self) -> None:
        # INV-5: each mutation lies inside a lease. A worker that was stopped for too long finds out here.
        if self.clock.now() >= self.until:
            raise errors.Superseded("the lease has run out")


class GuardedReality:
    """Reality, as long as the lease lasts."""

    def __init__(self, reality: contract.Reality, guard: LeaseGuard) -> None:
        self._reality = reality
        self._guard = guard

    async def create(self, kind: str, token: str, properties: Mapping[str, object], physical_id: str) -> None:
        self._guard.check()
        await self._reality.create(kind, token, properties, physical_id)

    async def get(self, physical_id: str) -> Mapping[str, Any] | None:
        return await self._reality.get(physical_id)

    async def find(self, token: str) -> str | None:
        return await self._reality.find(token)

    async def update(self, physical_id: str, properties: Mapping[str, object]) -> bool:
        self._guard.check()
        return await self._reality.update(physical_id, properties)

    async def delete(self, physical_id: str) -> bool:
        self._guard.check()
        return await self._reality.delete(physical_id)


class Acting:
    """Acts on claims, within their leases."""

    def __init__(self, types: consider.Types, world: contract.World) -> None:
        self._types = types
        self._world = world

    async def find(self, claim: Claim, version: Version, guard: LeaseGuard) -> str | None:
        """The object that carries the version's token, if there is one."""
        if version.physical_id is not None:
            return version.physical_id
        return await self._resource(claim, version, documents.decode(version.properties, dict[str, Any]), guard).find_by_token()

    async def step(
        self, claim: Claim, version: Version, intent: documents.Intent, target: documents.Target | None,
        guard: LeaseGuard,
    ) -> Report:  # fmt: skip
        """One step of what the intent says; the report tells how it ended."""
        deleting = intent.action is Action.DELETE
        wanted = documents.decode(version.properties, dict[str, Any]) if deleting else intent.after
        resource = self._resource(claim, version, wanted, guard)
        task = runner.Task(intent.action, intent.before, intent.changed, intent.handled, intent.progress)
        guard.check()
        outcome = await runner.TaskRunner(resource, task).step()
        now = dataclasses.replace(version, physical_id=resource.physical_id, data=documents.encode(resource.data))
        if isinstance(outcome, runner.Waiting):
            intent.handled, intent.progress = task.handled, task.progress
            waiting = dataclasses.replace(now, intent=documents.encode(intent))
            return Report(claim, NodeState.WAITING, waiting, wake_in_s=outcome.seconds, reason=outcome.reason)
        if isinstance(outcome, runner.Failed):
            return self._failed(claim, now, intent, outcome.reason)
        return await self._done(claim, now, intent, target, resource)

    async def republish(self, claim: Claim, version: Version, target: documents.Target, guard: LeaseGuard) -> Report:
        """Nothing has changed but what others want to know."""
        resource = self._resource(claim, version, documents.decode(version.properties, dict[str, Any]), guard)
        published = await _publish(resource, target)
        return Report(
            claim, NodeState.DONE, dataclasses.replace(version, published=published),
            changed=published != version.published,
        )  # fmt: skip

    def _resource(
        self, claim: Claim, version: Version, wanted: Mapping[str, Any], guard: LeaseGuard
    ) -> contract.Resource:
        known = contract.Self(
            version.name, claim.operation.stack_name, version.stack_id, version.token, wanted, version.physical_id,
            documents.decode(version.data, dict[str, Any]), documents.decode_any(version.metadata),
        )  # fmt: skip
        guarded = dataclasses.replace(self._world, reality=GuardedReality(self._world.reality, guard))
        return self._types(version.implementation)(known, guarded)

    async def _done(
        self, claim: Claim, version: Version, intent: documents.Intent, target: documents.Target | None,
        resource: contract.Resource,
    ) -> Report:  # fmt: skip
        done = dataclasses.replace(version, status=Status.COMPLETE, reason="", intent=None)
        if intent.action is Action.DELETE:
            return Report(claim, NodeState.DONE, done, removed=True, event=consider.event(claim, done))
        published = version.published if target is None else await _publish(resource, target)
        done = dataclasses.replace(
            done, properties=documents.encode(intent.after), metadata=documents.encode(intent.metadata),
            digest=intent.digest, requires=documents.encode(intent.requires), published=published,
        )  # fmt: skip
        changed = published != version.published or intent.action is Action.CREATE
        return Report(
            claim, _ending(claim, done, intent, NodeState.DONE), done, changed=changed, event=consider.event(claim, done)
        )

    def _failed(self, claim: Claim, version: Version, intent: documents.Intent, reason: str) -> Report:
        failed = dataclasses.replace(version, status=Status.FAILED, reason=reason, intent=None)
        return Report(
            claim, _ending(claim, failed, intent, NodeState.FAILED), failed, reason=reason,
            event=consider.event(claim, failed),
        )  # fmt: skip


def _ending(claim: Claim, version: Version, intent: documents.Intent, state: NodeState) -> NodeState:
    """What was begun for an older operation, or for another purpose, is recorded and looked at again."""
    checks = claim.kind is NodeKind.CHECK or (version.external and claim.kind is NodeKind.UPDATE)
    fits = checks == (intent.action is Action.CHECK)
    return state if fits and intent.operation_id == claim.operation.id else NodeState.SCHEDULED


async def _publish(resource: contract.Resource, target: documents.Target) -> str:
    values = {name: await _attribute(resource, name) for name in target.exports}
    return documents.encode(documents.Published(resource.reference_id(), values))


async def _attribute(resource: contract.Resource, name: str) -> object:
    try:
        return await resource.attribute(name)
    except Exception:  # noqa: BLE001 - an attribute that cannot be read is not known; the resource itself is fine
        return None
