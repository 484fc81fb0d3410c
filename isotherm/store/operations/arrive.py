"""Unit of work that writes an imported stack, idle, as if one of our operations had just ended on it.

It is accepted, planned and adopted like any other stack, and settled in the same transaction. So the stack is never seen
in progress, and no worker takes its nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import NodeState, Status
from isotherm.store import rows, software
from isotherm.store import tables as t
from isotherm.store.operations import accept, adopt, history, plan
from isotherm.store.records import Acceptance, Event, NewStack, Version, Wanted
from isotherm.store.signals import signals
from isotherm.store.transitions import nodes, operations
from isotherm.store.transitions import versions as version_transitions
from isotherm.store.transitions.versions import Protector
from isotherm.store.versions import protection


class Arrival(msgspec.Struct):
    """An imported stack with its resources, configs and signals."""

    stack: NewStack
    acceptance: Acceptance
    status: Status
    reason: str
    created_at: float
    updated_at: float | None
    wanted: Sequence[Wanted]
    # The current version of each resource that exists, and superseded versions that are still to be deleted.
    versions: Sequence[Version]
    older: Sequence[Version]
    # Names of resources whose version is proven to match the template.
    proven: frozenset[str]
    # The states of nodes that did not end as DONE.
    states: Mapping[str, NodeState]
    configs: Sequence[dict[str, Any]]
    # By resource: the signals that it has received.
    signals: Mapping[str, Sequence[signals.NewSignal]]
    # By resource: its creation time. A scaling group removes its oldest members first.
    made_at: Mapping[str, float]
    # By resource: what protected its object in the stack that it comes from.
    protections: Mapping[str, Protector] = {}
    # Whether the stack is protected from delete.
    protected: bool = False


def known(connection: sa.Connection, stack_ids: Sequence[str]) -> set[str]:
    """Return which of these stacks exist in this database, deleted ones included."""
    return set(connection.execute(sa.select(t.stacks.c.id).where(rows.among(t.stacks.c.id)), rows.ids(stack_ids)).scalars())


def write_idle(connection: sa.Connection, one: Arrival, now: float) -> None:
    """Write an imported stack as idle. Raises Conflict if another stack has its name or one of its objects."""
    operation_id, stack_id = one.acceptance.operation_id, one.stack.id
    accept.create(connection, one.stack, one.acceptance, now)
    plan.write(connection, operation_id, one.wanted, now)
    _take(connection, one, now)
    protection.bring(connection, one.versions, one.protections)
    protection.keep_all(connection, stack_id, one.wanted)
    if one.protected:
        protection.protect_stack(connection, stack_id, one.stack.username)
    nodes.end_imported(connection, stack_id, one.states)
    operations.end_imported(connection, operation_id, one.reason if one.status is Status.FAILED else None, now)
    history.end(connection, operation_id, one.status, now)
    connection.execute(
        sa.update(t.stacks)
        .where(t.stacks.c.id == stack_id)
        # A later rollback returns to this operation even if the imported stack had failed.
        .values(status=one.status, reason=one.reason, complete_operation_id=operation_id, created_at=one.created_at,
                updated_at=one.updated_at)
    )
    event = Event(stack_id, operation_id, "", "OS::Heat::Stack", stack_id, one.acceptance.action, one.status, one.reason)
    rows.insert_events(connection, [event], now)
    for config in one.configs:
        software.create_config(connection, one.stack.project, config, now)
    _deliver(connection, one, now)


def _take(connection: sa.Connection, one: Arrival, now: float) -> None:
    node = t.nodes.c
    # The digests as stored: the newest key may have changed them.
    planned = connection.execute(sa.select(node.name, node.digest).where(node.stack_id == one.stack.id))
    digests = {row.name: row.digest for row in planned}
    for version in one.versions:
        if version.name in one.proven:
            version.digest = digests[version.name]
    adopt.take_over(connection, one.versions, {want.name: want.requires for want in one.wanted}, one.created_at)
    version_transitions.set_created_at(connection, ((one.made_at.get(v.name, one.created_at), v.id) for v in one.versions))
    if one.older:
        for version, id_ in zip(one.older, rows.take_ids(connection, len(one.older)), strict=True):
            version.id = id_
        version_transitions.create(connection, one.older, one.created_at)


def _deliver(connection: sa.Connection, one: Arrival, now: float) -> None:
    for name, received in one.signals.items():
        for signal in received:
            to = signals.addressee(connection, one.stack.id, name)
            signals.take(connection, to, signal, one.acceptance.operation_id, now)
