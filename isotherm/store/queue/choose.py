"""Which of the nodes that are due a worker takes.

While all of them fit into what it can carry, all of them. When there are more, the stacks share (`shares`), and each gives
its oldest. A project that has all the steps that it may have under way gets no more; what is held back says why, and stays
where it is, to be taken as soon as there is room.
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
from isotherm.store.fairness.shares import START, Place, Queue, Seen, by_age
from isotherm.store.transitions import nodes

_NODE, _STACK = t.nodes.c, t.stacks.c


@dataclass(frozen=True, slots=True)
class Wish:
    """How many nodes somebody can carry, and where his last look at the stacks ended."""

    room: int
    place: Place = START
    # How many steps a project may have under way at once, on all engines; 0: any number.
    most_per_project: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """The nodes to take, and where the look ended."""

    ids: list[int]
    place: Place
    # Something is due that may not be taken yet.
    held_back: bool = False


_DUE = sa.select(_NODE.id).where(_NODE.due <= sa.bindparam("now")).order_by(_NODE.due).limit(sa.bindparam("room"))
_QUEUE = Queue(lambda stack: sa.exists().where(_NODE.stack_id == stack.id, _NODE.due <= sa.bindparam("now")))


def choose(connection: sa.Connection, wish: Wish, now: float) -> Choice:
    """The nodes whose turn it is."""
    room, place, most = wish.room, wish.place, wish.most_per_project
    candidates = list(connection.execute(_DUE, {"now": now, "room": room + 1}).scalars())
    if not candidates:
        return Choice([], place)
    under_way = running(connection, now) if most else {}
    if len(candidates) > room:
        seen = _QUEUE.look(connection, place, now)
        if len(seen.parties) > 1:
            free = {party.project: most - under_way.get(party.project, 0) for party in seen.parties} if most else None
            fair = _of_stacks(connection, seen, room - by_age(room, place.turn), now, free)
            chosen = set(fair)
            candidates = [*fair, *(id_ for id_ in candidates if id_ not in chosen)]
        place = seen.place
    if not most:
        return Choice(candidates[:room], place)
    ids, held_back = _within(connection, candidates, most, under_way)
    return Choice(ids[:room], place, held_back)


_PROJECTS = (
    sa.select(_NODE.id, _STACK.project).join(t.stacks, _STACK.id == _NODE.stack_id).where(rows.among(_NODE.id))
)


def _within(
    connection: sa.Connection, candidates: Sequence[int], most: int, under_way: Mapping[str, int]
) -> tuple[list[int], bool]:
    """Those that may be taken, and whether the others have to wait. Those say what for."""
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
    """These are not taken, and say why."""
    nodes.hold_back(connection, node_ids, told(most, "the project"))


def told(most: int, whose: str) -> str:
    """Why something is held back."""
    steps = f"{most} steps of {whose} are" if most > 1 else f"1 step of {whose} is"
    return f"{steps} under way, the most allowed"


# Said as a number: only so does SQLite see that there is an index of just these. On the legacy path, nothing falls due.
_RUNNING = (
    sa.select(_STACK.project, sa.func.count())
    .select_from(t.nodes)
    .join(t.stacks, _STACK.id == _NODE.stack_id)
    .where(sa.literal_column(f"nodes.state = {int(NodeState.RUNNING)}"),
           sa.or_(_NODE.due.is_(None), _NODE.due > sa.bindparam("now")))
    .group_by(_STACK.project)
)


def running(connection: sa.Connection, now: float) -> dict[str, int]:
    """By project, how many steps are under way, whoever has them."""
    return {project: count for project, count in connection.execute(_RUNNING, {"now": now})}  # noqa: C416 - typed


def _of_stacks(
    connection: sa.Connection, seen: Seen, room: int, now: float, free: Mapping[str, int] | None
) -> list[int]:
    """The oldest nodes of each stack, as many as its share is."""
    shares = allot.deal(seen.parties, room, seen.place.turn, None, free)
    found = _oldest(connection, shares, now)
    hungry = [stack_id for stack_id, ids in found.items() if len(ids) == shares[stack_id]]
    if hungry and len(hungry) < len(found):
        # Some have less than their share: the others have it.
        wants = {stack_id: len(ids) for stack_id, ids in found.items() if len(ids) < shares[stack_id]}
        more = allot.deal(seen.parties, room, seen.place.turn, wants, free)
        found |= _oldest(connection, {stack_id: more[stack_id] for stack_id in hungry}, now)
    return [id_ for ids in found.values() for id_ in ids]


def _oldest(connection: sa.Connection, shares: Mapping[str, int], now: float) -> dict[str, list[int]]:
    wanted = [(stack_id, share) for stack_id, share in shares.items() if share > 0]
    found: dict[str, list[int]] = {stack_id: [] for stack_id, _ in wanted}
    if not wanted:
        return found
    # Few different statements, however many stacks there are.
    width = 1 << (len(wanted) - 1).bit_length()
    bound: dict[str, object] = {"now": now}
    for at, (stack_id, share) in enumerate([*wanted, *[("", 0)] * (width - len(wanted))]):
        bound |= {f"stack_{at}": stack_id, f"most_{at}": share}
    for id_, stack_id in connection.execute(_of_each(width), bound):
        found[stack_id].append(id_)
    return found


@functools.cache
def _of_each(width: int) -> sa.CompoundSelect[Any]:
    """The oldest nodes of so many stacks, of each its own number."""
    parts = [
        sa.select(_NODE.id, _NODE.stack_id)
        .where(_NODE.stack_id == sa.bindparam(f"stack_{at}"), _NODE.due <= sa.bindparam("now"))
        .order_by(_NODE.due).limit(sa.bindparam(f"most_{at}")).subquery(f"q{at}")
        for at in range(width)
    ]
    return sa.union_all(*(sa.select(part.c.id, part.c.stack_id) for part in parts))
