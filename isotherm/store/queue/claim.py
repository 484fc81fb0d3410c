"""Units of work of a worker: claim due nodes and operations, store intents before they are acted on, renew leases.

Nodes are due when they are SCHEDULED, when their wake-up time has come, or when the lease of their worker has expired. One
query finds all three, so that recovery after a crash needs no code of its own (I12). Each claim raises the fence: writes
of an earlier holder change no row (I5). `choose` says which nodes a worker takes when more are due than it can take.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from msgspec.structs import replace

from isotherm.states import UNFINISHED, Action, NodeKind, NodeState, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.fairness.shares import START, Cursor, StackQueue
from isotherm.store.queue import choose
from isotherm.store.queue.choose import ClaimRequest
from isotherm.store.records import Beginning, Begun, Claim, Event, Input, Operation
from isotherm.store.signals import hooks
from isotherm.store.transitions import nodes, operations, versions
from isotherm.store.versions import protection, shared_objects
from isotherm.store.watch import observations

_NODE = t.nodes.c
_KINDS = {int(member): member for member in NodeKind}


class Claimed(NamedTuple):
    """The claims of a request, and the cursor after them."""

    claims: list[Claim]
    cursor: Cursor
    # Whether nodes are due that the limit of their project holds back.
    held_back: bool = False


_LOAD = sa.select(
    _NODE.id, _NODE.stack_id, _NODE.name, _NODE.kind, _NODE.generation, _NODE.fence, _NODE.definition, _NODE.digest,
    _NODE.resource_id,
).where(rows.among(_NODE.id))


def take(connection: sa.Connection, request: ClaimRequest, now: float) -> Claimed:
    """Claim due nodes, at most as many as the worker has capacity for."""
    if request.capacity <= 0:
        return Claimed([], request.cursor)
    choice = choose.choose(connection, request, now)
    if not choice.ids:
        return Claimed([], choice.cursor, choice.held_back)
    nodes.claim(connection, choice.ids, request.worker, request.until)
    return Claimed(load(connection, choice.ids, request.until, now), choice.cursor, choice.held_back)


def load(connection: sa.Connection, node_ids: Collection[int], until: float, now: float) -> list[Claim]:
    """Return the claims of nodes that were just taken, with everything that a step needs."""
    found = connection.execute(_LOAD, rows.ids(node_ids)).all()
    current = rows.versions(connection, [row[8] for row in found if row[8] is not None])
    inputs = _inputs(connection, [row[0] for row in found if row[3] == NodeKind.UPDATE])
    newest = rows.current_operations(connection, {row[1] for row in found})
    cleared = hooks.cleared(connection, node_ids)
    having = [(row[0], row[3]) for row in found if row[8] is not None]
    unsettled = _leaving(connection, [id_ for id_, kind in having if kind == NodeKind.UPDATE], now)
    unsettled |= _arriving(connection, [id_ for id_, kind in having if kind == NodeKind.CLEANUP])
    opened = sealing.of(connection).open
    return [
        Claim(id_, stack_id, name, _KINDS[kind], generation, fence, until,
              opened(definition, "definition", id_, stack_id), digest,
              current.get(resource_id), tuple(inputs.get(id_, ())), newest[stack_id], unsettled.get(id_, frozenset()),
              cleared.get((id_, newest[stack_id].id), {}))
        for id_, stack_id, name, kind, generation, fence, definition, digest, resource_id in found
    ]


_OTHER = t.nodes.alias()
_LEAVING = (
    sa.select(_NODE.id, t.resources.c.implementation)
    .join(_OTHER, sa.and_(_OTHER.c.stack_id == _NODE.stack_id, _OTHER.c.name == _NODE.name, _OTHER.c.id != _NODE.id))
    .join(t.resources, t.resources.c.id == _OTHER.c.resource_id)
    .where(rows.among(_NODE.id), _OTHER.c.kind == int(NodeKind.CLEANUP), _OTHER.c.lease_until > sa.bindparam("n_now"))
)


def _leaving(connection: sa.Connection, node_ids: Collection[int], now: float) -> dict[int, frozenset[str]]:
    """Return by node the implementations of other versions of its name that a worker is deleting now."""
    return _by_node(connection.execute(_LEAVING, {**rows.ids(node_ids), "n_now": now})) if node_ids else {}


_NEWER = t.resources.alias()
_ARRIVING = (
    sa.select(_NODE.id, _NEWER.c.implementation)
    .join(t.resources, t.resources.c.id == _NODE.resource_id)
    .join(_NEWER, sa.and_(_NEWER.c.stack_id == _NODE.stack_id, _NEWER.c.name == _NODE.name,
                          _NEWER.c.id != t.resources.c.id))
    .where(rows.among(_NODE.id), _NEWER.c.action == int(Action.CREATE), _NEWER.c.status == int(Status.IN_PROGRESS),
           _NEWER.c.physical_id.is_(None), _NEWER.c.intent.is_not(None),
           # A superseded version is deleted itself, perhaps later than this one: its object is searched for then.
           ~_NEWER.c.superseded)
)


def _arriving(connection: sa.Connection, node_ids: Collection[int]) -> dict[int, frozenset[str]]:
    """Return by node the implementations of other versions of its name whose creation may be in progress."""
    return _by_node(connection.execute(_ARRIVING, rows.ids(node_ids))) if node_ids else {}


def _by_node(found: Iterable[Any]) -> dict[int, frozenset[str]]:
    together: dict[int, frozenset[str]] = {}
    for id_, implementation in found:
        together[id_] = together.get(id_, frozenset()) | {implementation}
    return together


_INPUTS = (
    sa.select(t.edges.c.dst, _NODE.name, t.resources.c.id, t.resources.c.published, t.resources.c.stack_id)
    .join(t.nodes, _NODE.id == t.edges.c.src)
    .outerjoin(t.resources, t.resources.c.id == _NODE.resource_id)
    .where(rows.among(t.edges.c.dst), t.edges.c.kind == 1)
)


def _inputs(connection: sa.Connection, node_ids: Collection[int]) -> dict[int, list[Input]]:
    found: dict[int, list[Input]] = {}
    opened = sealing.of(connection).open
    if node_ids:
        for dst, name, resource_id, published, stack_id in connection.execute(_INPUTS, rows.ids(node_ids)):
            published = opened(published, "published", resource_id, stack_id)
            found.setdefault(dst, []).append(Input(name, resource_id, published))
    return found


_STILL = sa.select(_NODE.id, _NODE.fence, _NODE.state, _NODE.generation).where(rows.among(_NODE.id))


def begin(connection: sa.Connection, beginnings: Sequence[Beginning], now: float) -> dict[tuple[int, int], Begun]:
    """Store intents; return the claims that are still valid, and whether each may act. The others are superseded.

    I4: the intent is the start of a mutation, and it is written only under the newest generation.
    I17: a claim that would break a protection is refused, and nothing of it is written.
    Any other claim that may not act would delete an object that another version holds: its own version is marked as
    forgotten.
    """
    found = _still(connection, (b.claim for b in beginnings))
    fenced = [b for b in beginnings if b.claim.key in found]
    ours = [b for b in fenced if found[b.claim.key]]
    counted = {b.claim.key for b in ours}
    nodes.release(connection, [b.claim.node_id for b in fenced if b.claim.key not in counted], now)
    check = protection.check(connection, ours)
    allowed = [b for b in ours if b.claim.key not in check.refusals]
    going = [(b.version, b.claim.operation.project) for b in allowed if b.version.action is Action.DELETE]
    held = shared_objects.elsewhere(connection, going)
    acting = [b for b in allowed if b.version.id not in held]
    _write(connection, acting, now)
    protection.pass_on(connection, (b for b in acting if b.new), check.replaced)
    versions.forget(connection, ((id_, shared_objects.HELD) for id_ in sorted(held)), now)
    rows.insert_events(connection, (said for b in allowed for said in _events(b, held=b.version.id in held)), now)
    refused = {key: Begun(acts=False, refusal=text) for key, text in check.refusals.items()}
    return {b.claim.key: Begun(b.version.id not in held) for b in allowed} | refused


def _events(beginning: Beginning, *, held: bool) -> Iterable[Event]:
    if beginning.new and beginning.lost is not None:
        yield beginning.lost
    yield replace(beginning.event, status=Status.COMPLETE, reason=shared_objects.HELD) if held else beginning.event


def _still(connection: sa.Connection, claims: Iterable[Claim]) -> dict[tuple[int, int], bool]:
    """Return the claims whose fence is still current, and whether their node is still part of the traversal.

    By node and fence: a worker that was suspended may hold an old and a new claim on the same node.
    """
    held = {claim.key: claim.generation for claim in claims}
    return {
        (id_, fence): state == NodeState.RUNNING and generation == held[id_, fence]
        for id_, fence, state, generation in connection.execute(_STILL, rows.ids({node_id for node_id, _ in held}))
        if (id_, fence) in held
    }


def _write(connection: sa.Connection, ours: Sequence[Beginning], now: float) -> None:
    # Observations first: they were compared with the rows as they were.
    observations.record(connection, [b.observation for b in ours if b.observation is not None])
    versions.confirm(connection, [b.observation.resource_id for b in ours if b.observation is not None
                                  and b.claim.version is not None and b.claim.version.taken_up])
    new = [b for b in ours if b.new]
    for beginning, id_ in zip(new, rows.take_ids(connection, len(new)) if new else (), strict=True):
        beginning.version.id = id_
    versions.create(connection, [b.version for b in new], now)
    nodes.attach(connection, ((b.version.id, b.claim.node_id) for b in new))
    versions.replace(connection, ((b.version.id, b.version.replaces) for b in new if b.version.replaces is not None))
    lost = [(b.version.replaces, b.lost.reason) for b in new if b.version.replaces is not None and b.lost is not None]
    versions.forget(connection, lost, now)
    versions.update(connection, [b.version for b in ours if not b.new], now)


_LEASED = sa.select(_NODE.id).where(rows.among(_NODE.id), _NODE.lease_until > sa.bindparam("n_now"))


def renew(connection: sa.Connection, claims: Sequence[Claim], until: float, now: float) -> set[tuple[int, int]]:
    """Renew the leases of long steps; return the claims that are still held. The steps of the others have to stop.

    An expired lease is not renewed, even if no other worker has taken the node: it no longer counted for the limits on
    running steps, and another step may have begun in its place.
    """
    found = _still(connection, claims)
    leased = set(connection.execute(_LEASED, {**rows.ids({c.node_id for c in claims}), "n_now": now}).scalars())
    ours = [c for c in claims if found.get(c.key) and c.node_id in leased]
    nodes.renew(connection, (c.key for c in ours), until)
    return {c.key for c in ours}


def held(connection: sa.Connection, claims: Sequence[Claim]) -> set[tuple[int, int]]:
    """Return the claims that are still valid and part of the newest traversal."""
    return {key for key, ours in _still(connection, claims).items() if ours}


_OP = t.operations.c
_TO_PLAN = sa.select(_OP.stack_id).where(_OP.due <= sa.bindparam("now")).order_by(_OP.due).limit(sa.bindparam("most"))
_QUEUE = StackQueue(lambda stack: sa.exists().where(_OP.id == stack.operation_id, _OP.due <= sa.bindparam("now")))


def operations_to_plan(
    connection: sa.Connection, until: float, now: float, capacity: int, cursor: Cursor = START
) -> tuple[list[Operation], Cursor]:
    """Take accepted operations to plan them, also those whose planner died. Projects share the capacity."""
    oldest = list(connection.execute(_TO_PLAN, {"now": now, "most": capacity + 1}).scalars())
    if not oldest:
        return [], cursor
    chosen, cursor = _QUEUE.choose(connection, oldest, capacity, cursor, now)
    operations.take_to_plan(connection, chosen, until, now)
    found = rows.current_operations(connection, chosen)
    return [found[stack_id] for stack_id in chosen if stack_id in found], cursor


_EXPIRED = sa.select(_OP.id).where(_OP.deadline <= sa.bindparam("now"), _OP.state.in_(UNFINISHED)).limit(100)


def expired(connection: sa.Connection, now: float) -> list[str]:
    """Return operations whose deadline has passed."""
    return list(connection.execute(_EXPIRED, {"now": now}).scalars())


class Ahead(NamedTuple):
    """The times at which the next row of each kind is due; infinity if there is none."""

    nodes: float
    operations: float
    deadlines: float
    snapshots: float


# Each minimum is a single search in its index.
_AHEAD = sa.select(
    *(sa.select(sa.func.min(column)).where(column.is_not(None)).scalar_subquery()
      for column in (_NODE.due, _OP.due, _OP.deadline, t.snapshots.c.due))
)


def ahead(connection: sa.Connection) -> Ahead:
    """Return what falls due next: one query, which saves all others while nothing is due."""
    return Ahead(*(math.inf if time is None else time for time in connection.execute(_AHEAD).one()))
