"""Reads for operators, over the stacks of all projects."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.records import Version

_VERSION = t.resources.c


def resources(connection: sa.Connection) -> dict[str, int]:
    """Return the number of resources by stack."""
    query = (sa.select(_VERSION.stack_id, sa.func.count()).where(_VERSION.superseded == sa.false())
             .group_by(_VERSION.stack_id))
    return {row[0]: row[1] for row in connection.execute(query)}


def data(connection: sa.Connection, called: str) -> list[Version]:
    """Find versions by row id, token or physical id. It scans the table: only operators use it."""
    same = [_VERSION.token == called, _VERSION.physical_id == called]
    if called.isdecimal():
        same.append(_VERSION.id == int(called))
    ids = connection.execute(sa.select(_VERSION.id).where(sa.or_(*same)).order_by(_VERSION.id).limit(10)).scalars().all()
    return list(rows.versions(connection, ids).values())
