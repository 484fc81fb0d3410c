"""What the stream of events reads: everything since a number, and which stacks those belong to.

Numbers of events grow in the order in which their transactions are committed, so that whoever has seen a number has seen
all below it. That is so because writers take turns, on every database, from their first statement to the commit.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.reads.lookups import Row

_EVENT, _STACK = t.events.c, t.stacks.c

_LAST = sa.select(sa.func.max(_EVENT.id))
_AFTER = (
    sa.select(t.events)
    .where(_EVENT.id > sa.bindparam("after"), _EVENT.id <= sa.bindparam("upto"))
    .order_by(_EVENT.id)
    .limit(sa.bindparam("most"))
)
_OWNERS = sa.select(_STACK.id, _STACK.name, _STACK.project, _STACK.owner_id).where(rows.among(_STACK.id))


def last(connection: sa.Connection) -> int:
    """The number of the newest event of all."""
    return connection.execute(_LAST).scalar() or 0


def window(connection: sa.Connection, after: int, upto: int, most: int) -> list[Row]:
    """The events of all stacks after one number, up to another."""
    return list(connection.execute(_AFTER, {"after": after, "upto": upto, "most": most}).mappings())


def owners(connection: sa.Connection, stack_ids: Collection[str]) -> list[tuple[str, str, str, str | None]]:
    """Of each stack: its id, name, project, and the stack that it is inside of."""
    return [(row[0], row[1], row[2], row[3]) for row in connection.execute(_OWNERS, rows.ids(stack_ids))]
