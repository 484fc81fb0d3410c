"""Unit of work: steps have ended, in whatever way. The one place that every exit passes (lesson A1 to lesson A4).

A report counts if it carries the fence of the node's present lease: then its row is written and the lease is free. Only
if the node is also still part of the report's traversal does its end mean anything to others: counters go down, what
reaches zero is scheduled, and the last one ends the phase. If a newer operation has taken the node over, freeing the
lease is all that it waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa
from msgspec.structs import replace

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
_SELECT = sa.select(_NODE.id, _NODE.state, _NODE.generation, _NODE.fence, _NODE.outdated, _NODE.awaits_cleanup).where(
    rows.among(_NODE.id))


class _Node(NamedTuple):
    """What decides whether a report counts, and what it counts for."""

    id: int
    state: int
    generation: int
    fence: int
    outdated: bool
    awaits_cleanup: bool


@dataclass(slots=True)
class Ended:
    """A node that has come to its end in this transaction."""

    id: int
    failed: bool
    changed: bool = False


def reports(connection: sa.Connection, ended: Sequence[Report], new_id: str, now: float) -> None:
    """Record how steps ended, and everything that follows from it. `new_id` is for a rollback, should one begin."""
    found = {row[0]: _Node(*row) for row in connection.execute(_SELECT, rows.ids(r.claim.node_id for r in ended))}
    valid = [r for r in ended if (row := found.get(r.claim.node_id)) is not None and row.fence == r.claim.fence]
    live: list[Report] = []
    stale: list[Report] = []
    for report in valid:
        row = found[report.claim.node_id]
        mine = row.state == NodeState.RUNNING and row.generation == report.claim.generation
        (live if mine else stale).append(report)
    counts = [late(r, found[r.claim.node_id].state, found[r.claim.node_id].generation) for r in stale if still_counts(r)]
    record(connection, [*live, *counts], now)
    nodes.release(connection, [r.claim.node_id for r in stale], now)
    _write_nodes(connection, live, found, now)
    _propagate(connection, [r for r in live if r.state in (NodeState.DONE, NodeState.FAILED)], new_id, now)


def record(connection: sa.Connection, ended: Sequence[Report], now: float) -> None:
    """What steps have done, whoever wanted it done."""
    _write_versions(connection, ended, now)
    snapshots.keep(connection, ended, now)
    rows.insert_events(connection, (r.event for r in ended if r.event is not None), now)


def still_counts(report: Report) -> bool:
    """Whether it is recorded although a newer operation has taken over: what was done was done. What was only to be given
    up is as it was, and perhaps the newer operation wants it."""
    return not report.retained and not _is_new(report)


def late(report: Report, state: int, generation: int) -> Report:
    """Return the report as it is recorded when its node has ended before it: the clock has stopped the operation.

    What is still under way then has failed, and its outcome is unknown; what the step has learned of the object is kept.
    """
    version = report.version
    if state not in ENDED or generation != report.claim.generation or version is None or version.intent is None:
        return report
    return replace(report, version=replace(
        version, status=Status.FAILED, reason=stop.aborted(version.action), intent=None, digest=None))


def _is_new(report: Report) -> bool:
    """Whether the report brings a row of a resource that failed before anything was begun."""
    return report.version is not None and not report.version.id


def _write_versions(connection: sa.Connection, valid: Sequence[Report], now: float) -> None:
    """The rows of the resources, as their steps have left them."""
    # First: what was seen was compared with the rows as they were.
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
    versions.distrust_older(connection, [r.version for r in valid if r.version is not None and _takes_a_place(r)])
    right = [r.version.id for r in valid if r.version is not None and _puts_right(r)]
    observations.put_right(connection, right, now)
    _keep(connection, valid, now)


def _keep(connection: sa.Connection, valid: Sequence[Report], now: float) -> None:
    """List what was left in the cloud on purpose, except where another version has it."""
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
    """Insert the rows of resources that failed before anything was begun, so that they show it."""
    if not failed:
        return
    new = [(r.claim.node_id, replace(r.version, id=id_)) for r, id_ in
           zip(failed, rows.take_ids(connection, len(failed)), strict=True) if r.version is not None]
    versions.create(connection, [version for _, version in new], now)
    nodes.attach(connection, ((version.id, node_id) for node_id, version in new))


def _takes_a_place(report: Report) -> bool:
    """Whether an object was made for a version that replaces another."""
    version = report.version
    return (version is not None and version.action is Action.CREATE and version.replaces is not None
            and version.physical_id is not None)


def _puts_right(report: Report) -> bool:
    """Whether reality was just made what the row says, after a look at it."""
    done = report.state is NodeState.DONE and report.event is not None and report.event.action is Action.UPDATE
    return done and report.claim.operation.converge and report.observation is None


_COMES_BACK = frozenset({NodeState.WAITING, NodeState.SCHEDULED})


def _write_nodes(connection: sa.Connection, live: Sequence[Report], found: Mapping[int, _Node], now: float) -> None:
    writes = []
    waiting = [report for report in live if report.awaits]
    for report in waiting:
        if report.seen is None:
            stop.cancel_inside(connection, report.claim.operation.id, report.awaits, now)
    passed = over(connection, waiting) | hooks.pause(connection, live, now)
    for report in live:
        node = found[report.claim.node_id]
        kind, state = visit.after_report(
            report.claim.kind, report.state, outdated=node.outdated, awaits_cleanup=node.awaits_cleanup)
        wake_at = now if report.claim.node_id in passed else max(now, (report.ended_at or now) + report.wake_in_s)
        due = wake_at if state in _COMES_BACK else None
        writes.append((report.claim.node_id, int(kind), int(state), due, report.reason or None, report.awaits or None))
    nodes.report(connection, writes)


def over(connection: sa.Connection, waiting: Sequence[Report]) -> set[int]:
    """Of the nodes that are to wait for something: those for which it has happened before they could say so."""
    ended = _ended_already(connection, [report.awaits for report in waiting if report.seen is None])
    taken = signals.counts(connection, {report.awaits for report in waiting if report.seen is not None})
    return {
        report.claim.node_id for report in waiting
        if (report.awaits in ended if report.seen is None else taken.get(report.awaits) != report.seen)
    }


def _ended_already(connection: sa.Connection, awaited: Sequence[str]) -> set[str]:
    """Of the operations that somebody wants to wait for: those that have ended before he could say so."""
    if not awaited:
        return set()
    op = t.operations.c
    running = sa.select(op.id).where(rows.among(op.id), op.state.in_(UNFINISHED))
    return set(awaited) - set(connection.execute(running, rows.ids(awaited)).scalars())


def _propagate(connection: sa.Connection, live: Sequence[Report], new_id: str, now: float) -> None:
    by_stack: dict[str, list[Report]] = {}
    for report in live:
        by_stack.setdefault(report.claim.stack_id, []).append(report)
    if not by_stack:
        return
    current = rows.current_operations(connection, by_stack)
    for stack_id, ended in by_stack.items():
        _end_nodes(connection, current[stack_id], ended, new_id, now)


def _end_nodes(
    connection: sa.Connection, operation: Operation, ended: Sequence[Report], new_id: str, now: float
) -> None:
    first = [Ended(r.claim.node_id, r.state is NodeState.FAILED, r.changed) for r in ended]
    count = len(first) + _wave(connection, operation, first, now)
    remove_cleaned(connection, ended)
    failure = next((failure_of(operation, r) for r in ended if r.state is NodeState.FAILED), None)
    remaining = count_down(connection, operation, count, failure)
    if failure and rolls_back(operation):
        finish.fail(connection, operation, failure, now)
        accept.roll_back(connection, operation.stack_id, new_id, now, failure)
    elif remaining == 0:
        finish.next_phase(connection, operation.id, now)


def failure_of(operation: Operation, report: Report) -> str | None:
    """Why the operation fails. That something cannot be woken is no reason: what it needs instead is decided then."""
    if operation.state == OperationState.WAKING:
        return None
    action = report.event.action if report.event is not None else operation.action
    return f"Resource {action.name} failed: {report.reason}"


def rolls_back(operation: Operation) -> bool:
    """Whether a failure now is the beginning of a rollback."""
    # A clean-up that fails leaves a stack that already is what the template says: going back would only do harm.
    return (
        not operation.disable_rollback
        and operation.failure is None
        and operation.state == OperationState.UPDATING
        and operation.action in ROLLED_BACK
    )


def count_down(connection: sa.Connection, operation: Operation, count: int, failure: str | None) -> int:
    """So many nodes have ended; answers how many are left."""
    operations.count_down(connection, operation.id, count, failure)
    return operation.remaining - count


def remove_cleaned(connection: sa.Connection, ended: Iterable[Report]) -> None:
    """A node that has deleted its version has no further part to play."""
    gone = [r.claim.node_id for r in ended if r.claim.kind is NodeKind.CLEANUP and r.state is NodeState.DONE]
    if gone:
        order.delete_edges(connection, gone)
        nodes.delete(connection, gone)


@dataclass(slots=True)
class _Waiter:
    """A node that waits for some that have just ended."""

    kind: int
    pending: int
    outdated: bool
    skipped: bool = False

    @property
    def passes(self) -> bool:
        """Ready, but there is nothing to look at: it ends at once, without a worker."""
        idle = self.kind == NodeKind.BARRIER or (self.kind == NodeKind.UPDATE and not self.outdated)
        return not self.pending and idle


_FOLLOW = (
    sa.select(t.edges.c.src, t.edges.c.dst, t.edges.c.kind, _NODE.kind, _NODE.pending, _NODE.outdated)
    .join(t.nodes, _NODE.id == t.edges.c.dst)
    .where(rows.among(t.edges.c.src), _NODE.state == NodeState.PENDING,
           _NODE.generation == sa.bindparam("generation"))
)
# A visit has an order of its own; what the template requires of others says nothing about it.
_FOLLOW_VISIT = _FOLLOW.where(t.edges.c.kind == int(EdgeKind.ORDER))


def _wave(connection: sa.Connection, operation: Operation, ended: Sequence[Ended], now: float) -> int:
    """Tell those who wait; answers how many of them ended at once, because nothing is left for them to do."""
    count = 0
    follow = _FOLLOW_VISIT if operation.visits else _FOLLOW
    wave = {node.id: node for node in ended}
    while wave:
        waiters: dict[int, _Waiter] = {}
        parameters = {**rows.ids(wave), "generation": operation.generation}
        for src, dst, edge, kind, pending, outdated in connection.execute(follow, parameters):
            waiter = waiters.setdefault(dst, _Waiter(kind, pending, bool(outdated)))
            waiter.pending -= 1
            waiter.outdated |= wave[src].changed
            waiter.skipped |= wave[src].failed and edge != EdgeKind.SOFT
        nodes.follow(connection, ((id_, _state(w), w.pending, w.outdated) for id_, w in waiters.items()), now)
        wave = {id_: Ended(id_, w.skipped) for id_, w in waiters.items() if w.skipped or w.passes}
        count += len(wave)
    return count


def _state(waiter: _Waiter) -> NodeState:
    if waiter.skipped:
        return NodeState.SKIPPED
    if waiter.pending:
        return NodeState.PENDING
    return NodeState.DONE if waiter.passes else NodeState.SCHEDULED
