"""Seeded bugs of claims and steps: wake-ups, generations, leases, intents, order.

A seeded bug breaks the engine by a small change of one function; the simulator must notice each of them. The reference in
brackets is the lesson from Heat's engine (docs/lessons.md) that the bug repeats, or the invariant that it breaks.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.engine.convergence import worker
from isotherm.engine.steps import act, consider_update, outcomes
from isotherm.graph import plan as planning
from isotherm.planning import documents
from isotherm.states import Action, NodeState
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.operations import accept, finish, plan, settle
from isotherm.store.queue import claim
from isotherm.store.transitions import nodes
from isotherm.store.versions import current
from tests.sim.seeded_bugs import Bugs, Patch, nothing, wrapped

BUGS = Bugs()
bug = BUGS.add


# Waking up, handing over.


@bug
def the_hand_over_forgets_the_newer_operation(patch: Patch) -> None:
    """[lesson A1] A superseded worker releases the lease, and the node does not become due."""

    def release(connection: Any, node_ids: Any, now: float) -> None:
        free = sa.update(t.nodes).where(rows.among(t.nodes.c.id))
        nobody = free.values(worker=None, lease_until=None, due=None, fence=t.nodes.c.fence + 1)
        connection.execute(nobody, rows.ids(node_ids))

    patch.setattr(nodes, "release", release)


@bug
def a_ready_node_is_not_scheduled(patch: Patch) -> None:
    """[lesson A13] The last requirement ends, and what waited for it goes on waiting."""
    wrapped(patch, settle, "_state", lambda original, waiter: NodeState.PENDING if not waiter.skipped else original(waiter))


@bug
def a_skipped_node_is_not_counted(patch: Patch) -> None:
    """[lesson A8] The operation waits for nodes that will never run."""
    wrapped(patch, settle, "_end_dependants", lambda original, *arguments: original(*arguments) * 0)


@bug
def a_timeout_needs_somebody_to_come_by(patch: Patch) -> None:
    """[lesson E1] The clock is looked at only when something else happens."""
    wrapped(patch, claim, "ahead", lambda original, *arguments: original(*arguments)._replace(deadlines=math.inf))


@bug
def a_dead_planner_is_never_replaced(patch: Patch) -> None:
    """[I10] A rollback is accepted, and no worker plans it."""
    wrapped(patch, claim, "ahead", lambda original, *arguments: original(*arguments)._replace(operations=math.inf))


@bug
def a_wait_has_no_end(patch: Patch) -> None:
    """[I10] A node that waits for the cloud has no wake-up time."""

    def write(original: Any, connection: Any, live: Any, *rest: Any) -> None:
        original(connection, live, *rest)
        waiting = [report.claim.node_id for report in live if report.state is NodeState.WAITING]
        connection.execute(sa.update(t.nodes).where(rows.among(t.nodes.c.id)).values(due=None), rows.ids(waiting))

    wrapped(patch, settle, "_write_nodes", write)


# Generations.


@bug
def an_older_operation_begins_things(patch: Patch) -> None:
    """[lesson B1] The intent is written without asking whether the operation is still the newest."""
    wrapped(patch, claim, "_still", lambda original, *arguments: dict.fromkeys(original(*arguments), True))


@bug
def the_older_operation_is_not_stopped(patch: Patch) -> None:
    """[lesson B1] A newer operation is accepted, and the older one goes on as if nothing had happened."""
    patch.setattr(accept, "_halt", nothing)


@bug
def both_of_two_simultaneous_updates_are_accepted(patch: Patch) -> None:
    """[lesson B9] The loser of a race overwrites the winner, and both are told that all is well."""

    def supersede(original: Any, connection: Any, request: Any, now: float, **named: Any) -> int:
        stack = t.stacks.c
        newest = connection.execute(sa.select(stack.generation).where(stack.id == request.stack_id)).scalar()
        original(connection, msgspec.structs.replace(request, generation=newest or request.generation), now, **named)
        return int(request.generation) + 1

    wrapped(patch, accept, "supersede", supersede)


@bug
def the_plan_trusts_what_was_intended(patch: Patch) -> None:
    """[lesson A10] A node counts as up to date although its last operation did not prove it."""
    patch.setattr(current.Slot, "proves", lambda self, digest: self.digest == digest or self.resource_id is not None)


@bug
def an_old_report_counts(patch: Patch) -> None:
    """[I4] A superseded worker still ends the node for the newer operation."""

    def reports(original: Any, connection: Any, ended: Any, new_id: str, now: float) -> None:
        newest = {row.id: row.generation for row in connection.execute(sa.select(t.nodes.c.id, t.nodes.c.generation))}
        connection.execute(sa.update(t.nodes).where(t.nodes.c.worker.is_not(None)).values(state=NodeState.RUNNING))
        claims = [msgspec.structs.replace(r.claim, generation=newest.get(r.claim.node_id, 0)) for r in ended]
        original(connection, [msgspec.structs.replace(r, claim=c) for r, c in zip(ended, claims, strict=True)], new_id, now)

    wrapped(patch, settle, "reports", reports)


# Leases and fences.


@bug
def a_zombie_acts(patch: Patch) -> None:
    """[lesson F3] A worker that was away for long does not look whether its lease still holds."""
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
    """[lesson F3] A node that a newer operation schedules is taken at once, although its old holder still works on it."""
    original = nodes.plan

    def schedule(connection: Any, writes: Any, generation: int, now: float) -> None:
        ids = [write.id for write in writes]
        connection.execute(sa.update(t.nodes).where(rows.among(t.nodes.c.id)).values(lease_until=None), rows.ids(ids))
        original(connection, writes, generation, now)

    patch.setattr(nodes, "plan", schedule)


# Intents and tokens.


@bug
def acts_before_the_intent_is_durable(patch: Patch) -> None:
    """[lesson C12] The cloud is called first, and the intent written afterwards."""

    def consider(original: Any, self: Any, claimed: Any, facts: Any) -> None:
        answer = self._decider.consider(claimed, facts)
        if not isinstance(answer, outcomes.Begin):
            original(self, claimed, facts)
            return
        self._to_begin.append(answer)
        begun = answer.beginning.version
        self._spawn(claimed, functools.partial(self._act, claimed, begun, answer.intent, answer.target))

    wrapped(patch, worker.Worker, "_consider", consider)


@bug
def never_looks_for_a_lost_object(patch: Patch) -> None:
    """[lesson C11] An object whose creation was not recorded is not searched for by its token."""

    async def find(self: Any, claimed: Any, version: Any, guard: Any) -> Any:
        return version.physical_id

    patch.setattr(act.StepRunner, "find_object", find)


@bug
def a_token_is_used_for_every_version(patch: Patch) -> None:
    """[I1] A replacement gets the token of the version that it replaces."""
    original = consider_update.UpdateDecider._begin_create

    def begin(self: Any, claimed: Any, *rest: Any) -> Any:
        answer = original(self, claimed, *rest)
        if claimed.version is not None:
            assert isinstance(answer, outcomes.Begin)
            answer.beginning.version.token = claimed.version.token
        return answer

    patch.setattr(consider_update.UpdateDecider, "_begin_create", begin)


@bug
def the_found_object_is_forgotten_again(patch: Patch) -> None:
    """[lesson C11] The object is found by its token, and its id is not kept."""
    original = act.StepRunner.run

    async def step(self: Any, *arguments: Any) -> Any:
        report = await original(self, *arguments)
        if report.version is not None and report.version.action is Action.CREATE and report.state is NodeState.DONE:
            report.version.physical_id = None
        return report

    patch.setattr(act.StepRunner, "run", step)


# Order.


@bug
def everything_starts_at_once(patch: Patch) -> None:
    """[I6] No node waits for its requirements."""
    wrapped(patch, planning, "update", lambda original, *arguments: planning.Visits(
        dict.fromkeys(original(*arguments).pending, 0), original(*arguments).changed))


@bug
def deletes_in_any_order(patch: Patch) -> None:
    """[I7] Clean-up ignores the requirements between versions."""
    wrapped(patch, planning, "clean_up", lambda original, unwanted: dict.fromkeys(original(unwanted), ()))


@bug
def deletes_in_the_wrong_order(patch: Patch) -> None:
    """[I7] Clean-up goes along the requirements instead of against them."""

    def clean_up(original: Any, unwanted: Any) -> dict[int, tuple[int, ...]]:
        turned: dict[int, list[int]] = {}
        for id_, waits in original(unwanted).items():
            turned.setdefault(id_, [])
            for other in waits:
                turned.setdefault(other, []).append(id_)
        return {id_: tuple(waits) for id_, waits in turned.items()}

    wrapped(patch, planning, "clean_up", clean_up)


@bug
def the_union_of_requirements_is_forgotten(patch: Patch) -> None:
    """[lesson C1] While an update is under way, its row names only what it will use, not what it may still use."""
    original = consider_update.UpdateDecider._begin_update

    def begin(self: Any, *arguments: Any) -> Any:
        answer = original(self, *arguments)
        answer.beginning.version.requires = documents.encode(answer.intent.requires)
        return answer

    patch.setattr(consider_update.UpdateDecider, "_begin_update", begin)


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
    original = settle._end_dependants

    def end_dependants(connection: Any, generation: Any, ended: Any, now: float) -> int:
        for one in ended:
            one.failed = False
        return original(connection, generation, ended, now)

    patch.setattr(settle, "_end_dependants", end_dependants)
