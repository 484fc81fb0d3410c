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
from isotherm.states import DeletionPolicy, EdgeKind, NodeKind, NodeState, OperationState
from isotherm.store import rows, scheduling
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.operations import finish, order, visit
from isotherm.store.records import Edge, NodeWrite, Operation, Wanted
from isotherm.store.transitions import nodes, operations, versions
from isotherm.store.versions import current, superseded
from isotherm.store.versions.current import Slot


def write(
    connection: sa.Connection, operation_id: str, wanted: Sequence[Wanted], now: float,
    drifted: Collection[str] | None = None,
) -> None:
    """Plan the operation and start it; raises Superseded if it is no longer the newest.

    Suspended resources are resumed first, and the plan is written when that has ended.

    An operation that observes reality visits every resource; with `drifted`, only these and their dependants.
    """
    operation = rows.operation(connection, operation_id)
    if operation is None or operation.state != OperationState.PLANNING:
        raise errors.Superseded(operation_id)
    order.clear(connection, operation.stack_id)
    present = current.of(connection, operation.stack_id)
    if drifted is None and visit.wake(connection, operation, present, {w.name for w in wanted}, now):
        # The rest of the plan waits; deletion policies do not, since an operation may come before it.
        _keep_policies(connection, operation, [w for w in wanted if w.name in present])
        return
    left = superseded.of(connection, operation.stack_id)
    # A name whose current version was deleted has no node, but may have superseded versions.
    present |= current.add(connection, operation, [w.name for w in wanted if w.name in left and w.name not in present])
    wanted = sealing.with_digests(connection, wanted, _digests(present, left))
    moved = superseded.take_up(connection, present, left, wanted)
    asked = {w.name for w in wanted if operation.converge or w.always} if drifted is None else set(drifted)
    changed = [
        w for w in wanted
        if w.name in asked or (slot := present.get(w.name)) is None or w.name in moved or not slot.proves(w.digest)
    ]
    names = {w.name for w in wanted}
    doomed = [slot for slot in present.values() if slot.name not in names]
    remaining = 0
    if changed:
        remaining = _Writer(connection, operation, present, now).update(wanted, changed)
    _drop(connection, operation, doomed)
    if wanted and doomed and (operation.disable_rollback or operation.action.name == "ROLLBACK"):
        remaining += finish.clean_up_first(connection, operation, doomed={slot.id for slot in doomed}, now=now)
    operations.start(connection, operation_id, OperationState.UPDATING, remaining)
    if not remaining:
        finish.next_phase(connection, operation_id, now)
    else:
        scheduling.of(operation.convergence).start_phase(connection, operation.stack_id)


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

    def update(self, wanted: Sequence[Wanted], changed: Sequence[Wanted]) -> int:
        """Write nodes for what changed and its dependants; return how many."""
        graph = DependencyTaskGraph[str]({w.name: w.requires for w in wanted})
        visits = planning.update(graph, (w.name for w in changed))
        ids = {slot.name: slot.id for slot in self._slots.values()}
        born = [w.name for w in changed if w.name not in ids]
        ids.update(zip(born, rows.take_ids(self._connection, len(born)) if born else (), strict=True))
        writes = [self._node(w, ids[w.name], visits) for w in wanted if w.name in visits.pending]
        nodes.insert(self._connection, [w for w in writes if w.name not in self._slots], self._operation, self._now)
        self._rewrite([w for w in writes if w.name in self._slots])
        self._rewire(changed, ids)
        _keep_policies(self._connection, self._operation, [w for w in changed if w.name in self._slots])
        return len(writes)

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
