"""Statements that several units of work share: reads of versions and operations, bulk inserts, ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import Action, DeletionPolicy, Protection, Status
from isotherm.store import limits
from isotherm.store import tables as t
from isotherm.store.database import committed, sealing
from isotherm.store.database.bulk import insert
from isotherm.store.database.id_lists import among as among
from isotherm.store.database.id_lists import ids as ids
from isotherm.store.records import Edge, Event, Operation, OperationScope, Version

_VERSION = t.resources.c
_VERSION_COLUMNS = [
    _VERSION.id, _VERSION.stack_id, _VERSION.name, _VERSION.type, _VERSION.implementation, _VERSION.token,
    _VERSION.physical_id, _VERSION.action, _VERSION.status, _VERSION.reason, _VERSION.properties, _VERSION.digest,
    _VERSION.metadata, _VERSION.data, _VERSION.published, _VERSION.requires, _VERSION.replaces, _VERSION.superseded,
    _VERSION.deletion_policy, _VERSION.external, _VERSION.operation_id, _VERSION.intent, _VERSION.suspended,
    sa.and_(_VERSION.superseded == sa.false(), _VERSION.replaced_by.is_not(None)),
    sa.or_(_VERSION.protection == int(Protection.UPDATE), _VERSION.template_protection == int(Protection.UPDATE)),
    _VERSION.made_as, _VERSION.begun_at, _VERSION.made_in,
]
_SELECT_VERSIONS = sa.select(*_VERSION_COLUMNS).where(among(_VERSION.id))


#: Columns of a version that may carry secrets.
SEALED = ("properties", "metadata", "data", "published", "intent")


def version_of(row: Any, box: sealing.Clear) -> Version:
    version = Version(*row)
    id_, stack_id = version.id, version.stack_id
    version.properties = box.open(version.properties, "properties", id_, stack_id)
    version.metadata = box.open(version.metadata, "metadata", id_, stack_id)
    version.data = box.open(version.data, "data", id_, stack_id)
    version.published = box.open(version.published, "published", id_, stack_id)
    version.intent = box.open(version.intent, "intent", id_, stack_id)
    version.action, version.status = _ACTIONS[version.action], _STATUSES[version.status]
    version.deletion_policy = _POLICIES[version.deletion_policy]
    return version


# An enum's own call costs more than all the rest of reading a row.
_ACTIONS = {int(member): member for member in Action}
_STATUSES = {int(member): member for member in Status}
_POLICIES = {int(member): member for member in DeletionPolicy}


def versions(connection: sa.Connection, wanted: Collection[int]) -> dict[int, Version]:
    if not wanted:
        return {}
    box = sealing.of(connection)
    return {row[0]: version_of(row, box) for row in connection.execute(_SELECT_VERSIONS, ids(wanted))}


_INSERT_EVENTS = insert(
    t.events, "stack_id", "operation_id", "name", "type", "physical_id", "action", "status", "reason", "created_at"
)


def insert_events(
    connection: sa.Connection, happened: Iterable[Event], now: float, *, is_progress: bool = True
) -> None:
    """Insert events, and drop the oldest of their stacks beyond the limit. Every event is inserted here.

    `is_progress`: whether they report the progress of an operation, and are logged and counted.
    """
    many = list(happened)
    _INSERT_EVENTS(
        connection,
        ((e.stack_id, e.operation_id, e.name, e.type, e.physical_id, int(e.action), int(e.status), e.reason, now)
         for e in many),
    )
    limits.events(connection, {e.stack_id for e in many})
    if is_progress:
        committed.add_events(connection, many)


_INSERT_EDGES = insert(t.edges, "src", "dst", "kind")


def insert_edges(connection: sa.Connection, new: Iterable[Edge]) -> None:
    _INSERT_EDGES(connection, ((e.src, e.dst, int(e.kind)) for e in new))


_OPERATION = [
    t.operations.c.id, t.operations.c.stack_id, t.stacks.c.name, t.operations.c.generation, t.operations.c.action,
    t.operations.c.state, t.operations.c.input, t.operations.c.disable_rollback, t.operations.c.timeout_s,
    t.operations.c.tags, t.operations.c.remaining, t.operations.c.failure, t.operations.c.fence, t.stacks.c.project,
    t.stacks.c.convergence, t.operations.c.converge, t.operations.c.scope,
]
_CURRENT = sa.select(*_OPERATION).join(t.stacks, t.stacks.c.operation_id == t.operations.c.id).where(among(t.stacks.c.id))
_BY_ID = sa.select(*_OPERATION).join(t.stacks, t.stacks.c.id == t.operations.c.stack_id).where(among(t.operations.c.id))


def _operation_of(row: Any) -> Operation:
    (id_, stack_id, stack_name, generation, action, *rest) = row
    rest[-1] = scope_of(rest[-1])
    return Operation(id_, stack_id, stack_name, generation, _ACTIONS[action], *rest)


def scope_of(text: str | None) -> OperationScope | None:
    """Decode the column `scope` of an operation."""
    return None if text is None else msgspec.json.decode(text.encode(), type=OperationScope)


def current_operations(connection: sa.Connection, stack_ids: Collection[str]) -> dict[str, Operation]:
    """Return the newest operation of each stack by the stack's id."""
    return {row[1]: _operation_of(row) for row in connection.execute(_CURRENT, ids(stack_ids))}


def operation(connection: sa.Connection, operation_id: str) -> Operation | None:
    row = connection.execute(_BY_ID, ids([operation_id])).one_or_none()
    return None if row is None else _operation_of(row)


def take_ids(connection: sa.Connection, count: int) -> range:
    """Reserve unique ids for nodes and versions."""
    sequence = t.sequences.c
    connection.execute(sa.update(t.sequences).where(sequence.name == "ids").values(next=sequence.next + count))
    end = connection.execute(sa.select(sequence.next).where(sequence.name == "ids")).scalar_one()
    return range(end - count, end)


def forget_uses(connection: sa.Connection, operation_ids: Collection[str]) -> None:
    """Remove the uses of blobs by these operations, save those of snapshots and the history; delete unused blobs (I16)."""
    use, blob = t.uses.c, t.blobs.c
    taken = sa.exists().where(t.snapshots.c.id == use.operation_id)
    kept = sa.exists().where(t.history.c.operation_id == use.operation_id)
    theirs = sa.and_(among(use.operation_id), ~taken, ~kept)
    hashes = list(connection.execute(sa.select(use.hash).where(theirs), ids(operation_ids)).scalars())
    connection.execute(sa.delete(t.uses).where(theirs), ids(operation_ids))
    unused = ~sa.exists().where(use.hash == blob.hash)
    connection.execute(sa.delete(t.blobs).where(among(blob.hash), unused), ids(hashes))


def delete_by_id(connection: sa.Connection, column: sa.Column[Any], values: Collection[int]) -> None:
    if values:
        connection.execute(sa.delete(column.table).where(among(column)), ids(values))


def required(text: str) -> list[int]:
    """Return the ids in the column `requires` of a version."""
    return msgspec.json.decode(text.encode(), type=list[int])


def stands_for() -> sa.ColumnElement[bool]:
    """Return the condition that joins a node with its version. Stack and name are part of it, for the index on them."""
    node, resource = t.nodes.c, t.resources.c
    return sa.and_(node.resource_id == resource.id, node.stack_id == resource.stack_id, node.name == resource.name)
