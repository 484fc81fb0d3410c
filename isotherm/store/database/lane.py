"""Writers take turns where the database would let several write at once.

Each write transaction begins by locking one row, so that units of work follow one another as they do on SQLite: each sees
all that those before it did, nothing can deadlock, and numbers of events grow in the order of their commits. It costs
what one writer at a time costs, which is bounded by the units that share a commit (see decision 21).

A connection may be lost while a commit is on its way. So each transaction is signed: its writer has a row, and writes into
it a mark of the transaction. Whoever comes back and finds his mark knows that the commit went through.
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
    """The turns of one writer."""

    def __init__(self) -> None:
        self._writer = uuid.uuid4().hex

    def take(self, connection: sa.Connection, mark: str, *, again: bool) -> bool:
        """Wait for our turn, and sign. Answers whether this very transaction, tried again, has been committed before."""
        connection.execute(_TAKE)
        if again and connection.execute(_SIGNED, {"s_writer": self._writer}).scalar() == mark:
            return True
        if not connection.execute(_WRITE, {"s_writer": self._writer, "s_mark": mark}).rowcount:
            connection.execute(sa.insert(t.signatures), {"writer": self._writer, "mark": mark, "number": 1})
        return False

    def end(self, connection: sa.Connection) -> None:
        """This writer signs no more."""
        connection.execute(sa.delete(t.signatures).where(_SIGN.writer == self._writer))
