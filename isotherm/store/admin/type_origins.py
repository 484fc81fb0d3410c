"""Units of work: record and read which package or file the types of plug-ins came from."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from isotherm.store.tables import type_origins

_ORIGIN = type_origins.c


def read(connection: sa.Connection) -> dict[str, str]:
    """Return the origin of every type that an engine has had."""
    return {row.type: row.origin for row in connection.execute(sa.select(type_origins))}


def record(connection: sa.Connection, origins: Mapping[str, str]) -> None:
    """Record the origins of these types."""
    known = read(connection)
    for name, origin in origins.items():
        if name not in known:
            connection.execute(sa.insert(type_origins).values(type=name, origin=origin))
        elif known[name] != origin:
            connection.execute(sa.update(type_origins).where(_ORIGIN.type == name).values(origin=origin))
