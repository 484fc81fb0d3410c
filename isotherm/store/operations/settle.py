"""Unit of work: record the ends of steps. Every step ends here, whatever its result (lesson A1 to lesson A4).

A report is *valid* if it carries the fence of the node's current lease: its version is written, and the lease ends. It is
*live* if its node is also still part of the report's traversal: then the counters of the successors go down, those that
reach zero are scheduled, and the last node ends the phase. A valid report that is not live is *stale*: a newer operation
has taken the node over, and waits only for the lease.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa
from msgspec.structs import replace

from isotherm.graph import plan as planning
from isotherm.states import (
    ENDED,
    ROLLED_BACK,
    UNFINISHED,
    Action,
    EdgeKind,
    NodeKind,
    NodeState,
    OperationState,
    Status,
)
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.operations import accept, finish, order, snapshots, stop, visit
from isotherm.store.records import Operation, Report
from isotherm.store.signals import hooks, signals
from isotherm.store.transitions import nodes, operations, versions
from isotherm.store.versions import shared_objects
from isotherm.store.watch import observations

_NODE = t.nodes.c
_SELECT = sa.select(_NODE.id, _NODE.name, _NODE.state, _NODE.generation, _NODE.fence, _NODE.outdated,
                    _NODE.awaits_cleanup).where(rows.among(_NODE.id))


class _Node(NamedTuple):
    """The columns of a node that decide whether a report is valid and live."""

    id: int
    name: str
    state: int
    generation: int
    fence: int
    outdated: bool
    awaits_cleanup: bool


@dataclass(slots=True)
class Ended:
    """A node that has ended in this transaction."""

    id: int
    failed: bool
    changed: bool = False


def reports(connection: sa.Connection, ended: Sequence[Report], new_id: str, now: float) -> None:
    """Record reports and everything that follows from them. `new_id` is the id of the first rollback that begins."""
    found = {row[0]: _Node(*row) for row in connection.execute(_SELECT, rows.ids(r.claim.node_id for r in ended))}
    valid = [r for r in ended if (row := found.get(r.claim.node_id)) is not None and row.fence == r.claim.fence]
    live: list[Report] = []
    stale: list[Report] = []
    for report in valid:
        row = found[report.claim.node_id]
        mine = row.state == NodeState.RUNNING and row.generation == report.claim.generation
        (live if mine else stale).append(report)
    counts = [late(r, row.name, row.state, row.generation) for r in stale
              if still_counts(r) and (row := found[r.claim.node_id])]
    record(connection, [*live, *counts], now)
    nodes.release(connection, [r.claim.node_id for r in stale], now)
    _write_nodes(connection, live, found, now)
    _propagate(connection, [r for r in live if r.state in (NodeState.DONE, NodeState.FAILED)], new_id, now)


def record(connection: sa.Connection, ended: Sequence[Report], now: float) -> None:
    """Write the versions, snapshot parts and events of reports, live or stale."""
    _write_versions(connection, ended, now)
    snapshots.keep(connection, ended, now)
    rows.insert_events(connection, (r.event for r in ended if r.event is not None), now)


def still_counts(report: Report) -> bool:
    """Return whether a stale report is recorded.

    Not if it only retains its object, or failed before it began: the newer operation may want the resource.
    """
    return not report.retained and not _is_new(report)


def late(report: Report, name: str, state: int, generation: int) -> Report:
    """Return a stale report as it is recorded.

    If its node has already ended, because the operation timed out, an action that is still in progress has failed with an
    unknown outcome; the physical id and data of the report are kept. A newer operation may have moved the node to another
    name.
    """
    report = _renamed(report, name)
    version = report.version
    if state not in ENDED or generation != report.claim.generation or version is None or version.intent is None:
        return report
    return replace(report, version=replace(
        version, status=Status.FAILED, reason=stop.aborted(version.action), intent=None, digest=None))


def _renamed(report: Report, name: str) -> Report:
    if name == report.claim.name:
        return report
    version = None if report.version is None else replace(report.version, name=name)
    return replace(report, version=version, event=None if report.event is None else replace(report.event, name=name))


def _is_new(report: Report) -> bool:
    """Return whether the report brings a new version, of a resource that failed before its first action began."""
    return report.version is not None and not report.version.id


def _write_versions(connection: sa.Connection, valid: Sequence[Report], now: float) -> None:
    """Write the versions of valid reports."""
    # Observations first: they were compared with the rows as they were.
    observations.record(connection, [r.observation for r in valid if r.observation is not None])
    versions.confirm(connection, [r.observation.resource_id for r in valid if r.observation is not None
                                  and r.claim.version is not None and r.claim.version.taken_up])
    _insert_versions(connection, [r for r in valid if _is_new(r)], now)
    changed = (r.version for r in valid if r.version is not None and not r.removed and not _is_new(r))
    versions.update(connection, changed, now)
    removed = [r.version.id for r in valid if r.removed and r.version is not None]
    if removed:
        versions.delete(connection, removed)
        signals.forget(connection, removed)
        observations.forget(connection, removed)
        nodes.detach(connection, ((v.stack_id, v.name, v.id) for r in valid if r.removed and (v := r.version) is not None))
    versions.distrust_older(connection, [r.version for r in valid if r.version is not None and _is_replacement(r)])
    right = [r.version.id for r in valid if r.version is not None and _corrects_drift(r)]
    observations.put_right(connection, right, now)
    _keep(connection, valid, now)


def _keep(connection: sa.Connection, valid: Sequence[Report], now: float) -> None:
    """List the retained objects, except those that another version holds."""
    retained = [(r.version, r.claim.operation.project) for r in valid if r.retained and r.version is not None]
    held = shared_objects.elsewhere(connection, retained)
    kept = [
        {"stack_id": v.stack_id, "name": v.name, "type": v.type, "physical_id": v.physical_id, "token": v.token,
         "created_at": now}
        for v, _ in retained if v.id not in held
    ]
    if kept:
        connection.execute(sa.insert(t.retained), kept)


def _insert_versions(connection: sa.Connection, failed: Sequence[Report], now: float) -> None:
    """Insert versions of resources that failed before their first action, so that the failure is shown."""
    if not failed:
        return
    new = [(r.claim.node_id, replace(r.version, id=id_)) for r, id_ in
           zip(failed, rows.take_ids(connection, len(failed)), strict=True) if r.version is not None]
    versions.create(connection, [version for _, version in new], now)
    nodes.attach(connection, ((version.id, node_id) for node_id, version in new))


def _is_replacement(report: Report) -> bool:
    """Return whether an object was created for a version that replaces another."""
    version = report.version
    return (version is not None and version.action is Action.CREATE and version.replaces is not None
            and version.physical_id is not None)


def _corrects_drift(report: Report) -> bool:
    """Return whether an update has just corrected drift that was observed before."""
    done = report.state is NodeState.DONE and report.event is not None and report.event.action is Action.UPDATE
    return done and report.claim.operation.converge and report.observation is None


_KINDS = {int(kind): kind for kind in NodeKind}
_COMES_BACK = frozenset({NodeState.WAITING, NodeState.SCHEDULED})


def _write_nodes(connection: sa.Connection, live: Sequence[Report], found: Mapping[int, _Node], now: float) -> None:
    writes = []
    waiting = [report for report in live if report.awaits]
    for report in waiting:
        if report.seen is None:
            stop.cancel_nested(connection, report.claim.operation.id, report.awaits, now)
    passed = already_happened(connection, waiting) | hooks.pause(connection, live, now)
    for report in live:
        node = found[report.claim.node_id]
        kind, state = visit.after_report(
            report.claim.kind, report.state, outdated=node.outdated, awaits_cleanup=node.awaits_cleanup)
        wake_at = now if report.claim.node_id in passed else max(now, (report.ended_at or now) + report.wake_in_s)
        due = wake_at if state in _COMES_BACK else None
        writes.append((report.claim.node_id, int(kind), int(state), due, report.reason or None, report.awaits or None))
    nodes.report(connection, writes)


def already_happened(connection: sa.Connection, waiting: Sequence[Report]) -> set[int]:
    """Return the nodes whose awaited operation has ended, or whose signal has come, before the wait was recorded (I10)."""
    ended = _ended_already(connection, [report.awaits for report in waiting if report.seen is None])
    taken = signals.counts(connection, {report.awaits for report in waiting if report.seen is not None})
    return {
        report.claim.node_id for report in waiting
        if (report.awaits in ended if report.seen is None else taken.get(report.awaits) != report.seen)
    }


def _ended_already(connection: sa.Connection, awaited: Sequence[str]) -> set[str]:
    """Return which of the awaited operations have already ended."""
    if not awaited:
        return set()
    op = t.operations.c
    running = sa.select(op.id).where(rows.among(op.id), op.state.in_(UNFINISHED))
    return set(awaited) - set(connection.execute(running, rows.ids(awaited)).scalars())


def _propagate(connection: sa.Connection, live: Sequence[Report], new_id: str, now: float) -> None:
    """Let the ends of nodes take effect, stack by stack."""
    by_stack: dict[str, list[Report]] = {}
    for report in live:
        by_stack.setdefault(report.claim.stack_id, []).append(report)
    if not by_stack:
        return
    current = rows.current_operations(connection, by_stack)
    for number, (stack_id, ended) in enumerate(by_stack.items()):
        _end_nodes(connection, current[stack_id], ended, _nth(new_id, number), now)


def _nth(new_id: str, number: int) -> str:
    """Return an id for each stack of a turn: several rollbacks may begin in one."""
    return str(uuid.UUID(int=(uuid.UUID(new_id).int + number) % (1 << 128))) if number else new_id


def _end_nodes(
    connection: sa.Connection, operation: Operation, ended: Sequence[Report], new_id: str, now: float
) -> None:
    """End the nodes of one stack: update successors, count down, and start a rollback or the next phase."""
    first = [Ended(r.claim.node_id, r.state is NodeState.FAILED, r.changed) for r in ended]
    count = len(first) + _end_dependants(connection, operation, first, now)
    remove_cleaned(connection, ended)
    failure = next((failure_of(operation, r) for r in ended if r.state is NodeState.FAILED), None)
    remaining = count_down(connection, operation, count, failure)
    if failure and rolls_back(operation):
        finish.fail(connection, operation, failure, now)
        accept.roll_back(connection, operation.stack_id, new_id, now, failure)
    elif remaining == 0:
        finish.next_phase(connection, operation.id, now)


def failure_of(operation: Operation, report: Report) -> str | None:
    """Return why the operation fails; None if it does not: after a failed resume, the plan decides what is needed."""
    if operation.state == OperationState.WAKING:
        return None
    action = report.event.action if report.event is not None else operation.action
    return f"Resource {action.name} failed: {report.reason}"


def rolls_back(operation: Operation) -> bool:
    """Return whether a failure now starts a rollback."""
    # Not a failed clean-up: the stack already is as the template says.
    return (
        not operation.disable_rollback
        and operation.failure is None
        and operation.state == OperationState.UPDATING
        and operation.action in ROLLED_BACK
    )


def count_down(connection: sa.Connection, operation: Operation, count: int, failure: str | None) -> int:
    """Count ended nodes and keep the first failure; return how many nodes remain."""
    operations.count_down(connection, operation.id, count, failure)
    return operation.remaining - count


def remove_cleaned(connection: sa.Connection, ended: Iterable[Report]) -> None:
    """Delete nodes that have deleted their versions."""
    gone = [r.claim.node_id for r in ended if r.claim.kind is NodeKind.CLEANUP and r.state is NodeState.DONE]
    if gone:
        order.delete_edges(connection, gone)
        nodes.delete(connection, gone)


@dataclass(slots=True)
class _Waiter:
    """A successor of nodes that have just ended."""

    kind: NodeKind
    pending: int
    outdated: bool
    skipped: bool = False

    @property
    def passes(self) -> bool:
        """Return whether the node ends at once, without a step."""
        return planning.passes(self.kind, self.pending, outdated=self.outdated)


_FOLLOW = (
    sa.select(t.edges.c.src, t.edges.c.dst, t.edges.c.kind, _NODE.kind, _NODE.pending, _NODE.outdated)
    .join(t.nodes, _NODE.id == t.edges.c.dst)
    .where(rows.among(t.edges.c.src), _NODE.state == NodeState.PENDING,
           _NODE.generation == sa.bindparam("generation"))
)
# Visits follow the edges of their own order, not the requirements of the template.
_FOLLOW_VISIT = _FOLLOW.where(t.edges.c.kind == int(EdgeKind.ORDER))


def _end_dependants(connection: sa.Connection, operation: Operation, ended: Sequence[Ended], now: float) -> int:
    """Update the successors of ended nodes, and theirs in turn; return how many ended without a step."""
    count = 0
    follow = _FOLLOW_VISIT if operation.visits else _FOLLOW
    frontier = {node.id: node for node in ended}
    while frontier:
        waiters: dict[int, _Waiter] = {}
        parameters = {**rows.ids(frontier), "generation": operation.generation}
        for src, dst, edge, kind, pending, outdated in connection.execute(follow, parameters):
            waiter = waiters.setdefault(dst, _Waiter(_KINDS[kind], pending, bool(outdated)))
            waiter.pending -= 1
            waiter.outdated |= frontier[src].changed
            waiter.skipped |= frontier[src].failed and edge != EdgeKind.SOFT
        nodes.follow(connection, ((id_, _state(w), w.pending, w.outdated) for id_, w in waiters.items()), now)
        frontier = {id_: Ended(id_, w.skipped) for id_, w in waiters.items() if w.skipped or w.passes}
        count += len(frontier)
    return count


def _state(waiter: _Waiter) -> NodeState:
    if waiter.skipped:
        return NodeState.SKIPPED
    if waiter.pending:
        return NodeState.PENDING
    return NodeState.DONE if waiter.passes else NodeState.SCHEDULED
