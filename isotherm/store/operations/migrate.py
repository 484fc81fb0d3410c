"""Unit of work that migrates a stack tree from the legacy path to convergence, in one transaction.

The new rows of each stack were computed before, from an earlier read. The first writes are conditional on the generation
and status of that read: an operation that was accepted in between wins, and nothing is changed. No version is deleted,
because each may own an object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm import errors
from isotherm.states import ENDED, UNFINISHED, Action, EdgeKind, NodeKind, NodeState, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.operations import history, order
from isotherm.store.records import Edge, NodeWrite, Operation, Version, Wanted
from isotherm.store.transitions import nodes, operations, versions

# The digest of a version that is known to differ from the template.
_ANOTHER = "~migrated"
_STACK, _NODE, _OPERATION, _LOCK = t.stacks.c, t.nodes.c, t.operations.c, t.stack_locks.c


class TreeStack(msgspec.Struct, frozen=True):
    """A stack of a tree, with the columns that decide whether the tree can be migrated."""

    id: str
    name: str
    project: str
    owner_id: str | None
    generation: int
    operation_id: str
    action: Action
    status: Status
    convergence: bool

    @property
    def state(self) -> str:
        return f"{self.action.name}_{self.status.name}"


class FoundNode(msgspec.Struct, frozen=True):
    """A node of a legacy stack."""

    id: int
    name: str
    kind: int
    state: int
    resource_id: int | None


class Contents(msgspec.Struct, frozen=True):
    """The newest operation, nodes and versions of a stack."""

    operation: Operation | None
    nodes: list[FoundNode]
    versions: dict[int, Version]

    def present(self) -> dict[str, Version]:
        """Return the current version of each name. A version without a node counts if its name has no other."""
        found = {node.name: self.versions[node.resource_id] for node in self.nodes
                 if node.resource_id in self.versions and not self.versions[node.resource_id].superseded}
        for version in self.versions.values():
            if not version.superseded:
                found.setdefault(version.name, version)
        return found


class Conversion(msgspec.Struct, frozen=True):
    """The planned migration of one stack of the tree."""

    member: TreeStack
    contents: Contents
    operation_id: str
    wanted: Sequence[Wanted]
    # Names of resources whose version is proven to match the template.
    proven: frozenset[str]


_MEMBER = (_STACK.id, _STACK.name, _STACK.project, _STACK.owner_id, _STACK.generation, _STACK.operation_id, _STACK.action,
           _STACK.status, _STACK.convergence)


def living(connection: sa.Connection) -> list[TreeStack]:
    """Return all stacks that are not deleted, in the order of their creation."""
    found = connection.execute(sa.select(*_MEMBER).where(_STACK.tomb == "").order_by(_STACK.created_at, _STACK.id))
    return [_member(row) for row in found]


def tree(connection: sa.Connection, root: str) -> list[TreeStack]:
    """Return a stack and all its nested stacks, parents first."""
    found = [_member(row) for row in connection.execute(sa.select(*_MEMBER).where(_STACK.id == root, _STACK.tomb == ""))]
    layer = [one.id for one in found]
    while layer:
        inside = sa.select(*_MEMBER).where(rows.among(_STACK.owner_id), _STACK.tomb == "").order_by(_STACK.id)
        below = [_member(row) for row in connection.execute(inside, rows.ids(layer))]
        found += below
        layer = [one.id for one in below]
    return found


def _member(row: Any) -> TreeStack:
    one = TreeStack(*row)
    return msgspec.structs.replace(one, action=Action(one.action), status=Status(one.status))


def contents(connection: sa.Connection, stack_id: str) -> Contents:
    operation = rows.current_operations(connection, [stack_id]).get(stack_id)
    found = connection.execute(
        sa.select(_NODE.id, _NODE.name, _NODE.kind, _NODE.state, _NODE.resource_id)
        .where(_NODE.stack_id == stack_id).order_by(_NODE.id)
    )
    found_nodes = [FoundNode(*row) for row in found]
    ids = connection.execute(sa.select(t.resources.c.id).where(t.resources.c.stack_id == stack_id)).scalars().all()
    return Contents(operation, found_nodes, rows.versions(connection, ids))


def busy(connection: sa.Connection, stack_ids: Sequence[str], now: float) -> dict[str, str]:
    """Return, by stack, why it is busy: an unfinished operation or a stack lock, whatever its status says."""
    found = connection.execute(
        sa.select(_OPERATION.stack_id).where(rows.among(_OPERATION.stack_id), _OPERATION.state.in_(UNFINISHED)),
        rows.ids(stack_ids),
    )
    in_progress = dict.fromkeys(found.scalars(), "an operation is in progress")
    held = sa.select(_LOCK.stack_id).where(rows.among(_LOCK.stack_id), _LOCK.lease_until > now)
    return in_progress | dict.fromkeys(connection.execute(held, rows.ids(stack_ids)).scalars(), "an engine has it locked")


def convert(connection: sa.Connection, seen: Sequence[TreeStack], made: Sequence[Conversion], now: float) -> None:
    """Migrate the tree. Raises Conflict, without any change, if the tree has changed since it was read."""
    ids = [one.id for one in seen]
    if tree(connection, ids[0]) != list(seen) or busy(connection, ids, now):
        raise errors.Conflict("an operation was accepted meanwhile", kind="ActionInProgress",
                              hint="Run the command again when it has ended.")
    for one in made:
        _switch_stack(connection, one)
        _renew_operation(connection, one, now)
        _settle(connection, one)
    # What a dead engine has left behind means nothing on the new path.
    connection.execute(sa.delete(t.stack_locks).where(rows.among(_LOCK.stack_id)), rows.ids(ids))


def _switch_stack(connection: sa.Connection, one: Conversion) -> None:
    """Switch the stack's row to convergence. It is the first write: a concurrent operation on the old row then fails."""
    member = one.member
    hit = connection.execute(
        sa.update(t.stacks)
        .where(_STACK.id == member.id, _STACK.generation == member.generation, _STACK.status == Status.COMPLETE,
               _STACK.convergence == sa.false(), _STACK.tomb == "")
        .values(convergence=True, generation=member.generation + 1, operation_id=one.operation_id,
                complete_operation_id=one.operation_id)
    )
    if not hit.rowcount:
        raise errors.Conflict("an operation was accepted meanwhile", kind="ActionInProgress")


def _renew_operation(connection: sa.Connection, one: Conversion, now: float) -> None:
    """Replace the operations of the stack by one that has just ended, with the newest input; delete unused blobs."""
    member = one.member
    old = connection.execute(sa.select(t.operations).where(_OPERATION.stack_id == member.id)).mappings().all()
    last = next((row for row in old if row["id"] == member.operation_id), None)
    if last is not None:
        used = sa.select(sa.literal(one.operation_id), t.uses.c.hash).where(t.uses.c.operation_id == last["id"])
        connection.execute(sa.insert(t.uses).from_select(["operation_id", "hash"], used))
    names = ("input", "disable_rollback", "timeout_s", "tags", "scope")
    kept = {name: last[name] for name in names} if last is not None else {
        "input": "", "disable_rollback": True, "timeout_s": None, "tags": "[]"}
    history.forget(connection, member.id)
    rows.forget_uses(connection, [row["id"] for row in old])
    operations.delete_all(connection, member.id)
    operations.insert_migrated(
        connection, id=one.operation_id, stack_id=member.id, generation=member.generation + 1, action=member.action,
        created_at=now, ended_at=now, **kept)
    if member.owner_id is None:
        history.insert_migrated(
            connection, stack_id=member.id, generation=member.generation + 1, last_generation=member.generation + 1,
            operation_id=one.operation_id, input=kept["input"], action=member.action, created_at=now, ended_at=now)


def _settle(connection: sa.Connection, one: Conversion) -> None:
    """Write nodes, edges and versions as a traversal that has just ended leaves them."""
    found, generation = one.contents, one.member.generation + 1
    present = found.present()
    kept = _kept_nodes(found, present)
    extra = [node.id for node in found.nodes if node.id not in {node.id for node in kept.values()}]
    order.delete_edges(connection, [node.id for node in found.nodes])
    nodes.delete(connection, extra)
    digests = {name: {version.digest} for name, version in present.items()}
    wanted = sealing.with_digests(connection, one.wanted, digests)
    made = [want.name for want in wanted if want.name not in kept]
    fresh = dict(zip(made, rows.take_ids(connection, len(made)) if made else (), strict=True))
    writes = {want.name: _node(want, fresh, kept, present) for want in wanted}
    new = Operation(one.operation_id, one.member.id, "", generation, one.member.action, 0, "", True, None, "[]", 0, None, 0)
    nodes.insert(connection, [writes[name] for name in made], new, 0.0)
    nodes.migrate(connection, [write for name, write in writes.items() if name in kept], one.member.id, generation)
    nodes.make_idle(connection, [node.id for name, node in kept.items() if name not in writes])
    ids = {name: write.id for name, write in writes.items()}
    rows.insert_edges(connection, (Edge(ids[need], ids[want.name], EdgeKind.REQUIRES)
                                   for want in wanted for need in want.requires if need in ids))
    _write_versions(connection, one, {name: one for name, one in present.items() if name in {*writes, *kept}}, wanted)


def _kept_nodes(found: Contents, present: dict[str, Version]) -> dict[str, FoundNode]:
    """Return the node that is kept for each name. The other nodes belong to superseded versions."""
    kept: dict[str, FoundNode] = {}
    for node in found.nodes:
        if node.kind == NodeKind.BARRIER:
            continue
        version = present.get(node.name)
        stands = node.resource_id is None or (version is not None and version.id == node.resource_id)
        if stands and (node.name not in kept or node.resource_id is not None):
            kept[node.name] = node
    return kept


def _node(want: Wanted, fresh: dict[str, int], kept: dict[str, FoundNode], present: dict[str, Version]) -> NodeWrite:
    node, version = kept.get(want.name), present.get(want.name)
    id_ = fresh[want.name] if node is None else node.id
    state = NodeState.DONE if version is not None else NodeState.SKIPPED
    if node is not None and node.state in ENDED:
        state = NodeState(node.state)
    return NodeWrite(id_, want.name, NodeKind.UPDATE, state, 0, definition=want.definition, digest=want.digest,
                     resource_id=None if version is None else version.id)


def _write_versions(
    connection: sa.Connection, one: Conversion, present: dict[str, Version], wanted: Sequence[Wanted]
) -> None:
    goal = {want.name: want for want in wanted}
    requires = _requires(one.contents, present, goal)

    def row(version: Version) -> tuple[object, ...]:
        current = present.get(version.name) is version
        want = goal.get(version.name) if current else None
        return (one.operation_id, msgspec.json.encode(requires[version.id]).decode(),
                version.digest if want is None else _digest(version, want, proven=version.name in one.proven),
                not current, version.id)

    versions.migrate(connection, (row(version) for version in one.contents.versions.values()))


def _digest(version: Version, want: Wanted, *, proven: bool) -> str | None:
    if proven:
        return want.digest
    if version.status is not Status.COMPLETE:
        return None if version.digest == want.digest else version.digest
    return _ANOTHER if version.digest in (None, want.digest) else version.digest


def _requires(found: Contents, present: dict[str, Version], goal: dict[str, Wanted]) -> dict[int, list[int]]:
    """Return, by version, the versions that it may use.

    For superseded versions the stored requirements count, unless no version of the stack has any.
    """
    known = {id_: rows.required(version.requires) for id_, version in found.versions.items()}
    by_name: dict[str, list[int]] = {}
    for id_, version in found.versions.items():
        by_name.setdefault(version.name, []).append(id_)
    is_recorded = any(known.values())
    for id_, version in found.versions.items():
        want = goal.get(version.name)
        if want is None:
            continue
        if present.get(version.name) is version:
            known[id_] = sorted(present[need].id for need in want.requires if need in present)
        elif not is_recorded:
            known[id_] = sorted(other for need in want.requires for other in by_name.get(need, ()))
    return known
