"""The driver of MariaDB, which says in time that something is too much for the server.

The server itself hangs up in the middle of a statement that is longer than it wants to read: to the driver that looks as
if the connection had been lost, and to try again would help nobody.
"""

from __future__ import annotations

from typing import Any

import pymysql

# The server's own number for it.
TOO_LONG = 1153


class Connection(pymysql.connections.Connection):  # type: ignore[misc]  # it has no types
    """Knows how long a statement may be."""

    most_bytes = 0

    def query(self, sql: Any, unbuffered: bool = False) -> Any:
        text = sql.encode(self.encoding, "surrogateescape") if isinstance(sql, str) else sql
        if 0 < self.most_bytes <= len(text):
            raise pymysql.err.DataError(TOO_LONG, f"{len(text):,} bytes in one statement, and the database takes "
                                                  f"{self.most_bytes:,} (max_allowed_packet)")
        return super().query(text, unbuffered)


def connect(*arguments: Any, **more: Any) -> Connection:
    return Connection(*arguments, **more)
