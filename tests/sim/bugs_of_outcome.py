"""Seeded bugs of the outcome of operations: false reports, wrong rollbacks, lost objects, and leftovers."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.engine.steps import act, consider_cleanup, decide
from isotherm.planning import publish
from isotherm.planning.references import PublishedReferences
from isotherm.resources import gate
from isotherm.secrets import Redactor
from isotherm.states import Action, DeletionPolicy, NodeState, Status
from isotherm.store import tables as t
from isotherm.store.operations import accept, finish, order, plan
from isotherm.store.reads import lookups
from isotherm.store.transitions import nodes, versions
from isotherm.store.versions import current as slots
from isotherm.store.versions import superseded
from tests.sim.seeded_bugs import Bugs, Patch, nothing, wrapped

BUGS = Bugs()
bug = BUGS.add


# Truth.


@bug
def a_failure_is_swallowed(patch: Patch) -> None:
    """[I14] A resource failed, and its node is recorded as DONE."""
    wrapped(patch, act, "_failed", lambda original, *arguments: msgspec.structs.replace(
        original(*arguments), state=NodeState.DONE))


@bug
def a_row_goes_although_its_object_stays(patch: Patch) -> None:
    """[lesson D7] A deletion failed, and the row is removed all the same."""

    def failed(original: Any, claimed: Any, version: Any, intent: Any, reason: str) -> Any:
        report = original(claimed, version, intent, reason)
        return msgspec.structs.replace(report, removed=True) if intent.action is Action.DELETE else report

    wrapped(patch, act, "_failed", failed)


@bug
def what_failed_half_way_counts_as_known(patch: Patch) -> None:
    """[lesson E4] After a failed update the row still proves what was there before."""

    def failed(original: Any, claimed: Any, version: Any, intent: Any, reason: str) -> Any:
        before = version.digest
        report = original(claimed, version, intent, reason)
        report.version.digest, report.version.status = before, Status.COMPLETE
        return report

    wrapped(patch, act, "_failed", failed)


@bug
def an_unreadable_attribute_is_nothing(patch: Patch) -> None:
    """[I6] A busy cloud cannot tell an attribute, and dependants get nothing instead."""

    async def attribute(resource: Any, name: str) -> object:
        try:
            return await gate.call(resource, resource.attribute, name)
        except Exception:  # noqa: BLE001
            return None

    patch.setattr(publish, "attribute", attribute)


@bug
def changes_do_not_reach_dependants(patch: Patch) -> None:
    """[I2] An attribute has changed, and its readers are not visited."""
    original = act.StepRunner.run

    async def step(self: Any, *arguments: Any) -> Any:
        report = await original(self, *arguments)
        return msgspec.structs.replace(report, changed=False)

    patch.setattr(act.StepRunner, "run", step)


@bug
def references_are_read_from_memory(patch: Patch) -> None:
    """[lesson B3] What other resources published is remembered from an earlier operation."""
    seen: dict[str, Any] = {}
    original = PublishedReferences.reference_id
    patch.setattr(PublishedReferences, "reference_id",
                  lambda self, resource: seen.setdefault(resource, original(self, resource)))


@bug
def an_update_changes_nothing(patch: Patch) -> None:
    """[I2] Changes in place are taken for no change."""

    def judged(original: Any, *arguments: Any, **named: Any) -> decide.Decision:
        decision = original(*arguments, **named)
        return decide.Decision(decide.Verdict.NOTHING) if decision.verdict is decide.Verdict.UPDATE else decision

    wrapped(patch, decide, "decide", judged)


@bug
def an_operation_ends_twice(patch: Patch) -> None:
    """[lesson A15] The end of an operation is told again."""

    def close(original: Any, connection: Any, operation: Any, now: float) -> None:
        original(connection, operation, now)
        original(connection, operation, now)

    wrapped(patch, finish, "close", close)


@bug
def reads_fail_while_things_are_replaced(patch: Patch) -> None:
    """[lesson B7] A list of resources cannot cope with a version that is being replaced."""

    def resources(original: Any, *arguments: Any) -> Any:
        found = original(*arguments)
        if any(row["superseded"] or row["id"] is None for row in found):
            raise KeyError("superseded")
        return found

    wrapped(patch, lookups, "resources", resources)


# Rollback.


@bug
def a_rollback_goes_nowhere(patch: Patch) -> None:
    """[lesson D5] The target is the operation that has just failed."""
    original = accept.roll_back

    def roll_back(connection: Any, stack_id: str, *rest: Any) -> None:
        stack = t.stacks.c
        connection.execute(sa.update(t.stacks).where(stack.id == stack_id).values(complete_operation_id=stack.operation_id))
        original(connection, stack_id, *rest)

    patch.setattr(accept, "roll_back", roll_back)


@bug
def a_rollback_always_empties_the_stack(patch: Patch) -> None:
    """[lesson D5] The last good state is forgotten."""
    original = accept.roll_back

    def roll_back(connection: Any, stack_id: str, *rest: Any) -> None:
        connection.execute(sa.update(t.stacks).where(t.stacks.c.id == stack_id).values(complete_operation_id=None))
        original(connection, stack_id, *rest)

    patch.setattr(accept, "roll_back", roll_back)


@bug
def one_failure_rolls_back_twice(patch: Patch) -> None:
    """[lesson D1] Two rollbacks for one failed operation."""
    original = accept.roll_back

    def roll_back(connection: Any, stack_id: str, operation_id: str, *rest: Any) -> None:
        original(connection, stack_id, operation_id, *rest)
        original(connection, stack_id, operation_id[::-1], *rest)

    patch.setattr(accept, "roll_back", roll_back)


@bug
def a_rollback_leaves_behind_what_moved_with_a_replacement(patch: Patch) -> None:
    """[I7] The old version is taken up again, and its users stay with the new one, which is deleted."""
    wrapped(patch, superseded, "take_up", lambda original, connection, slots, left, wanted, operation: original(
        connection, slots, left, [msgspec.structs.replace(want, requires=()) for want in wanted], operation))


@bug
def an_interrupted_rollback_takes_copies_for_originals(patch: Patch) -> None:
    """[I15] What stands is not asked whether it is as wanted: any other version of that definition takes its place."""
    patch.setattr(superseded, "_original", lambda *arguments: None)
    wrapped(patch, superseded, "_best", lambda original, stands, *rest: original(None, *rest))


@bug
def originals_are_known_by_their_definition_only(patch: Patch) -> None:
    """[I15] An original to which a failed update applied another definition is not recognised, and a copy is made of it."""
    patch.setattr(superseded, "_original", lambda *arguments: None)


@bug
def what_is_about_to_be_deleted_is_past_saving(patch: Patch) -> None:
    """[I15] A worker has only taken the node that is to delete the original, and a copy is made of it."""

    def of(original: Any, connection: Any, stack_id: str) -> dict[str, Any]:
        node = t.nodes.c
        leased = set(connection.execute(sa.select(node.resource_id).where(node.worker.is_not(None))).scalars())
        found = original(connection, stack_id)
        return {name: [one for one in left if one.id not in leased] for name, left in found.items()}

    wrapped(patch, superseded, "of", of)


# What must not be lost, and what must not be left.


@bug
def retain_is_ignored(patch: Patch) -> None:
    """[I17] An object is deleted although it is to be kept."""
    original = consider_cleanup.CleanupDecider.consider

    def clean_up(self: Any, claimed: Any, facts: Any) -> Any:
        if claimed.version is not None:
            claimed.version.deletion_policy = DeletionPolicy.DELETE
        return original(self, claimed, facts)

    patch.setattr(consider_cleanup.CleanupDecider, "consider", clean_up)


@bug
def a_new_policy_is_not_recorded(patch: Patch) -> None:
    """[lesson J4] An update that changes only the deletion policy changes nothing."""
    patch.setattr(plan, "_keep_policies", nothing)


@bug
def retained_objects_are_not_listed(patch: Patch) -> None:
    """[I1] Retained objects are not listed."""
    wrapped(patch, consider_cleanup, "_removed", lambda original, *arguments, **named: msgspec.structs.replace(
        original(*arguments, **named), retained=False))


@bug
def dropped_resources_are_forgotten(patch: Patch) -> None:
    """[lesson C13] What the template does not have any more is not deleted."""
    patch.setattr(plan, "_drop", nothing)


@bug
def replaced_versions_are_forgotten(patch: Patch) -> None:
    """[lesson B6] A replaced version is not marked for deletion."""
    patch.setattr(versions, "replace", nothing)


@bug
def blobs_pile_up(patch: Patch) -> None:
    """[lesson C14] Old inputs are never removed."""
    patch.setattr(finish, "forget_older", nothing)


@bug
def order_piles_up(patch: Patch) -> None:
    """[I16] Barriers and edges of an operation outlive it."""
    patch.setattr(order, "clear", nothing)


@bug
def a_cancel_leaves_nodes_ready(patch: Patch) -> None:
    """[lesson E3] Cancelled, and the rest is started all the same."""
    patch.setattr(nodes, "skip_not_begun", nothing)
    patch.setattr(nodes, "skip_unended", nothing)


@bug
def a_secret_is_told(patch: Patch) -> None:
    """[I17] The reason of a failure quotes the properties, and secrets in it are not masked."""
    patch.setattr(Redactor, "text", lambda self, text: text)
    wrapped(patch, act, "_failed", lambda original, claimed, version, intent, reason: original(
        claimed, version, intent, f"{reason} {intent.after}"))


@bug
def an_update_without_a_change_touches_everything(patch: Patch) -> None:
    """[lesson H9] Nothing changed, and every resource is updated."""
    patch.setattr(slots.Slot, "proves", lambda self, digest: False)

    def judged(original: Any, *arguments: Any, **named: Any) -> decide.Decision:
        decision = original(*arguments, **named)
        return decide.Decision(decide.Verdict.UPDATE) if decision.verdict is decide.Verdict.NOTHING else decision

    wrapped(patch, decide, "decide", judged)


@bug
def a_busy_cloud_is_a_failure(patch: Patch) -> None:
    """[lesson J3] A lookup meets a busy cloud, and the resource fails."""
    original = act.StepRunner.find_object

    async def find(self: Any, *arguments: Any) -> Any:
        try:
            return await original(self, *arguments)
        except Exception as error:
            raise ValueError(str(error)) from error

    patch.setattr(act.StepRunner, "find_object", find)
