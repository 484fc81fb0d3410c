"""Unit of work: a resource moves from one stack to another, and keeps its object.

Two operations are accepted and closed in the transaction that moves the rows: an update of the stack that the resource
leaves, and one of the stack that takes it over. So neither stack is ever seen in progress, each has the new template as its
newest input and as the target of its rollbacks, and a failure leaves both as they were. No cloud is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import sqlalchemy as sa

from isotherm import errors
from isotherm.secrets import is_sealed, unreadable
from isotherm.states import Action, NodeKind, NodeState, OperationState, Status
from isotherm.store import rows, stack_clouds
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.operations import accept, finish, move, order
from isotherm.store.reads import lookups
from isotherm.store.records import Acceptance, Event, NodeWrite, Version, Wanted
from isotherm.store.transitions import nodes, operations, versions
from isotherm.store.versions import current
from isotherm.store.versions.current import Slot
from isotherm.store.watch import observations, repair_records, schedule

_NODE, _VERSION, _USER = t.nodes.c, t.resources.c, t.stack_users.c
# Resources that an error names.
_NAMED = 5
_STATUS_HINT = "Bring it to COMPLETE first: update it, or roll it back."


class Leaving(msgspec.Struct, frozen=True):
    """The stack that a resource leaves, and the resource. `restated`: other resources whose definitions read alike."""

    acceptance: Acceptance
    name: str
    restated: Sequence[Wanted] = ()


class Arriving(msgspec.Struct, frozen=True):
    """The stack that takes a resource over, and the definition that the resource has there."""

    acceptance: Acceptance
    wanted: Wanted


def write(connection: sa.Connection, leaving: Leaving, arriving: Arriving, now: float) -> Version:
    """Move a resource to another stack; return it as it was. Raises Conflict or UserError, and has changed nothing then."""
    home, target = (_stack(connection, one.acceptance.stack_id) for one in (leaving, arriving))
    if not _are_in_one_cloud(connection, home["id"], target["id"]):
        raise errors.UserError(f"Stack {home['name']} and stack {target['name']} are in different clouds.",
                               kind="NotSupported", hint="A resource can move between stacks of one cloud.")
    slot, before = _resource(connection, home, leaving.name)
    for stack in (home, target):
        _refuse_unfinished(connection, stack)
    _refuse_taken(connection, target, arriving.wanted.name)
    if problems := tuple(_problems(connection, home, before)):
        raise errors.UserError(problems=problems)
    for one in (leaving, arriving):
        accept.supersede(connection, one.acceptance, now)
    after = _take_over(connection, slot, before, arriving, home["name"], now)
    _restate(connection, home["id"], leaving.restated)
    move.forget(connection, home["id"], leaving.name)
    _tell(connection, before, after, (home["name"], target["name"]), now)
    for one in (leaving, arriving):
        operations.start(connection, one.acceptance.operation_id, OperationState.UPDATING, 0)
        finish.next_phase(connection, one.acceptance.operation_id, now)
    return before


# What is possible.


def _stack(connection: sa.Connection, stack_id: str) -> lookups.Row:
    """Return the row of a stack. Raises Conflict if it is deleted or cannot give or take a resource now."""
    found = lookups.by_id(connection, stack_id)
    if found is None or found["tomb"]:
        raise errors.Conflict("The stack was deleted meanwhile.", kind="ActionInProgress")
    refuse_unready(found)
    return found


def refuse_unready(found: lookups.Row) -> None:
    """Raise Conflict if the stack has an operation in progress, or the last one has failed."""
    action, status = Action(found["action"]), Status(found["status"])
    if status is Status.IN_PROGRESS:
        raise errors.Conflict(f"Stack {found['name']} already has an action ({action.name}) in progress.",
                              kind="ActionInProgress", hint="Ask again when it has ended.")
    if status is Status.FAILED:
        # Its rollback would go to a template that does not know of the move.
        raise errors.Conflict(f"Stack {found['name']} is {action.name}_FAILED.", kind="StackFailed", hint=_STATUS_HINT)


def _refuse_unfinished(connection: sa.Connection, found: lookups.Row) -> None:
    """Raise Conflict if the stack is not wholly as its newest input asks.

    A check or a resume is COMPLETE also where the update before it has failed, and rollbacks would return to before that.
    """
    planned = current.planned(connection, found["id"])
    behind = sorted(name for name, slot in current.of(connection, found["id"]).items()
                    if not slot.proves(planned.get(name) or ""))
    older = sa.select(_VERSION.name).where(_VERSION.stack_id == found["id"], _VERSION.superseded == sa.true())
    behind = behind or sorted(connection.execute(older.limit(_NAMED)).scalars())
    newest, complete = (rows.operation(connection, found[key] or "") for key in ("operation_id", "complete_operation_id"))
    if behind or newest is None or complete is None or newest.input != complete.input:
        which = f": {', '.join(behind[:_NAMED])}" if behind else ""
        raise errors.Conflict(f"Stack {found['name']} is not up to date{which}.", kind="StackFailed", hint=_STATUS_HINT)


def _are_in_one_cloud(connection: sa.Connection, stack_id: str, other_id: str) -> bool:
    mine, other = (stack_clouds.of_stack(connection, one) for one in (stack_id, other_id))
    return mine is other if mine is None or other is None else mine.is_same(other)


def _resource(connection: sa.Connection, home: lookups.Row, name: str) -> tuple[Slot, Version]:
    """Return the node and the version of a resource. Raises NotFound, or Unreadable if its key is lost."""
    slot = current.of(connection, home["id"]).get(name)
    if slot is None or slot.resource_id is None:
        raise errors.NotFound(f"The Resource ({name}) could not be found in Stack {home['name']}.",
                              kind="ResourceNotFound", hint="`isotherm resources STACK` shows what there is.")
    version = rows.versions(connection, [slot.resource_id])[slot.resource_id]
    for text in filter(None, (getattr(version, column) for column in rows.SEALED)):
        if is_sealed(text):
            # It could not be sealed for the other stack, and would be lost there even if its key came back.
            raise unreadable(text, f"Resource {name}")
    return slot, version


def _refuse_taken(connection: sa.Connection, target: lookups.Row, name: str) -> None:
    """Raise UserError if a stack has a resource of this name, be it one that is still to be deleted."""
    nodes_of = sa.select(_NODE.id).where(_NODE.stack_id == target["id"], _NODE.name == name, _NODE.kind != NodeKind.BARRIER)
    versions_of = sa.select(_VERSION.id).where(_VERSION.stack_id == target["id"], _VERSION.name == name)
    if any(connection.execute(one.limit(1)).first() for one in (nodes_of, versions_of)):
        raise errors.UserError(f"stack {target['name']} has a resource {name} already.", kind="ValueError",
                               path=f"resources.{name}", hint="Give another name: isotherm move A/RES B/NAME.")


def _problems(connection: sa.Connection, home: lookups.Row, version: Version) -> Iterator[errors.Problem]:
    """Yield what keeps a version from leaving its stack."""
    path = f"resources.{version.name}"
    found = connection.execute(sa.select(_VERSION.name, _VERSION.requires).where(_VERSION.stack_id == home["id"]))
    if users := sorted({row.name for row in found if version.id in rows.required(row.requires)}):
        yield errors.Problem(f"{', '.join(users)} may still use it.", path, hint="Update the stack first.")
    if connection.execute(sa.select(_USER.id).where(_USER.token == version.token)).first():
        yield errors.Problem("it has a stack user, who may act in its stack only.", path,
                             hint="Replace it by a new resource in the other stack.")


# Writing.


def _take_over(
    connection: sa.Connection, slot: Slot, before: Version, arriving: Arriving, home: str, now: float
) -> Version:
    """Give node, version, observation, drift policy and repair record to the other stack; return the version as it is."""
    acceptance = arriving.acceptance
    (want,) = sealing.with_digests(connection, [arriving.wanted], {})
    after = msgspec.structs.replace(before, stack_id=acceptance.stack_id, name=want.name, digest=want.digest, requires="[]")
    order.delete_edges(connection, [slot.id])
    node = NodeWrite(slot.id, want.name, NodeKind.UPDATE, NodeState.DONE, 0, definition=want.definition, digest=want.digest)
    nodes.hand_over(connection, node, acceptance.stack_id, acceptance.generation + 1)
    versions.hand_over(connection, after, acceptance.operation_id, home)
    observations.hand_over(connection, before, after)
    places = (before.stack_id, before.name), (after.stack_id, after.name)
    schedule.hand_over(connection, *places, now)
    repair_records.hand_over(connection, *places)
    return after


def _restate(connection: sa.Connection, stack_id: str, wanted: Sequence[Wanted]) -> None:
    """Write definitions that differ in nothing that is applied, so that the next update visits none of them."""
    present, planned = current.of(connection, stack_id), current.planned(connection, stack_id)
    for want in sealing.with_digests(connection, wanted, {}):
        slot = present.get(want.name)
        if slot is None or slot.resource_id is None or not slot.proves(planned.get(want.name) or ""):
            continue
        kept = NodeWrite(slot.id, want.name, NodeKind.UPDATE, NodeState.DONE, 0, definition=want.definition,
                         digest=want.digest)
        nodes.define(connection, [kept], stack_id)
        versions.restate(connection, slot.resource_id, want.digest)


def _tell(connection: sa.Connection, before: Version, after: Version, names: tuple[str, str], now: float) -> None:
    """Insert the events of the resource: it has left the one stack, and come to the other."""
    ids = [rows.current_operations(connection, [one.stack_id])[one.stack_id].id for one in (before, after)]
    texts = (f"Moved to resource {after.name} of stack {names[1]}",
             f"Moved from resource {before.name} of stack {names[0]}")
    rows.insert_events(connection, [
        Event(one.stack_id, id_, one.name, one.type, one.physical_id, Action.UPDATE, Status.COMPLETE, text)
        for one, id_, text in zip((before, after), ids, texts, strict=True)], now)
