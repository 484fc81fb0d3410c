"""Units of work of the legacy path: an engine that holds a stack's lock walks its graph, and records each node.

Plans, versions and events are the same as under convergence. Nodes never fall due: the engine knows in memory which is
next. Each unit checks the lock first: an engine that has lost the stack changes no row (I5). The result of a step for a
superseded operation is recorded all the same: its object exists.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
import sqlalchemy as sa

from isotherm import errors
from isotherm.states import UNFINISHED, EdgeKind, NodeKind, NodeState, OperationState
from isotherm.store import locks, rows
from isotherm.store import tables as t
from isotherm.store.locks import Lock
from isotherm.store.operations import accept, finish, settle, stop, visit
from isotherm.store.queue import choose, claim
from isotherm.store.records import Beginning, Begun, Claim, Edge, Operation, Report
from isotherm.store.signals import hooks
from isotherm.store.transitions import nodes, operations

_NODE, _OP = t.nodes.c, t.operations.c


class PhaseNode(msgspec.Struct, frozen=True, gc=False):
    """A node of the phase that has not ended."""

    id: int
    kind: NodeKind
    outdated: bool


class Phase(msgspec.Struct, frozen=True, gc=False):
    """The nodes of the current phase that have not ended, and the edges between them."""

    operation: Operation
    nodes: list[PhaseNode] = []
    edges: list[Edge] = []

    @property
    def planned(self) -> bool:
        return self.operation.state != OperationState.PLANNING


class NodeChanges(msgspec.Struct, frozen=True, gc=False):
    """The consequences of the end of a node: nodes that end without a step, and nodes that have become outdated."""

    ended: Mapping[int, NodeState] = {}
    outdated: Collection[int] = ()


def phase(connection: sa.Connection, lock: Lock, now: float) -> Phase | None:
    """Return the current phase; None if nothing is left to do: then the lock is released."""
    operation = rows.operation(connection, locks.hold(connection, lock))
    if operation is not None and operation.state in UNFINISHED and operation.fence not in (0, lock.fence):
        # Another engine had begun the operation, and is gone.
        stop.break_off(connection, operation, f"Engine went down during stack {operation.action.name}", now)
        operation = None
    if operation is None or operation.state not in UNFINISHED:
        locks.release(connection, lock)
        return None
    operations.set_engine(connection, operation.id, lock.fence)
    if operation.state == OperationState.PLANNING:
        return Phase(operation)
    found = _unended(connection, operation)
    return Phase(operation, found, _edges(connection, operation, [one.id for one in found]))


def _unended(connection: sa.Connection, operation: Operation) -> list[PhaseNode]:
    found = connection.execute(
        sa.select(_NODE.id, _NODE.kind, _NODE.outdated)
        .where(_NODE.stack_id == operation.stack_id, _NODE.generation == operation.generation,
               _NODE.state.in_(nodes.UNENDED),
               # Dropped resources are held back until clean-up plans them.
               sa.or_(_NODE.kind != NodeKind.CLEANUP, _NODE.awaits_cleanup == sa.false()))
        .order_by(_NODE.id)
    )
    return [PhaseNode(id_, NodeKind(kind), bool(outdated)) for id_, kind, outdated in found]


def _edges(connection: sa.Connection, operation: Operation, node_ids: Collection[int]) -> list[Edge]:
    """Return the edges between these nodes. Visits follow their own order only."""
    edge, known = t.edges.c, set(node_ids)
    visits = edge.kind == EdgeKind.ORDER if operation.visits else sa.true()
    query = sa.select(edge.src, edge.dst, edge.kind).where(rows.among(edge.dst), visits)
    return [Edge(src, dst, EdgeKind(kind)) for src, dst, kind in connection.execute(query, rows.ids(known)) if src in known]


def may_take(
    connection: sa.Connection, lock: Lock, operation: Operation, node_id: int, most: int, now: float
) -> bool:
    """Return whether the project has fewer than `most` running steps. If not, write the reason into the node."""
    _current(connection, lock, operation.id)
    if choose.running(connection, now).get(operation.project, 0) < most:
        return True
    choose.hold_back(connection, [node_id], most)
    return False


def take(
    connection: sa.Connection, lock: Lock, operation: Operation, node_id: int, until: float, now: float
) -> Claim | None:
    """Take a node, and return its claim; None if it was skipped meanwhile."""
    _current(connection, lock, operation.id)
    taken = nodes.claim_legacy(connection, node_id, operation.generation)
    return claim.load(connection, [node_id], until, now)[0] if taken else None


def begin(connection: sa.Connection, lock: Lock, beginning: Beginning, now: float) -> Begun:
    """Store an intent, or refuse it. Raises Superseded if a newer operation was accepted."""
    _current(connection, lock, beginning.claim.operation.id)
    counted = claim.begin(connection, [beginning], now)
    if not counted:
        raise errors.Superseded(beginning.claim.stack_id)
    return counted[beginning.claim.key]


def _current(connection: sa.Connection, lock: Lock, operation_id: str) -> None:
    if locks.hold(connection, lock) != operation_id:
        raise errors.Superseded(operation_id)


def record(
    connection: sa.Connection, lock: Lock, report: Report, changes: NodeChanges, new_id: str, now: float
) -> bool | None:
    """Record how a step ended; return whether what it waits for has already happened. None: the report is stale.

    `new_id` is the id of a rollback, should one begin.
    """
    wanted, mine = locks.hold(connection, lock), report.claim
    row = connection.execute(
        sa.select(_NODE.name, _NODE.state, _NODE.generation, _NODE.fence, _NODE.outdated, _NODE.awaits_cleanup)
        .where(_NODE.id == mine.node_id)
    ).one_or_none()
    if row is None or row.fence != mine.fence:
        return None
    overtaken = row.state != NodeState.RUNNING or row.generation != mine.generation or wanted != mine.operation.id
    if not overtaken:
        settle.record(connection, [report], now)
    elif settle.still_counts(report):
        settle.record(connection, [settle.late(report, row.name, row.state, row.generation)], now)
    if overtaken:
        nodes.release(connection, [mine.node_id], now)
        return None
    kind, state = visit.after_report(
        report.claim.kind, report.state, outdated=row.outdated, awaits_cleanup=row.awaits_cleanup)
    over = _write_node(connection, report, kind, state, now)
    if report.state in (NodeState.DONE, NodeState.FAILED):
        _end(connection, report, changes, new_id, now)
    return over


def _write_node(connection: sa.Connection, report: Report, kind: NodeKind, state: NodeState, now: float) -> bool:
    over = bool(hooks.pause(connection, [report], now))
    if report.awaits:
        if report.seen is None:
            stop.cancel_nested(connection, report.claim.operation.id, report.awaits, now)
        over = over or bool(settle.already_happened(connection, [report]))
    if state is NodeState.SCHEDULED:
        state = NodeState.PENDING
    nodes.report_legacy(connection, report.claim.node_id, kind, state, report.reason or None, report.awaits or None)
    return over


def _end(connection: sa.Connection, report: Report, changes: NodeChanges, new_id: str, now: float) -> None:
    operation = rows.operation(connection, report.claim.operation.id)
    if operation is None:
        raise errors.Superseded(report.claim.stack_id)
    settle.remove_cleaned(connection, [report])
    count = 1 + _follow(connection, operation, changes)
    failure = settle.failure_of(operation, report) if report.state is NodeState.FAILED else None
    settle.count_down(connection, operation, count, failure)
    if failure and settle.rolls_back(operation):
        finish.fail(connection, operation, failure, now)
        accept.roll_back(connection, operation.stack_id, new_id, now, failure)


def follow(connection: sa.Connection, lock: Lock, operation: Operation, changes: NodeChanges) -> None:
    """End nodes without a step."""
    _current(connection, lock, operation.id)
    settle.count_down(connection, operation, _follow(connection, operation, changes), None)


def _follow(connection: sa.Connection, operation: Operation, changes: NodeChanges) -> int:
    if changes.outdated:
        nodes.mark_outdated(connection, changes.outdated, operation.generation)
    count = 0
    for state in set(changes.ended.values()):
        ids = [id_ for id_, one in changes.ended.items() if one is state]
        count += nodes.follow_legacy(connection, ids, operation.generation, state)
    return count


def end_phase(connection: sa.Connection, lock: Lock, operation: Operation, now: float) -> None:
    """Start the next phase or close the operation: all nodes of this phase have ended."""
    _current(connection, lock, operation.id)
    finish.next_phase(connection, operation.id, now)


def give_up(connection: sa.Connection, lock: Lock, operation: Operation, failure: str, now: float) -> None:
    """Fail an operation that cannot be walked."""
    _current(connection, lock, operation.id)
    present = rows.operation(connection, operation.id)
    if present is not None and present.state in UNFINISHED:
        stop.break_off(connection, present, failure, now)


def hand_on(connection: sa.Connection, lock: Lock, now: float) -> None:
    """Hand the operation on to another engine: this one shuts down."""
    operation_id = locks.hold(connection, lock)
    operations.set_engine(connection, operation_id, 0)
    locks.hand_on(connection, lock, now)


class WalkNews(msgspec.Struct, frozen=True, gc=False):
    """The state of an operation whose nodes all wait, as its engine needs it."""

    # A newer operation was accepted, or this one has ended.
    superseded: bool
    cancelled: bool
    # Nodes whose wait is over.
    ready: frozenset[int] = frozenset()


def read_news(connection: sa.Connection, lock: Lock, operation: Operation, waiting: Sequence[Report]) -> WalkNews:
    """Read whether the operation is superseded or cancelled, and which of the waiting nodes are ready."""
    wanted = locks.hold(connection, lock)
    row = connection.execute(sa.select(_OP.state, _OP.cancelled).where(_OP.id == operation.id)).one_or_none()
    if row is None or wanted != operation.id or row.state not in UNFINISHED:
        return WalkNews(True, False)
    ready = settle.already_happened(connection, [report for report in waiting if report.awaits])
    paused = [report for report in waiting if report.pause is not None]
    if paused:
        ready |= {node_id for node_id, of in hooks.cleared(connection, [r.claim.node_id for r in paused])
                  if of == operation.id}
    return WalkNews(False, bool(row.cancelled), frozenset(ready))
