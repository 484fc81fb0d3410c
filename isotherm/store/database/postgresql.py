"""The driver of PostgreSQL, extended: every statement has a time limit, texts may contain NUL, lists are written fast.

TCP keepalives find a machine that is gone, not a frozen one or a network that drops all packets, so the driver limits the
wait for an answer. PostgreSQL has no NUL in texts. In JSON documents a NUL is escaped; in any other text it has no meaning
and is replaced.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Mapping
from typing import Any

import psycopg
from psycopg.adapt import Dumper

# The replacement character.
_UNKNOWN = "\ufffd"


class Connection(psycopg.Connection[Any]):
    """A connection that is closed when an answer takes longer than `patience_s`."""

    patience_s = 60.0

    def wait(self, gen: Any, *arguments: Any, **more: Any) -> Any:
        return super().wait(self._in_time(gen), *arguments, **more)

    def _in_time(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        until = time.monotonic() + self.patience_s
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                # The driver resumes the generator at intervals, also when nothing is ready.
                if not ready and time.monotonic() > until:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"no answer within {self.patience_s:.0f} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value


class NulCursor(psycopg.Cursor[Any]):
    """A cursor that accepts texts with NUL in them."""

    def execute(self, query: Any, params: Any = None, **more: Any) -> Any:
        try:
            return super().execute(query, params, **more)
        except psycopg.DataError as error:
            cleaned = _clean(params)
            # The driver refuses a NUL before it sends anything, so the transaction is still valid.
            if error.sqlstate is not None or cleaned == params:
                raise
            return super().execute(query, cleaned, **more)

    def executemany(self, query: Any, params_seq: Iterable[Any], **more: Any) -> None:
        super().executemany(query, [_clean(params) for params in params_seq], **more)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", _UNKNOWN)
    if isinstance(value, Mapping):
        return {key: _clean(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(one) for one in value]
    return value


class Lists(Dumper):
    """Writes a list of plain values. The driver's dumper takes several times as long, and fails on NUL in a text."""

    def dump(self, obj: list[Any]) -> bytes:
        kinds = set(map(type, obj))
        if kinds == {int}:
            texts: Iterable[str] = map(str, obj)
        elif kinds == {float}:
            texts = map(repr, obj)
        else:
            texts = map(_element, obj)
        return f"{{{','.join(texts)}}}".encode()


def _element(value: Any) -> str:
    if isinstance(value, str):
        text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\0", _UNKNOWN)
        return f'"{text}"'
    if value is None:
        return "NULL"
    return str(value)


def connect(patience_s: float, *arguments: Any, **more: Any) -> Connection:
    made = Connection.connect(*arguments, cursor_factory=NulCursor, **more)
    made.patience_s = patience_s
    made.adapters.register_dumper(list, Lists)
    return made


def only_reads(connection: Connection) -> None:
    """Make the connection read-only, with reads of one moment in each transaction."""
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
