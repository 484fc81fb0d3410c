"""Unit of work: write the nodes and edges of a traversal, in proportion to what changes.

A resource is visited unless its row proves that the wanted definition was applied: the digest of what was last applied, a
COMPLETE status, no open intent, and a node that is DONE. Nothing else is proof, least of all what an earlier plan intended
(lesson A10).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from isotherm import errors
from isotherm.graph import plan as planning
from isotherm.graph.graph import DependencyTaskGraph
from isotherm.states import ENDED, DeletionPolicy, EdgeKind, NodeKind, NodeState, OperationState
from isotherm.store import rows, scheduling
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.operations import finish, order, visit
from isotherm.store.records import Edge, NodeWrite, Operation, Wanted
from isotherm.store.transitions import nodes, operations, versions
from isotherm.store.versions import current, protection, superseded
from isotherm.store.versions.current import Slot


def write(
    connection: sa.Connection, operation_id: str, wanted: Sequence[Wanted], now: float,
    drifted: Collection[str] | None = None,
) -> None:
    """Plan the operation and start it; raises Superseded if it is no longer the newest.

    Suspended resources are resumed first, and the plan is written when that has ended.

    An operation that observes reality visits every resource; with `drifted`, only these and their dependants. A limited
    operation visits what its scope includes, and the resources that an older operation has begun to change.
    """
    operation = rows.operation(connection, operation_id)
    if operation is None or operation.state != OperationState.PLANNING:
        raise errors.Superseded(operation_id)
    order.clear(connection, operation.stack_id)
    present = current.of(connection, operation.stack_id)
    everything, wanted = wanted, _within(operation, wanted, present)
    if drifted is None:
        # A repair is no word of the user's: what was unprotected stays so.
        protection.keep(connection, operation, wanted)
    if drifted is None and visit.wake(connection, operation, present, {w.name for w in wanted}, now):
        # The rest of the plan waits; deletion policies do not, since an operation may come before it.
        _keep_policies(connection, operation, [w for w in wanted if w.name in present])
        return
    left = superseded.of(connection, operation.stack_id)
    # A name whose current version was deleted has no node, but may have superseded versions.
    present |= current.add(connection, operation, [w.name for w in wanted if w.name in left and w.name not in present])
    wanted = sealing.with_digests(connection, wanted, _digests(present, left))
    moved = superseded.take_up(connection, present, left, wanted, operation)
    asked = {w.name for w in wanted if operation.converge or w.always} if drifted is None else set(drifted)
    changed = [
        w for w in wanted
        if w.name in asked or (slot := present.get(w.name)) is None or w.name in moved or not slot.proves(w.digest)
    ]
    names = {w.name for w in everything}
    unwanted = [slot for slot in present.values() if slot.name not in names and _is_dropped(operation, slot)]
    visited = _Writer(connection, operation, present, now).update(wanted, changed) if changed else set[str]()
    remaining = len(visited)
    _drop(connection, operation, unwanted)
    if operation.limited:
        _leave(connection, everything, present, {*visited, *(slot.name for slot in unwanted)})
    if wanted and unwanted and (operation.disable_rollback or operation.action.name == "ROLLBACK"):
        remaining += finish.clean_up_first(connection, operation, unwanted={slot.id for slot in unwanted}, now=now)
    operations.start(connection, operation_id, OperationState.UPDATING, remaining)
    if not remaining:
        finish.next_phase(connection, operation_id, now)
    else:
        scheduling.of(operation.convergence).start_phase(connection, operation.stack_id)


def _within(operation: Operation, wanted: Sequence[Wanted], present: Mapping[str, Slot]) -> Sequence[Wanted]:
    """Return the wanted resources that the operation may visit.

    Besides its scope: what an older operation has begun to change, with all that it needs. It must not stay half done.
    """
    if operation.scope is None or not operation.scope.limits:
        return wanted
    names, requires = operation.scope.names, {w.name: w.requires for w in wanted}
    begun = [name for name, slot in present.items() if slot.intent and name in requires and name not in names]
    needed = DependencyTaskGraph[str](requires).needs(begun)
    return [w for w in wanted if w.name in names or w.name in needed]


def _is_dropped(operation: Operation, slot: Slot) -> bool:
    """Return whether the operation deletes a resource that the template does not have."""
    return operation.scope is None or not operation.scope.limits or slot.intent or slot.name in operation.scope.names


def _leave(
    connection: sa.Connection, wanted: Sequence[Wanted], present: Mapping[str, Slot], visited: set[str]
) -> None:
    """Mark the resources that are left out and not proven up to date: those that read what is changed, or never ended."""
    readers = {w.name for w in wanted if w.name not in visited and not visited.isdisjoint(w.requires)}
    nodes.leave_out(connection, [slot.id for slot in present.values() if slot.name not in visited and (
        slot.state not in ENDED or (slot.name in readers and slot.state == NodeState.DONE))])


def _digests(
    present: Mapping[str, Slot], left: Mapping[str, Sequence[superseded.SupersededVersion]]
) -> dict[str, set[str | None]]:
    """Return the digests of all versions by name."""
    found = {name: {slot.digest} for name, slot in present.items()}
    for name, older in left.items():
        found.setdefault(name, set()).update(version.digest for version in older)
    return found


def recognised(connection: sa.Connection, stack_id: str, wanted: Sequence[Wanted]) -> list[Wanted]:
    """Return what is wanted with digests that can be compared with those of the rows."""
    return list(sealing.with_digests(connection, wanted, _digests(current.of(connection, stack_id), {})))


class _Writer:
    """Writes the update half of a plan."""

    def __init__(self, connection: sa.Connection, operation: Operation, present: Mapping[str, Slot], now: float) -> None:
        self._connection = connection
        self._operation = operation
        self._slots = present
        self._now = now

    def update(self, wanted: Sequence[Wanted], changed: Sequence[Wanted]) -> set[str]:
        """Write nodes for what changed and its dependants; return their names."""
        graph = DependencyTaskGraph[str]({w.name: w.requires for w in wanted})
        visits = planning.update(graph, (w.name for w in changed))
        ids = {slot.name: slot.id for slot in self._slots.values()}
        made = [w.name for w in changed if w.name not in ids]
        ids.update(zip(made, rows.take_ids(self._connection, len(made)) if made else (), strict=True))
        writes = [self._node(w, ids[w.name], visits) for w in wanted if w.name in visits.pending]
        nodes.insert(self._connection, [w for w in writes if w.name not in self._slots], self._operation, self._now)
        self._rewrite([w for w in writes if w.name in self._slots])
        self._rewire(changed, ids)
        _keep_policies(self._connection, self._operation, [w for w in changed if w.name in self._slots])
        return {write.name for write in writes}

    def _node(self, want: Wanted, id_: int, visits: planning.Visits) -> NodeWrite:
        pending = visits.pending[want.name]
        state = NodeState.PENDING if pending else NodeState.SCHEDULED
        return NodeWrite(id_, want.name, NodeKind.UPDATE, state, pending, want.name in visits.changed,
                         definition=want.definition, digest=want.digest)

    def _rewrite(self, writes: Sequence[NodeWrite]) -> None:
        nodes.plan(self._connection, writes, self._operation.generation, self._now)
        nodes.define(self._connection, writes, self._operation.stack_id)

    def _rewire(self, changed: Sequence[Wanted], ids: Mapping[str, int]) -> None:
        """Replace the edges that lead to changed resources."""
        old = [ids[w.name] for w in changed if w.name in self._slots]
        rows.delete_by_id(self._connection, t.edges.c.dst, old)
        new = (Edge(ids[need], ids[w.name], EdgeKind.REQUIRES) for w in changed for need in w.requires)
        rows.insert_edges(self._connection, new)


def _keep_policies(connection: sa.Connection, operation: Operation, present: Sequence[Wanted]) -> None:
    """Write deletion policies: each holds from its acceptance on, for every version of the name (I17)."""
    for policy in DeletionPolicy:
        names = [w.name for w in present if w.deletion_policy is policy]
        if names:
            versions.set_policy(connection, operation.stack_id, names, policy)


def _drop(connection: sa.Connection, operation: Operation, dropped: Sequence[Slot]) -> None:
    """Hold back the nodes that the template no longer has, until their clean-up is planned."""
    if not dropped:
        return
    held = [NodeWrite(slot.id, slot.name, NodeKind.CLEANUP, NodeState.PENDING, 1, awaits_cleanup=True) for slot in dropped]
    nodes.plan(connection, held, operation.generation, 0.0)
    gone = [slot.id for slot in dropped]
    rows.delete_by_id(connection, t.edges.c.dst, gone)
    rows.delete_by_id(connection, t.edges.c.src, gone)
