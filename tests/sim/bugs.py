"""Seeded bugs: ways to break the engine, each of which the simulator has to notice.

Most of them are old acquaintances: the reference in brackets is a line of the lessons that Heat's own engine taught, or
the invariant that goes with the bug. Each is a small change of one function, as a slip of the pen would be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from isotherm.engine import decide, documents, nesting
from isotherm.engine.convergence import worker
from isotherm.engine.references import PublishedReferences
from isotherm.engine.steps import act, consider, visiting
from isotherm.graph import plan as planning
from isotherm.resources import contract, drift, properties, sight
from isotherm.secrets import Redactor
from isotherm.states import Action, DeletionPolicy, NodeState, Status
from isotherm.store import accept, adopt, claim, finish, nodes, plan, reads, rows, settle, shares, signals, stop, visit
from isotherm.store import tables as t

Patch = pytest.MonkeyPatch
BUGS: dict[str, Callable[[Patch], None]] = {}


def bug(apply: Callable[[Patch], None]) -> Callable[[Patch], None]:
    BUGS[apply.__name__] = apply
    return apply


def nothing(*_arguments: Any, **_named: Any) -> None:
    return None


def wrapped(patch: Patch, owner: Any, name: str, around: Callable[..., Any]) -> None:
    """`around` gets the original and its arguments."""
    original = getattr(owner, name)
    patch.setattr(owner, name, lambda *arguments, **named: around(original, *arguments, **named))


# Waking up, handing over.


@bug
def the_hand_over_forgets_the_newer_operation(patch: Patch) -> None:
    """[A1] Who was overtaken gives the lease back, and nobody is told that the node may be taken."""

    def release(connection: Any, node_ids: Any, now: float) -> None:
        free = sa.update(t.nodes).where(rows.among(t.nodes.c.id))
        nobody = free.values(worker=None, lease_until=None, due=None, fence=t.nodes.c.fence + 1)
        connection.execute(nobody, rows.ids(node_ids))

    patch.setattr(settle, "release", release)


@bug
def a_ready_node_is_not_scheduled(patch: Patch) -> None:
    """[A13] The last requirement ends, and what waited for it goes on waiting."""
    wrapped(patch, settle, "_state", lambda original, waiter: NodeState.PENDING if not waiter.skipped else original(waiter))


@bug
def a_skipped_node_is_not_counted(patch: Patch) -> None:
    """[A8] The operation waits for nodes that will never run."""
    wrapped(patch, settle, "_wave", lambda original, *arguments: original(*arguments) * 0)


@bug
def a_timeout_needs_somebody_to_come_by(patch: Patch) -> None:
    """[E1] The clock is looked at only when something else happens."""
    patch.setattr(claim, "expired", lambda connection, now: [])
    patch.setattr(claim, "next_due", lambda connection: None)


@bug
def a_dead_planner_is_never_replaced(patch: Patch) -> None:
    """[I10] A rollback is accepted, and nobody is asked to plan it."""
    patch.setattr(claim, "operations_to_plan", lambda *_: ([], shares.Place()))
    patch.setattr(claim, "next_due", lambda connection: None)


@bug
def a_wait_has_no_end(patch: Patch) -> None:
    """[I10] A node that waits for the world has no time at which somebody looks at it again."""

    def write(original: Any, connection: Any, live: Any, *rest: Any) -> None:
        original(connection, live, *rest)
        waiting = [report.claim.node_id for report in live if report.state is NodeState.WAITING]
        connection.execute(sa.update(t.nodes).where(rows.among(t.nodes.c.id)).values(due=None), rows.ids(waiting))

    wrapped(patch, settle, "_write_nodes", write)


# Generations.


@bug
def an_older_operation_begins_things(patch: Patch) -> None:
    """[B1] The intent is written without asking whether the operation is still the newest."""
    wrapped(patch, claim, "_still", lambda original, *arguments: dict.fromkeys(original(*arguments), True))


@bug
def the_older_operation_is_not_stopped(patch: Patch) -> None:
    """[B1] A newer operation is accepted, and the older one goes on as if nothing had happened."""
    patch.setattr(accept, "_halt", nothing)


@bug
def both_of_two_simultaneous_updates_are_accepted(patch: Patch) -> None:
    """[B9] The loser of a race overwrites the winner, and both are told that all is well."""

    def supersede(original: Any, connection: Any, request: Any, now: float, **named: Any) -> int:
        stack = t.stacks.c
        newest = connection.execute(sa.select(stack.generation).where(stack.id == request.stack_id)).scalar()
        original(connection, msgspec.structs.replace(request, generation=newest or request.generation), now, **named)
        return int(request.generation) + 1

    wrapped(patch, accept, "supersede", supersede)


@bug
def the_plan_trusts_what_was_intended(patch: Patch) -> None:
    """[A10] A node counts as up to date although its last operation did not prove it."""
    patch.setattr(plan.Slot, "proves", lambda self, digest: self.digest == digest or self.resource_id is not None)


@bug
def an_old_report_counts(patch: Patch) -> None:
    """[I4] Whoever was overtaken still ends the node for the newer operation."""

    def reports(original: Any, connection: Any, ended: Any, new_id: str, now: float) -> None:
        newest = {row.id: row.generation for row in connection.execute(sa.select(t.nodes.c.id, t.nodes.c.generation))}
        connection.execute(sa.update(t.nodes).where(t.nodes.c.worker.is_not(None)).values(state=NodeState.RUNNING))
        claims = [msgspec.structs.replace(r.claim, generation=newest.get(r.claim.node_id, 0)) for r in ended]
        original(connection, [msgspec.structs.replace(r, claim=c) for r, c in zip(ended, claims, strict=True)], new_id, now)

    wrapped(patch, settle, "reports", reports)


# Leases and fences.


@bug
def a_zombie_acts(patch: Patch) -> None:
    """[F3] A worker that was away for long does not look whether its lease still holds."""
    patch.setattr(act.LeaseGuard, "check", nothing)


@bug
def a_zombie_reports(patch: Patch) -> None:
    """[I5] A report counts whatever fence it carries."""

    def reports(original: Any, connection: Any, ended: Any, new_id: str, now: float) -> None:
        fences = {row.id: row.fence for row in connection.execute(sa.select(t.nodes.c.id, t.nodes.c.fence))}
        claims = [msgspec.structs.replace(r.claim, fence=fences.get(r.claim.node_id, 0)) for r in ended]
        original(connection, [msgspec.structs.replace(r, claim=c) for r, c in zip(ended, claims, strict=True)], new_id, now)

    wrapped(patch, settle, "reports", reports)


@bug
def a_zombie_begins(patch: Patch) -> None:
    """[I5] An intent is written whatever fence its claim carries."""

    def still(connection: Any, claims: Any) -> dict[tuple[int, int], bool]:
        return {one.key: True for one in claims}

    patch.setattr(claim, "_still", still)


@bug
def a_lease_is_taken_while_somebody_has_it(patch: Patch) -> None:
    """[F3] What a newer operation schedules is taken at once, although its old holder is still at work."""
    original = nodes.rewrite

    def rewrite(connection: Any, writes: Any, generation: int, now: float) -> None:
        ids = [write.id for write in writes]
        connection.execute(sa.update(t.nodes).where(rows.among(t.nodes.c.id)).values(lease_until=None), rows.ids(ids))
        original(connection, writes, generation, now)

    patch.setattr(nodes, "rewrite", rewrite)


# Intents and tokens.


@bug
def acts_before_the_intent_is_durable(patch: Patch) -> None:
    """[C12] The cloud is called first, and the intent written afterwards."""

    def take(original: Any, self: Any, claimed: Any, facts: Any) -> None:
        answer = self._consider(claimed, facts)
        if not isinstance(answer, consider.Begin):
            original(self, claimed, facts)
            return
        self._begins.append(answer)
        begun = answer.beginning.version
        self._spawn(claimed, self._step(claimed, begun, answer.intent, answer.target))

    original = worker.Worker._take
    patch.setattr(worker.Worker, "_take", lambda self, claimed, facts: take(original, self, claimed, facts))


@bug
def never_looks_for_a_lost_object(patch: Patch) -> None:
    """[C11] An object whose creation nobody heard of is not looked for by its token."""

    async def find(self: Any, claimed: Any, version: Any, guard: Any) -> str | None:
        return version.physical_id

    patch.setattr(act.Acting, "find", find)


@bug
def a_token_is_used_for_every_version(patch: Patch) -> None:
    """[I1] A replacement gets the token of the version that it replaces."""
    original = consider.Considering._begin_create

    def begin(self: Any, claimed: Any, *rest: Any) -> Any:
        answer = original(self, claimed, *rest)
        if claimed.version is not None:
            answer.beginning.version.token = claimed.version.token
        return answer

    patch.setattr(consider.Considering, "_begin_create", begin)


@bug
def the_found_object_is_forgotten_again(patch: Patch) -> None:
    """[C11] The object is found by its token, and its id is not kept."""
    original = act.Acting.step

    async def step(self: Any, *arguments: Any) -> Any:
        report = await original(self, *arguments)
        if report.version is not None and report.version.action is Action.CREATE and report.state is NodeState.DONE:
            report.version.physical_id = None
        return report

    patch.setattr(act.Acting, "step", step)


# Order.


@bug
def everything_starts_at_once(patch: Patch) -> None:
    """[I6] Nobody waits for what it requires."""
    wrapped(patch, planning, "update", lambda original, *arguments: planning.Visits(
        dict.fromkeys(original(*arguments).pending, 0), original(*arguments).changed))


@bug
def deletes_in_any_order(patch: Patch) -> None:
    """[I7] Clean-up does not look at who uses whom."""
    wrapped(patch, planning, "clean_up", lambda original, doomed: dict.fromkeys(original(doomed), ()))


@bug
def deletes_in_the_wrong_order(patch: Patch) -> None:
    """[I7] Clean-up goes along the requirements instead of against them."""

    def clean_up(original: Any, doomed: Any) -> dict[int, tuple[int, ...]]:
        turned: dict[int, list[int]] = {}
        for id_, waits in original(doomed).items():
            turned.setdefault(id_, [])
            for other in waits:
                turned.setdefault(other, []).append(id_)
        return {id_: tuple(waits) for id_, waits in turned.items()}

    wrapped(patch, planning, "clean_up", clean_up)


@bug
def the_union_of_requirements_is_forgotten(patch: Patch) -> None:
    """[C1] While an update is under way, its row names only what it will use, not what it may still use."""
    original = consider.Considering._begin_update

    def begin(self: Any, *arguments: Any) -> Any:
        answer = original(self, *arguments)
        answer.beginning.version.requires = documents.encode(answer.intent.requires)
        return answer

    patch.setattr(consider.Considering, "_begin_update", begin)


@bug
def requirements_are_not_recorded(patch: Patch) -> None:
    """[I9] A version does not say what its object uses."""
    wrapped(patch, act, "_done", lambda original, claimed, version, intent, *rest: original(
        claimed, version, msgspec.structs.replace(intent, requires=[]), *rest))


@bug
def deletes_before_a_rollback_can_need_it(patch: Patch) -> None:
    """[I8] With rollback enabled, what is dropped goes first."""
    original = plan.write

    def write(connection: Any, operation_id: str, wanted: Any, now: float) -> None:
        op = t.operations.c
        connection.execute(sa.update(t.operations).where(op.id == operation_id).values(disable_rollback=True))
        original(connection, operation_id, wanted, now)
        connection.execute(sa.update(t.operations).where(op.id == operation_id).values(disable_rollback=False))

    patch.setattr(plan, "write", write)


@bug
def the_first_clean_up_forgets_who_still_uses_it(patch: Patch) -> None:
    """[I7] What is dropped goes first, although others have not moved away yet."""
    patch.setattr(finish, "_needed", lambda dropped, users: set())


@bug
def dependants_of_a_failure_go_on(patch: Patch) -> None:
    """[I6] A requirement failed, and what needs it starts all the same."""
    original = settle._wave

    def wave(connection: Any, generation: int, ended: Any, now: float) -> int:
        for one in ended:
            one.failed = False
        return original(connection, generation, ended, now)

    patch.setattr(settle, "_wave", wave)


# Truth.


@bug
def a_failure_is_swallowed(patch: Patch) -> None:
    """[I14] A resource failed, and the operation is told that it is done."""
    wrapped(patch, act, "_failed", lambda original, *arguments: msgspec.structs.replace(
        original(*arguments), state=NodeState.DONE))


@bug
def a_row_goes_although_its_object_stays(patch: Patch) -> None:
    """[D7] A deletion failed, and the row is removed all the same."""

    def failed(original: Any, claimed: Any, version: Any, intent: Any, reason: str) -> Any:
        report = original(claimed, version, intent, reason)
        return msgspec.structs.replace(report, removed=True) if intent.action is Action.DELETE else report

    wrapped(patch, act, "_failed", failed)


@bug
def what_failed_half_way_counts_as_known(patch: Patch) -> None:
    """[E4] After a failed update the row still proves what was there before."""

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
            return await resource.attribute(name)
        except Exception:  # noqa: BLE001
            return None

    patch.setattr(act, "_attribute", attribute)


@bug
def changes_do_not_reach_dependants(patch: Patch) -> None:
    """[I2] What a resource shows has changed, and nobody who reads it is visited."""
    original = act.Acting.step

    async def step(self: Any, *arguments: Any) -> Any:
        report = await original(self, *arguments)
        return msgspec.structs.replace(report, changed=False)

    patch.setattr(act.Acting, "step", step)


@bug
def references_are_read_from_memory(patch: Patch) -> None:
    """[B3] What other resources published is remembered from an earlier operation."""
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
    """[A15] The end of an operation is told again."""

    def close(original: Any, connection: Any, operation: Any, now: float) -> None:
        original(connection, operation, now)
        original(connection, operation, now)

    wrapped(patch, finish, "close", close)


@bug
def reads_fail_while_things_are_replaced(patch: Patch) -> None:
    """[B7] A list of resources cannot cope with a version that is being replaced."""

    def resources(original: Any, *arguments: Any) -> Any:
        found = original(*arguments)
        if any(row["superseded"] or row["id"] is None for row in found):
            raise KeyError("superseded")
        return found

    wrapped(patch, reads, "resources", resources)


# Rollback.


@bug
def a_rollback_goes_nowhere(patch: Patch) -> None:
    """[D5] The target is the operation that has just failed."""
    original = accept.roll_back

    def roll_back(connection: Any, stack_id: str, *rest: Any) -> None:
        stack = t.stacks.c
        connection.execute(sa.update(t.stacks).where(stack.id == stack_id).values(complete_operation_id=stack.operation_id))
        original(connection, stack_id, *rest)

    patch.setattr(accept, "roll_back", roll_back)


@bug
def a_rollback_always_empties_the_stack(patch: Patch) -> None:
    """[D5] The last good state is forgotten."""
    original = accept.roll_back

    def roll_back(connection: Any, stack_id: str, *rest: Any) -> None:
        connection.execute(sa.update(t.stacks).where(t.stacks.c.id == stack_id).values(complete_operation_id=None))
        original(connection, stack_id, *rest)

    patch.setattr(accept, "roll_back", roll_back)


@bug
def one_failure_rolls_back_twice(patch: Patch) -> None:
    """[D1] Two rollbacks for one failed operation."""
    original = accept.roll_back

    def roll_back(connection: Any, stack_id: str, operation_id: str, *rest: Any) -> None:
        original(connection, stack_id, operation_id, *rest)
        original(connection, stack_id, operation_id[::-1], *rest)

    patch.setattr(accept, "roll_back", roll_back)


# What must not be lost, and what must not be left.


@bug
def retain_is_ignored(patch: Patch) -> None:
    """[I17] An object is deleted although it is to be kept."""
    original = consider.Considering._clean_up

    def clean_up(self: Any, claimed: Any, facts: Any) -> Any:
        if claimed.version is not None:
            claimed.version.deletion_policy = DeletionPolicy.DELETE
        return original(self, claimed, facts)

    patch.setattr(consider.Considering, "_clean_up", clean_up)


@bug
def a_new_policy_is_not_recorded(patch: Patch) -> None:
    """[J4] An update that changes only the deletion policy changes nothing."""
    patch.setattr(plan._Writer, "_keep_policies", nothing)


@bug
def retained_objects_are_not_listed(patch: Patch) -> None:
    """[I1] What was kept is known to nobody."""
    wrapped(patch, consider, "_removed", lambda original, *arguments, **named: msgspec.structs.replace(
        original(*arguments, **named), retained=False))


@bug
def dropped_resources_are_forgotten(patch: Patch) -> None:
    """[C13] What the template does not have any more is not deleted."""
    patch.setattr(plan, "_doom", nothing)


@bug
def replaced_versions_are_forgotten(patch: Patch) -> None:
    """[B6] A replaced version is not marked for deletion."""
    patch.setattr(claim, "_REPLACE", nothing)


@bug
def blobs_pile_up(patch: Patch) -> None:
    """[C14] Old inputs are never removed."""
    patch.setattr(finish, "_forget", nothing)


@bug
def order_piles_up(patch: Patch) -> None:
    """[I16] Barriers and edges of an operation outlive it."""
    patch.setattr(nodes, "clear_order", nothing)


@bug
def a_cancel_leaves_nodes_ready(patch: Patch) -> None:
    """[E3] Cancelled, and the rest is started all the same."""
    patch.setattr(stop, "_NOT_BEGUN", (NodeState.SKIPPED,))


@bug
def a_secret_is_told(patch: Patch) -> None:
    """[I17] The reason of a failure quotes the properties, and nobody masks what is secret in them."""
    patch.setattr(Redactor, "text", lambda self, text: text)
    wrapped(patch, act, "_failed", lambda original, claimed, version, intent, reason: original(
        claimed, version, intent, f"{reason} {intent.after}"))


@bug
def an_update_without_a_change_touches_everything(patch: Patch) -> None:
    """[H9] Nothing changed, and every resource is updated."""
    patch.setattr(plan.Slot, "proves", lambda self, digest: False)

    def judged(original: Any, *arguments: Any, **named: Any) -> decide.Decision:
        decision = original(*arguments, **named)
        return decide.Decision(decide.Verdict.UPDATE) if decision.verdict is decide.Verdict.NOTHING else decision

    wrapped(patch, decide, "decide", judged)


@bug
def a_busy_cloud_is_a_failure(patch: Patch) -> None:
    """[J3] A lookup meets a busy cloud, and the resource fails."""
    original = act.Acting.find

    async def find(self: Any, *arguments: Any) -> Any:
        try:
            return await original(self, *arguments)
        except Exception as error:
            raise ValueError(str(error)) from error

    patch.setattr(act.Acting, "find", find)


# Stacks inside stacks, signals, and the rest of a stack's life.


@bug
def the_end_of_a_stack_inside_wakes_nobody(patch: Patch) -> None:
    """[I10] The parent looks again when it would have looked anyway."""
    patch.setattr(nodes, "wake_waiters", nothing)


@bug
def a_stack_inside_ends_before_it_is_waited_for(patch: Patch) -> None:
    """[I10] Between the parent's look and the record of its wait, the child ends: nobody notices."""
    patch.setattr(settle, "_ended_already", lambda connection, awaited: set())


@bug
def a_signal_comes_before_it_is_waited_for(patch: Patch) -> None:
    """[I10] As above, with signals: what came in between is never looked at."""
    wrapped(patch, settle, "over", lambda original, connection, waiting: original(
        connection, [report for report in waiting if report.seen is None]))


@bug
def a_signal_wakes_nobody(patch: Patch) -> None:
    """[I10] The signal is stored, and that is all."""
    patch.setattr(signals, "wake", nothing)


@bug
def a_stack_inside_is_begun_after_the_cancel(patch: Patch) -> None:
    """[E3] A step that was under way starts a whole stack for an operation that was cancelled."""
    patch.setattr(reads, "is_cancelled", lambda connection, operation_id: False)


@bug
def a_stack_inside_may_take_for_ever(patch: Patch) -> None:
    """[I13] The deadline is not handed down."""
    patch.setattr(nesting._Inside, "_bounded", lambda self, connection, acceptance, now: acceptance)


@bug
def a_stack_inside_is_changed_without_a_fence(patch: Patch) -> None:
    """[I5] Whoever was overtaken still speaks to the stack inside."""
    wrapped(patch, claim, "held", lambda original, connection, claims: {one.key for one in claims})


@bug
def all_are_put_to_rest_at_once(patch: Patch) -> None:
    """[I7] What is still in use is suspended."""
    patch.setattr(visit, "_pending", lambda connection, action, visited: {})


@bug
def what_rests_is_changed_in_its_sleep(patch: Patch) -> None:
    """[I6] An update does not wake what an earlier operation had put to rest."""
    original = visiting.begin

    def begin(claimed: Any, version: Any, *rest: Any, **named: Any) -> Any:
        found = original(claimed, version, *rest, **named)
        found.beginning.version.suspended = False
        return found

    patch.setattr(visiting, "begin", begin)


@bug
def what_is_adopted_uses_nothing(patch: Patch) -> None:
    """[I9] A delete that comes at once does not know what to delete first."""
    wrapped(patch, adopt, "take_over", lambda original, connection, versions, requires, now: original(
        connection, versions, dict.fromkeys(requires, ()), now))


# Reality.


@bug
def what_cannot_be_seen_is_gone(patch: Patch) -> None:
    """[I19] The cloud does not answer, and the object is made once more."""
    original = sight.attempt

    async def attempt(*arguments: Any) -> Any:
        found = await original(*arguments)
        return contract.Gone() if isinstance(found, contract.Unseen) else found

    patch.setattr(sight, "attempt", attempt)


@bug
def only_what_the_template_changed_is_looked_at(patch: Patch) -> None:
    """[I19] A row proves that there is nothing to do, whatever the object is like by now."""

    def operation(original: Any, *arguments: Any) -> Any:
        found = original(*arguments)
        return found and msgspec.structs.replace(found, converge=False)

    wrapped(patch, rows, "operation", operation)


@bug
def what_was_seen_is_not_compared(patch: Patch) -> None:
    """[I19] The object is looked at, and what was last applied is believed all the same."""

    def to_change(type_: Any, applied: Any, seen: Any, wanted: Any) -> dict[str, Any]:
        return {name: wanted.get(name) for name in properties.diff(applied, wanted)}

    patch.setattr(drift, "to_change", to_change)


@bug
def a_rollback_does_not_look(patch: Patch) -> None:
    """[I19] Who looked and failed goes back to what his rows say was there."""

    def supersede(original: Any, connection: Any, request: Any, *rest: Any, **named: Any) -> int:
        looks = request.converge and request.action is not Action.ROLLBACK
        found: int = original(connection, msgspec.structs.replace(request, converge=looks), *rest, **named)
        return found

    wrapped(patch, accept, "supersede", supersede)
