"""Chooses which of the due nodes a worker takes.

If all due nodes fit into the capacity of the worker, it takes all of them. If not, stacks share the capacity
(`fairness.shares`), and each gives its oldest nodes. A project that has reached its limit of running steps gets no more:
its nodes stay due with a reason, and are taken as soon as a step has ended.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from isotherm.states import NodeState
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.fairness import allot
from isotherm.store.fairness.shares import START, Cursor, Sharers, StackQueue, by_age
from isotherm.store.transitions import nodes

_NODE, _STACK = t.nodes.c, t.stacks.c


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """A worker's request for due nodes: the lease that it takes, its capacity and its cursor."""

    worker: str
    until: float
    capacity: int
    cursor: Cursor = START
    # How many steps a project may have running at once, on all engines; 0: any number.
    most_per_project: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """The nodes to take, and the cursor after them."""

    ids: list[int]
    cursor: Cursor
    # Whether nodes are due that the limit of their project holds back.
    held_back: bool = False


_DUE = sa.select(_NODE.id).where(_NODE.due <= sa.bindparam("now")).order_by(_NODE.due).limit(sa.bindparam("most"))
_QUEUE = StackQueue(lambda stack: sa.exists().where(_NODE.stack_id == stack.id, _NODE.due <= sa.bindparam("now")))


def choose(connection: sa.Connection, request: ClaimRequest, now: float) -> Choice:
    """Choose at most as many due nodes as the worker has capacity for."""
    capacity, cursor, most = request.capacity, request.cursor, request.most_per_project
    candidates = list(connection.execute(_DUE, {"now": now, "most": capacity + 1}).scalars())
    if not candidates:
        return Choice([], cursor)
    under_way = running(connection, now) if most else {}
    if len(candidates) > capacity:
        found = _QUEUE.sharers(connection, cursor, now)
        if len(found.stacks) > 1:
            free = {one.project: most - under_way.get(one.project, 0) for one in found.stacks} if most else None
            fair = _of_stacks(connection, found, capacity - by_age(capacity, cursor.turn), now, free)
            chosen = set(fair)
            candidates = [*fair, *(id_ for id_ in candidates if id_ not in chosen)]
        cursor = found.cursor
    if not most:
        return Choice(candidates[:capacity], cursor)
    ids, held_back = _within(connection, candidates, most, under_way)
    return Choice(ids[:capacity], cursor, held_back)


_PROJECTS = (
    sa.select(_NODE.id, _STACK.project).join(t.stacks, _STACK.id == _NODE.stack_id).where(rows.among(_NODE.id))
)


def _within(
    connection: sa.Connection, candidates: Sequence[int], most: int, under_way: Mapping[str, int]
) -> tuple[list[int], bool]:
    """Return the candidates within the limits of their projects, and whether others are held back."""
    project_of = {id_: project for id_, project in connection.execute(_PROJECTS, rows.ids(candidates))}  # noqa: C416 - typed
    left = {project: most - under_way.get(project, 0) for project in set(project_of.values())}
    ids: list[int] = []
    held_back: list[int] = []
    for id_ in candidates:
        project = project_of[id_]
        (ids if left[project] > 0 else held_back).append(id_)
        left[project] -= 1
    hold_back(connection, held_back, most)
    return ids, bool(held_back)


def hold_back(connection: sa.Connection, node_ids: Sequence[int], most: int) -> None:
    """Write into nodes that the limit of their project holds them back."""
    nodes.hold_back(connection, node_ids, limit_reason(most, "the project"))


def limit_reason(most: int, whose: str) -> str:
    """Return the reason of a node that a limit on running steps holds back."""
    steps = f"{most} steps of {whose} are" if most > 1 else f"1 step of {whose} is"
    return f"{steps} under way, the most allowed"


# The state is a literal number: only then does SQLite use the partial index. On the legacy path, `due` is always NULL.
_RUNNING = (
    sa.select(_STACK.project, sa.func.count())
    .select_from(t.nodes)
    .join(t.stacks, _STACK.id == _NODE.stack_id)
    .where(sa.literal_column(f"nodes.state = {int(NodeState.RUNNING)}"),
           sa.or_(_NODE.due.is_(None), _NODE.due > sa.bindparam("now")))
    .group_by(_STACK.project)
)


def running(connection: sa.Connection, now: float) -> dict[str, int]:
    """Return the number of running steps of each project, on all engines."""
    return {project: count for project, count in connection.execute(_RUNNING, {"now": now})}  # noqa: C416 - typed


def _of_stacks(
    connection: sa.Connection, found: Sharers, capacity: int, now: float, free: Mapping[str, int] | None
) -> list[int]:
    """Return the oldest nodes of each stack, as many as its share."""
    turn = found.cursor.turn
    shares = allot.share_out(found.stacks, capacity, turn, None, free)
    taken = _oldest(connection, shares, now)
    at_their_share = [stack_id for stack_id, ids in taken.items() if len(ids) == shares[stack_id]]
    if at_their_share and len(at_their_share) < len(taken):
        # Some have less due than their share: the others get the difference.
        wants = {stack_id: len(ids) for stack_id, ids in taken.items() if len(ids) < shares[stack_id]}
        more = allot.share_out(found.stacks, capacity, turn, wants, free)
        taken |= _oldest(connection, {stack_id: more[stack_id] for stack_id in at_their_share}, now)
    return [id_ for ids in taken.values() for id_ in ids]


def _oldest(connection: sa.Connection, shares: Mapping[str, int], now: float) -> dict[str, list[int]]:
    wanted = [(stack_id, share) for stack_id, share in shares.items() if share > 0]
    found: dict[str, list[int]] = {stack_id: [] for stack_id, _ in wanted}
    if not wanted:
        return found
    # Rounded up to a power of two, so that there are few different statements to compile.
    width = 1 << (len(wanted) - 1).bit_length()
    bound: dict[str, object] = {"now": now}
    for at, (stack_id, share) in enumerate([*wanted, *[("", 0)] * (width - len(wanted))]):
        bound |= {f"stack_{at}": stack_id, f"most_{at}": share}
    for id_, stack_id in connection.execute(_of_each(width), bound):
        found[stack_id].append(id_)
    return found


@functools.cache
def _of_each(width: int) -> sa.CompoundSelect[Any]:
    """Return the query for the oldest nodes of `width` stacks, each with a limit of its own."""
    parts = [
        sa.select(_NODE.id, _NODE.stack_id)
        .where(_NODE.stack_id == sa.bindparam(f"stack_{at}"), _NODE.due <= sa.bindparam("now"))
        .order_by(_NODE.due).limit(sa.bindparam(f"most_{at}")).subquery(f"q{at}")
        for at in range(width)
    ]
    return sa.union_all(*(sa.select(part.c.id, part.c.stack_id) for part in parts))
