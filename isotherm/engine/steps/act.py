"""Runs the operation that a worker has begun or taken up, a step at a time, and says how the step ended.

This is the light wrapper around a resource's operation (ledger S0.2, S0.3): the lease, the generation and what the end
means to others are known here; the operation itself knows nothing of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine import contexts
from isotherm.engine.nested.inner_stacks import InnerStacksFactory
from isotherm.engine.steps import outcomes
from isotherm.planning import documents, masking, publish, resource_states
from isotherm.resources import contract, gate, runner, service_threads
from isotherm.resources.nested import nested_stack
from isotherm.secrets import is_sealed
from isotherm.states import UNCHECKED, VISITING, Action, NodeKind, NodeState, Status
from isotherm.store.records import Claim, Report, Version


@dataclasses.dataclass(slots=True)
class LeaseGuard:
    """The time until which this worker may act; renewals push it on."""

    clock: contract.Clock
    until: float

    def check(self) -> None:
        # I5: each mutation lies inside a lease. A worker that was stopped for too long finds out here.
        service_threads.refuse_abandoned()
        if self.clock.now() >= self.until:
            raise errors.Superseded("the lease has run out")


class StepRunner:
    """Acts on claims, within their leases."""

    def __init__(self, types: outcomes.Types, context: contract.Context, nesting: InnerStacksFactory | None = None) -> None:
        self._types = types
        self._context = context
        self._nesting = nesting

    async def find(self, claim: Claim, version: Version, guard: LeaseGuard) -> contract.Search:
        """Search for the object that carries the version's token."""
        if version.physical_id is not None:
            return contract.Found(version.physical_id)
        resource = self._resource(claim, version, self._properties(version), guard)
        answer: contract.Search = await gate.call(resource, resource.find_by_token)
        if not isinstance(answer, contract.Search):
            raise errors.Permanent(f"find_by_token of {version.type} answered {answer!r}; it has to answer Found, Absent "
                                   "or CannotTell")
        if isinstance(answer, contract.CannotTell) and not answer.look_for:
            return dataclasses.replace(answer, look_for=f"an object named {resource.physical_name}")
        return answer

    async def look(self, claim: Claim, version: Version, guard: LeaseGuard) -> outcomes.Look:
        """What can be seen of the version's object now."""
        at = self._context.clock.now()
        sight = await contract.observe(self._resource(claim, version, self._properties(version), guard))
        return outcomes.Look(sight, at)

    async def step(
        self, claim: Claim, version: Version, intent: documents.Intent, target: documents.Target | None,
        guard: LeaseGuard,
    ) -> Report:
        """One step of what the intent says; the report tells how it ended, also where no handler could be called."""
        version = replace(version)
        try:
            return await self._stepped(claim, version, intent, target, guard)
        except (errors.Superseded, errors.Temporary):
            raise
        except Exception as error:  # noqa: BLE001 - a type that is gone, a context that cannot be built
            return _failed(claim, version, intent, runner.describe(claim.name, error))

    async def _stepped(
        self, claim: Claim, version: Version, intent: documents.Intent, target: documents.Target | None,
        guard: LeaseGuard,
    ) -> Report:
        deleting = intent.action is Action.DELETE
        wanted = self._properties(version) if deleting else intent.after
        resource = self._resource(claim, version, wanted, guard, intent, target)
        task = runner.Task(intent.action, intent.before, intent.changed, intent.handled, intent.progress,
                           intent.attempts)
        running = runner.TaskRunner(resource, task)
        guard.check()
        outcome = await running.step()
        version.physical_id = resource.physical_id
        if resource.data:
            version.data = documents.encode(resource.data)
        intent.handled, intent.progress = task.handled, task.progress
        published = version.published
        if isinstance(outcome, runner.Done):
            try:
                published = await _published(version, intent, target, resource)
            except errors.Temporary as error:
                # The object is there, but what others want to know of it cannot be read yet.
                outcome = running.postponed(error)
            except errors.Superseded:
                raise
            except Exception as error:  # noqa: BLE001 - a mistake in the type is the failure of its resource
                outcome = runner.Failed(runner.describe(version.name, error))
        if isinstance(outcome, runner.Done):
            # An update of a stack inside wakes whatever slept in there.
            inside = nested_stack.is_stack(type(resource))
            wakes = intent.action is Action.RESUME or (intent.action is Action.UPDATE and inside)
            version.suspended = version.suspended and not wakes
            return _done(claim, version, intent, published, _said(version, intent, resource))
        if isinstance(outcome, runner.Waiting):
            intent.attempts = task.attempts
            intent.not_begun = outcome.not_begun and not intent.repeated
            version.intent = documents.encode(intent)
            return Report(claim, NodeState.WAITING, version, wake_in_s=outcome.seconds, reason=outcome.reason,
                          awaits=outcome.awaits, seen=outcome.seen)
        return _failed(claim, version, intent, outcome.reason)

    async def republish(self, claim: Claim, answer: outcomes.Republish, guard: LeaseGuard) -> Report:
        """Nothing has changed but what others want to know."""
        version, target = answer.version, answer.target
        resource = self._resource(claim, version, documents.decode(version.properties, dict[str, Any]), guard,
                                  target=target)
        published = await publish.publish(resource, target.exports)
        changed = published != version.published
        version.published = published
        return Report(claim, NodeState.DONE, version, changed=changed, observation=answer.observation)

    def _properties(self, version: Version) -> Mapping[str, Any]:
        """What was last applied. Where that was sealed with a lost key, or nothing ever was, as to what could not be
        adopted: what a resource has of which nothing is known."""
        known = {} if is_sealed(version.properties) else documents.decode(version.properties, dict[str, Any])
        schema = self._types(version.implementation).properties_schema
        return known or {name: one.default for name, one in schema.items()}

    def _resource(
        self, claim: Claim, version: Version, wanted: Mapping[str, Any], guard: LeaseGuard,
        intent: documents.Intent | None = None, target: documents.Target | None = None,
    ) -> contract.Resource:
        state = resource_states.of(
            version, claim.operation.stack_name, properties=wanted,
            update_policy=None if intent is None else intent.update_policy,
            exports=() if target is None else target.exports,
        )
        type_ = self._types(version.implementation)
        stacks = None
        if nested_stack.is_stack(type_) and self._nesting is not None:
            around = masking.Around(version.name, version.type, _facade(version, intent))
            stacks = self._nesting.of(claim, around)
        return type_(state, contexts.leased(self._context, guard, claim.operation.project, stacks))


def _readable(text: str) -> str:
    """Nothing, in place of what was sealed with a lost key: only a deletion gets as far as this, and needs no more."""
    return "{}" if is_sealed(text) else text


def _facade(version: Version, intent: documents.Intent | None) -> dict[str, Any]:
    """What a stack inside may read of the resource around it."""
    return {
        "metadata": documents.decode_any(_readable(version.metadata)) if intent is None else intent.metadata,
        "deletion_policy": version.deletion_policy.name.capitalize(),
        "update_policy": None if intent is None else intent.update_policy,
    }


async def _published(
    version: Version, intent: documents.Intent, target: documents.Target | None, resource: contract.Resource
) -> str | None:
    if target is None or intent.action is Action.DELETE:
        return version.published
    return await publish.publish(resource, target.exports)


def _said(version: Version, intent: documents.Intent, resource: contract.Resource) -> str:
    """What there is to say of a success: that nothing was looked at, where a type cannot be."""
    if intent.action is not Action.CHECK:
        return ""
    if not contract.is_checkable(type(resource)):
        return f"{UNCHECKED} {version.type}"
    unseen = intent.progress.get(contract.NOT_OBSERVED) if isinstance(intent.progress, dict) else None
    return "" if unseen is None else f"The object could not be observed: {unseen}"


def _done(claim: Claim, version: Version, intent: documents.Intent, published: str | None, reason: str) -> Report:
    version.status, version.reason, version.intent = Status.COMPLETE, reason, None
    if intent.action is Action.DELETE:
        return Report(claim, NodeState.DONE, version, removed=True, event=outcomes.event(claim, version))
    changed = published != version.published or intent.action is Action.CREATE
    version.published = published
    version.properties, version.metadata = documents.encode(intent.after), documents.encode(intent.metadata)
    version.digest, version.requires = intent.digest, documents.encode(intent.requires)
    ending = _ending(claim, version, intent, NodeState.DONE)
    part = None
    if intent.action is Action.SNAPSHOT:
        part = outcomes.part(intent.operation_id, version, intent.progress)
    return Report(claim, ending, version, changed=changed, event=outcomes.event(claim, version), part=part)


def _failed(claim: Claim, version: Version, intent: documents.Intent, reason: str) -> Report:
    version.status, version.reason, version.intent = Status.FAILED, reason, None
    if intent.action is Action.UPDATE:
        # How much of it was applied is not known: nothing proves any more what the object is like.
        version.digest = None
    ending = _ending(claim, version, intent, NodeState.FAILED)
    return Report(claim, ending, version, reason=reason, event=outcomes.event(claim, version))


def _ending(claim: Claim, version: Version, intent: documents.Intent, state: NodeState) -> NodeState:
    """What was begun for an older operation, or only to prepare for this one's purpose, is looked at again."""
    if intent.operation_id != claim.operation.id:
        return NodeState.SCHEDULED
    if claim.kind is NodeKind.VISIT:
        purpose = intent.action is claim.operation.visit
    elif intent.action is Action.ADOPT:
        purpose = claim.operation.action is Action.ADOPT
    else:
        purpose = intent.action not in VISITING or version.external
    if intent.action is Action.ADOPT and not purpose:
        # Whether it can be adopted or not, its state is known now, and the decision goes on from there.
        return NodeState.SCHEDULED
    return state if purpose or state is NodeState.FAILED else NodeState.SCHEDULED
