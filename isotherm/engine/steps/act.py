"""Runs one step of an operation that was begun or taken over, and reports how the step ended.

This is the light wrapper around a resource's operation (ledger S0.2, S0.3): the lease, the generation and the effect on
other nodes are known here; the operation itself knows nothing of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine import contexts
from isotherm.engine.nested.inner_stacks import InnerStacksFactory
from isotherm.engine.steps import outcomes
from isotherm.planning import documents, masking, publish, resource_states
from isotherm.resources import cloud_lookups, contract, gate, runner, service_threads
from isotherm.resources.nested import nested_stack
from isotherm.secrets import is_sealed
from isotherm.states import UNCHECKED, VISITING, Action, DeletionPolicy, NodeKind, NodeState, Status
from isotherm.store.records import Claim, Report, Version


@dataclasses.dataclass(slots=True)
class LeaseGuard:
    """The time until which this worker may act. Renewals of the lease extend it."""

    clock: contract.Clock
    until: float

    def check(self) -> None:
        """Raise Superseded if the lease has expired."""
        # I5: each mutation lies inside a lease. A worker that was suspended for too long stops here.
        service_threads.refuse_abandoned()
        if self.clock.now() >= self.until:
            raise errors.Superseded("the lease has run out")


class StepRunner:
    """Calls the types of resources for claims, within their leases."""

    def __init__(self, types: outcomes.Types, context: contract.Context, nesting: InnerStacksFactory | None = None) -> None:
        self._types = types
        self._context = context
        self._nesting = nesting

    async def find_object(self, claim: Claim, version: Version, guard: LeaseGuard) -> contract.Search:
        """Search for the object that carries the version's token."""
        if version.physical_id is not None:
            return contract.Found(version.physical_id)
        begun = None if is_sealed(version.intent) else outcomes.intent_of(version)
        resource = self._resource(claim, version, self._properties(version), guard, begun)
        answer: contract.Search = await gate.call(resource, resource.find_by_token)
        if not isinstance(answer, contract.Search):
            raise errors.Permanent(f"find_by_token of {version.type} answered {answer!r}; it has to answer Found, Absent "
                                   "or CannotTell")
        if isinstance(answer, contract.CannotTell) and not answer.look_for:
            return dataclasses.replace(answer, look_for=f"an object named {resource.physical_name}")
        return answer

    async def ask_cloud(self, claim: Claim, questions: Iterable[cloud_lookups.Question]) -> cloud_lookups.Answers:
        """Return the cloud's answers, asked with the credential of the claim's stack."""
        context = self._context
        return await context.lookups.answer(contexts.cloud_of(context, claim.stack_id), questions, context.clock.now())

    async def observe(self, claim: Claim, version: Version, guard: LeaseGuard) -> outcomes.Observed:
        """Observe the version's object."""
        at = self._context.clock.now()
        reality = await contract.observe(self._resource(claim, version, self._properties(version), guard))
        return outcomes.Observed(reality, at)

    async def run(
        self, claim: Claim, version: Version, intent: documents.Intent, target: documents.Target | None,
        guard: LeaseGuard,
    ) -> Report:
        """Run one step of the intent's operation, and report how it ended, even if no handler could be called."""
        version = replace(version)
        try:
            return await self._run(claim, version, intent, target, guard)
        except (errors.Superseded, errors.Temporary):
            raise
        except Exception as error:  # noqa: BLE001 - a type that is gone, a context that cannot be built
            return _failed(claim, version, intent, runner.describe(claim.name, error))

    async def _run(
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
            outcome, published = await _publish(version, intent, target, running)
        if isinstance(outcome, runner.Done):
            # An update of a nested stack resumes the suspended resources in it.
            inside = nested_stack.is_stack(type(resource))
            wakes = intent.action is Action.RESUME or (intent.action is Action.UPDATE and inside)
            version.suspended = version.suspended and not wakes
            return _done(claim, version, intent, published, _success_reason(version, intent, resource))
        if isinstance(outcome, runner.Waiting):
            intent.attempts = task.attempts
            # After CreateAgain nothing is left of any attempt, also of one whose end was unknown.
            intent.not_begun = outcome.create_again or (outcome.not_begun and not intent.repeated)
            version.intent = documents.encode(intent)
            return Report(claim, NodeState.WAITING, version, wake_in_s=outcome.seconds, reason=outcome.reason,
                          awaits=outcome.awaits, seen=outcome.seen)
        return _failed(claim, version, intent, outcome.reason)

    async def republish(self, claim: Claim, answer: outcomes.Republish, guard: LeaseGuard) -> Report:
        """Read the attributes that dependants want, and report whether they have changed."""
        version, target = answer.version, answer.target
        resource = self._resource(claim, version, documents.decode(version.properties, dict[str, Any]), guard,
                                  target=target)
        published = await publish.publish(resource, target.exports)
        changed = published != version.published
        version.published = published
        return Report(claim, NodeState.DONE, version, changed=changed, observation=answer.observation)

    def _properties(self, version: Version) -> Mapping[str, Any]:
        """Return the properties last applied. If they are sealed with a lost key, or nothing was ever applied, return the
        defaults of the schema."""
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
            begun_at=version.begun_at,
        )
        if intent is not None and intent.action is Action.UPDATE:
            # As with the properties, an update sees what it is to apply.
            state.metadata = intent.metadata or {}
        state.snapshot_on_delete = version.deletion_policy is DeletionPolicy.SNAPSHOT
        type_ = self._types(version.implementation)
        stacks = None
        if nested_stack.is_stack(type_) and self._nesting is not None:
            around = masking.OuterResource(version.name, version.type, _facade(version, intent))
            stacks = self._nesting.of(claim, around)
        context = contexts.leased(self._context, guard, claim.operation.project, claim.stack_id, stacks,
                                  operation_id=claim.operation.id)
        return type_(state, context)


def _readable(text: str) -> str:
    """Return an empty document for a text sealed with a lost key: only a deletion gets here, and needs no more."""
    return "{}" if is_sealed(text) else text


def _facade(version: Version, intent: documents.Intent | None) -> dict[str, Any]:
    """Return what a nested stack may read of the resource that holds it (`resource_facade`)."""
    return {
        "metadata": documents.decode_any(_readable(version.metadata)) if intent is None else intent.metadata,
        "deletion_policy": version.deletion_policy.name.capitalize(),
        "update_policy": None if intent is None else intent.update_policy,
    }


async def _publish(
    version: Version, intent: documents.Intent, target: documents.Target | None, running: runner.TaskRunner
) -> tuple[runner.Outcome, str | None]:
    """Read what dependants want of a resource whose operation is done. Return how the step ends, and the document."""
    if target is None or intent.action is Action.DELETE:
        return runner.DONE, version.published
    try:
        return runner.DONE, await publish.publish(running.resource, target.exports)
    except errors.Temporary as error:
        # The object exists, but its attributes cannot be read yet.
        return running.postponed(error), version.published
    except errors.Superseded:
        raise
    except Exception as error:  # noqa: BLE001 - a mistake in the type is the failure of its resource
        return runner.Failed(runner.describe(version.name, error)), version.published


def _success_reason(version: Version, intent: documents.Intent, resource: contract.Resource) -> str:
    """Return the reason of a success: empty, or that the object was not checked."""
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
        # It is unknown how much was applied, so the digest proves nothing any more.
        version.digest = None
    ending = _ending(claim, version, intent, NodeState.FAILED)
    return Report(claim, ending, version, reason=reason, event=outcomes.event(claim, version))


def _ending(claim: Claim, version: Version, intent: documents.Intent, state: NodeState) -> NodeState:
    """Return the state of the node. A step for an older operation, or one that only prepared, is considered again."""
    if intent.operation_id != claim.operation.id:
        return NodeState.SCHEDULED
    if claim.kind is NodeKind.VISIT:
        purpose = intent.action is claim.operation.visit
    elif intent.action is Action.ADOPT:
        purpose = claim.operation.action is Action.ADOPT
    else:
        purpose = intent.action not in VISITING or version.external
    if intent.action is Action.ADOPT and not purpose:
        # The state of the object is known now, adopted or not, and the decision goes on from there.
        return NodeState.SCHEDULED
    return state if purpose or state is NodeState.FAILED else NodeState.SCHEDULED
