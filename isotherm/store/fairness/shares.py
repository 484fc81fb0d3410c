"""Finds the stacks that share the capacity of a worker when more is due than it can take.

Stacks with an operation in progress are read in the order of their ids, a bounded number at a time, from where the last
read ended. Those with something due share the capacity (`allot`), together with some that shared it last time. So the cost
of a read is bounded, whatever the number and size of the stacks. An eighth of the capacity goes by age alone: everything
that is due is taken in the end, even if no read should find it.
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
from isotherm.store.fairness.allot import WaitingStack

_STACK = t.stacks.c
# How many stacks are read at a time, and how many share the capacity.
PAGE, SHARING = 256, 32
_BY_AGE = 8


@dataclass(frozen=True, slots=True)
class Cursor:
    """Round-robin cursor of a worker. Losing it only affects fairness."""

    # The last stack that was read.
    after: str = ""
    # The stacks that shared last time.
    known: tuple[str, ...] = ()
    turn: int = 0


START = Cursor()


@dataclass(frozen=True, slots=True)
class Sharers:
    """The stacks that share the capacity now, and the cursor after them."""

    stacks: list[WaitingStack]
    cursor: Cursor


def by_age(capacity: int, turn: int) -> int:
    """Return the part of the capacity for the nodes that have been due for longest, of any stack."""
    return (capacity + turn % _BY_AGE) // _BY_AGE


class StackQueue:
    """A queue in which stacks wait. `is_due` is the condition that a stack has something due there."""

    def __init__(self, is_due: Callable[[Any], sa.ColumnElement[bool]]) -> None:
        columns = (_STACK.id, _STACK.project, _STACK.owner_id, _STACK.operation_id)
        at_work = sa.select(*columns).where(_STACK.status == Status.IN_PROGRESS)
        next_ = at_work.where(_STACK.id > sa.bindparam("after")).order_by(_STACK.id).limit(sa.bindparam("most")).subquery()
        read = sa.union_all(
            sa.select(*next_.c, sa.literal_column("1").label("is_next")),
            at_work.add_columns(sa.literal_column("0")).where(rows.among(_STACK.id)),
        ).subquery()
        found = read.c
        self._read = sa.select(found.id, found.project, found.owner_id, found.is_next, is_due(found))

    def sharers(self, connection: sa.Connection, cursor: Cursor, now: float) -> Sharers:
        """Read the next stacks at work, and select those that share."""
        bound = {**rows.ids(cursor.known), "after": cursor.after, "most": PAGE, "now": now}
        waiting: dict[str, WaitingStack] = {}
        count, last = 0, ""
        for stack_id, project, owner_id, is_next, is_due in connection.execute(self._read, bound):
            if is_next:
                count, last = count + 1, max(last, stack_id)
            if is_due:
                waiting[stack_id] = WaitingStack(project, owner_id or stack_id, stack_id)
        sharing = allot.select(list(waiting.values()), SHARING, cursor.turn)
        after = last if count == PAGE else ""
        return Sharers(sharing, Cursor(after, tuple(one.stack_id for one in sharing), cursor.turn + 1))

    def choose(
        self, connection: sa.Connection, oldest: Sequence[str], capacity: int, cursor: Cursor, now: float
    ) -> tuple[list[str], Cursor]:
        """Choose stacks from a queue in which each waits once. `oldest` are the first of them, one more than fit."""
        if len(oldest) <= capacity:
            return list(oldest), cursor
        found = self.sharers(connection, cursor, now)
        chosen = allot.select(found.stacks, capacity - by_age(capacity, cursor.turn), cursor.turn)
        fair = [one.stack_id for one in chosen]
        return [*fair, *[stack_id for stack_id in oldest if stack_id not in fair]][:capacity], found.cursor
