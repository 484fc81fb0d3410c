"""Units of work for snapshots: opened and ended with the operation that takes them, deleted part by part.

A snapshot is the input of the stack at that moment and a part for each resource. Its deletion is no operation on the
stack: a worker takes it under a lease when it is due, and deletes its parts one by one, so that a kill loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from isotherm import errors
from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.records import Operation, Part, Report

_SNAPSHOT, _PART = t.snapshots.c, t.snapshot_parts.c


class UnwantedSnapshot(msgspec.Struct, frozen=True):
    """A snapshot that a worker has taken to delete it."""

    id: str
    stack_id: str
    stack_name: str
    fence: int
    parts: tuple[Part, ...]
    # The time until which this worker may delete it.
    until: float
    input: str = ""


def open_(connection: sa.Connection, operation: Operation, name: str | None, now: float) -> None:
    """Insert the snapshot that this operation takes."""
    connection.execute(
        sa.insert(t.snapshots).values(
            id=operation.id, stack_id=operation.stack_id, name=name, action=Action.CREATE, status=Status.IN_PROGRESS,
            reason="", input=operation.input, tags=operation.tags, created_at=now, fence=0,
        )
    )


def keep(connection: sa.Connection, reports: Sequence[Report], now: float) -> None:
    """Store the snapshot parts of reports. For parts of a deleted snapshot, insert it again as one to delete."""
    found = [(report.part, report.claim.stack_id) for report in reports if report.part is not None]
    if not found:
        return
    owners = {part.snapshot_id: stack_id for part, stack_id in found}
    known = sa.select(_SNAPSHOT.id).where(rows.among(_SNAPSHOT.id))
    for id_ in owners.keys() - set(connection.execute(known, rows.ids(owners)).scalars()):
        connection.execute(sa.insert(t.snapshots).values(
            id=id_, stack_id=owners[id_], action=Action.DELETE, status=Status.IN_PROGRESS, reason="", input="", tags="[]",
            created_at=now, due=now, fence=0,
        ))
    seal = sealing.of(connection).seal
    connection.execute(sa.insert(t.snapshot_parts), [
        {**msgspec.structs.asdict(part), "document": seal(part.document, "part", part.snapshot_id, part.name)}
        for part, _ in found
    ])


def end(connection: sa.Connection, operation: Operation) -> None:
    """End the snapshot of an operation that has ended."""
    _finish(connection, _SNAPSHOT.id == operation.id, operation.failure)


def give_up(connection: sa.Connection, stack_id: str) -> None:
    """Fail the unfinished snapshot of a stack: another operation has superseded the one that takes it."""
    _finish(connection, _SNAPSHOT.stack_id == stack_id, "Another operation on the stack took over")


def _finish(connection: sa.Connection, which: sa.ColumnElement[bool], failure: str | None) -> None:
    connection.execute(
        sa.update(t.snapshots)
        .where(which, _SNAPSHOT.action == Action.CREATE, _SNAPSHOT.status == Status.IN_PROGRESS)
        .values(status=Status.FAILED if failure else Status.COMPLETE,
                reason=failure or "Stack SNAPSHOT completed successfully")
    )


def of_stack(connection: sa.Connection, stack_id: str) -> Sequence[sa.RowMapping]:
    query = sa.select(t.snapshots).where(_SNAPSHOT.stack_id == stack_id)
    return connection.execute(query.order_by(_SNAPSHOT.created_at, _SNAPSHOT.id)).mappings().all()


def parts(connection: sa.Connection, snapshot_id: str) -> list[Part]:
    columns = (_PART.snapshot_id, _PART.name, _PART.implementation, _PART.document)
    query = sa.select(*columns).where(_PART.snapshot_id == snapshot_id).order_by(_PART.name)
    opened = sealing.of(connection).open
    return [Part(id_, name, implementation, opened(document, "part", id_, name))
            for id_, name, implementation, document in connection.execute(query)]





def mark_for_deletion(connection: sa.Connection, snapshot_id: str, now: float) -> None:
    """Begin to delete a snapshot. Raises UserError if it is still being taken."""
    hit = connection.execute(_mark(now).where(_SNAPSHOT.id == snapshot_id, ~_being_taken()))
    if not hit.rowcount:
        raise errors.UserError("Deleting in-progress snapshot is not supported.", kind="NotSupported",
                               hint="Wait for it, or cancel the operation that takes it.")


def mark_all_for_deletion(connection: sa.Connection, stack_id: str, now: float) -> None:
    """Begin to delete all snapshots of a deleted stack."""
    connection.execute(_mark(now).where(_SNAPSHOT.stack_id == stack_id))


def _mark(now: float) -> sa.Update:
    return sa.update(t.snapshots).values(action=Action.DELETE, status=Status.IN_PROGRESS, reason="", due=now)


def _being_taken() -> sa.ColumnElement[bool]:
    return sa.and_(_SNAPSHOT.action == Action.CREATE, _SNAPSHOT.status == Status.IN_PROGRESS)


_DUE = sa.select(_SNAPSHOT.id).where(_SNAPSHOT.due <= sa.bindparam("now")).limit(4)


def due(connection: sa.Connection, until: float, now: float) -> list[UnwantedSnapshot]:
    """Take due snapshots to delete, also those whose lease has expired."""
    taken = list(connection.execute(_DUE, {"now": now}).scalars())
    if not taken:
        return []
    connection.execute(
        sa.update(t.snapshots).where(rows.among(_SNAPSHOT.id)).values(due=until, fence=_SNAPSHOT.fence + 1),
        rows.ids(taken),
    )
    stack = t.stacks.c
    found = connection.execute(
        sa.select(_SNAPSHOT.id, _SNAPSHOT.stack_id, stack.name, _SNAPSHOT.fence, _SNAPSHOT.input)
        .join(t.stacks, stack.id == _SNAPSHOT.stack_id)
        .where(rows.among(_SNAPSHOT.id)),
        rows.ids(taken),
    )
    return [UnwantedSnapshot(*row[:4], tuple(parts(connection, row[0])), until, row[4]) for row in found.all()]


def part_gone(connection: sa.Connection, unwanted: UnwantedSnapshot, name: str, until: float) -> None:
    """Record that one part is deleted. Raises Superseded if another worker has taken the snapshot."""
    _still(connection, unwanted, due=until)
    connection.execute(sa.delete(t.snapshot_parts).where(_PART.snapshot_id == unwanted.id, _PART.name == name))


def gone(connection: sa.Connection, unwanted: UnwantedSnapshot) -> None:
    """Delete a snapshot whose parts are all deleted, with the blobs that only it used."""
    _still(connection, unwanted, due=None)
    _drop(connection, [unwanted.id])


def let_go(connection: sa.Connection, stack_id: str) -> None:
    """Delete the rows of a stack's snapshots; the objects that its types keep for them are retained."""
    _drop(connection, list(connection.execute(sa.select(_SNAPSHOT.id).where(_SNAPSHOT.stack_id == stack_id)).scalars()))


def _drop(connection: sa.Connection, ids: Sequence[str]) -> None:
    if not ids:
        return
    for table, column in ((t.snapshot_parts, _PART.snapshot_id), (t.snapshots, _SNAPSHOT.id)):
        connection.execute(sa.delete(table).where(rows.among(column)), rows.ids(ids))
    # The operation that took a snapshot may still be the newest of its stack, and needs its input.
    operation = t.operations.c
    at_work = set(connection.execute(sa.select(operation.id).where(rows.among(operation.id)), rows.ids(ids)).scalars())
    rows.forget_uses(connection, [id_ for id_ in ids if id_ not in at_work])


def not_gone(connection: sa.Connection, unwanted: UnwantedSnapshot, reason: str, retry_at: float | None) -> None:
    """Record that a part could not be deleted: retry at this time, or fail the deletion."""
    _still(connection, unwanted, due=retry_at)
    if retry_at is None:
        connection.execute(
            sa.update(t.snapshots).where(_SNAPSHOT.id == unwanted.id).values(status=Status.FAILED, reason=reason)
        )


def _still(connection: sa.Connection, unwanted: UnwantedSnapshot, due: float | None) -> None:
    mine = sa.and_(_SNAPSHOT.id == unwanted.id, _SNAPSHOT.fence == unwanted.fence)
    if not connection.execute(sa.update(t.snapshots).where(mine).values(due=due)).rowcount:
        raise errors.Superseded(unwanted.id)
