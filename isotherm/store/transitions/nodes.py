"""The state machine of nodes: every write of the table `nodes`.

A write that makes a node due also says from when: now, or when the lease that a worker still holds on it ends. A write
that ends a lease raises the fence, so that nothing a former holder writes changes a row (I5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from isotherm.states import ENDED, NodeKind, NodeState
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import bulk, sealing
from isotherm.store.records import NodeWrite, Operation
from isotherm.store.transitions.machine import NO_ROW, Machine, Part

PENDING, SCHEDULED, RUNNING, WAITING, DONE, FAILED, SKIPPED = NodeState
# The states of nodes that no operation works on: a newer operation halts those of the older one first.
_IDLE_STATES = (PENDING, DONE, FAILED, SKIPPED)
NOT_BEGUN = (PENDING, SCHEDULED)
UNDER_WAY = (RUNNING, WAITING)
UNENDED = (PENDING, SCHEDULED, RUNNING, WAITING)

MACHINE = Machine("nodes", NodeState)
_transition = MACHINE.transition
_NODE = t.nodes.c


def _due_when_free(now: str) -> sa.ColumnElement[Any]:
    """Return when a node that has just become ready may be taken: now, or when the lease on it ends.

    `now` names the parameter. The lease is read from the row in the same write: one given back meanwhile counts (I10).
    """
    return sa.case((_NODE.lease_until > sa.bindparam(now), _NODE.lease_until), else_=sa.bindparam(now))


# Planning.

_INSERT = bulk.insert(
    t.nodes, "id", "stack_id", "name", "kind", "state", "generation", "pending", "outdated", "awaits_cleanup", "definition",
    "digest", "resource_id", "fence", "due",
)


@_transition(from_=(NO_ROW,), to=(PENDING, SCHEDULED, DONE, FAILED, SKIPPED), keeps=("I9", "I10"))
def insert(connection: sa.Connection, new: Iterable[NodeWrite], operation: Operation, now: float) -> None:
    """Insert nodes; SCHEDULED ones are due at once."""
    seal = sealing.of(connection).seal
    _INSERT(
        connection,
        ((w.id, operation.stack_id, w.name, int(w.kind), int(w.state), operation.generation, w.pending, w.outdated,
          w.awaits_cleanup, seal(w.definition, "definition", w.id, operation.stack_id), w.digest, w.resource_id, 0,
          now if w.state is SCHEDULED else None)
         for w in new),
    )


_READY = sa.bindparam("n_ready", type_=sa.Integer) == 1
_PLAN = bulk.Bulk(
    sa.update(t.nodes)
    .where(_NODE.id == sa.bindparam("n_id"))
    .values(kind=sa.bindparam("n_kind"), state=sa.bindparam("n_state"), pending=sa.bindparam("n_pending"),
            outdated=sa.bindparam("n_outdated"), awaits_cleanup=sa.bindparam("n_awaits_cleanup"),
            generation=sa.bindparam("n_generation"), reason=None,
            due=sa.case((_READY, _due_when_free("n_now")), else_=None)),
    "n_id", "n_kind", "n_state", "n_pending", "n_outdated", "n_awaits_cleanup", "n_generation", "n_ready", "n_now",
)


@_transition(from_=_IDLE_STATES, to=(PENDING, SCHEDULED), keeps=("I4", "I5", "I9", "I10"))
def plan(connection: sa.Connection, writes: Iterable[NodeWrite], generation: int, now: float) -> None:
    """Give existing nodes a part in a new traversal; a lease that a worker still holds stays."""
    _PLAN(
        connection,
        ((w.id, int(w.kind), int(w.state), w.pending, w.outdated, w.awaits_cleanup, generation,
          int(w.state is SCHEDULED), now)
         for w in writes),
    )


_DEFINE = bulk.Bulk(
    sa.update(t.nodes)
    .where(_NODE.id == sa.bindparam("n_id"))
    .values(definition=sa.bindparam("n_definition"), digest=sa.bindparam("n_digest")),
    "n_definition", "n_digest", "n_id",
)


@_transition()
def define(connection: sa.Connection, writes: Iterable[NodeWrite], stack_id: str) -> None:
    """Give existing nodes a new definition to reach."""
    seal = sealing.of(connection).seal
    _DEFINE(connection, ((seal(w.definition, "definition", w.id, stack_id), w.digest, w.id) for w in writes))


@_transition(from_=(SCHEDULED,), to=(PENDING,), keeps=("I7",))
def wait_for_barrier(connection: sa.Connection, node_ids: Collection[int]) -> None:
    """Let the roots of an update wait for the barrier behind its first deletions."""
    waiting = sa.update(t.nodes).where(rows.among(_NODE.id)).values(state=PENDING, pending=1, due=None)
    connection.execute(waiting, rows.ids(node_ids))


@_transition(from_=(SCHEDULED, RUNNING, WAITING), to=(PENDING,), keeps=("I4",), part=Part.STOP)
def halt_due(connection: sa.Connection, stack_id: str) -> None:
    """Take the nodes of a stack out of the queue until a plan schedules them again; running steps keep their leases."""
    due = sa.update(t.nodes).where(_NODE.stack_id == stack_id, _NODE.due.is_not(None))
    connection.execute(due.values(state=PENDING, due=None))


@_transition(from_=(SCHEDULED, RUNNING, WAITING), to=(PENDING,), keeps=("I4",), part=Part.STOP)
def halt_legacy(connection: sa.Connection, stack_id: str) -> None:
    """Make the nodes of a stack on the legacy path PENDING: its engine, not the queue, says which is next."""
    begun = sa.update(t.nodes).where(_NODE.stack_id == stack_id, _NODE.state.in_((SCHEDULED, RUNNING, WAITING)))
    connection.execute(begun.values(state=PENDING, due=None))


@_transition()
def return_to_cleanup(connection: sa.Connection, stack_id: str) -> None:
    """Make nodes that were to be deleted, and were visited in between, clean-up nodes again."""
    visited = (_NODE.stack_id == stack_id, _NODE.kind == NodeKind.VISIT, _NODE.awaits_cleanup == sa.true())
    connection.execute(sa.update(t.nodes).where(*visited).values(kind=NodeKind.CLEANUP))


@_transition(from_=(PENDING, DONE), to=(SKIPPED,), keeps=("I14",))
def leave_out(connection: sa.Connection, node_ids: Collection[int]) -> None:
    """Skip nodes that a limited operation leaves out: a later operation visits them. A lease that is still held stays."""
    left = sa.update(t.nodes).where(rows.among(_NODE.id)).values(state=SKIPPED, due=None)
    connection.execute(left, rows.ids(node_ids))


# Leases.

_CLAIM = (
    sa.update(t.nodes)
    .where(rows.among(_NODE.id))
    .values(state=RUNNING, worker=sa.bindparam("n_worker"), fence=_NODE.fence + 1,
            lease_until=sa.bindparam("n_until"), due=sa.bindparam("n_until"))
)


@_transition(from_=(SCHEDULED, WAITING, RUNNING), to=(RUNNING,), keeps=("I5", "I10"))
def claim(connection: sa.Connection, node_ids: Collection[int], worker: str, until: float) -> None:
    """Take due nodes under a lease. A node that is RUNNING and due has lost its worker."""
    connection.execute(_CLAIM, {**rows.ids(node_ids), "n_worker": worker, "n_until": until})


_CLAIM_LEGACY = (
    sa.update(t.nodes)
    .where(_NODE.id == sa.bindparam("n_id"), _NODE.generation == sa.bindparam("n_generation"),
           _NODE.state.in_(UNENDED))
    .values(state=RUNNING, fence=_NODE.fence + 1, due=None, awaits=None)
)


@_transition(from_=(PENDING, RUNNING, WAITING), to=(RUNNING,), keeps=("I4", "I5"))
def claim_legacy(connection: sa.Connection, node_id: int, generation: int) -> bool:
    """Take a node for the engine that holds the stack's lock; return False if it has ended or is of another traversal."""
    hit = connection.execute(_CLAIM_LEGACY, {"n_id": node_id, "n_generation": generation})
    return bool(hit.rowcount)


_RENEW = bulk.Bulk(
    sa.update(t.nodes)
    .where(_NODE.id == sa.bindparam("n_id"), _NODE.fence == sa.bindparam("n_fence"))
    .values(lease_until=sa.bindparam("n_until"), due=sa.bindparam("n_until")),
    "n_until", "n_id", "n_fence",
)


@_transition(keeps=("I5", "I10"))
def renew(connection: sa.Connection, keys: Iterable[tuple[int, int]], until: float) -> None:
    """Extend leases, each given as node and fence."""
    _RENEW(connection, ((until, node_id, fence) for node_id, fence in keys))


@_transition(keeps=("I5", "I10"), part=Part.STOP)
def release(connection: sa.Connection, node_ids: Sequence[int], now: float) -> None:
    """End the leases of superseded steps; a node that a newer traversal has scheduled is due at once."""
    if node_ids:
        due = sa.case((_NODE.state == int(SCHEDULED), now), else_=_NODE.due)
        statement = sa.update(t.nodes).where(rows.among(_NODE.id)).values(
            worker=None, lease_until=None, due=due, fence=_NODE.fence + 1
        )
        connection.execute(statement, rows.ids(node_ids))


_RELEASE_DEAD = (
    sa.update(t.nodes)
    .where(rows.among(_NODE.worker))
    .values(
        state=sa.case((_NODE.state == int(RUNNING), int(SCHEDULED)), else_=_NODE.state),
        # A node that a newer operation has halted stays out of the queue.
        due=sa.case((_NODE.state.in_((RUNNING, SCHEDULED)), sa.bindparam("now")), else_=_NODE.due),
        worker=None, lease_until=None, fence=_NODE.fence + 1,
    )
)


@_transition(from_=(RUNNING,), to=(SCHEDULED,), keeps=("I5", "I12"), part=Part.STOP)
def release_dead(connection: sa.Connection, workers: Collection[str], now: float) -> int:
    """End the leases of workers that are proved dead; return how many nodes they held."""
    return connection.execute(_RELEASE_DEAD, {**rows.ids(workers), "now": now}).rowcount


@_transition(keeps=("I5",))
def move_lease(connection: sa.Connection, node_id: int, worker: str, lease_until: float | None) -> None:
    """Give a node the lease of another node; the raised fence keeps the former holder from releasing it."""
    mine = sa.update(t.nodes).where(_NODE.id == node_id)
    connection.execute(mine.values(worker=worker, lease_until=lease_until, fence=_NODE.fence + 1))


@_transition(from_=(NO_ROW,), to=(PENDING,), keeps=("I5", "I7"))
def insert_leased(connection: sa.Connection, node_id: int, name: str, lease: Mapping[str, Any]) -> None:
    """Insert a clean-up node that takes over the lease on a version that is no longer current."""
    connection.execute(sa.insert(t.nodes).values(
        id=node_id, name=name, kind=NodeKind.CLEANUP, state=PENDING, pending=1, awaits_cleanup=True, **lease))


_HOLD_BACK = (
    sa.update(t.nodes)
    .where(rows.among(_NODE.id), sa.or_(_NODE.reason.is_(None), _NODE.reason != sa.bindparam("n_reason")))
    .values(reason=sa.bindparam("n_reason"))
)


@_transition()
def hold_back(connection: sa.Connection, node_ids: Sequence[int], reason: str) -> None:
    """Write why due nodes are not taken yet."""
    if node_ids:
        connection.execute(_HOLD_BACK, {**rows.ids(node_ids), "n_reason": reason})


# The version that a node stands for.

_ATTACH = bulk.Bulk(
    sa.update(t.nodes).where(_NODE.id == sa.bindparam("n_id")).values(resource_id=sa.bindparam("n_resource_id")),
    "n_resource_id", "n_id",
)
_ATTACH_BY_NAME = bulk.Bulk(
    sa.update(t.nodes)
    .where(_NODE.stack_id == sa.bindparam("n_stack_id"), _NODE.name == sa.bindparam("n_name"))
    .values(resource_id=sa.bindparam("n_resource_id")),
    "n_resource_id", "n_stack_id", "n_name",
)
_DETACH = bulk.Bulk(
    sa.update(t.nodes)
    .where(_NODE.stack_id == sa.bindparam("n_stack"), _NODE.name == sa.bindparam("n_name"),
           _NODE.resource_id == sa.bindparam("n_version"))
    .values(resource_id=None),
    "n_stack", "n_name", "n_version",
)


@_transition(keeps=("I1",))
def attach(connection: sa.Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Let nodes stand for versions, given as (version, node)."""
    _ATTACH(connection, pairs)


@_transition(keeps=("I1",))
def attach_by_name(connection: sa.Connection, versions: Iterable[tuple[int, str, str]]) -> None:
    """Let the nodes of these names stand for versions, given as (version, stack, name)."""
    _ATTACH_BY_NAME(connection, versions)


@_transition(keeps=("I1",))
def detach(connection: sa.Connection, versions: Iterable[tuple[str, str, int]]) -> None:
    """Let no node stand for deleted versions, given as (stack, name, version).

    By version, not by node: a newer plan may have moved the version to a clean-up node.
    """
    _DETACH(connection, versions)


@_transition(keeps=("I1",))
def rename(connection: sa.Connection, stack_id: str, names: Mapping[str, str]) -> None:
    """Give nodes of a stack other names, all at once."""
    theirs = sa.update(t.nodes).where(_NODE.stack_id == stack_id, rows.among(_NODE.name))
    connection.execute(theirs.values(name=sa.case(names, value=_NODE.name)), rows.ids(names))


# The ends of steps.

_REPORT = bulk.Bulk(
    sa.update(t.nodes)
    .where(_NODE.id == sa.bindparam("n_id"))
    .values(kind=sa.bindparam("n_kind"), state=sa.bindparam("n_state"), due=sa.bindparam("n_due"),
            reason=sa.bindparam("n_reason"), awaits=sa.bindparam("n_awaits"), worker=None, lease_until=None,
            # A report counts once: repeated, it finds another fence (I11).
            fence=_NODE.fence + 1),
    "n_id", "n_kind", "n_state", "n_due", "n_reason", "n_awaits",
)
_Report = tuple[int, int, int, float | None, str | None, str | None]


@_transition(from_=(RUNNING,), to=(DONE, FAILED, WAITING, SCHEDULED, SKIPPED), keeps=("I4", "I5", "I10", "I11"))
def report(connection: sa.Connection, writes: Iterable[_Report]) -> None:
    """Write how steps ended, and end their leases. In order: node, kind, state, due, reason, awaits."""
    _REPORT(connection, writes)


@_transition(from_=(RUNNING,), to=(DONE, FAILED, WAITING, PENDING, SKIPPED), keeps=("I4", "I5", "I11"))
def report_legacy(
    connection: sa.Connection, node_id: int, kind: NodeKind, state: NodeState, reason: str | None, awaits: str | None
) -> None:
    """Write how a step of the legacy path ended. The node is never due: its engine keeps the times in memory."""
    connection.execute(
        sa.update(t.nodes)
        .where(_NODE.id == node_id)
        .values(kind=kind, state=state, reason=reason, awaits=awaits, due=None, fence=_NODE.fence + 1)
    )


_FOLLOW = bulk.Bulk(
    sa.update(t.nodes)
    .where(_NODE.id == sa.bindparam("n_id"))
    .values(state=sa.bindparam("n_state"), pending=sa.bindparam("n_pending"),
            outdated=sa.bindparam("n_outdated"), due=sa.case((_READY, _due_when_free("n_now")), else_=None)),
    "n_id", "n_state", "n_pending", "n_outdated", "n_ready", "n_now",
)


@_transition(from_=(PENDING,), to=(SCHEDULED, DONE, SKIPPED), keeps=("I6", "I7", "I10"))
def follow(connection: sa.Connection, waiters: Iterable[tuple[int, NodeState, int, bool]], now: float) -> None:
    """Count the ended requirements of nodes. In order: node, state, pending, outdated; SCHEDULED ones are due."""
    _FOLLOW(connection, ((id_, int(state), pending, outdated, int(state is SCHEDULED), now)
                         for id_, state, pending, outdated in waiters))


def _live(generation: int) -> sa.ColumnElement[bool]:
    return sa.and_(rows.among(_NODE.id), _NODE.generation == generation, _NODE.state.in_(UNENDED))


@_transition(from_=(PENDING,), to=(DONE, SKIPPED), keeps=("I6", "I7"))
def follow_legacy(connection: sa.Connection, node_ids: Collection[int], generation: int, state: NodeState) -> int:
    """End nodes that the legacy walk passes or skips without a step; return how many there were."""
    ended = sa.update(t.nodes).where(_live(generation)).values(state=state, due=None)
    return connection.execute(ended, rows.ids(node_ids)).rowcount


@_transition(keeps=("I6",))
def mark_outdated(connection: sa.Connection, node_ids: Collection[int], generation: int) -> None:
    """Record that something that these nodes read has changed."""
    changed = sa.update(t.nodes).where(_live(generation)).values(outdated=True)
    connection.execute(changed, rows.ids(node_ids))


# Waking up.


def _wake(now: object) -> sa.Update:
    # Nodes of the legacy path are never due: their engine sees for itself.
    return sa.update(t.nodes).where(_NODE.state == WAITING, _NODE.due.is_not(None)).values(due=now)


_WAKE_WAITERS = _wake(sa.bindparam("n_now")).where(_NODE.awaits == sa.bindparam("n_topic"))


@_transition(keeps=("I10",))
def wake_waiters(connection: sa.Connection, topic: str, now: float) -> None:
    """Make the nodes due that wait for an operation or for the signals of a version."""
    connection.execute(_WAKE_WAITERS, {"n_topic": topic, "n_now": now})


@_transition(keeps=("I10",))
def wake(connection: sa.Connection, node_ids: Collection[int], now: float) -> None:
    """Make these nodes due, as far as they wait."""
    connection.execute(_wake(now).where(rows.among(_NODE.id)), rows.ids(node_ids))


@_transition(keeps=("I10", "I13"), part=Part.STOP)
def wake_all(connection: sa.Connection, operation: Operation, now: float) -> None:
    """Make all waiting nodes of a cancelled operation due: some of them need not wait any more."""
    connection.execute(_wake(now).where(_of(operation)))


# Stopping an operation.


def _of(operation: Operation) -> sa.ColumnElement[bool]:
    return sa.and_(_NODE.stack_id == operation.stack_id, _NODE.generation == operation.generation)


@_transition(from_=NOT_BEGUN, to=(SKIPPED,), keeps=("I13",), part=Part.STOP)
def skip_not_begun(connection: sa.Connection, operation: Operation) -> None:
    """Skip what a cancelled operation has not begun."""
    mine = sa.update(t.nodes).where(_of(operation), _NODE.state.in_(NOT_BEGUN))
    connection.execute(mine.values(state=SKIPPED, due=None))


@_transition(from_=(WAITING,), to=(SKIPPED,), keeps=("I13",), part=Part.STOP)
def skip_paused(connection: sa.Connection, node_ids: Collection[int]) -> None:
    """Skip nodes that pause at a hook before their action."""
    waiting = sa.update(t.nodes).where(rows.among(_NODE.id), _NODE.state == WAITING)
    connection.execute(waiting.values(state=SKIPPED, due=None), rows.ids(node_ids))


@_transition(from_=UNDER_WAY, to=(FAILED,), keeps=("I5", "I13"), part=Part.STOP)
def fail(connection: sa.Connection, node_ids: Collection[int]) -> None:
    """Fail steps that are stopped at the deadline. Leases stay: the next operation waits for them."""
    failed = sa.update(t.nodes).where(rows.among(_NODE.id)).values(state=FAILED, due=None)
    connection.execute(failed, rows.ids(node_ids))


@_transition(from_=UNENDED, to=(SKIPPED,), keeps=("I13",), part=Part.STOP)
def skip_unended(connection: sa.Connection, operation: Operation) -> None:
    """Skip all nodes of a stopped operation that have not ended."""
    mine = sa.update(t.nodes).where(_of(operation), _NODE.state.in_(UNENDED))
    connection.execute(mine.values(state=SKIPPED, due=None))


@_transition(from_=UNENDED, to=(FAILED, SKIPPED), keeps=("I5", "I13"), part=Part.STOP)
def reset(connection: sa.Connection, stack_id: str) -> None:
    """Fail what is under way on a stack and skip the rest, on an operator's order. Leases stay, as in `fail`."""
    mine = sa.update(t.nodes).where(_NODE.stack_id == stack_id, _NODE.state.not_in(ENDED))
    connection.execute(mine.where(_NODE.state.in_(UNDER_WAY)).values(state=FAILED, due=None, awaits=None))
    connection.execute(mine.values(state=SKIPPED, due=None, awaits=None))


# Outside of traversals.


@_transition(from_=(DONE,), to=(SKIPPED,), keeps=("I2",), part=Part.STOP)
def revisit_done(connection: sa.Connection, stack_id: str) -> None:
    """Let the next update visit every resource of the stack again."""
    done = sa.update(t.nodes).where(_NODE.stack_id == stack_id, _NODE.state == DONE)
    connection.execute(done.values(state=SKIPPED))


@_transition(from_=(PENDING, SCHEDULED), to=(DONE, FAILED, SKIPPED), keeps=("I1",), part=Part.ADMIN)
def end_imported(connection: sa.Connection, stack_id: str, states: Mapping[str, NodeState]) -> None:
    """End the nodes of an imported stack: as DONE, or in the state given for the name."""
    ended = {"pending": 0, "outdated": False, "awaits_cleanup": False, "due": None}
    connection.execute(sa.update(t.nodes).where(_NODE.stack_id == stack_id).values(state=DONE, **ended))
    for name, state in states.items():
        connection.execute(sa.update(t.nodes).where(_NODE.stack_id == stack_id, _NODE.name == name).values(state=state))


@_transition(from_=(DONE,), to=(DONE,), keeps=("I5",), part=Part.ADMIN)
def lock_idle(connection: sa.Connection, node_id: int, version_id: int) -> bool:
    """Lock the row of an idle node by a write that changes nothing; return False if the node is not idle."""
    idle = connection.execute(
        sa.update(t.nodes)
        .where(_NODE.id == node_id, _NODE.resource_id == version_id, _NODE.state == DONE, _NODE.worker.is_(None))
        .values(state=DONE)
    )
    return bool(idle.rowcount)


@_transition(from_=(DONE,), to=(DONE,), keeps=("I2", "I5"), part=Part.ADMIN)
def hand_over(connection: sa.Connection, write: NodeWrite, stack_id: str, generation: int) -> None:
    """Give an idle node to another stack, with the definition that it has there."""
    definition = sealing.of(connection).seal(write.definition, "definition", write.id, stack_id)
    connection.execute(
        sa.update(t.nodes).where(_NODE.id == write.id)
        .values(stack_id=stack_id, name=write.name, definition=definition, digest=write.digest, generation=generation,
                fence=_NODE.fence + 1, **_IDLE))


_IDLE = {"pending": 0, "outdated": False, "awaits_cleanup": False, "worker": None, "lease_until": None, "due": None,
         "awaits": None, "reason": None}
_MIGRATE = bulk.Bulk(
    sa.update(t.nodes).where(_NODE.id == sa.bindparam("n_id"))
    .values(kind=int(NodeKind.UPDATE), state=sa.bindparam("n_state"), generation=sa.bindparam("n_generation"),
            resource_id=sa.bindparam("n_resource_id"), fence=_NODE.fence + 1),
    "n_state", "n_generation", "n_resource_id", "n_id",
)


@_transition(keeps=("I18",), part=Part.ADMIN)
def make_idle(connection: sa.Connection, node_ids: Collection[int]) -> None:
    """Clear counters, leases and times of nodes whose stack is migrated."""
    connection.execute(sa.update(t.nodes).where(rows.among(_NODE.id)).values(_IDLE), rows.ids(node_ids))


@_transition(from_=_IDLE_STATES, to=(DONE, FAILED, SKIPPED), keeps=("I18",), part=Part.ADMIN)
def migrate(connection: sa.Connection, writes: Sequence[NodeWrite], stack_id: str, generation: int) -> None:
    """Write the nodes of a migrated stack as a traversal that has just ended leaves them."""
    make_idle(connection, [write.id for write in writes])
    _MIGRATE(connection, ((int(w.state), generation, w.resource_id, w.id) for w in writes))
    define(connection, writes, stack_id)


@_transition(from_=_IDLE_STATES, to=(NO_ROW,), keeps=("I16",))
def delete(connection: sa.Connection, node_ids: Collection[int]) -> None:
    """Delete nodes that have no further part to play."""
    rows.delete_by_id(connection, _NODE.id, node_ids)


@_transition(from_=_IDLE_STATES, to=(NO_ROW,), keeps=("I16",))
def delete_empty(connection: sa.Connection, stack_id: str) -> None:
    """Delete clean-up nodes without a version."""
    connection.execute(sa.delete(t.nodes).where(
        _NODE.stack_id == stack_id, _NODE.kind == NodeKind.CLEANUP, _NODE.resource_id.is_(None)))


@_transition(from_=_IDLE_STATES, to=(NO_ROW,), keeps=("I5", "I8"))
def delete_where(connection: sa.Connection, conditions: Sequence[sa.ColumnElement[bool]]) -> None:
    """Delete the clean-up nodes of a version that becomes current again: their workers cannot begin any more."""
    connection.execute(sa.delete(t.nodes).where(*conditions))
