"""The write lane: write transactions follow one another on databases that allow concurrent writers.

Each write transaction begins by locking one row. So units of work behave as on SQLite: each sees all earlier ones,
nothing can deadlock, and ids of events grow in the order of their commits. The cost is that of one writer at a time; units
that share a commit reduce it (see decision 21).

A connection may be lost during a commit. So each transaction is signed: its writer writes a mark into a row of its own. A
writer that finds its mark after reconnecting knows that the commit succeeded.
"""

from __future__ import annotations

import uuid

import sqlalchemy as sa

from isotherm.store import tables as t

_TURN, _SIGN = t.turns.c, t.signatures.c
_TAKE = sa.select(_TURN.id).where(_TURN.id == 1).with_for_update()
_SIGNED = sa.select(_SIGN.mark).where(_SIGN.writer == sa.bindparam("s_writer"))
_WRITE = sa.update(t.signatures).where(_SIGN.writer == sa.bindparam("s_writer")).values(
    mark=sa.bindparam("s_mark"), number=_SIGN.number + 1)


class WriteLane:
    """The write lane, as one writer uses it."""

    def __init__(self) -> None:
        self._writer = uuid.uuid4().hex

    def take(self, connection: sa.Connection, mark: str, *, again: bool) -> bool:
        """Lock the lane and sign the transaction. With `again`, return whether this transaction was already committed."""
        connection.execute(_TAKE)
        if again and connection.execute(_SIGNED, {"s_writer": self._writer}).scalar() == mark:
            return True
        if not connection.execute(_WRITE, {"s_writer": self._writer, "s_mark": mark}).rowcount:
            connection.execute(sa.insert(t.signatures), {"writer": self._writer, "mark": mark, "number": 1})
        return False

    def end(self, connection: sa.Connection) -> None:
        """Delete the row of this writer."""
        connection.execute(sa.delete(t.signatures).where(_SIGN.writer == self._writer))
