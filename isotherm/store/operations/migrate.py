"""Unit of work: a tree of stacks goes from the legacy path to convergence, as a whole, in one transaction.

What is to become of each stack was worked out before, from what was read then. The first writes are conditional on the
generation and the status that were seen: an operation that was accepted in between wins, and nothing of the tree has
been changed; one that comes later finds a stack that has been migrated. Rows of resources are only ever added to: none
that may own something goes.
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
from isotherm.store.operations import order
from isotherm.store.records import Edge, NodeWrite, Operation, Version, Wanted
from isotherm.store.transitions import nodes, operations, versions

# The digest of a version that is known to be something else than what is wanted.
_ANOTHER = "~migrated"
_STACK, _NODE, _OPERATION, _LOCK = t.stacks.c, t.nodes.c, t.operations.c, t.stack_locks.c


class Member(msgspec.Struct, frozen=True):
    """A stack of a tree, as far as it decides whether the tree can be migrated."""

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
    """A node as it is found."""

    id: int
    name: str
    kind: int
    state: int
    resource_id: int | None


class Contents(msgspec.Struct, frozen=True):
    """What a stack has."""

    operation: Operation | None
    places: list[FoundNode]
    versions: dict[int, Version]

    def present(self) -> dict[str, Version]:
        """By name: the version that stands for the resource. What no node stands for may do so if nothing else does."""
        found = {place.name: self.versions[place.resource_id] for place in self.places
                 if place.resource_id in self.versions and not self.versions[place.resource_id].superseded}
        for version in self.versions.values():
            if not version.superseded:
                found.setdefault(version.name, version)
        return found


class Conversion(msgspec.Struct, frozen=True):
    """What becomes of one stack of the tree."""

    member: Member
    contents: Contents
    operation_id: str
    wanted: Sequence[Wanted]
    # The names whose version is known to be just what is wanted.
    proven: frozenset[str]


_MEMBER = (_STACK.id, _STACK.name, _STACK.project, _STACK.owner_id, _STACK.generation, _STACK.operation_id, _STACK.action,
           _STACK.status, _STACK.convergence)


def living(connection: sa.Connection) -> list[Member]:
    """All stacks that are not deleted, those of one tree in no order."""
    found = connection.execute(sa.select(*_MEMBER).where(_STACK.tomb == "").order_by(_STACK.created_at, _STACK.id))
    return [_member(row) for row in found]


def tree(connection: sa.Connection, root: str) -> list[Member]:
    """A stack and all that is inside it, those around first."""
    found = [_member(row) for row in connection.execute(sa.select(*_MEMBER).where(_STACK.id == root, _STACK.tomb == ""))]
    layer = [one.id for one in found]
    while layer:
        inside = sa.select(*_MEMBER).where(rows.among(_STACK.owner_id), _STACK.tomb == "").order_by(_STACK.id)
        below = [_member(row) for row in connection.execute(inside, rows.ids(layer))]
        found += below
        layer = [one.id for one in below]
    return found


def _member(row: Any) -> Member:
    one = Member(*row)
    return msgspec.structs.replace(one, action=Action(one.action), status=Status(one.status))


def contents(connection: sa.Connection, stack_id: str) -> Contents:
    operation = rows.current_operations(connection, [stack_id]).get(stack_id)
    found = connection.execute(
        sa.select(_NODE.id, _NODE.name, _NODE.kind, _NODE.state, _NODE.resource_id)
        .where(_NODE.stack_id == stack_id).order_by(_NODE.id)
    )
    places = [FoundNode(*row) for row in found]
    ids = connection.execute(sa.select(t.resources.c.id).where(t.resources.c.stack_id == stack_id)).scalars().all()
    return Contents(operation, places, rows.versions(connection, ids))


def busy(connection: sa.Connection, stack_ids: Sequence[str], now: float) -> dict[str, str]:
    """Of these stacks: those on which something is under way, whatever their status says; and what."""
    found = connection.execute(
        sa.select(_OPERATION.stack_id).where(rows.among(_OPERATION.stack_id), _OPERATION.state.in_(UNFINISHED)),
        rows.ids(stack_ids),
    )
    under_way = dict.fromkeys(found.scalars(), "an operation is under way")
    held = sa.select(_LOCK.stack_id).where(rows.among(_LOCK.stack_id), _LOCK.lease_until > now)
    return under_way | dict.fromkeys(connection.execute(held, rows.ids(stack_ids)).scalars(), "an engine has it locked")


def convert(connection: sa.Connection, seen: Sequence[Member], made: Sequence[Conversion], now: float) -> None:
    """Take the tree over. Raises Conflict, and has changed nothing, if it is not what was seen any more."""
    ids = [one.id for one in seen]
    if tree(connection, ids[0]) != list(seen) or busy(connection, ids, now):
        raise errors.Conflict("an operation was accepted meanwhile", kind="ActionInProgress",
                              hint="Run the command again when it has ended.")
    for one in made:
        _turn(connection, one)
        _renew_operation(connection, one, now)
        _settle(connection, one)
    # What a dead engine has left behind means nothing on the new path.
    connection.execute(sa.delete(t.stack_locks).where(rows.among(_LOCK.stack_id)), rows.ids(ids))


def _turn(connection: sa.Connection, one: Conversion) -> None:
    """First of all: whoever is about to work on the stack by what it was has lost from here on."""
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
    """An operation of the new path that has just ended takes the place of all that went before; their texts go."""
    member = one.member
    old = connection.execute(sa.select(t.operations).where(_OPERATION.stack_id == member.id)).mappings().all()
    last = next((row for row in old if row["id"] == member.operation_id), None)
    if last is not None:
        used = sa.select(sa.literal(one.operation_id), t.uses.c.hash).where(t.uses.c.operation_id == last["id"])
        connection.execute(sa.insert(t.uses).from_select(["operation_id", "hash"], used))
    kept = {name: last[name] for name in ("input", "disable_rollback", "timeout_s", "tags")} if last is not None else {
        "input": "", "disable_rollback": True, "timeout_s": None, "tags": "[]"}
    rows.forget_uses(connection, [row["id"] for row in old])
    operations.delete_all(connection, member.id)
    operations.insert_migrated(
        connection, id=one.operation_id, stack_id=member.id, generation=member.generation + 1, action=member.action,
        created_at=now, ended_at=now, **kept)


def _settle(connection: sa.Connection, one: Conversion) -> None:
    """Nodes, edges and versions, as a traversal that has just ended would have left them."""
    found, generation = one.contents, one.member.generation + 1
    present = found.present()
    kept = _places(found, present)
    extra = [place.id for place in found.places if place.id not in {place.id for place in kept.values()}]
    order.delete_edges(connection, [place.id for place in found.places])
    nodes.delete(connection, extra)
    digests = {name: {version.digest} for name, version in present.items()}
    wanted = sealing.with_digests(connection, one.wanted, digests)
    born = [want.name for want in wanted if want.name not in kept]
    fresh = dict(zip(born, rows.take_ids(connection, len(born)) if born else (), strict=True))
    writes = {want.name: _node(want, fresh, kept, present) for want in wanted}
    new = Operation(one.operation_id, one.member.id, "", generation, one.member.action, 0, "", True, None, "[]", 0, None, 0)
    nodes.insert(connection, [writes[name] for name in born], new, 0.0)
    nodes.migrate(connection, [write for name, write in writes.items() if name in kept], one.member.id, generation)
    nodes.make_idle(connection, [place.id for name, place in kept.items() if name not in writes])
    ids = {name: write.id for name, write in writes.items()}
    rows.insert_edges(connection, (Edge(ids[need], ids[want.name], EdgeKind.REQUIRES)
                                   for want in wanted for need in want.requires if need in ids))
    _write_versions(connection, one, {name: one for name, one in present.items() if name in {*writes, *kept}}, wanted)


def _places(found: Contents, present: dict[str, Version]) -> dict[str, FoundNode]:
    """By name: the node that stays. Whatever else there is stood for something that is on its way out."""
    kept: dict[str, FoundNode] = {}
    for place in found.places:
        if place.kind == NodeKind.BARRIER:
            continue
        version = present.get(place.name)
        stands = place.resource_id is None or (version is not None and version.id == place.resource_id)
        if stands and (place.name not in kept or place.resource_id is not None):
            kept[place.name] = place
    return kept


def _node(want: Wanted, fresh: dict[str, int], kept: dict[str, FoundNode], present: dict[str, Version]) -> NodeWrite:
    place, version = kept.get(want.name), present.get(want.name)
    id_ = fresh[want.name] if place is None else place.id
    state = NodeState.DONE if version is not None else NodeState.SKIPPED
    if place is not None and place.state in ENDED:
        state = NodeState(place.state)
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
    """By version: the versions that it may use. Of what is on its way out, the row knows best, if any row knows at all."""
    known = {id_: rows.required(version.requires) for id_, version in found.versions.items()}
    by_name: dict[str, list[int]] = {}
    for id_, version in found.versions.items():
        by_name.setdefault(version.name, []).append(id_)
    told = any(known.values())
    for id_, version in found.versions.items():
        want = goal.get(version.name)
        if want is None:
            continue
        if present.get(version.name) is version:
            known[id_] = sorted(present[need].id for need in want.requires if need in present)
        elif not told:
            known[id_] = sorted(other for need in want.requires for other in by_name.get(need, ()))
    return known
