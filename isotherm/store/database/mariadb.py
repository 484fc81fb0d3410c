"""The driver of MariaDB, extended to refuse statements that are longer than the server accepts.

The server closes the connection in the middle of such a statement. To the driver that is a lost connection, and a retry
would fail in the same way.
"""

from __future__ import annotations

from typing import Any

import pymysql

# The server's error number for a packet that is too long.
TOO_LONG = 1153


class Connection(pymysql.connections.Connection):  # type: ignore[misc]  # it has no types
    """A connection that knows the maximum length of a statement."""

    most_bytes = 0

    def query(self, sql: Any, unbuffered: bool = False) -> Any:
        text = sql.encode(self.encoding, "surrogateescape") if isinstance(sql, str) else sql
        if 0 < self.most_bytes <= len(text):
            raise pymysql.err.DataError(TOO_LONG, f"{len(text):,} bytes in one statement, and the database takes "
                                                  f"{self.most_bytes:,} (max_allowed_packet)")
        return super().query(text, unbuffered)


def connect(*arguments: Any, **more: Any) -> Connection:
    return Connection(*arguments, **more)
