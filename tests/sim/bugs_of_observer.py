"""Seeded bugs of the observer: wrong observations, records and repairs. The simulator has to notice each (I19)."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.engine.operations.drift import DriftService
from isotherm.observer import observe, policies, rate_limit, repair, service, watch_state
from isotherm.resources import contract
from isotherm.states import DriftPolicy, ObservationResult, WatchMode
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.operations import plan
from isotherm.store.tables import watches
from isotherm.store.watch import goals, observations, resources
from isotherm.store.watch import schedule as watch
from tests.sim.seeded_bugs import Bugs, Patch, nothing, wrapped

BUGS = Bugs()
bug = BUGS.add


# What was seen.


@bug
def an_older_look_overwrites_a_newer_one(patch: Patch) -> None:
    """The last write wins, however old its observation is."""

    def record(original: Any, connection: Any, seen: Any) -> Any:
        ids = [one.resource_id for one in seen]
        connection.execute(sa.update(t.observations).where(t.observations.c.resource_id.in_(ids)).values(seen_at=0.0))
        return original(connection, seen)

    wrapped(patch, observations, "record", record)
    always = sa.update(t.observations).where(rows.among(t.observations.c.resource_id))
    patch.setattr(resources, "_SAME", always.values(seen_at=sa.bindparam("o_at")))


@bug
def what_could_not_be_seen_is_gone(patch: Patch) -> None:
    """The cloud is busy, and so nothing is there."""

    def observation(original: Any, type_: Any, target: Any, seen: Any, at: float) -> Any:
        return original(type_, target, contract.Gone() if isinstance(seen, contract.Unseen) else seen, at)

    wrapped(patch, observe, "_observation", observation)


@bug
def only_the_first_resources_are_looked_at(patch: Patch) -> None:
    """A round ends with its first chunk."""
    wrapped(patch, service.Observer, "_choose_targets", lambda original, *told: (
        dataclasses.replace(original(*told), last=True)))


@bug
def what_is_gone_is_well(patch: Patch) -> None:
    """Only what can be compared is."""
    wrapped(patch, observations, "_since", lambda original, one, before: msgspec.structs.replace(
        original(one, before), **({"result": ObservationResult.SEEN, "drifted_since": None}
                                  if one.result is ObservationResult.GONE else {})))


@bug
def what_came_back_is_said_to_be_drifted_for_ever(patch: Patch) -> None:
    """Once drifted, always drifted."""

    def since(original: Any, one: Any, before: Any) -> Any:
        told = original(one, before)
        kept = before.drifted_since if before is not None else None
        return msgspec.structs.replace(told, drifted_since=told.drifted_since or kept)

    wrapped(patch, observations, "_since", since)
    patch.setattr(observations, "put_right", nothing)


@bug
def the_budget_is_not_kept(patch: Patch) -> None:
    """No call waits for the rate limit."""

    async def take(self: Any, project: str, type_: str, calls: int = 1) -> None:
        return None

    patch.setattr(rate_limit.RateLimit, "take", take)


@bug
def each_observer_has_the_whole_budget(patch: Patch) -> None:
    """Two of them ask twice as often as one."""
    patch.setattr(rate_limit.RateLimit, "share", nothing)


# What follows.


@bug
def what_is_only_to_be_reported_is_repaired(patch: Patch) -> None:
    """The policy is not asked."""
    patch.setattr(watch_state, "wants_repair", lambda watch, state, need: state.mode is WatchMode.ACTIVE)


@bug
def what_was_said_of_one_resource_is_forgotten(patch: Patch) -> None:
    """All of a stack is repaired, or nothing."""
    patch.setattr(policies, "of", lambda name, metadata, overrides, stack: stack)


@bug
def maintenance_does_not_count(patch: Patch) -> None:
    """What is in maintenance is repaired all the same."""
    patch.setattr(watch_state, "wants_repair", lambda watch, state, need: policies.of(
        need.name, need.metadata, watch.overrides, state.policy) is DriftPolicy.REPAIR)


@bug
def a_fight_has_no_end(patch: Patch) -> None:
    """Repairs are not counted."""
    counted = repair.counted
    patch.setattr(repair, "counted", lambda *told: [msgspec.structs.replace(one, rounds=0) for one in counted(*told)])


@bug
def it_is_given_up_too_early(patch: Patch) -> None:
    """One repair is enough."""
    wrapped(patch, repair.Breaker, "choose", _as_if_often)


def _as_if_often(original: Any, self: Any, watch: Any, state: Any, need: Any, one: Any) -> Any:
    one.rounds += 2 * (one.rounds == 1)
    return original(self, watch, state, need, one)


@bug
def a_repair_that_failed_is_forgotten(patch: Patch) -> None:
    """What was to follow it never comes."""
    patch.setattr(goals, "failed", lambda connection, watch: [])


@bug
def one_drift_is_repaired_twice(patch: Patch) -> None:
    """What was found to differ once is not compared again; and a repair does not say that it was put right."""

    def observation(original: Any, type_: Any, target: Any, seen: Any, at: float) -> Any:
        found = original(type_, target, seen, at)
        known = found.result is ObservationResult.SEEN and target.drift not in (None, "[]")
        return msgspec.structs.replace(found, drift=target.drift) if known else found

    wrapped(patch, observe, "_observation", observation)
    patch.setattr(observations, "put_right", nothing)


@bug
def the_stacks_of_a_dead_observer_are_lost(patch: Patch) -> None:
    """A stack that was taken never becomes due again."""
    patch.setattr(watch, "_DUE", watch._DUE.where(watches.c.worker.is_(None)))


@bug
def nothing_is_ever_given_back(patch: Patch) -> None:
    """It is looked at once, and not again."""

    def give_back(original: Any, connection: Any, one: Any, worker: str, *, due: float, **values: Any) -> None:
        original(connection, one, worker, due=due + 1e6, **values)

    wrapped(patch, watch, "give_back", give_back)


@bug
def who_is_asleep_is_woken_to_be_repaired(patch: Patch) -> None:
    """A check hides that the stack is suspended."""
    patch.setattr(goals, "_has_suspended", lambda connection, stack_id: False)
    awake = resources._VERSION.suspended == sa.false()
    for name in ("_AFTER", "_NAMED"):
        patch.setattr(resources, name, _without(getattr(resources, name), awake))


def _without(query: Any, condition: Any) -> Any:
    left = [one for one in query._where_criteria if not one.compare(condition)]
    changed = query._clone()
    changed._where_criteria = tuple(left)
    return changed


@bug
def a_repair_is_for_everything(patch: Patch) -> None:
    """What did not drift is visited as well."""
    wrapped(patch, plan, "write", lambda original, *told, **named: original(*told))


@bug
def an_observer_that_cannot_begin_is_gone(patch: Patch) -> None:
    """The database does not answer for a moment, and the observer ends."""

    async def run(self: Any) -> None:
        await self._store.write(self._recall)
        await original(self)

    original = service.Observer.run
    patch.setattr(service.Observer, "run", run)


@bug
def a_repair_tries_what_may_not_change(patch: Patch) -> None:
    """A resource that is protected from any change has drifted. Each repair of it fails, until its breaker gives up."""
    patch.setattr(repair, "refused", lambda connection, stack_id, needs: {})


@bug
def a_repair_leaves_out_what_it_is_for(patch: Patch) -> None:
    """A limited update has left the resource out, and it has drifted: each repair of it is complete, and does nothing."""
    wrapped(patch, DriftService, "_scope", lambda original, self, stack, goal, waits: original(
        self, stack, msgspec.structs.replace(goal, names=()), waits))
