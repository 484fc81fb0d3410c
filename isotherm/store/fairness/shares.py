"""Which stacks share what an engine can carry, when more is due than that.

Stacks on which something is under way are looked through from where the last look ended, so many at a time; those that
have something due share the room (`dealing`), together with some that had at the last look. So the work of a look has a
bound, however big a stack is and however many there are. An eighth of all room goes by age alone: whatever is due has its
turn some day, even if no look should find it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from isotherm.states import Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.fairness import allot
from isotherm.store.fairness.allot import Party

_STACK = t.stacks.c
# How many stacks a look goes through, and how many share a turn.
LOOK, SHARING = 256, 32
_BY_AGE = 8


@dataclass(frozen=True, slots=True)
class Place:
    """Where the last look ended. Whoever loses it begins anywhere."""

    after: str = ""
    # The stacks that shared.
    known: tuple[str, ...] = ()
    turn: int = 0


START = Place()


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look found: the stacks that have something due, and where it ended."""

    parties: list[Party]
    place: Place


def by_age(room: int, turn: int) -> int:
    """How much of the room goes to what has been due for longest, whoever has it."""
    return (room + turn % _BY_AGE) // _BY_AGE


class Queue:
    """Something that stacks wait in. `is_due` says of the row of a stack whether it has something there."""

    def __init__(self, is_due: Callable[[Any], sa.ColumnElement[bool]]) -> None:
        columns = (_STACK.id, _STACK.project, _STACK.owner_id, _STACK.operation_id)
        at_work = sa.select(*columns).where(_STACK.status == Status.IN_PROGRESS)
        next_ = at_work.where(_STACK.id > sa.bindparam("after")).order_by(_STACK.id).limit(sa.bindparam("most")).subquery()
        looked = sa.union_all(
            sa.select(*next_.c, sa.literal_column("1").label("is_next")),
            at_work.add_columns(sa.literal_column("0")).where(rows.among(_STACK.id)),
        ).subquery()
        found = looked.c
        self._look = sa.select(found.id, found.project, found.owner_id, found.is_next, is_due(found))

    def look(self, connection: sa.Connection, place: Place, now: float) -> Seen:
        """Look at the next stacks at work."""
        bound = {**rows.ids(place.known), "after": place.after, "most": LOOK, "now": now}
        parties: dict[str, Party] = {}
        looked, last = 0, ""
        for stack_id, project, owner_id, is_next, is_due in connection.execute(self._look, bound):
            if is_next:
                looked, last = looked + 1, max(last, stack_id)
            if is_due:
                parties[stack_id] = Party(project, owner_id or stack_id, stack_id)
        sharing = allot.some(list(parties.values()), SHARING, place.turn)
        after = last if looked == LOOK else ""
        return Seen(sharing, Place(after, tuple(party.stack_id for party in sharing), place.turn + 1))

    def choose(self, connection: sa.Connection, oldest: Sequence[str], room: int, place: Place, now: float
               ) -> tuple[list[str], Place]:
        """Of a queue in which a stack waits once: whose turn it is. `oldest` are the first, one more than fit."""
        if len(oldest) <= room:
            return list(oldest), place
        seen = self.look(connection, place, now)
        fair = [party.stack_id for party in allot.some(seen.parties, room - by_age(room, place.turn), place.turn)]
        return [*fair, *[stack_id for stack_id in oldest if stack_id not in fair]][:room], seen.place
