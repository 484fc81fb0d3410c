"""Seeded bugs of nested stacks, signals, suspension, adoption, and the observation of reality."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.engine.nested import inner_stacks
from isotherm.engine.steps import consider_visit as visit_steps
from isotherm.resources import contract, properties
from isotherm.resources.reality import drift, observation
from isotherm.states import Action, NodeKind
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.operations import accept, adopt, order, settle, visit
from isotherm.store.queue import claim
from isotherm.store.reads import lookups
from isotherm.store.transitions import nodes
from tests.sim.seeded_bugs import Bugs, Patch, nothing, wrapped

BUGS = Bugs()
bug = BUGS.add


# Stacks inside stacks, signals, and the rest of a stack's life.


def _wakes_only(patch: Patch, wakes: Callable[[str], bool]) -> None:
    """Of the topics that nodes wait for: the id of a version is a number, that of an operation is not."""
    wrapped(patch, nodes, "wake_waiters", lambda original, connection, topic, now: original(
        connection, topic, now) if wakes(topic) else None)


@bug
def the_end_of_a_stack_inside_wakes_nobody(patch: Patch) -> None:
    """[I10] The parent looks again when it would have looked anyway."""
    _wakes_only(patch, lambda topic: topic.isdecimal())


@bug
def a_stack_inside_ends_before_it_is_waited_for(patch: Patch) -> None:
    """[I10] Between the parent's look and the record of its wait, the child ends: the end is missed."""
    patch.setattr(settle, "_ended_already", lambda connection, awaited: set())


@bug
def a_signal_comes_before_it_is_waited_for(patch: Patch) -> None:
    """[I10] As above, with signals: what came in between is never looked at."""
    wrapped(patch, settle, "already_happened", lambda original, connection, waiting: original(
        connection, [report for report in waiting if report.seen is None]))


@bug
def a_signal_wakes_nobody(patch: Patch) -> None:
    """[I10] The signal is stored, and that is all."""
    _wakes_only(patch, lambda topic: not topic.isdecimal())


@bug
def a_stack_inside_is_begun_after_the_cancel(patch: Patch) -> None:
    """[lesson E3] A step that was under way starts a whole stack for an operation that was cancelled."""
    patch.setattr(lookups, "is_cancelled", lambda connection, operation_id: False)


@bug
def a_stack_inside_may_take_for_ever(patch: Patch) -> None:
    """[I13] The deadline is not handed down."""
    patch.setattr(inner_stacks._InnerStacks, "_bounded", lambda self, connection, acceptance, now: acceptance)


@bug
def a_stack_inside_is_changed_without_a_fence(patch: Patch) -> None:
    """[I5] A superseded worker still changes the nested stack."""
    wrapped(patch, claim, "held", lambda original, connection, claims: {one.key for one in claims})


@bug
def all_are_put_to_rest_at_once(patch: Patch) -> None:
    """[I7] What is still in use is suspended."""
    patch.setattr(visit, "_order", lambda connection, action, visited: [])


@bug
def what_rests_is_changed_in_its_sleep(patch: Patch) -> None:
    """[I6] An update does not wake what an earlier operation had put to rest."""
    original = visit_steps.begin

    def begin(claimed: Any, version: Any, *rest: Any, **named: Any) -> Any:
        found = original(claimed, version, *rest, **named)
        found.beginning.version.suspended = False
        return found

    patch.setattr(visit_steps, "begin", begin)


@bug
def an_overtaken_check_forgets_what_is_to_be_deleted(patch: Patch) -> None:
    """[I14] A check was about to look at it, and another operation came first: it passes for wanted."""

    def clear(original: Any, connection: Any, stack_id: str) -> None:
        node = t.nodes.c
        visited = (node.stack_id == stack_id, node.kind == NodeKind.VISIT, node.awaits_cleanup == sa.true())
        unwanted = connection.execute(sa.select(node.id).where(*visited)).scalars().all()
        original(connection, stack_id)
        connection.execute(
            sa.update(t.nodes).where(rows.among(node.id)).values(kind=NodeKind.VISIT), rows.ids(unwanted))

    wrapped(patch, order, "clear", clear)


@bug
def what_is_adopted_uses_nothing(patch: Patch) -> None:
    """[I9] A delete that comes at once does not know what to delete first."""
    wrapped(patch, adopt, "take_over", lambda original, connection, versions, requires, now: original(
        connection, versions, dict.fromkeys(requires, ()), now))


# Reality.


@bug
def what_cannot_be_seen_is_gone(patch: Patch) -> None:
    """[I19] The cloud does not answer, and the object is made once more."""
    original = observation.attempt

    async def attempt(*arguments: Any) -> Any:
        found = await original(*arguments)
        return contract.Gone() if isinstance(found, contract.Unseen) else found

    patch.setattr(observation, "attempt", attempt)


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
    """[I19] A rollback of an operation that observed trusts the rows again."""

    def supersede(original: Any, connection: Any, request: Any, *rest: Any, **named: Any) -> int:
        looks = request.converge and request.action is not Action.ROLLBACK
        found: int = original(connection, msgspec.structs.replace(request, converge=looks), *rest, **named)
        return found

    wrapped(patch, accept, "supersede", supersede)


@bug
def a_check_forgets_what_an_update_had_begun(patch: Patch) -> None:
    """[I2] A visit completes a change, and its dependants are not updated."""
    patch.setattr(visit_steps, "_target", nothing)
