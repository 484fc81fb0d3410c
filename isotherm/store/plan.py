"""Unit of work: the nodes and edges of a traversal are written, in proportion to what changes.

A resource is visited when its row does not prove that reality has the wanted definition: the digest of what was last
applied, a COMPLETE status, no open intent, and a node that ended well. Nothing else counts as proof, least of all what an
earlier plan intended (lesson A10).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from isotherm import errors
from isotherm.graph import plan as planning
from isotherm.graph.graph import DependencyTaskGraph
from isotherm.states import DeletionPolicy, EdgeKind, NodeKind, NodeState, OperationState, Status
from isotherm.store import accept, finish, nodes, rows, sealing
from isotherm.store import tables as t
from isotherm.store.records import Edge, NodeWrite, Operation, Wanted


class Slot(NamedTuple):
    """A node as it is, with what its row proves."""

    id: int
    name: str
    kind: int
    state: int
    resource_id: int | None
    status: int | None
    digest: str | None
    intent: bool
    suspended: bool | None

    def proves(self, digest: str) -> bool:
        return (
            self.digest == digest and self.state == NodeState.DONE and self.kind == NodeKind.UPDATE
            and self.status == Status.COMPLETE and not self.intent and not self.suspended
        )


@dataclass(frozen=True, slots=True)
class Spare:
    """A version that no node stands for: to be deleted, or taken up again if it is just what is wanted (S2.14)."""

    id: int
    digest: str | None
    usable: bool


def write(
    connection: sa.Connection, operation_id: str, wanted: Sequence[Wanted], now: float,
    drifted: Collection[str] | None = None,
) -> None:
    """Plan the operation and start it; raises Superseded if it is not the newest any more.

    An operation that looks at reality looks at everything; with `drifted`, at these and what depends on them.
    """
    operation = rows.operation(connection, operation_id)
    if operation is None or operation.state != OperationState.PLANNING:
        raise errors.Superseded(operation_id)
    nodes.clear_order(connection, operation.stack_id)
    slots = slots_of(connection, operation.stack_id)
    spares = _spares(connection, operation.stack_id)
    wanted = sealing.with_digests(connection, wanted, _digests(slots, spares))
    taken = _take_up(connection, slots, spares, wanted)
    asked = {w.name for w in wanted if operation.converge or w.always} if drifted is None else set(drifted)
    changed = [
        w for w in wanted
        if w.name in asked or (slot := slots.get(w.name)) is None or w.name in taken or not slot.proves(w.digest)
    ]
    names = {w.name for w in wanted}
    doomed = [slot for slot in slots.values() if slot.name not in names]
    remaining = 0
    if changed:
        remaining = _Writer(connection, operation, slots, now).update(wanted, changed)
    _doom(connection, operation, doomed)
    if wanted and doomed and (operation.disable_rollback or operation.action.name == "ROLLBACK"):
        remaining += finish.clean_up_first(connection, operation, doomed={slot.id for slot in doomed}, now=now)
    connection.execute(
        sa.update(t.operations)
        .where(t.operations.c.id == operation_id)
        .values(state=OperationState.UPDATING, remaining=remaining, due=None)
    )
    if not remaining:
        finish.next_phase(connection, operation_id, now)
    elif not operation.convergence:
        accept.halt_nodes(connection, operation.stack_id, convergence=False)


def slots_of(connection: sa.Connection, stack_id: str) -> dict[str, Slot]:
    """The nodes of the stack by name, without those that only delete a superseded version."""
    node, resource = t.nodes.c, t.resources.c
    found = connection.execute(
        sa.select(node.id, node.name, node.kind, node.state, node.resource_id, resource.status, resource.digest,
                  resource.intent.is_not(None), resource.suspended)
        .outerjoin(t.resources, resource.id == node.resource_id)
        # Nodes that delete a superseded version are no slots: clean-up deals with them.
        .where(node.stack_id == stack_id, sa.or_(resource.superseded.is_(None), resource.superseded == sa.false()),
               node.kind != NodeKind.BARRIER)
    )
    return {row[1]: Slot._make(row) for row in found}


def _digests(slots: Mapping[str, Slot], spares: Mapping[str, list[Spare]]) -> dict[str, set[str | None]]:
    """By name: the digests of all its versions."""
    found = {name: {slot.digest} for name, slot in slots.items()}
    for name, versions in spares.items():
        found.setdefault(name, set()).update(spare.digest for spare in versions)
    return found


def recognised(connection: sa.Connection, stack_id: str, wanted: Sequence[Wanted]) -> list[Wanted]:
    """What is wanted, with digests that can be compared with those of the rows."""
    return list(sealing.with_digests(connection, wanted, _digests(slots_of(connection, stack_id), {})))


def _spares(connection: sa.Connection, stack_id: str) -> dict[str, list[Spare]]:
    resource, node = t.resources.c, t.nodes.c
    # One that somebody is deleting, or has begun to, is past saving.
    leased = sa.exists().where(rows.stands_for(), node.worker.is_not(None))
    found = connection.execute(
        sa.select(resource.id, resource.name, resource.digest, resource.status, resource.intent, leased)
        .where(resource.stack_id == stack_id, resource.superseded == sa.true())
        .order_by(resource.id)
    )
    spares: dict[str, list[Spare]] = {}
    for id_, name, digest, status, intent, busy in found:
        usable = status == Status.COMPLETE and intent is None and not busy
        spares.setdefault(name, []).append(Spare(id_, digest, usable))
    return spares


def _take_up(
    connection: sa.Connection, slots: Mapping[str, Slot], spares: Mapping[str, list[Spare]], wanted: Sequence[Wanted]
) -> set[str]:
    """Where an older version is just what is wanted now, its node takes it up again and lets go of the newer one."""
    taken: set[str] = set()
    if not spares:
        return taken
    for want in wanted:
        slot = slots.get(want.name)
        spare = next((s for s in spares.get(want.name, ()) if s.usable and s.digest == want.digest), None)
        if slot is None or spare is None or slot.proves(want.digest):
            continue
        taken.add(want.name)
        _swap(connection, slot, spare)
    return taken


def _swap(connection: sa.Connection, slot: Slot, spare: Spare) -> None:
    node, resource = t.nodes.c, t.resources.c
    named = sa.select(node.stack_id).where(node.id == slot.id).scalar_subquery()
    deleters = (node.stack_id == named, node.name == slot.name, node.resource_id == spare.id)
    connection.execute(sa.delete(t.nodes).where(*deleters))
    connection.execute(sa.update(t.nodes).where(node.id == slot.id).values(resource_id=spare.id))
    connection.execute(sa.update(t.resources).where(resource.id == slot.resource_id).values(superseded=True))
    connection.execute(
        sa.update(t.resources).where(resource.id == spare.id).values(superseded=False, replaced_by=None)
    )
    _keep_lease(connection, slot)


def _keep_lease(connection: sa.Connection, slot: Slot) -> None:
    """Somebody may be at work on the version that was let go: nobody deletes it before that lease has run out.

    Its object may be about to come into being. Whoever looked for it now would find nothing, and forget it.
    """
    node = t.nodes.c
    held = connection.execute(
        sa.select(node.stack_id, node.generation, node.worker, node.fence, node.lease_until).where(node.id == slot.id)
    ).one()
    if held.worker is not None:
        (id_,) = rows.take_ids(connection, 1)
        connection.execute(
            sa.insert(t.nodes).values(
                id=id_, name=slot.name, kind=NodeKind.CLEANUP, state=NodeState.PENDING, pending=1, dirty=0,
                resource_id=slot.resource_id, **held._mapping,
            )
        )


class _Writer:
    """Writes the update half of a plan."""

    def __init__(self, connection: sa.Connection, operation: Operation, slots: Mapping[str, Slot], now: float) -> None:
        self._connection = connection
        self._operation = operation
        self._slots = slots
        self._now = now

    def update(self, wanted: Sequence[Wanted], changed: Sequence[Wanted]) -> int:
        """Visit what changed and what depends on it; answers how many nodes that are."""
        graph = DependencyTaskGraph[str]({w.name: w.requires for w in wanted})
        visits = planning.update(graph, (w.name for w in changed))
        ids = {slot.name: slot.id for slot in self._slots.values()}
        born = [w.name for w in changed if w.name not in ids]
        ids.update(zip(born, rows.take_ids(self._connection, len(born)) if born else (), strict=True))
        writes = [self._node(w, ids[w.name], visits) for w in wanted if w.name in visits.pending]
        nodes.insert(self._connection, [w for w in writes if w.name not in self._slots], self._operation, self._now)
        self._rewrite([w for w in writes if w.name in self._slots])
        self._rewire(changed, ids)
        self._keep_policies(changed)
        return len(writes)

    def _node(self, want: Wanted, id_: int, visits: planning.Visits) -> NodeWrite:
        pending = visits.pending[want.name]
        state = NodeState.PENDING if pending else NodeState.SCHEDULED
        dirty = int(want.name in visits.changed)
        return NodeWrite(id_, want.name, NodeKind.UPDATE, state, pending, dirty, want.definition, want.digest)

    def _rewrite(self, writes: Sequence[NodeWrite]) -> None:
        nodes.rewrite(self._connection, writes, self._operation.generation, self._now)
        nodes.define(self._connection, writes, self._operation.stack_id)

    def _rewire(self, changed: Sequence[Wanted], ids: Mapping[str, int]) -> None:
        """The edges of a resource belong to it: those of changed ones are written anew."""
        old = [ids[w.name] for w in changed if w.name in self._slots]
        rows.delete_by_id(self._connection, t.edges.c.dst, old)
        new = (Edge(ids[need], ids[w.name], EdgeKind.REQUIRES) for w in changed for need in w.requires)
        rows.insert_edges(self._connection, new)

    def _keep_policies(self, changed: Sequence[Wanted]) -> None:
        """A deletion policy holds from the moment it is accepted, for every version that the name still has."""
        if not self._slots:
            return
        resource = t.resources.c
        for policy in DeletionPolicy:
            names = [w.name for w in changed if w.deletion_policy is policy and w.name in self._slots]
            if names:
                self._connection.execute(
                    sa.update(t.resources)
                    .where(resource.stack_id == self._operation.stack_id, resource.external == sa.false(),
                           rows.among(resource.name))
                    .values(deletion_policy=policy),
                    rows.ids(names),
                )


def _doom(connection: sa.Connection, operation: Operation, doomed: Sequence[Slot]) -> None:
    """What the template does not have any more is held back until clean-up plans it."""
    if not doomed:
        return
    held = [NodeWrite(slot.id, slot.name, NodeKind.CLEANUP, NodeState.PENDING, 1, 0) for slot in doomed]
    nodes.rewrite(connection, held, operation.generation, 0.0)
    gone = [slot.id for slot in doomed]
    rows.delete_by_id(connection, t.edges.c.dst, gone)
    rows.delete_by_id(connection, t.edges.c.src, gone)
