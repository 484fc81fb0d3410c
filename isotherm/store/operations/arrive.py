"""Unit of work: a stack that was made elsewhere arrives, at rest, as if an operation of ours had just ended on it.

Accepting, planning and taking over are those of every other operation; then all is settled at once, in the same
transaction. Nobody ever sees the stack under way, and no worker has anything to do with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import NodeState, Status
from isotherm.store import rows, software
from isotherm.store import tables as t
from isotherm.store.operations import accept, adopt, plan
from isotherm.store.records import Acceptance, Event, NewStack, Version, Wanted
from isotherm.store.signals import signals
from isotherm.store.transitions import nodes, operations, versions


class Arrival(msgspec.Struct):
    """A stack, and all that there is to know of it."""

    stack: NewStack
    acceptance: Acceptance
    status: Status
    reason: str
    created_at: float
    updated_at: float | None
    wanted: Sequence[Wanted]
    # One version for each name that was made, and older ones that are still to be cleaned up.
    versions: Sequence[Version]
    older: Sequence[Version]
    # The names whose version is known to be just what is wanted.
    proven: frozenset[str]
    # How each node has ended that has not ended well.
    states: Mapping[str, NodeState]
    configs: Sequence[dict[str, Any]]
    # By resource: what it was told.
    signals: Mapping[str, Sequence[signals.NewSignal]]
    # By resource: when it was made. The oldest members of a scaling group are the first to go.
    made_at: Mapping[str, float]


def known(connection: sa.Connection, stack_ids: Sequence[str]) -> set[str]:
    """Of these stacks: those that are here, or have been."""
    return set(connection.execute(sa.select(t.stacks.c.id).where(rows.among(t.stacks.c.id)), rows.ids(stack_ids)).scalars())


def at_rest(connection: sa.Connection, one: Arrival, now: float) -> None:
    """Raises Conflict if the name, or an object of the stack, belongs to another one."""
    operation_id, stack_id = one.acceptance.operation_id, one.stack.id
    accept.create(connection, one.stack, one.acceptance, now)
    plan.write(connection, operation_id, one.wanted, now)
    _take(connection, one, now)
    nodes.end_imported(connection, stack_id, one.states)
    operations.end_imported(connection, operation_id, one.reason if one.status is Status.FAILED else None, now)
    connection.execute(
        sa.update(t.stacks)
        .where(t.stacks.c.id == stack_id)
        # What is rolled back later goes back to this, and never to nothing, whatever state it is in.
        .values(status=one.status, reason=one.reason, complete_operation_id=operation_id, created_at=one.created_at,
                updated_at=one.updated_at)
    )
    told = Event(stack_id, operation_id, "", "OS::Heat::Stack", stack_id, one.acceptance.action, one.status, one.reason)
    rows.insert_events(connection, [told], now)
    for config in one.configs:
        software.create_config(connection, one.stack.project, config, now)
    _deliver(connection, one, now)


def _take(connection: sa.Connection, one: Arrival, now: float) -> None:
    node = t.nodes.c
    # As the tables have them: they may be sealed.
    planned = connection.execute(sa.select(node.name, node.digest).where(node.stack_id == one.stack.id))
    digests = {row.name: row.digest for row in planned}
    for version in one.versions:
        if version.name in one.proven:
            version.digest = digests[version.name]
    adopt.take_over(connection, one.versions, {want.name: want.requires for want in one.wanted}, one.created_at)
    versions.set_created_at(connection, ((one.made_at.get(v.name, one.created_at), v.id) for v in one.versions))
    if one.older:
        for version, id_ in zip(one.older, rows.take_ids(connection, len(one.older)), strict=True):
            version.id = id_
        versions.create(connection, one.older, one.created_at)


def _deliver(connection: sa.Connection, one: Arrival, now: float) -> None:
    for name, received in one.signals.items():
        for signal in received:
            to = signals.addressee(connection, one.stack.id, name)
            signals.take(connection, to, signal, one.acceptance.operation_id, now)
